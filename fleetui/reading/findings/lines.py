"""Categories for which a matched line says it all, or nearly."""

from collections.abc import Iterator

from fleetui.domain.finding import Finding
from fleetui.reading.findings.clues import Clues, make

REFINED = frozenset(
    {
        "bench_rate_below_min",
        "bench_script_failed",
        "cgroup_oom_kill",
        "chain_api_unreachable",
        "daemon_config_error",
        "daemon_not_ready",
        "daemon_port_in_use",
        "db_unreachable",
        "gpu_container_access_lost",
        "gpu_ecc_uncorrectable",
        "gpu_fallen_off_bus",
        "gpu_fault_needs_reset",
        "gpu_illegal_access",
        "gpu_lock_contention",
        "gpu_thermal_or_power_limit",
        "grpc_connection_broken",
        "grpc_connection_refused",
        "grpc_deadline_exceeded",
        "grpc_message_too_large",
        "host_oom_kill",
        "memory_overcommit_risk",
        "stage_stalled",
        "daemon_crash_loop",
        "input_corrupt",
        "input_download_failed",
        "params_checksum_mismatch",
        "params_fetch_stall",
        "params_gateway_error",
        "proof_invalid",
        "prover_lost",
        "prover_panic",
        "srs_load_failed",
        "ssh_auth_failed",
        "ssh_unreachable",
        "vast_container_start_failed",
    }
)
"""Categories that a module of their own looks at more closely."""


def look(clues: Clues) -> Iterator[Finding]:
    """Make one finding of every category that a line names and nobody else refines."""
    for category in clues.categories:
        if category in REFINED:
            continue
        facts = clues.facts(category)
        yield make(
            category,
            facts=facts,
            count=clues.count(category),
            severity=clues.severity_after_recovery(category, facts),
        )
