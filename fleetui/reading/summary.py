"""A whole reading as one row of the fleet's table, and as a point of its charts."""

from fleetui.domain.host import SshState
from fleetui.domain.instance import Instance
from fleetui.domain.money import SpendTotal
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.reading import FleetRow, Reading
from fleetui.domain.sample import Sample
from fleetui.domain.stage import Progress, Stage
from fleetui.domain.text import SafeText
from fleetui.reading.stages import standing

_LIKED_WINDOW = 3600.0
_LEAST_WINDOW = 300.0
_PRESENT_SECONDS = 120.0
"""A count that ended earlier is no figure of now."""
STAND_IN_SECONDS = 900.0
"""How long after the work began, or after its own end, a benchmark's rate may stand for it."""
_PREFIXES = ("B", "KiB", "MiB", "GiB", "TiB")


def fleet_row(
    instance: Instance,
    reading: Reading,
    *,
    row_seen_at: float,
    acting: SafeText | None,
    spent: SpendTotal | None = None,
    protected: bool = False,
) -> FleetRow:
    """Return the instance's row. Figures that are not measured stay `None`."""
    rate = best_rate(reading)
    cost = instance.cost_per_hour
    span = standing(reading.spans)
    utilization, temperature, gpu_at = _gpu(instance, reading, row_seen_at)
    top = reading.findings[0] if reading.findings else None
    progress = reading.progress
    counted = [rate for rate in reading.rates if rate.source is RateSource.COMPLETIONS]
    return FleetRow(
        instance_id=instance.instance_id,
        label=instance.label,
        machine_id=instance.machine_id,
        host_id=instance.host_id,
        gpu=instance.gpu_name,
        num_gpus=instance.num_gpus,
        geolocation=instance.geolocation,
        api_status=instance.actual_status,
        row_seen_at=row_seen_at,
        stage=reading.stage,
        stage_since=_since(reading),
        attempt=1 if span is None else span.attempt,
        progress_fraction=None if progress is None else progress.fraction,
        progress_text=None if progress is None else progress_text(progress),
        eta_seconds=None if progress is None else progress.eta_seconds,
        proofs_per_hour=None if rate is None else rate.proofs_per_hour,
        rate_source=None if rate is None else rate.source,
        rate_at=None if rate is None else rate.measured_at,
        rate_window=None if rate is None else rate.window_seconds,
        counted=tuple((rate.window_seconds, rate.proofs) for rate in counted),
        counted_at=counted[0].measured_at if counted else None,
        min_rate=reading.min_rate,
        cost_per_hour=cost,
        cost_per_proof=cost_per_proof(cost, rate),
        spent=spent.dollars if spent else None,
        spent_since=None if spent is None else spent.since,
        gpu_util=utilization,
        gpu_temp=temperature,
        gpu_at=gpu_at,
        newest_byte_at=reading.newest_byte_at,
        ssh=SshState.NONE if reading.ssh is None else reading.ssh.state,
        finding_category=None if top is None else top.category,
        finding_severity=None if top is None else top.severity,
        finding_summary=None if top is None else top.summary,
        findings=len(reading.findings),
        acting=acting,
        protected=protected,
        odd=instance.odd,
    )


def sample(instance: Instance, reading: Reading, at: float) -> Sample:
    """Return the instance's figures at `at`; a rate only where it is of present work."""
    rate = best_rate(reading)
    is_present = reading.stage in (Stage.RUNNING, Stage.BENCH, Stage.DAEMON_RESTART)
    if rate is not None:
        due = STAND_IN_SECONDS if rate.source is RateSource.BENCHMARK else _PRESENT_SECONDS
        is_present = is_present and at - rate.measured_at <= due
    utilization, temperature, _ = _gpu(instance, reading, at)
    return Sample(
        instance_id=instance.instance_id,
        at=at,
        proofs_per_hour=rate.proofs_per_hour if rate is not None and is_present else None,
        cost_per_hour=instance.cost_per_hour,
        gpu_util=utilization,
        gpu_temp=temperature,
    )


def _since(reading: Reading) -> float | None:
    span = standing(reading.spans)
    if span is None:
        return None
    return span.ended_at if reading.stage is Stage.FAILED else span.started_at


def best_rate(reading: Reading) -> Rate | None:
    """Return the rate that says most about the present stage.

    While proving: completions, of the window nearest to one hour, or the daemon's own count
    where its log is not read. The benchmark's throughput stands in only while no completion can
    have been measured yet: a host that proves nothing has no rate. After a benchmark: its
    throughput.
    """
    benchmark = next((rate for rate in reading.rates if rate.source is RateSource.BENCHMARK), None)
    if reading.stage in (Stage.GONE, Stage.STOPPED, Stage.LOADING):
        return None
    if benchmark is not None and reading.stage is Stage.RUNNING:
        begun = _since(reading)
        is_due = begun is None or reading.at - begun > STAND_IN_SECONDS
        benchmark = None if is_due else benchmark
    completions = [
        rate
        for rate in reading.rates
        if rate.source is RateSource.COMPLETIONS and rate.window_seconds >= _LEAST_WINDOW
    ]
    if not completions and reading.stage is Stage.RUNNING:
        # Where no log tells of proofs, the daemon's own counter does.
        answered = [rate for rate in reading.rates if rate.source is RateSource.STATUS]
        if answered and answered[-1].window_seconds >= _LEAST_WINDOW:
            return answered[-1]
    if not completions or not any(rate.proofs for rate in completions):
        has_begun = any(rate.window_seconds >= 2 * _LEAST_WINDOW for rate in completions)
        return completions[-1] if has_begun else benchmark
    return min(completions, key=lambda rate: abs(rate.window_seconds - _LIKED_WINDOW))


def cost_per_proof(cost_per_hour: float | None, rate: Rate | None) -> float | None:
    """Return dollars a proof; `None` without a rate above zero."""
    if cost_per_hour is None or rate is None or rate.proofs_per_hour <= 0:
        return None
    return cost_per_hour / rate.proofs_per_hour


def progress_text(progress: Progress) -> SafeText:
    """Return e.g. `52.1/133.0 GiB 412 MiB/s`, `7/10 partitions` or `loading the SRS`."""
    if progress.total is None and not progress.done:
        return progress.what
    if progress.unit != "B":
        total = "?" if progress.total is None else f"{progress.total:g}"
        return SafeText(f"{progress.done:g}/{total} {progress.unit}")
    text = _bytes(progress.done) if progress.total is None else (
        _bytes_of(progress.done, progress.total)
    )  # fmt: skip
    speed = f" {_bytes(progress.per_second)}/s" if progress.per_second else ""
    prefix = f"{progress.what} " if progress.what != "parameters" else ""
    return SafeText(f"{prefix}{text}{speed}")


def _bytes(count: float) -> str:
    power = _power(count)
    value = count / 1024.0**power
    return f"{value:.0f} {_PREFIXES[power]}" if value >= 100 or not power else (
        f"{value:.1f} {_PREFIXES[power]}"
    )  # fmt: skip


def _bytes_of(done: float, total: float) -> str:
    power = _power(total)
    scale = 1024.0**power
    return f"{done / scale:.1f}/{total / scale:.1f} {_PREFIXES[power]}"


def _power(count: float) -> int:
    power = 0
    while count >= 1024.0 and power < len(_PREFIXES) - 1:
        count /= 1024.0
        power += 1
    return power


def _gpu(
    instance: Instance, reading: Reading, row_seen_at: float
) -> tuple[float | None, float | None, float | None]:
    """Use and heat of the cards: from the host where it was looked at, else from the API."""
    probe = reading.probe
    if probe is not None and probe.gpus and probe.at is not None:
        uses = [gpu.utilization for gpu in probe.gpus if gpu.utilization is not None]
        heats = [gpu.temperature for gpu in probe.gpus if gpu.temperature is not None]
        if uses or heats:
            use = sum(uses) / len(uses) if uses else None
            return use, max(heats, default=None), probe.at
    known = instance.gpu_util is not None or instance.gpu_temp is not None
    return instance.gpu_util, instance.gpu_temp, row_seen_at if known else None
