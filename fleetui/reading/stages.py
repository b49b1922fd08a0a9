"""Where an instance is in its life, from events that may come in any order between streams.

Events are kept by the time they happened and folded anew when one is added, so that a file read
late (first sight, an inquest without arrival times) tells the same story as one that was
followed. Inside one stream the order of its lines always holds.
"""

from bisect import insort
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum

from msgspec.structs import replace as replace_span

from fleetui.domain.finding import Evidence
from fleetui.domain.stage import Outcome, Stage, StageSpan

_KEPT_FIRST = 64
_KEPT = 512
_LATE_SECONDS = 30.0
"""How late an end without a time may come: longer than a pause between reads of a file."""

_RANK = {stage: rank for rank, stage in enumerate(Stage)}
_FALSE_READY_SECONDS = 30.0
"""How soon after it called itself ready a daemon may end with an error (a held port)."""
_PROVING = frozenset({Stage.WARMUP, Stage.BENCH})
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
    DAEMON_READY = "daemon_ready"
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

    def move(self, moved: Callable[[float], float], kept: Collection[int]) -> None:
        """Date all events anew but those of the orders in `kept`."""
        self._events = sorted(
            event if event.order in kept else replace(event, at=moved(event.at))
            for event in self._events
        )
        self._spans = None

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
        span = standing(self.spans)
        return None if span is None else span.stage

    @property
    def newest_at(self) -> float | None:
        """When the last happening was."""
        return self._events[-1].at if self._events else None


def standing(spans: tuple[StageSpan, ...]) -> StageSpan | None:
    """Return the span that tells where the instance stands.

    It is the last one; but a restart of the daemon that is over, with nothing begun since,
    leaves the instance where it was.
    """
    for span in reversed(spans):
        if span.stage is not Stage.DAEMON_RESTART or span.outcome is not Outcome.DONE:
            return span
    return spans[-1] if spans else None


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
        self._is_planned = False
        self._ready_at: float | None = None

    def take(self, event: StageEvent) -> None:
        match event.happening:
            case Happening.BOOT:
                self._boot(event)
            case Happening.STAGE if event.stage is not None:
                self._reach(event.stage, event)
                self._is_planned = event.stage is Stage.DAEMON_RESTART or self._is_planned
            case Happening.BENCHMARK_RUN:
                self._again = self._present in _BENCHMARK or self._present is Stage.RUNNING
                if not self._again:
                    self._reach(Stage.PARAMS_DONE, event)
            case Happening.DAEMON_STARTING:
                self._daemon_starting(event)
            case Happening.DAEMON_READY:
                self._daemon_ready(event)
            case Happening.FLEET_JOB:
                self._served_fleet = True
                self._reach(Stage.RUNNING, event)
            case Happening.BENCHMARK_JOB:
                self._benchmark_job(event)
            case Happening.FAILED:
                self._failed(event)
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
        self._ready_at = None
        if stage in _PROVING:
            self._is_planned = False
        self.spans.append(
            StageSpan(stage=stage, attempt=attempt, started_at=event.at, evidence=event.evidence)
        )

    def _end(self, at: float, outcome: Outcome) -> None:
        if self.spans and self.spans[-1].outcome is Outcome.ACTIVE:
            self.spans[-1] = replace_span(self.spans[-1], ended_at=at, outcome=outcome)

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
        elif present in _PROVING:
            is_next = present is Stage.WARMUP
            self._open(Stage.DAEMON_RESTART, event, Outcome.DONE if is_next else Outcome.UNKNOWN)
        elif present is Stage.RUNNING:
            self._open(Stage.DAEMON_RESTART, event, Outcome.UNKNOWN)
        else:
            self._open(Stage.DAEMON_START, event)
        self._started_here = True
        self._ready_at = None

    @property
    def _interrupted(self) -> StageSpan | None:
        """What the daemon was restarted in the middle of; the benchmark's own restart is none."""
        if self._present is not Stage.DAEMON_RESTART or self._is_planned or not self._started_here:
            return None
        earlier = (span for span in reversed(self.spans) if span.stage is not Stage.DAEMON_RESTART)
        return next(earlier, None)

    def _daemon_ready(self, event: StageEvent) -> None:
        """Go back to where the restart found the instance, unless work must show that first."""
        interrupted = self._interrupted
        if interrupted is None:
            return
        if interrupted.stage is Stage.RUNNING:
            self._open(Stage.RUNNING, event)
        elif interrupted.outcome is Outcome.FAILED:
            self._end(event.at, Outcome.DONE)
        self._ready_at = event.at

    def _failed(self, event: StageEvent) -> None:
        interrupted = self._interrupted
        if interrupted is not None and interrupted.stage in _PROVING & event.stages:
            # The client whose daemon was restarted under it: its work failed, the restart did not.
            place = self.spans.index(interrupted)
            self.spans[place] = replace_span(interrupted, outcome=Outcome.FAILED)
            if self._ready_at is not None:
                self._end(event.at, Outcome.DONE)
        elif self._was_false_ready(event):
            if self._present is Stage.RUNNING:
                self._attempts[Stage.RUNNING] -= 1
                self.spans.pop()
            self.spans[-1] = replace_span(self.spans[-1], ended_at=event.at, outcome=Outcome.FAILED)
        elif self._present in event.stages:
            self._end(event.at, Outcome.FAILED)

    def _was_false_ready(self, event: StageEvent) -> bool:
        """Whether the daemon ends with an error just after it called itself ready."""
        restarts = [span.stage for span in self.spans[-2:]]
        return (
            self._ready_at is not None
            and event.at - self._ready_at <= _FALSE_READY_SECONDS
            and event.stages <= {Stage.DAEMON_START, Stage.DAEMON_RESTART}
            and (
                restarts[-1:] == [Stage.DAEMON_RESTART]
                or restarts == [Stage.DAEMON_RESTART, Stage.RUNNING]
            )
        )

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
                self.spans[-1] = replace_span(self.spans[-1], ended_at=None, outcome=Outcome.ACTIVE)
        if self._present is not Stage.PARAM_FETCH:
            self._open(Stage.PARAM_FETCH, event)
        self._end(event.at, Outcome.FAILED)
