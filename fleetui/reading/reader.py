"""All that is known of one instance, and what it means.

The one pure path from bytes, probes, API rows and status answers to a reading: the collector,
`fleetui diagnose`, replays and the tests all use it.
"""

import copy
import re

import msgspec

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.host import DaemonStatus, Probe, SshOutcome
from fleetui.domain.instance import Instance
from fleetui.domain.rate import Rate
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Outcome, Stage, StageSpan
from fleetui.domain.stream import Fact, LogChunk
from fleetui.domain.text import SafeText
from fleetui.logs.matcher import compiled
from fleetui.profiles.model import Profile, Rule
from fleetui.reading.case import Case, Difference
from fleetui.reading.facts import Facts, fact_of_look
from fleetui.reading.findings import diagnose
from fleetui.reading.findings.siblings import traits_of
from fleetui.reading.progress import Work
from fleetui.reading.rates import StatusCounters, completion_rates
from fleetui.reading.row import row_stage
from fleetui.reading.stages import Happening, StageEvent, StageMachine
from fleetui.reading.streams import Arrival, StreamReader

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_FINDINGS_SECONDS = 5.0
_MOST_STREAMS = 64
_BEFORE_WORK = frozenset({Stage.PARAMS_DONE})
_STARTING = frozenset({Stage.DAEMON_START, Stage.DAEMON_RESTART})
_PROVING = frozenset({Stage.WARMUP, Stage.BENCH})
_FAILS: dict[str, frozenset[Stage]] = {
    "script_failed": _BEFORE_WORK | {Stage.C1_DOWNLOAD} | _STARTING | _PROVING,
    "input_failed": frozenset({Stage.C1_DOWNLOAD}),
    "bench_error": frozenset({Stage.C1_DOWNLOAD}) | _STARTING | _PROVING,
    "daemon_error": _STARTING,
}
"""Which stages a failing line can end, by its signal."""

_FREQUENT = frozenset(
    {
        "file_wanted", "file_progress", "file_fetched", "file_checked", "input_progress",
        "request", "job_queued",
    }
)  # fmt: skip

KEPT_RESTARTS = 8


class Reader:
    """The reading of one instance. Not thread-safe; copies nothing but what it must."""

    def __init__(self, profile: Profile, instance_id: int) -> None:
        self.profile = profile
        self.instance_id = instance_id
        self._matcher = compiled(profile.rules)
        self._streams: dict[str, StreamReader] = {}
        self._copied: dict[str, tuple[str, int, int]] = {}
        self._facts = Facts()
        self._stages = StageMachine()
        self._work = Work(profile)
        self._counters = StatusCounters()
        self._order = 0
        self._last_event: dict[str, tuple[Happening, Stage | None]] = {}
        self._guessed: dict[str, list[int]] = {}
        self._era: str | None = None
        self._min_rate: float | None = None
        self._probe: Probe | None = None
        self._first_probe: Probe | None = None
        self._status: DaemonStatus | None = None
        self._status_error: SafeText | None = None
        self._instance: Instance | None = None
        self._row: tuple[Stage, float] | None = None
        self._gone_at: float | None = None
        self._ssh: SshOutcome | None = None
        self._restarts: tuple[float, ...] = ()
        self._differences: tuple[Difference, ...] = ()
        self._skew: float | None = None
        self._changes = 0
        self._diagnosed: tuple[tuple[int, int, bool], float, tuple[Finding, ...]] | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> "Reader":
        twin = Reader(self.profile, self.instance_id)
        memo[id(self)] = twin
        memo[id(self.profile)] = self.profile
        for name, value in vars(self).items():
            if name not in ("profile", "_matcher"):
                setattr(twin, name, copy.deepcopy(value, memo))
        return twin

    # What is fed in.

    def feed(self, chunk: LogChunk, kind: str) -> None:
        """Take bytes of a stream of this kind."""
        path = chunk.stream.path
        stream = self._streams.get(path)
        if stream is None:
            if len(self._streams) >= _MOST_STREAMS:
                return
            stream = StreamReader(path, kind, self._matcher.for_kind(kind))
            self._streams[path] = stream
        before = stream.generation
        arrivals = stream.feed(chunk, self._skew)
        if stream.generation != before:
            self._generation_began(stream, chunk, before)
        self._read(stream, arrivals)
        stamp = stream.last_stamp
        if stamp is not None:
            lag = chunk.at - stamp
            self._skew = lag if self._skew is None else min(self._skew, lag)
            if path in self._guessed:
                self._place_guesses(path, stream)

    def observe_row(self, instance: Instance, at: float) -> None:
        """Take the instance's row of a complete walk."""
        self._instance = instance
        self._gone_at = None
        stage = row_stage(instance)
        if stage is None:
            self._row = None
        elif self._row is None or self._row[0] is not stage:
            self._row = (stage, at)
        texts = () if instance.status_msg is None else (instance.status_msg,)
        self._look("vast", "vast", texts, at)
        self._changes += 1

    def observe_probe(self, probe: Probe) -> None:
        """Take a look at the host."""
        self._first_probe = self._first_probe or probe
        self._probe = probe
        self._look("dmesg", "kernel", probe.kernel_lines or (), probe.at)
        said = probe.errors.get("nvidia-smi")
        self._look("nvidia_smi", "probe:nvidia-smi", () if said is None else (said,), probe.at)
        self._changes += 1

    def observe_status(
        self, status: DaemonStatus | None, error: SafeText | None, at: float
    ) -> None:
        """Take the daemon's status, or why there is none; the last good one is kept."""
        self._status_error = error
        if status is not None:
            self._status = msgspec.structs.replace(status, at=at)
            self._counters.take(self._status)
        self._changes += 1

    def observe_ssh(self, outcome: SshOutcome) -> None:
        """Take the last word on the connection."""
        self._ssh = outcome
        texts = () if outcome.detail is None else (outcome.detail,)
        self._look("ssh", "ssh", texts, outcome.at)
        self._changes += 1

    def observe_restart(self, at: float) -> None:
        """Take that somebody has the daemon restarted from now on: its end is no fault then."""
        self._restarts = (*self._restarts[-KEPT_RESTARTS + 1 :], at)
        self._changes += 1

    def observe_siblings(self, differences: tuple[Difference, ...]) -> bool:
        """Take in what the instance differs from its siblings; tell whether that is news."""
        if differences == self._differences:
            return False
        self._differences = differences
        self._changes += 1
        return True

    def gone(self, at: float) -> None:
        """Take that the instance is proved to be gone."""
        self._gone_at = at
        self._changes += 1

    # What comes out.

    def reading(self, now: float, *, live: bool = True) -> Reading:
        """Return what all that was fed means at `now` (epoch seconds).

        With `live=False` unfinished last lines count as whole, as nothing will follow.
        """
        if not live:
            twin = copy.deepcopy(self)
            twin._finish_lines()  # noqa: SLF001 - a copy of itself
            return twin._reading(twin.evidence_end(now), live=False)  # noqa: SLF001 - the same
        return self._reading(now, live=True)

    def case(self, now: float, *, live: bool = True) -> Case:
        """Return the evidence for a diagnosis; see `reading` for `live`."""
        if not live:
            twin = copy.deepcopy(self)
            twin._finish_lines()  # noqa: SLF001 - a copy of itself
            return twin._case(twin.evidence_end(now), live=False)  # noqa: SLF001 - the same
        return self._case(now, live=True)

    def evidence_end(self, other: float) -> float:
        """Return the newest time in the evidence; `other` when it tells none."""
        moments = [
            moment
            for stream in self._streams.values()
            for moment in (stream.last_stamp, stream.grown_at)
        ]
        moments += [look.at for look in (self._probe, self._status, self._ssh) if look is not None]
        return max((moment for moment in moments if moment is not None), default=other)

    def _reading(self, now: float, *, live: bool) -> Reading:
        case = self._case(now, live=live)
        findings = self._findings(case, live=live)
        newest = max(
            (stream for stream in self._streams.values() if stream.grown_at is not None),
            key=lambda stream: stream.grown_at or 0.0,
            default=None,
        )
        return Reading(
            instance_id=self.instance_id,
            at=now,
            stage=self._fleet_stage(case, findings),
            spans=self._spans_with_row(case.spans),
            progress=case.progress,
            rates=case.rates,
            min_rate=case.min_rate,
            era=case.era,
            findings=findings,
            probe=case.probe,
            status=case.status,
            status_error=case.status_error,
            ssh=case.ssh,
            newest_byte_at=newest.grown_at if newest else None,
            newest_byte_source=newest.path if newest else None,
            clock_skew_seconds=self._skew,
            traits=traits_of(case),
        )

    def _case(self, now: float, *, live: bool) -> Case:
        spans = self._stages.spans
        span = spans[-1] if spans else None
        is_active = span is not None and span.outcome is Outcome.ACTIVE
        tails = [stream.tail() for stream in self._streams.values()]
        return Case(
            now=now,
            live=live,
            stage=self._reached(),
            spans=spans,
            progress=self._work.progress(span, self._status, now) if is_active else None,
            rates=self._rates(spans, now),
            min_rate=self._min_rate,
            era=self._era,
            facts=self._facts.all,
            counts=self._facts.counts,
            tails=tuple(tail for tail in tails if tail is not None),
            probe=self._probe,
            first_probe=self._first_probe,
            status=self._status,
            status_error=self._status_error,
            instance=self._instance,
            ssh=self._ssh,
            restarts=self._restarts,
            differences=self._differences,
        )

    def _findings(self, case: Case, *, live: bool) -> tuple[Finding, ...]:
        key = (self._facts.version, self._changes, live)
        known = self._diagnosed
        if known is not None and known[0] == key and case.now - known[1] < _FINDINGS_SECONDS:
            return known[2]
        findings = diagnose(case)
        self._diagnosed = (key, case.now, findings)
        return findings

    def _reached(self) -> Stage:
        reached = self._stages.reached
        if reached is not None:
            return reached
        if self._row is not None:
            return self._row[0]
        return Stage.BOOT

    def _fleet_stage(self, case: Case, findings: tuple[Finding, ...]) -> Stage:
        """The stage for the fleet's table.

        Gone and what the row says come first. `FAILED` is shown when the last stage ended in
        failure, nothing has happened since, and a critical finding tells why.
        """
        if self._gone_at is not None:
            return Stage.GONE
        if self._row is not None:
            return self._row[0]
        last = case.spans[-1] if case.spans else None
        has_cause = any(finding.severity is Severity.CRITICAL for finding in findings)
        if last is not None and last.outcome is Outcome.FAILED and has_cause:
            return Stage.FAILED
        return case.stage

    def _spans_with_row(self, spans: tuple[StageSpan, ...]) -> tuple[StageSpan, ...]:
        """Add the stay that the API tells of and no log can."""
        if self._gone_at is not None:
            stage, since = Stage.GONE, self._gone_at
        elif self._row is not None:
            stage, since = self._row
        else:
            return spans
        text = self._instance.actual_status if self._instance is not None else None
        evidence = Evidence(source="vast", text=text or SafeText("no status"), at=since)
        ended = [_ended(span, since) for span in spans]
        return (*ended, StageSpan(stage=stage, started_at=since, evidence=evidence))

    def _rates(self, spans: tuple[StageSpan, ...], now: float) -> tuple[Rate, ...]:
        rates: list[Rate] = []
        if self._work.benchmark is not None:
            rates.append(self._work.benchmark.rate())
        since = self._measured_since(spans)
        if since is not None:
            rates.extend(completion_rates(self._work.jobs.done, since, self._host_time(now)))
        from_status = self._counters.rate()
        if from_status is not None:
            rates.append(from_status)
        return tuple(rates)

    def _measured_since(self, spans: tuple[StageSpan, ...]) -> float | None:
        if not spans:
            return None
        if spans[-1].stage is Stage.BENCH:
            batch = self._work.batch
            return batch.started_at if batch is not None else spans[-1].started_at
        # A restart in between is time without proofs, not a new measurement.
        since = None
        for span in reversed(spans):
            if span.stage is Stage.RUNNING:
                since = span.started_at
            elif span.stage is not Stage.DAEMON_RESTART:
                break
        return since

    def _host_time(self, now: float) -> float:
        """What the host's clock shows at `now`, when it is known to run ahead."""
        return now - self._skew if self._skew is not None and self._skew < 0 else now

    # How lines become facts and happenings.

    def _read(self, stream: StreamReader, arrivals: list[Arrival]) -> None:
        if not arrivals:
            return
        copies = self.profile.copies_of(stream.kind)
        for arrival in arrivals:
            if copies and self._is_copy(stream, arrival):
                continue
            for rule, fields in arrival.hit.matches:
                fact = Fact(
                    rule=rule.id,
                    kind=stream.kind,
                    source=stream.path,
                    generation=arrival.generation,
                    offset=arrival.hit.offset,
                    line=arrival.hit.line,
                    text=arrival.hit.text,
                    at=arrival.at,
                    fields=fields,
                    category=rule.category,
                )
                self._facts.add(rule, fact)
                if rule.signal is not None or rule.stage is not None:
                    self._act(stream, rule, fact, arrival)

    def _is_copy(self, stream: StreamReader, arrival: Arrival) -> bool:
        """Tell whether another file of the kind has shown these bytes; else mark them shown."""
        here = (arrival.generation, arrival.hit.position)
        known = self._copied.get(stream.kind)
        if known is not None and known[0] != stream.path:
            other = self._streams[known[0]]
            length = min(len(other.head), len(stream.head))
            if other.head[:length] != stream.head[:length]:
                return False
            if here <= known[1:]:
                return True
        self._copied[stream.kind] = (stream.path, *here)
        return False

    def _act(self, stream: StreamReader, rule: Rule, fact: Fact, arrival: Arrival) -> None:
        signal = rule.signal
        if signal == "boot":
            self._min_rate = _positive(fact.fields.get("min_rate"), self._min_rate)
        elif signal == "era_preload":
            self._era = "O"
        elif signal == "era_budget":
            self._era = "N"
        if signal is not None:
            self._work.take(signal, fact.fields, arrival.at, arrival.arrived)
        event = _event(rule, fact)
        if event is None:
            return
        happening, stage, stages = event
        if signal in _FREQUENT and self._last_event.get(stream.path) == (happening, stage):
            return
        self._happen(stream, fact, happening, stage, stages, is_guess=arrival.is_guess)

    def _happen(
        self,
        stream: StreamReader,
        fact: Fact,
        happening: Happening,
        stage: Stage | None = None,
        stages: frozenset[Stage] = frozenset(),
        *,
        is_guess: bool = False,
    ) -> None:
        self._order += 1
        self._last_event[stream.path] = (happening, stage)
        if is_guess:
            self._guessed.setdefault(stream.path, []).append(self._order)
        self._stages.add(
            StageEvent(
                at=fact.at or 0.0,
                order=self._order,
                happening=happening,
                stage=stage,
                stages=stages,
                evidence=Evidence(
                    source=fact.source,
                    text=fact.text,
                    line=fact.line,
                    generation=fact.generation,
                    offset=fact.offset,
                    at=fact.at,
                ),
            )
        )

    def _place_guesses(self, path: str, stream: StreamReader) -> None:
        """Date back what was read before the first time in its file."""
        orders = self._guessed.pop(path)
        first = stream.first_stamp
        if first is not None:
            for order in orders:
                self._stages.date_back(order, first)

    def _generation_began(self, stream: StreamReader, chunk: LogChunk, before: int) -> None:
        fact = Fact(
            rule="",
            kind=stream.kind,
            source=stream.path,
            generation=stream.generation,
            offset=chunk.offset,
            line=1,
            text=SafeText("the file begins"),
            at=chunk.at,
        )
        stage = self.profile.stage_of(stream.kind)
        if stage is not None:
            self._happen(stream, fact, Happening.STAGE, stage, is_guess=True)
        elif before and stream.kind == "bench":
            self._happen(stream, fact, Happening.BENCHMARK_RUN)

    def _look(self, kind: str, source: str, texts: tuple[SafeText, ...], at: float | None) -> None:
        """Match lines that come from no file against the operator's own rules.

        The diagnosis itself applies the built-in rules to what probes and rows say.
        """
        matcher = self._matcher.for_kind(kind)
        self._facts.look(
            source,
            tuple(
                fact_of_look(rule, kind, source, line=line, text=text, at=at, fields=fields)
                for line, text in enumerate(texts, 1)
                for rule, fields in matcher.match(text)
                if rule.user
            ),
        )

    def _finish_lines(self) -> None:
        for stream in list(self._streams.values()):
            if stream.grown_at is not None:
                self._read(stream, stream.finish(stream.grown_at))


def _event(rule: Rule, fact: Fact) -> tuple[Happening, Stage | None, frozenset[Stage]] | None:
    none: frozenset[Stage] = frozenset()
    match rule.signal:
        case "boot":
            return Happening.BOOT, None, none
        case "bench_run":
            return Happening.BENCHMARK_RUN, None, none
        case "daemon_starting":
            return Happening.DAEMON_STARTING, None, none
        case "params_failed":
            return Happening.PARAMS_FAILED, None, none
        case "request" | "job_queued":
            is_benchmark = _UUID.match(fact.fields.get("job", "")) is not None
            return (Happening.BENCHMARK_JOB if is_benchmark else Happening.FLEET_JOB), None, none
        case "single_result" if fact.fields.get("status", "").upper() != "COMPLETED":
            return Happening.FAILED, None, frozenset({Stage.WARMUP})
        case "batch_summary" if fact.fields.get("completed") == "0":
            return Happening.FAILED, None, frozenset({Stage.BENCH})
    if rule.fails and rule.signal in _FAILS:
        return Happening.FAILED, None, _FAILS[rule.signal]
    if rule.stage is not None:
        return Happening.STAGE, rule.stage, none
    return None


def _ended(span: StageSpan, at: float) -> StageSpan:
    if span.outcome is not Outcome.ACTIVE:
        return span
    return msgspec.structs.replace(span, outcome=Outcome.UNKNOWN, ended_at=at)


def _positive(text: str | None, other: float | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return other
    return value if 0 < value < 1e9 else other
