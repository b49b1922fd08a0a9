"""The words that a rule may use: findings that its line names, signals that the reading takes."""

CATEGORIES = frozenset(
    {
        "bench_rate_below_min", "bench_script_failed", "bench_timeout", "cgroup_oom_kill",
        "chain_api_auth", "chain_api_unreachable", "chain_out_of_sync", "config_drift",
        "daemon_config_error", "daemon_crash_loop", "daemon_not_ready", "daemon_port_in_use",
        "db_unreachable", "disk_full", "disk_shortfall_risk", "gpu_arch_unsupported",
        "gpu_container_access_lost", "gpu_cpu_fallback", "gpu_driver_too_old",
        "gpu_ecc_uncorrectable", "gpu_fallen_off_bus", "gpu_fault_needs_reset", "gpu_idle_paid",
        "gpu_illegal_access", "gpu_lock_contention", "gpu_nvml_mismatch",
        "gpu_thermal_or_power_limit", "gpu_vram_oom", "grpc_connection_broken",
        "grpc_connection_refused", "grpc_deadline_exceeded", "grpc_keepalive_rejected",
        "grpc_message_too_large", "host_alloc_failure", "host_oom_kill", "hugepages_unavailable",
        "input_corrupt", "input_download_failed", "job_lost", "market_throttled",
        "memory_overcommit_risk", "params_checksum_mismatch", "params_fetch_stall",
        "params_gateway_error", "params_incomplete", "pce_cache_problem", "pinned_memory_limit",
        "proof_invalid", "prover_lost", "prover_panic", "rates_disagree",
        "scheduler_resource_shortfall",
        "srs_load_failed", "srs_missing", "ssh_auth_failed", "ssh_host_key_changed",
        "ssh_unreachable", "stage_deadline_risk", "stage_stalled", "vast_account_limit",
        "vast_api_error", "vast_container_start_failed", "vast_exited", "vast_host_offline",
        "vast_not_starting", "vast_outbid", "work_reassigned",
    }
)  # fmt: skip
"""The vocabulary of findings."""

SIGNALS = frozenset(
    {
        "batch_proof", "batch_size", "batch_start", "batch_summary", "bench_error", "bench_run",
        "boot", "daemon_error", "daemon_ready", "daemon_restart", "daemon_starting",
        "daemon_stopping", "era_budget", "era_preload", "file_checked", "file_fetched",
        "file_named", "file_progress", "file_result", "file_wanted", "gpu_start_failed",
        "input_failed", "input_progress", "input_wanted", "job_assembled", "job_dispatched",
        "job_failed", "job_queued", "job_unreadable", "params_done", "params_failed",
        "partition_proved", "partition_synthesised", "pce_extracted", "pce_extracting",
        "pce_finished", "pce_loaded", "pce_loading", "proof_done", "request", "script_failed",
        "single_result", "srs_loaded", "srs_loading", "throughput", "warmup_request",
    }
)  # fmt: skip
"""What the reading acts on."""
