"""Where an instance is in its life, from events that may come in any order between streams.

Events are kept by the time they happened and folded anew when one is added, so that a file read
late (first sight, an inquest without arrival times) tells the same story as one that was
followed. Inside one stream the order of its lines always holds.
"""

from bisect import insort
from dataclasses import dataclass, field, replace
from enum import StrEnum

from fleetui.domain.finding import Evidence
from fleetui.domain.stage import Outcome, Stage, StageSpan

_KEPT_FIRST = 64
_KEPT = 512
_LATE_SECONDS = 30.0
"""How late an end without a time may come: longer than a pause between reads of a file."""

_RANK = {stage: rank for rank, stage in enumerate(Stage)}
_BENCHMARK = frozenset(
    {
        Stage.C1_DOWNLOAD, Stage.DAEMON_START, Stage.WARMUP, Stage.DAEMON_RESTART, Stage.BENCH,
        Stage.BENCH_DONE,
    }
)  # fmt: skip
"""Stages that a further run of the benchmark goes through again."""


class Happening(StrEnum):
    """What can move an instance from stage to stage."""

    BOOT = "boot"
    STAGE = "stage"
    BENCHMARK_RUN = "bench_run"
    DAEMON_STARTING = "daemon_starting"
    FLEET_JOB = "fleet_job"
    """The daemon took work that curio names (facts: cuzk.md section 2, trap 5)."""
    BENCHMARK_JOB = "benchmark_job"
    FAILED = "failed"
    PARAMS_FAILED = "params_failed"


@dataclass(frozen=True, order=True, slots=True)
class StageEvent:
    """One happening. `stages` limits a failure to the stages that it can end."""

    at: float
    order: int
    happening: Happening = field(compare=False)
    stage: Stage | None = field(default=None, compare=False)
    stages: frozenset[Stage] = field(default=frozenset(), compare=False)
    evidence: Evidence | None = field(default=None, compare=False)


class StageMachine:
    """Collects happenings; tells the spans of the life they make."""

    def __init__(self) -> None:
        self._events: list[StageEvent] = []
        self._spans: tuple[StageSpan, ...] | None = ()
        self.dropped = 0

    def add(self, event: StageEvent) -> None:
        """Take one happening; it may lie before others that are known."""
        insort(self._events, event)
        if len(self._events) > _KEPT:
            del self._events[_KEPT_FIRST]
            self.dropped += 1
        self._spans = None

    def date_back(self, order: int, at: float) -> None:
        """Move an event that was dated by its arrival back to `at`, if that is earlier."""
        for place, event in enumerate(self._events):
            if event.order == order and at < event.at:
                self._events[place] = replace(event, at=at)
                self._events.sort()
                self._spans = None
                return

    @property
    def spans(self) -> tuple[StageSpan, ...]:
        """The stays in stages so far, the present one last."""
        if self._spans is None:
            fold = _Fold()
            for event in _in_true_order(self._events):
                fold.take(event)
            self._spans = tuple(fold.spans)
        return self._spans

    @property
    def reached(self) -> Stage | None:
        """The stage that the instance has reached, failed or not."""
        return self.spans[-1].stage if self.spans else None

    @property
    def newest_at(self) -> float | None:
        """When the last happening was."""
        return self._events[-1].at if self._events else None


def _in_true_order(events: list[StageEvent]) -> list[StageEvent]:
    """Put the benchmark's end before the start of the daemon that follows it.

    The benchmark's log tells no times, so that its end is dated by when it came.
    """
    ordered = list(events)
    for place, event in enumerate(events):
        if event.happening is not Happening.STAGE or event.stage is not Stage.BENCH_DONE:
            continue
        for earlier in range(place - 1, -1, -1):
            other = ordered[earlier]
            if event.at - other.at > _LATE_SECONDS:
                break
            if other.stage is Stage.BENCH:
                break
            if other.happening is Happening.DAEMON_STARTING:
                del ordered[place]
                ordered.insert(earlier, replace(event, at=other.at))
                break
    return ordered


class _Fold:
    """One pass over the happenings in their order."""

    def __init__(self) -> None:
        self.spans: list[StageSpan] = []
        self._attempts: dict[Stage, int] = {}
        self._again = False
        self._started_here = False
        self._served_fleet = False

    def take(self, event: StageEvent) -> None:
        match event.happening:
            case Happening.BOOT:
                self._boot(event)
            case Happening.STAGE if event.stage is not None:
                self._reach(event.stage, event)
            case Happening.BENCHMARK_RUN:
                self._again = self._present in _BENCHMARK or self._present is Stage.RUNNING
                if not self._again:
                    self._reach(Stage.PARAMS_DONE, event)
            case Happening.DAEMON_STARTING:
                self._daemon_starting(event)
            case Happening.FLEET_JOB:
                self._served_fleet = True
                self._reach(Stage.RUNNING, event)
            case Happening.BENCHMARK_JOB:
                self._benchmark_job(event)
            case Happening.FAILED:
                if self._present in event.stages:
                    self._end(event.at, Outcome.FAILED)
            case Happening.PARAMS_FAILED:
                self._params_failed(event)

    @property
    def _present(self) -> Stage | None:
        return self.spans[-1].stage if self.spans else None

    @property
    def _has_failed(self) -> bool:
        return bool(self.spans) and self.spans[-1].outcome is Outcome.FAILED

    def _open(self, stage: Stage, event: StageEvent, ended: Outcome = Outcome.DONE) -> None:
        self._end(event.at, ended)
        attempt = self._attempts.get(stage, 0) + 1
        self._attempts[stage] = attempt
        self._started_here = False
        self.spans.append(
            StageSpan(stage=stage, attempt=attempt, started_at=event.at, evidence=event.evidence)
        )

    def _end(self, at: float, outcome: Outcome) -> None:
        if not self.spans or self.spans[-1].outcome is not Outcome.ACTIVE:
            return
        last = self.spans[-1]
        self.spans[-1] = StageSpan(
            stage=last.stage,
            attempt=last.attempt,
            started_at=last.started_at,
            ended_at=at,
            outcome=outcome,
            evidence=last.evidence,
        )

    def _boot(self, event: StageEvent) -> None:
        if self._present is not Stage.BOOT:
            self._again = self._served_fleet = False
            self._open(Stage.BOOT, event, Outcome.UNKNOWN)

    def _reach(self, stage: Stage, event: StageEvent) -> None:
        present = self._present
        if present is None or _RANK[stage] > _RANK[present]:
            if not (self._again and stage in _BENCHMARK):
                self._open(stage, event)
                return
        elif stage is present and not self._again:
            if self._has_failed:
                self._open(stage, event)
            return
        if self._again and stage in _BENCHMARK:
            self._again = False
            self._open(stage, event, Outcome.UNKNOWN)
        elif stage is Stage.PARAM_FETCH and present is Stage.PARAMS_DONE:
            self._open(stage, event)

    def _daemon_starting(self, event: StageEvent) -> None:
        present = self._present
        if self._again or present is Stage.BENCH_DONE:
            self._again = False
            self._open(Stage.DAEMON_START, event)
        elif present in (Stage.DAEMON_START, Stage.DAEMON_RESTART):
            if self._started_here or self._has_failed:
                self._open(present, event, Outcome.FAILED)
        elif present in (Stage.WARMUP, Stage.BENCH):
            self._open(
                Stage.DAEMON_RESTART,
                event,
                Outcome.DONE if present is Stage.WARMUP else Outcome.UNKNOWN,
            )
        elif present is Stage.RUNNING:
            self._open(Stage.DAEMON_RESTART, event, Outcome.UNKNOWN)
        else:
            self._open(Stage.DAEMON_START, event)
        self._started_here = True

    def _benchmark_job(self, event: StageEvent) -> None:
        present = self._present
        if present is Stage.DAEMON_RESTART and self._started_here:
            earlier = self.spans[-2].stage if len(self.spans) > 1 else None
            self._reach(Stage.RUNNING if earlier is Stage.RUNNING else Stage.BENCH, event)
        elif present is None or _RANK[present] < _RANK[Stage.WARMUP]:
            self._reach(Stage.WARMUP, event)

    def _params_failed(self, event: StageEvent) -> None:
        if self._present is Stage.PARAMS_DONE:
            # The fetcher says "complete" before it says what failed (facts: cuzk.md section 4).
            undone = self.spans.pop()
            self._attempts[Stage.PARAMS_DONE] = undone.attempt - 1
            if self.spans and self.spans[-1].stage is Stage.PARAM_FETCH:
                last = self.spans.pop()
                self.spans.append(
                    StageSpan(
                        stage=last.stage,
                        attempt=last.attempt,
                        started_at=last.started_at,
                        evidence=last.evidence,
                    )
                )
        if self._present is not Stage.PARAM_FETCH:
            self._open(Stage.PARAM_FETCH, event)
        self._end(event.at, Outcome.FAILED)
