"""A lively sample fleet, made up from a seed: every stage, findings, logs, charts.

Run it to look at the console: `python tests/support/sample_fleet.py [hosts] [--ascii]`.
"""

import asyncio
import math
import os
import random
import sys
import time

import msgspec

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.host import (
    DaemonStatus,
    Gpu,
    GpuWorker,
    Partition,
    Pipeline,
    Probe,
    SshOutcome,
    SshState,
    StatusCounters,
    StatusMemory,
    StatusSynthesis,
)
from fleetui.domain.instance import Instance, Walk, WalkOutcome
from fleetui.domain.intent import AuditEntry, Event, Intent, IntentState, Verb
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.reading import FleetRow, Reading
from fleetui.domain.role import Role
from fleetui.domain.sample import FleetSample, Sample
from fleetui.domain.stage import Outcome, Progress, ProgressPart, Stage, StageSpan
from fleetui.domain.text import sanitise
from fleetui.store.interface import CollectorHealth
from memory_store import MemoryStore

GPUS = ("RTX 4090", "RTX 3090", "RTX PRO 4000", "RTX 5090", "A100 SXM4", "L40S")
PLACES = ("Sweden, SE", "Texas, US", "Quebec, CA", "Czechia, CZ", "Taiwan, TW")
STAGES = (
    Stage.RUNNING,
    Stage.RUNNING,
    Stage.WARMUP,
    Stage.PARAM_FETCH,
    Stage.FAILED,
    Stage.BENCH,
    Stage.RUNNING,
    Stage.LOADING,
    Stage.C1_DOWNLOAD,
    Stage.DAEMON_START,
    Stage.RUNNING,
    Stage.BENCH_DONE,
    Stage.BOOT,
    Stage.DAEMON_RESTART,
    Stage.STOPPED,
    Stage.PARAMS_DONE,
)
FAULTS = (
    (
        "prover_lost",
        Severity.CRITICAL,
        "The benchmark lost its connection to the daemon in warmup.",
        "Restart the daemon; look whether the kernel killed it.",
        "/tmp/benchmark-full.log",
        "Error: h2 protocol error: stream closed because of a broken pipe",
        "restart_daemon",
    ),
    (
        "gpu_oom",
        Severity.CRITICAL,
        "The card has too little memory for two partitions at once.",
        "Lower the number of GPU workers, or rent a card with 32 GB.",
        "/tmp/cuzk.log",
        "cudaMalloc failed: out of memory (requested 1.9 GiB)",
        None,
    ),
    (
        "slow_download",
        Severity.WARNING,
        "Parameters come at 1.2 MB/s; peers get 38 MB/s.",
        "Wait, or rent elsewhere: at this speed it takes 17 hours.",
        "/tmp/setup.log",
        "[#3a1f 4.1GiB/32GiB(12%) CN:8 DL:1.2MiB ETA:6h41m]",
        None,
    ),
)


def build(hosts: int = 24, *, seed: int = 7, now: float | None = None) -> MemoryStore:
    """Return a store with a fleet of `hosts` instances as of `now`."""
    now = time.time() if now is None else now
    chance, store = random.Random(seed), MemoryStore()  # noqa: S311 - a made-up fleet
    for index in range(hosts):
        add_host(store, index, chance, now)
    walk = Walk(started_at=now - 4, ended_at=now - 3, outcome=WalkOutcome.COMPLETE, rows=hosts)
    store.walk = store.complete_walk = walk
    store.health = CollectorHealth(
        at=now,
        holder="here",
        version="0.1.0",
        started_at=now - 7200,
        instances=hosts,
        ssh_connected=max(hosts - 3, 0),
        ssh_wanted=hosts,
        walks_complete=480,
        balance=184.2,
    )
    for step in range(300):
        at = now - (300 - step) * 280
        wave = 6 * math.sin(step / 19) + chance.random() * 2
        store.fleet_sample_list.append(
            FleetSample(
                at=at, proofs_per_hour=max(40 + wave + step / 20, 0), cost_per_hour=8 + step / 100
            )
        )
    store.event_list += [
        Event(
            at=now - 4000, kind="new", text=sanitise("rented: 2x RTX 3090"), instance_id=20110001
        ),
        Event(at=now - 600, kind="stage", text=sanitise("warmup -> failed"), instance_id=20110004),
    ]
    store.intent_list.append(
        Intent(
            intent_id="a1",
            verb=Verb.RESTART_DAEMON,
            instance_id=20110004,
            actor=sanitise("ana@ops"),
            reason=sanitise("asked for in the console"),
            created_at=now - 500,
            state=IntentState.DONE,
            result=sanitise("daemon answers again after 41 s"),
        )
    )
    store.audit_list.append(
        AuditEntry(
            at=now - 500,
            actor=sanitise("ana@ops"),
            event="requested",
            instance_id=20110004,
            intent_id="a1",
            verb=Verb.RESTART_DAEMON,
            detail=sanitise("machine 41004"),
        )
    )
    return store


def add_host(store: MemoryStore, index: int, chance: random.Random, now: float) -> None:
    """Add one made-up instance with row, reading, inventory row, logs and samples."""
    instance_id, stage = 20110000 + index * 37 % 9973, STAGES[index % len(STAGES)]
    gpu, count = chance.choice(GPUS), chance.choice((1, 1, 2, 4))
    cost = round(0.21 + chance.random() * count, 3)
    fault = fault_of(index, stage, now)
    proving = stage in (Stage.RUNNING, Stage.BENCH_DONE)
    rate = round(4 + chance.random() * 14, 1) if proving else None
    progress = progress_of(stage, chance, now)
    ssh = SshState.CONNECTED
    if stage in (Stage.LOADING, Stage.STOPPED):
        ssh = SshState.NONE
    elif index % 11 == 9:
        ssh = SshState.TIMED_OUT
    since = now - chance.random() * 5000
    log_at = None if ssh is SshState.NONE else now - chance.choice((1, 3, 20, 70, 400))
    gpus = tuple(
        Gpu(
            index=card,
            utilization=round(chance.random() * 100),
            memory_used_mib=18_000.0,
            memory_total_mib=24_564.0,
            temperature=float(round(52 + chance.random() * 36)),
            power_watts=310.0,
        )
        for card in range(count)
    )
    row = FleetRow(
        instance_id=instance_id,
        label=sanitise(f"prover-{index:02d}"),
        machine_id=41000 + index,
        gpu=sanitise(gpu),
        num_gpus=count,
        geolocation=sanitise(chance.choice(PLACES)),
        api_status=sanitise("loading" if stage is Stage.LOADING else "running"),
        row_seen_at=now - 3,
        stage=stage,
        stage_since=since,
        attempt=2 if index % 9 == 5 else 1,
        progress_fraction=progress.fraction if progress else None,
        progress_text=progress.what if progress else None,
        eta_seconds=progress.eta_seconds if progress else None,
        proofs_per_hour=rate,
        rate_source=RateSource.COMPLETIONS if rate else None,
        rate_at=now - 60,
        min_rate=8.0,
        cost_per_hour=cost,
        cost_per_proof=round(cost / rate, 4) if rate else None,
        gpu_util=gpus[0].utilization if ssh is SshState.CONNECTED else None,
        gpu_temp=gpus[0].temperature if ssh is SshState.CONNECTED else None,
        gpu_at=now - 5,
        newest_byte_at=log_at,
        ssh=ssh,
        finding_category=fault.category if fault else None,
        finding_severity=fault.severity if fault else None,
        finding_summary=fault.summary if fault else None,
        findings=1 if fault else 0,
    )
    store.put(row)
    store.instances[instance_id] = Instance(
        instance_id=instance_id,
        machine_id=row.machine_id,
        label=row.label,
        gpu_name=row.gpu,
        num_gpus=count,
        cost_per_hour=cost,
        start_date=now - 9000 - index * 500,
        status_msg=sanitise("Pulling from fil/cuzk: 7 of 22 layers")
        if stage is Stage.LOADING
        else None,
    )
    spans = tuple(
        StageSpan(
            stage=one,
            started_at=since - 600 * (4 - place),
            ended_at=since - 600 * (3 - place),
            outcome=Outcome.DONE,
        )
        for place, one in enumerate(
            (Stage.LOADING, Stage.BOOT, Stage.PARAM_FETCH, Stage.PARAMS_DONE)
        )
    )
    last = StageSpan(
        stage=stage,
        attempt=row.attempt,
        started_at=since,
        outcome=Outcome.FAILED if stage is Stage.FAILED else Outcome.ACTIVE,
    )
    store.readings_by_id[instance_id] = Reading(
        instance_id=instance_id,
        at=now,
        stage=stage,
        spans=(*spans, last),
        progress=progress,
        rates=(
            Rate(
                proofs_per_hour=rate,
                proofs=14,
                window_seconds=3600,
                measured_at=now - 60,
                source=RateSource.COMPLETIONS,
            ),
        )
        if rate
        else (),
        min_rate=8.0,
        findings=(fault,) if fault else (),
        probe=Probe(at=now - 5, gpus=gpus),
        status=status_of(chance, now) if proving or stage is Stage.WARMUP else None,
        ssh=SshOutcome(
            state=ssh,
            at=now - 30,
            address="203.0.113.7:41022",
            detail=sanitise("connect timed out after 15 s") if ssh is SshState.TIMED_OUT else None,
        ),
        newest_byte_at=log_at,
        newest_byte_source="/tmp/cuzk.log" if log_at else None,
    )
    if rate:
        store.sample_list += [
            Sample(
                instance_id=instance_id,
                at=now - 21_000 + step * 400,
                proofs_per_hour=rate + math.sin(step / 4),
            )
            for step in range(52)
        ]
    if log_at is not None:
        write_logs(store, instance_id, stage, log_at)


def fault_of(index: int, stage: Stage, now: float) -> Finding | None:
    """Give failed hosts a critical and some others a warning finding."""
    if stage is Stage.FAILED:
        chosen = FAULTS[index // 16 % 2]
    elif stage is Stage.PARAM_FETCH:
        chosen = FAULTS[2]
    else:
        return None
    category, severity, summary, advice, source, text, action = chosen
    evidence = Evidence(source=source, line=211 + index, text=sanitise(text), at=now - 300)
    return Finding(
        category=category,
        severity=severity,
        confidence=0.93,
        summary=sanitise(summary),
        advice=sanitise(advice),
        evidence=(evidence,),
        first_seen=now - 900,
        last_seen=now - 300,
        signature=category,
        action=action,
    )


def progress_of(stage: Stage, chance: random.Random, now: float) -> Progress | None:
    """Give stages that can tell it a progress."""
    if stage is Stage.PARAM_FETCH:
        parts = tuple(
            ProgressPart(
                name=sanitise(f"v28-stacked-proof-of-replication-{n:02x}.params"),
                done=chance.random() * 8e9,
                total=8e9,
            )
            for n in range(9)
        )
        done = sum(part.done for part in parts)
        return Progress(
            what=sanitise("parameters"),
            done=done,
            total=72e9,
            unit="B",
            per_second=38e6,
            eta_seconds=(72e9 - done) / 38e6,
            updated_at=now - 2,
            parts=parts,
        )
    if stage in (Stage.WARMUP, Stage.RUNNING):
        done = float(chance.randrange(1, 10))
        return Progress(
            what=sanitise("partitions"),
            done=done,
            total=10.0,
            unit="partitions",
            per_second=0.02,
            eta_seconds=(10 - done) / 0.02,
            eta_low_seconds=60.0,
            eta_high_seconds=600.0,
            updated_at=now - 1,
        )
    if stage is Stage.BENCH:
        return Progress(
            what=sanitise("benchmark proofs"),
            done=3,
            total=12,
            unit="proofs",
            eta_seconds=2_800.0,
            updated_at=now - 20,
        )
    return None


def status_of(chance: random.Random, now: float) -> DaemonStatus:
    """Make up a daemon at work."""
    done = chance.randrange(2, 9)
    parts = tuple(
        Partition(
            n,
            "done"
            if n < done
            else "gpu"
            if n == done
            else "synthesizing"
            if n < done + 3
            else "pending",
        )
        for n in range(10)
    )
    return DaemonStatus(
        uptime_secs=5200,
        memory=StatusMemory(256 << 30, 141 << 30, 115 << 30),
        synthesis=StatusSynthesis(4, 2),
        pipelines=(Pipeline("c4f1a0b9d2", "porep", 212.0, 10, done, parts),),
        gpu_workers=(GpuWorker(0, 0, "proving", "c4f1a0b9d2", done, 21.4), GpuWorker(1, 0, "idle")),
        counters=StatusCounters(41, 1, {"porep": 41}, {"porep": 1}, 3),
        at=now - 2,
    )


def write_logs(store: MemoryStore, instance_id: int, stage: Stage, at: float) -> None:
    """Give an instance two log files with colours and an error."""
    setup = b"".join(b"+ step %d of the set-up\r\n" % n for n in range(60))
    store.write(instance_id, "/tmp/setup.log", setup, at=at - 4000, kind="setup")
    for number in range(240):
        line = (
            b"\x1b[2m2026-11-30T06:%02d:%02dZ\x1b[0m \x1b[32m INFO\x1b[0m cuzk::engine: "
            b"partition \x1b[1m%d\x1b[0m synthesized in 8.%02ds\n"
            % (number // 60, number % 60, number % 10, number % 100)
        )
        if number % 80 == 79:
            line = b"\x1b[31mERROR\x1b[0m cuzk::gpu: worker 1 failed: [/] [@click=app.quit]\n"
        store.write(instance_id, "/tmp/cuzk.log", line, at=at, kind="daemon")
    if stage is Stage.FAILED:
        store.write(
            instance_id,
            "/tmp/benchmark-full.log",
            b"Error: stream closed because of a broken pipe\n",
            at=at,
        )


async def enliven(store: MemoryStore, *, seed: int = 11) -> None:
    """Change rows and append log lines for ever, as a fleet does."""
    chance, number = random.Random(seed), 0  # noqa: S311 - a made-up fleet
    while True:
        await asyncio.sleep(0.5)
        now = time.time()
        changed = []
        for instance_id in chance.sample(sorted(store.rows), max(len(store.rows) // 10, 1)):
            row = store.rows[instance_id][1]
            if row.progress_fraction is not None:
                more = row.progress_fraction + 0.01
                row = msgspec.structs.replace(row, progress_fraction=more if more < 1 else 0.0)
            if row.gpu_util is not None:
                row = msgspec.structs.replace(
                    row, gpu_util=float(chance.randrange(60, 100)), gpu_at=now
                )
            changed.append(msgspec.structs.replace(row, row_seen_at=now))
        store.put(*changed)
        if store.health:
            store.health = msgspec.structs.replace(store.health, at=now)
        for stream in list(store.logs):
            if stream.path == "/tmp/cuzk.log":
                number += 1
                line = b"\x1b[32m INFO\x1b[0m cuzk::engine: live line %d\n" % number
                store.write(stream.instance_id, stream.path, line, at=now, kind="daemon")


async def main() -> None:
    """Run the console on a sample fleet."""
    from fleetui.console.app import FleetApp  # noqa: PLC0415 - after the terminal is prepared
    from fleetui.domain.clock import SystemClock  # noqa: PLC0415 - the same

    hosts = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 24
    store = build(hosts)
    app = FleetApp(
        store,
        clock=SystemClock(),
        actor="ana@ops",
        account="sample",
        role=Role.VIEWER if "--ro" in sys.argv else Role.OWNER,
        ascii_only="--ascii" in sys.argv,
    )
    task = asyncio.create_task(enliven(store), name="enliven")
    try:
        await app.run_async()
    finally:
        task.cancel()


if __name__ == "__main__":
    from fleetui.console.terminal import prepare_terminal

    prepare_terminal(os.environ)
    asyncio.run(main())
