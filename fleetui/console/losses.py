"""What an act costs, in words: work, money, data, and what is kept of it. Pure."""

from collections.abc import Sequence

from fleetui.console import figures
from fleetui.console.glyphs import SSH_WORDS, STAGE_WORDS
from fleetui.console.inspection import Subject
from fleetui.domain.host import SshState
from fleetui.domain.intent import Verb
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage, StageSpan
from fleetui.domain.text import SafeText
from fleetui.reading.status import is_running
from fleetui.store.interface import LogMissing

SHOWN_JOBS = 4
_WORTH_SECONDS = 60.0
_BENCHMARK = frozenset(
    {Stage.DAEMON_START, Stage.WARMUP, Stage.DAEMON_RESTART, Stage.BENCH, Stage.RUNNING}
)


def is_at_work(row: FleetRow) -> bool:
    """Tell whether a benchmark or a proof would be lost, as far as the row tells."""
    return row.stage in _BENCHMARK or row.progress_fraction is not None


def loss_of_one(
    verb: Verb,
    row: FleetRow,
    subject: Subject | None,
    *,
    missing: LogMissing | None,
    argument: SafeText | None,
    now: float,
) -> list[str]:
    """Say line by line what an act on one instance costs."""
    if verb is Verb.ACCEPT_HOST_KEY:
        return _of_accepting(subject)
    lines = [_state(row, now)]
    if verb is Verb.LABEL:
        return [*lines, f"label: {row.label or 'none'} becomes {argument or 'none'}"]
    if verb in (Verb.BLACKLIST, Verb.UNBLACKLIST):
        why = f": {argument}" if argument else ""
        return [*lines, f"machine {row.machine_id or 'not known'}{why}"]
    if verb.spares_instance:
        return lines
    if verb is Verb.START:
        return [*lines, _hourly(row)] if row.cost_per_hour is not None else lines
    lines += _spent(row, subject, now) if verb.ends_work else []
    lines += _in_flight(verb, row, subject)
    if verb.loses_data:
        lines.append("all data on its disk is deleted" + _again(verb, subject, now))
        lines += _kept(row, missing, now)
    return lines


def loss_of_many(verb: Verb, rows: Sequence[FleetRow], argument: SafeText | None) -> list[str]:
    """Say line by line what an act on several instances costs."""
    counts: dict[str, int] = {}
    for row in rows:
        word = STAGE_WORDS[row.stage]
        counts[word] = counts.get(word, 0) + 1
    lines = ["states: " + ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))]
    burn = sum(row.cost_per_hour or 0.0 for row in rows)
    rate = sum(row.proofs_per_hour or 0.0 for row in rows)
    lines.append(f"together ${figures.money(burn)}/h and {figures.rate(rate)} proofs/h")
    if argument and verb is not Verb.ACCEPT_HOST_KEY:
        lines.append(f"{'label' if verb is Verb.LABEL else 'because'}: {argument}")
    working = [row for row in rows if is_at_work(row)]
    if working and verb.interrupts_work and verb is not Verb.DRAIN_DESTROY:
        shares = [row.progress_fraction for row in working if row.progress_fraction is not None]
        most = f", up to {figures.percent(max(shares))} of it done" if shares else ""
        lines.append(f"work in flight is lost on {len(working)} of them{most}")
    if verb.ends_work and any(row.spent for row in rows):
        spent = sum(row.spent or 0.0 for row in rows)
        lines.append(f"${figures.money(spent)} spent on them while watched")
    if verb.loses_data:
        lines.append("all data on their disks is deleted; the logs read so far stay in FleetUI")
        blind = sum(row.ssh is not SshState.CONNECTED for row in rows)
        if blind:
            lines.append(f"no last look can be kept of {blind} of them: no SSH connection")
    return lines


def _state(row: FleetRow, now: float) -> str:
    state = f"state: {STAGE_WORDS[row.stage]}"
    if row.stage_since is not None:
        state += f" for {figures.duration(now - row.stage_since)}"
    if row.proofs_per_hour is not None:
        state += f", {figures.rate(row.proofs_per_hour)} proofs/h"
    return state


def _hourly(row: FleetRow) -> str:
    return f"costs ${figures.money(row.cost_per_hour)} an hour"


def _spent(row: FleetRow, subject: Subject | None, now: float) -> list[str]:
    started = subject.instance.start_date if subject and subject.instance else None
    if started is None:
        return [_hourly(row)] if row.cost_per_hour is not None else []
    rented = max(now - started, 0.0)
    words = f"rented for {figures.duration(rented)}"
    if row.spent is not None and row.spent_since is not None and row.spent_since - started < 60:
        return [f"{words}, ${figures.money(row.spent)} spent"]
    if row.cost_per_hour is not None:
        words += f", about ${figures.money(rented / 3600 * row.cost_per_hour)} spent"
    return [words]


def _in_flight(verb: Verb, row: FleetRow, subject: Subject | None) -> list[str]:
    """Say how far what it is at has come."""
    status = subject.reading.status if subject and subject.reading else None
    progress = subject.reading.progress if subject and subject.reading else None
    jobs = [job for job in status.pipelines if is_running(job, status)] if status else []
    shares = [job.partitions_done / job.total_partitions for job in jobs if job.total_partitions]
    if not jobs and progress is not None and progress.unit == "partitions":
        shares = [part.done / part.total for part in progress.parts if part.total]
    count = len(jobs) or len(shares)
    fate = "waited for" if verb is Verb.DRAIN_DESTROY else "lost"
    lines = []
    if count:
        done = " ".join(figures.percent(share) for share in shares[:SHOWN_JOBS])
        more = " ..." if len(shares) > SHOWN_JOBS else ""
        proofs = f"{count} proof{'s' if count > 1 else ''} in flight, {fate}"
        lines.append(f"{proofs}: {done}{more} done" if done else proofs)
    elif row.progress_fraction is not None:
        what = f" ({row.progress_text})" if row.progress_text else ""
        lines.append(f"in flight, {fate}: {figures.percent(row.progress_fraction)} done{what}")
    elif row.stage is Stage.RUNNING:
        lines.append(f"a proof in flight is {fate}")
    if not verb.ends_work:
        lines.append("the parameters stay on its disk")
    return lines


def _again(verb: Verb, subject: Subject | None, now: float) -> str:
    """Say what a new start would have to do again, by what it took here."""
    who = "it" if verb is Verb.RECYCLE else "a replacement"
    words = f"; {who} downloads the parameters again"
    spans = subject.reading.spans if subject and subject.reading else ()
    took = sum(_seconds(span, now) for span in spans if span.stage is Stage.PARAM_FETCH)
    return f"{words} ({figures.duration(took)} here)" if took >= _WORTH_SECONDS else words


def _seconds(span: StageSpan, now: float) -> float:
    if span.started_at is None:
        return 0.0
    return max((span.ended_at or now) - span.started_at, 0.0)


def _kept(row: FleetRow, missing: LogMissing | None, now: float) -> list[str]:
    """Say what of its logs stays, what does not, and whether it can be looked at once more."""
    never = missing.skipped + missing.lost_bytes if missing else 0
    lines = ["the logs read so far stay in FleetUI"]
    if never:
        lines[0] += f", {figures.size(never)} of them were never read"
    if row.ssh is SshState.CONNECTED:
        lines.append("a last look is kept before: processes, kernel, disk, ends of the logs")
        return lines
    lines.append(f"no last look can be kept before: SSH is {SSH_WORDS[row.ssh]}")
    if row.newest_byte_at is not None:
        since = figures.duration(now - row.newest_byte_at)
        lines.append(f"what it logged in the last {since} is not stored")
    return lines


def _of_accepting(subject: Subject | None) -> list[str]:
    ssh = subject.reading.ssh if subject and subject.reading else None
    shown = ssh.other_key if ssh else None
    return [
        f"accepts: {shown}" if shown else "the fingerprint it shows is not known here",
        "the host shows another key than the one bound to this instance",
        str((ssh.detail if ssh else None) or ""),
        "that is harmless only if you know why: a recycle, a new image, a re-made container",
        "if you do not, somebody may stand between you and the host",
    ]
