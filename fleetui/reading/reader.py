"""All that is known of one instance, and what it means.

The one pure path from bytes, probes, API rows and status answers to a reading: the collector,
`fleetui diagnose`, replays and the tests all use it.
"""

import copy

import msgspec

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.host import DaemonStatus, Probe, SshOutcome, SshState
from fleetui.domain.instance import Instance
from fleetui.domain.rate import Rate
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Outcome, Stage, StageSpan
from fleetui.domain.stream import LogChunk
from fleetui.domain.text import SafeText
from fleetui.logs.matcher import compiled
from fleetui.profiles.model import Profile
from fleetui.reading.case import Case, Counted, Difference
from fleetui.reading.facts import fact_of_look
from fleetui.reading.findings import diagnose
from fleetui.reading.findings.siblings import traits_of
from fleetui.reading.intake import Intake
from fleetui.reading.rates import completion_rates
from fleetui.reading.row import row_stage
from fleetui.reading.stages import standing
from fleetui.reading.status_watch import StatusWatch

_FINDINGS_SECONDS = 5.0
KEPT_RESTARTS = 8
KEPT_LOSSES = 50


class Reader:
    """The reading of one instance. Not thread-safe; copies nothing but what it must."""

    def __init__(self, profile: Profile, instance_id: int) -> None:
        self.profile = profile
        self.instance_id = instance_id
        self._matcher = compiled(profile.rules)
        self._intake = Intake(profile, self._matcher)
        self._daemon = StatusWatch()
        self._probe: Probe | None = None
        self._first_probe: Probe | None = None
        self._status_error: SafeText | None = None
        self._instance: Instance | None = None
        self._row: tuple[Stage, float] | None = None
        self._had_run = False
        self._gone_at: float | None = None
        self._ssh: SshOutcome | None = None
        self._ssh_losses: tuple[SshOutcome, ...] = ()
        self._restarts: tuple[float, ...] = ()
        self._differences: tuple[Difference, ...] = ()
        self._changes = 0
        self._diagnosed: tuple[tuple[int, int, bool], float, tuple[Finding, ...]] | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> "Reader":
        twin = Reader(self.profile, self.instance_id)
        memo[id(self)] = twin
        memo[id(self.profile)] = self.profile
        for name, value in vars(self).items():
            setattr(twin, name, copy.deepcopy(value, memo))
        return twin

    # What is fed in.

    def feed(self, chunk: LogChunk, kind: str) -> None:
        """Take bytes of a stream of this kind."""
        self._intake.feed(chunk, kind)

    def observe_row(self, instance: Instance, at: float) -> None:
        """Take the instance's row of a complete walk."""
        self._instance = instance
        self._gone_at = None
        stage = row_stage(instance)
        if stage is None:
            self._row = None
        elif self._row is None or self._row[0] is not stage:
            self._row = (stage, at)
        self._had_run = self._had_run or stage is not Stage.LOADING
        texts = () if instance.status_msg is None else (instance.status_msg,)
        self._look("vast", "vast", texts, at)
        self._changes += 1

    def observe_probe(self, probe: Probe) -> None:
        """Take a look at the host."""
        self._first_probe = self._first_probe or probe
        self._probe = probe
        if probe.at is not None and probe.clock is not None:
            # Its seconds are cut: half of one is the mean of what is missing.
            self._intake.take_clock(probe.at, probe.clock + 0.5)
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
            answer = msgspec.structs.replace(status, at=at)
            self._daemon.take(answer)
            self._intake.take_status(answer, self._daemon.running())
        self._changes += 1

    def observe_ssh(self, outcome: SshOutcome) -> None:
        """Take the last word on the connection."""
        self._ssh = outcome
        if outcome.state is SshState.LOST:
            self._ssh_losses = (*self._ssh_losses[-KEPT_LOSSES + 1 :], outcome)
        texts = () if outcome.detail is None else (outcome.detail,)
        self._look("ssh", "ssh", texts, outcome.at)
        self._changes += 1

    def observe_restart(self, at: float) -> None:
        """Take that somebody has it begin anew from now on: the daemon's end is no fault then."""
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

    @property
    def faults(self) -> int:
        """How many kinds of faulty lines were seen: it grows with the first byte of a new one."""
        return self._intake.facts.faults

    @property
    def in_flight(self) -> frozenset[str] | None:
        """The jobs that the daemon is at by its log; `None` when nothing of one was read."""
        jobs = self._intake.work.jobs
        if not jobs.has_log:
            return None
        return frozenset(name for name, job in jobs.running.items() if job.started_at is not None)

    def reading(self, now: float, *, live: bool = True) -> Reading:
        """Return what all that was fed means at `now` (epoch seconds).

        With `live=False` unfinished last lines count as whole, as nothing will follow.
        """
        self._intake.measure()
        if not live:
            return self._as_left()._reading(self.evidence_end(now), live=False)  # noqa: SLF001 - a copy of itself
        return self._reading(now, live=True)

    def case(self, now: float, *, live: bool = True) -> Case:
        """Return the evidence for a diagnosis; see `reading` for `live`."""
        self._intake.measure()
        if not live:
            return self._as_left()._case(self.evidence_end(now), live=False)  # noqa: SLF001 - a copy of itself
        return self._case(now, live=True)

    def evidence_end(self, other: float) -> float:
        """Return the newest time in the evidence; `other` when it tells none."""
        looks = (self._probe, self._daemon.newest, self._ssh)
        moments = [self._intake.newest_time(), *(look.at for look in looks if look is not None)]
        return max((moment for moment in moments if moment is not None), default=other)

    def _as_left(self) -> "Reader":
        twin = copy.deepcopy(self)
        twin._intake.finish()  # noqa: SLF001 - a copy of itself
        return twin

    def _reading(self, now: float, *, live: bool) -> Reading:
        case = self._case(now, live=live)
        findings = self._findings(case, live=live)
        newest = self._intake.newest()
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
            clock_skew_seconds=self._intake.skew.seconds,
            traits=traits_of(case),
            begun_anew_at=max(self._restarts, default=None),
        )

    def _case(self, now: float, *, live: bool) -> Case:
        intake = self._intake
        spans = intake.stages.spans
        span = standing(spans)
        is_active = span is not None and span.outcome is Outcome.ACTIVE
        return Case(
            now=now,
            live=live,
            stage=self._reached(),
            spans=spans,
            progress=intake.work.progress(span, self._daemon, now) if is_active else None,
            rates=self._rates(spans, now),
            min_rate=intake.min_rate,
            era=intake.era,
            facts=intake.facts.all,
            counts=intake.facts.counts,
            tails=intake.tails(),
            probe=self._probe,
            first_probe=self._first_probe,
            status=self._daemon.newest,
            status_error=self._status_error,
            instance=self._instance,
            ssh=self._ssh,
            ssh_losses=self._ssh_losses,
            restarts=self._restarts,
            loading_since=self._loading_since(spans),
            counted=self._counted(spans, now),
            differences=self._differences,
            daemon_starts=tuple(self._daemon.starts.starts),
            stage_limits=self.profile.stage_limits,
            image_cuda=self.profile.image_cuda,
            silence_limits=self.profile.silence_limits,
        )

    def _findings(self, case: Case, *, live: bool) -> tuple[Finding, ...]:
        key = (self._intake.facts.version, self._changes, live)
        known = self._diagnosed
        if known is not None and known[0] == key and case.now - known[1] < _FINDINGS_SECONDS:
            return known[2]
        findings = diagnose(case)
        self._diagnosed = (key, case.now, findings)
        return findings

    def _reached(self) -> Stage:
        reached = self._intake.stages.reached
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
        last = standing(case.spans)
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
        work = self._intake.work
        rates: list[Rate] = []
        if work.benchmark is not None:
            rates.append(work.benchmark.rate())
        since = self._measured_since(spans)
        if since is not None and work.jobs.has_log:
            rates.extend(completion_rates(work.jobs.done, since, self._known_until(now)))
        from_status = self._daemon.counters.rate()
        if from_status is not None:
            rates.append(from_status)
        return tuple(rates)

    def _loading_since(self, spans: tuple[StageSpan, ...]) -> float | None:
        if self._row is None or self._row[0] is not Stage.LOADING:
            return None
        return self._row[1] if self._had_run or spans else None

    def _counted(self, spans: tuple[StageSpan, ...], now: float) -> Counted | None:
        """Return both counts of the last hour, where both were there without a break."""
        counters, jobs = self._daemon.counters, self._intake.work.jobs
        rate, since = counters.rate(), self._measured_since(spans)
        if rate is None or since is None or not jobs.has_log or not self._daemon.is_fresh(now):
            return None
        begin = rate.measured_at - rate.window_seconds
        started = [start.at for start in self._daemon.starts.starts if not start.is_first]
        breaks = [*started, *self._restarts, jobs.started_at or 0.0, since]
        if max(breaks) > begin or self._known_until(now) < rate.measured_at:
            return None
        return Counted(
            by_log=jobs.done.between(begin, rate.measured_at),
            by_counter=rate.proofs,
            window=rate.window_seconds,
            at=rate.measured_at,
        )

    def _known_until(self, now: float) -> float:
        """Return until when the host's logs are known: `now`, unless the connection is lost."""
        if self._ssh is None or self._ssh.state is SshState.CONNECTED:
            return now
        newest = self._intake.newest()
        looks = (self._probe, self._daemon.newest)
        moments = [look.at for look in looks if look is not None and look.at is not None]
        if newest is not None and newest.grown_at is not None:
            moments.append(newest.grown_at)
        return min(now, max(moments, default=now))

    def _measured_since(self, spans: tuple[StageSpan, ...]) -> float | None:
        """Return since when the proofs of the present work were counted."""
        worked, known = self._worked_since(spans), self._intake.known_since("daemon")
        return worked if worked is None or known is None else max(worked, known)

    def _worked_since(self, spans: tuple[StageSpan, ...]) -> float | None:
        if not spans:
            return None
        if spans[-1].stage is Stage.BENCH:
            batch = self._intake.work.batch
            return batch.started_at if batch is not None else spans[-1].started_at
        # A restart in between is time without proofs, not a new measurement.
        since = None
        for span in reversed(spans):
            if span.stage is Stage.RUNNING:
                since = span.started_at
            elif span.stage is not Stage.DAEMON_RESTART:
                break
        return since

    def _look(self, kind: str, source: str, texts: tuple[SafeText, ...], at: float | None) -> None:
        """Match lines that come from no file against the operator's own rules.

        The diagnosis itself applies the built-in rules to what probes and rows say.
        """
        matcher = self._matcher.for_kind(kind)
        self._intake.facts.look(
            source,
            tuple(
                fact_of_look(rule, kind, source, line=line, text=text, at=at, fields=fields)
                for line, text in enumerate(texts, 1)
                for rule, fields in matcher.match(text)
                if rule.user
            ),
        )


def _ended(span: StageSpan, at: float) -> StageSpan:
    if span.outcome is not Outcome.ACTIVE:
        return span
    return msgspec.structs.replace(span, outcome=Outcome.UNKNOWN, ended_at=at)
