"""The inspector's contents: one reading as lines of pieces. Pure."""

from collections.abc import Sequence

import msgspec

from fleetui.console import figures
from fleetui.console.columns import HOT_CELSIUS, SEVERITY_TONES
from fleetui.console.fitting import cells, fit, wrap
from fleetui.console.glyphs import SSH_WORDS, STAGE_TONES, STAGE_WORDS, Glyphs
from fleetui.console.palette import Piece
from fleetui.domain.finding import Finding
from fleetui.domain.host import DaemonStatus, SshState
from fleetui.domain.instance import Instance
from fleetui.domain.reading import FleetRow, Reading
from fleetui.domain.sample import Sample
from fleetui.domain.stage import Outcome, Progress, StageSpan
from fleetui.reading.fleet_rates import trend
from fleetui.reading.peers import Place

Line = list[Piece]
PARTITION_TONES = {
    "done": "ok",
    "completed": "ok",
    "failed": "bad",
    "gpu": "active",
    "proving": "active",
    "synthesizing": "busy",
    "synth": "busy",
    "synth_done": "dim",
}
_CELL_STATES = {"s": "synthesizing", "r": "synth_done", "g": "gpu", "d": "done", "f": "failed"}
_SKEW_SHOWN_SECONDS = 5.0
_SLOW = 0.8
"""Slower than so many of its peers is worth a look."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of the selected instance."""

    row: FleetRow
    reading: Reading | None = None
    instance: Instance | None = None
    samples: tuple[Sample, ...] = ()
    place: Place | None = None
    now: float = 0.0
    utc: bool = False
    """Whether times are said in UTC."""


def describe(subject: Subject, width: int, glyphs: Glyphs) -> list[Line]:
    """Return the inspector's lines for `width` cells: what is wrong first, then all the rest."""
    width = max(width, 20)
    lines = _head(subject, width, glyphs)
    reading = subject.reading
    if reading is None:
        lines += [[], [("not read yet", "dim")]]
    else:
        lines += _findings(reading.findings, width, glyphs)
        lines += _progress(reading.progress, subject.now, width, glyphs)
        lines += _stages(reading.spans, subject, width, glyphs)
        lines += _daemon(reading, subject.now, width, glyphs)
        lines += _gpus(reading, subject.now, width, glyphs)
    lines += _rates(subject, width, glyphs)
    lines += _among_peers(subject.place, width)
    lines += _money(subject, width, glyphs)
    lines += _connection(subject, width, glyphs)
    return [[(glyphs.plain(text), tone) for text, tone in line] for line in lines]


def section(title: str, width: int, glyphs: Glyphs, note: str = "") -> list[Line]:
    """Return the head of a section."""
    line: Line = [(title, "title bold")]
    if note:
        line.append((f"  {note}", "dim"))
    rest = width - cells(line) - 1
    return [[], [*line, (" " + glyphs["rule"] * max(rest, 0), "line")]]


def _head(subject: Subject, width: int, glyphs: Glyphs) -> list[Line]:
    row = subject.row
    lines: list[Line] = [[(str(row.instance_id), "strong bold"), (f"  {row.label or ''}", "text")]]
    gpu = f"{row.num_gpus or '?'}x {row.gpu or 'GPU not known'}"
    place = "  ".join(
        part
        for part in (f"machine {row.machine_id}" if row.machine_id else "", row.geolocation or "")
        if part
    )
    lines.append([(gpu, "text"), (f"  {place}", "dim")])
    word = row.acting or STAGE_WORDS[row.stage]
    tone = "warn bold" if row.acting else STAGE_TONES.get(row.stage, "busy") + " bold"
    line: Line = [(f"{glyphs.stage(row.stage)} {word}", tone)]
    if row.stage_since is not None:
        line.append((f"  for {figures.duration(subject.now - row.stage_since)}", "dim"))
    if row.api_status:
        line.append((f"  Vast says {row.api_status}", "dim"))
    if row.row_seen_at is not None:
        line.append((f" ({figures.age(subject.now - row.row_seen_at)})", "faint"))
    lines.append(line)
    if row.odd:
        lines += [[(text, "warn")] for text in wrap(f"Vast's row is {row.odd}", width, 2)]
    if row.machine_record:
        text = f"This machine has a record: {row.machine_record}"
        lines += [[(part, "warn")] for part in wrap(text, width, 4)]
    status_msg = subject.instance.status_msg if subject.instance else None
    if status_msg and row.stage.value in ("loading", "boot", "failed", "stopped"):
        lines += [[(text, "dim")] for text in wrap(status_msg, width, 2)]
    return lines


def _findings(findings: tuple[Finding, ...], width: int, glyphs: Glyphs) -> list[Line]:
    lines: list[Line] = []
    for index, finding in enumerate(findings[:4]):
        tone = SEVERITY_TONES[finding.severity]
        title = "root cause" if index == 0 else "also"
        lines += section(title, width, glyphs)
        name = fit(finding.category, min(len(finding.category), width - 24))
        head: Line = [(f"{glyphs.severity(finding.severity)} {name}", f"{tone} bold")]
        sure = f"  {finding.confidence * 100:.0f}% sure"
        times = f"  {finding.count} times" if finding.count > 1 else ""
        lines.append([*head, (sure + times, "dim")])
        lines += [[(text, "text")] for text in wrap(finding.summary, width, 6)]
        for evidence in finding.evidence[: 3 if index == 0 else 1]:
            where = evidence.source + (f":{evidence.line}" if evidence.line else "")
            lines.append([(fit(where, width, more=glyphs["more"]).rstrip(), "key")])
            lines += [[("  " + text, "dim")] for text in wrap(evidence.text, width - 2, 3)]
        for number, text in enumerate(wrap(finding.advice, width - 2, 8)):
            lines.append([((glyphs["arrow"] if not number else " ").ljust(2), "ok"), (text, "ok")])
        if finding.action == "restart_daemon":
            lines.append([("R", "warn bold"), (" restarts the daemon", "dim")])
    if len(findings) > 4:
        lines.append([(f"and {len(findings) - 4} more findings", "dim")])
    return lines


def _progress(progress: Progress | None, now: float, width: int, glyphs: Glyphs) -> list[Line]:
    if progress is None:
        return []
    note = figures.age(now - progress.updated_at) if progress.updated_at is not None else ""
    lines = section(progress.what, width, glyphs, "" if note in ("", "now") else f"{note} ago")
    fraction = progress.fraction
    if fraction is not None:
        done, rest = glyphs.bar(fraction, max(width - 5, 5))
        lines.append(
            [(done, "active"), (rest, "faint"), (figures.percent(fraction).rjust(5), "strong")]
        )
    amount = figures.amount(progress.done, progress.unit)
    if progress.total:
        amount += f" of {figures.amount(progress.total, progress.unit)}"
    if progress.unit != "B":
        amount += f" {progress.unit}"
    if progress.per_second:
        speed = figures.amount(progress.per_second, progress.unit) + "/s"
        if progress.unit != "B":
            speed = f"{progress.per_second * 3600:.1f}/h"
        amount += f"  {speed}"
    line: Line = [(amount, "text")]
    if progress.eta_seconds is not None:
        line.append((f"  ETA {figures.duration(progress.eta_seconds)}", "strong"))
        if progress.eta_low_seconds is not None and progress.eta_high_seconds is not None:
            low = figures.duration(progress.eta_low_seconds)
            line.append((f" ({low} to {figures.duration(progress.eta_high_seconds)})", "dim"))
    lines.append(line)
    open_first = sorted(
        progress.parts, key=lambda part: bool(part.total) and part.done >= (part.total or 0)
    )
    for part in open_first[:6]:
        whole = bool(part.total) and part.done >= (part.total or 0)
        share = (
            figures.percent(part.done / part.total)
            if part.total
            else figures.amount(part.done, progress.unit)
        )
        state = part.state or share
        name = fit(part.name, max(width - 10, 8), more=glyphs["more"])
        lines.append([(name, "dim"), (fit(state, 9, right=True), "ok" if whole else "text")])
        lines += _grid([_CELL_STATES.get(cell, "pending") for cell in part.cells], width, glyphs)
    if len(open_first) > 6:
        lines.append([(f"and {len(open_first) - 6} more", "faint")])
    return lines


def _stages(
    spans: tuple[StageSpan, ...], subject: Subject, width: int, glyphs: Glyphs
) -> list[Line]:
    now = subject.now
    if not spans:
        return []
    lines = section("stages", width, glyphs)
    marks = {
        Outcome.DONE: (glyphs["done"], "ok"),
        Outcome.FAILED: (glyphs["failed"], "bad"),
        Outcome.ACTIVE: (glyphs["busy"], "active"),
        Outcome.UNKNOWN: (glyphs["dot"], "dim"),
    }
    for span in spans[-10:]:
        mark, tone = marks[span.outcome]
        word = STAGE_WORDS[span.stage] + (f" #{span.attempt}" if span.attempt > 1 else "")
        took = None
        if span.started_at is not None:
            took = (now if span.ended_at is None else span.ended_at) - span.started_at
        length = figures.duration(took) if took is not None else ""
        lines.append([
            (f"{mark} ", tone), (fit(word, 14), "text" if tone != "dim" else "dim"),
            (fit(figures.clock_time(span.started_at, utc=subject.utc), 10), "dim"),
            (fit(length, 7, right=True), "text"),
        ])  # fmt: skip
    return lines


def _daemon(reading: Reading, now: float, width: int, glyphs: Glyphs) -> list[Line]:
    status = reading.status
    if status is None:
        if reading.status_error is None:
            return []
        lines = section("daemon", width, glyphs)
        return lines + [[(text, "warn")] for text in wrap(reading.status_error, width, 2)]
    note = f"up {figures.duration(status.uptime_secs)}"
    if status.at is not None and now - status.at > 60:
        note += f", read {figures.age(now - status.at)} ago"
    lines = section("daemon", width, glyphs, note)
    counters = status.counters
    failed_tone = "bad" if counters.total_failed else "dim"
    lines.append([
        (f"{counters.total_completed} done", "text"), ("  ", "dim"),
        (f"{counters.total_failed} failed", failed_tone),
        (f"  {figures.amount(counters.queue_depth, 'jobs')} queued", "dim"),
        (f"  {figures.amount(status.synthesis.active, 'partitions')} synthesizing", "dim"),
    ])  # fmt: skip
    if status.memory.total_bytes:
        used = status.memory.used_bytes / status.memory.total_bytes
        done, rest = glyphs.bar(used, 12)
        total = figures.size(status.memory.total_bytes)
        lines.append([
            ("budget ", "dim"), (done, "busy"), (rest, "faint"),
            (f" {figures.size(status.memory.used_bytes)} of {total}", "dim"),
        ])  # fmt: skip
    for worker in status.gpu_workers[:8]:
        busy = worker.state != "idle"
        what = (
            f"partition {worker.current_partition}"
            if worker.current_partition is not None
            else worker.state
        )
        lines.append([
            (f"GPU {worker.gpu_ordinal} worker {worker.worker_id} ", "dim"),
            (glyphs.plain(what), "active" if busy else "dim"),
            (f"  {figures.duration(worker.busy_secs)}" if busy and worker.busy_secs else "", "dim"),
        ])  # fmt: skip
    drawn = reading.progress is not None and any(part.cells for part in reading.progress.parts)
    return lines if drawn else lines + _partitions(status, width, glyphs)


def _partitions(status: DaemonStatus, width: int, glyphs: Glyphs) -> list[Line]:
    lines: list[Line] = []
    open_jobs = [job for job in status.pipelines if job.partitions_done < job.total_partitions]
    for job in (open_jobs or list(status.pipelines))[-3:]:
        job_name = fit(f"{job.proof_kind} {job.job_id[:8]}", 22, more=glyphs["more"]).rstrip()
        lines.append([
            (job_name, "text"),
            (f"  {job.partitions_done}/{job.total_partitions or '?'}", "strong"),
            (f"  {figures.duration(job.started_secs_ago)}", "dim"),
        ])  # fmt: skip
        lines += _grid([partition.state for partition in job.partitions], width, glyphs)
    return lines


def _grid(states: Sequence[str], width: int, glyphs: Glyphs) -> list[Line]:
    pieces: Line = []
    for state in states[: width * 3]:
        tone = PARTITION_TONES.get(state, "faint")
        sign = {"ok": glyphs["cell"], "bad": glyphs["failed"], "faint": glyphs["open"]}.get(tone)
        pieces.append((sign or glyphs["busy"], tone))
    return [pieces[start : start + width] for start in range(0, len(pieces), width)]


def _gpus(reading: Reading, now: float, width: int, glyphs: Glyphs) -> list[Line]:
    probe = reading.probe
    if probe is None or not probe.gpus:
        return []
    note = "" if probe.at is None else f"{figures.age(now - probe.at)}"
    lines = section("GPUs", width, glyphs, "" if note == "now" else f"{note} ago")
    for gpu in probe.gpus[:8]:
        done, rest = glyphs.bar((gpu.utilization or 0.0) / 100, 8)
        memory = ""
        if gpu.memory_used_mib is not None and gpu.memory_total_mib:
            memory = f"{gpu.memory_used_mib / 1024:.1f}/{gpu.memory_total_mib / 1024:.0f}G"
        util = figures.UNKNOWN if gpu.utilization is None else f"{gpu.utilization:.0f}%"
        temp = "" if gpu.temperature is None else f"{gpu.temperature:.0f}°"
        hot = (gpu.temperature or 0.0) >= HOT_CELSIUS
        watts = "" if gpu.power_watts is None else f"{gpu.power_watts:.0f}W"
        lines.append([
            (f"{gpu.index} ", "dim"), (done, "active"), (rest, "faint"), (util.rjust(5), "text"),
            (memory.rjust(12), "dim"), (temp.rjust(5), "warn" if hot else "dim"),
            (watts.rjust(6), "dim"),
        ])  # fmt: skip
    return lines


def _rates(subject: Subject, width: int, glyphs: Glyphs) -> list[Line]:
    row, reading = subject.row, subject.reading
    rates = reading.rates if reading else ()
    if not rates and row.proofs_per_hour is None:
        return []
    lines = section("proofs/h", width, glyphs)
    for rate in rates[:6]:
        low = row.min_rate is not None and rate.proofs_per_hour < row.min_rate
        age = figures.age(subject.now - rate.measured_at)
        age = age if age == "now" else f"{age} ago"
        lines.append([
            (figures.rate(rate.proofs_per_hour).rjust(6), "bad bold" if low else "ok bold"),
            (f" {rate.source.value}", "text"),
            (f"  {rate.proofs} in {figures.duration(rate.window_seconds)}, {age}", "dim"),
        ])  # fmt: skip
    change = trend(row.counted)
    if change:
        tone = "ok" if change > 0 else "warn"
        lines.append([(f"{change:+.0%}".rjust(6), tone), (" last hour against before", "dim")])
    if row.min_rate is not None:
        lines.append([(figures.rate(row.min_rate).rjust(6), "dim"), (" is the minimum", "dim")])
    line = glyphs.sparkline([sample.proofs_per_hour for sample in subject.samples], width)
    if line.strip():
        lines.append([(line, "ok")])
    return lines


def _among_peers(place: Place | None, width: int) -> list[Line]:
    if place is None:
        return []
    tone = "warn" if place.slower_than >= _SLOW else "dim"
    return [[(text, tone)] for text in wrap(f"{place.words} ({place.what})", width)]


def _money(subject: Subject, width: int, glyphs: Glyphs) -> list[Line]:
    row, instance = subject.row, subject.instance
    if row.cost_per_hour is None:
        return []
    lines = section("money", width, glyphs)
    line: Line = [(f"${figures.money(row.cost_per_hour, 3)}/h", "text")]
    if row.cost_per_proof is not None:
        line.append((f"  ${figures.money(row.cost_per_proof, 3)}/proof", "text"))
    lines.append(line)
    if row.spent is not None and row.spent_since is not None:
        watched = max(subject.now - row.spent_since, 0.0)
        spent = f"${figures.money(row.spent)} spent in {figures.duration(watched)} watched"
        line = [(spent, "text")]
        unwatched = row.spent_since - instance.start_date if instance and instance.start_date else 0
        if unwatched > 60 and instance and instance.price_running is not None:
            dearest = figures.money(unwatched / 3600 * instance.price_running)
            line.append((f", at most ${dearest} in {figures.duration(unwatched)} before", "dim"))
        lines.append(line)
    return lines


def _connection(subject: Subject, width: int, glyphs: Glyphs) -> list[Line]:
    row, reading = subject.row, subject.reading
    lines = section("connection", width, glyphs)
    good = row.ssh is SshState.CONNECTED
    tone = "ok" if good else "dim" if row.ssh in (SshState.NONE, SshState.CONNECTING) else "warn"
    line: Line = [("SSH ", "dim"), (SSH_WORDS[row.ssh], tone)]
    outcome = reading.ssh if reading else None
    if outcome and outcome.address:
        line.append((f"  {outcome.address}", "dim"))
    lines.append(line)
    if outcome and outcome.detail:
        lines += [[(text, "dim")] for text in wrap(outcome.detail, width, 2)]
    if reading and reading.newest_byte_source:
        age = figures.age(
            None if reading.newest_byte_at is None else subject.now - reading.newest_byte_at
        )
        lines.append(
            [("newest log byte ", "dim"), (age, "text"), (f"  {reading.newest_byte_source}", "dim")]
        )
    skew = reading.clock_skew_seconds if reading else None
    if skew is not None and abs(skew) >= _SKEW_SHOWN_SECONDS:
        where = "ahead" if skew < 0 else "behind"
        lines.append([("host clock ", "dim"), (f"{figures.duration(abs(skew))} {where}", "warn")])
    return lines
