"""From happenings in their order to the stays in stages that they make."""

from msgspec.structs import replace as replace_span

from fleetui.domain.stage import Outcome, Stage, StageSpan
from fleetui.reading.stage_event import Happening, StageEvent

_RANK = {stage: rank for rank, stage in enumerate(Stage)}
_FALSE_READY_SECONDS = 30.0
"""How soon after it called itself ready a daemon may end with an error (a held port)."""
_PROVING = frozenset({Stage.WARMUP, Stage.BENCH})
_STARTING = frozenset({Stage.DAEMON_START, Stage.DAEMON_RESTART})
_SERVED = frozenset({Stage.BENCH_DONE, Stage.RUNNING})
_ANSWER_SECONDS = 5.0
"""How much earlier than its log says a daemon may seem to have started by its own answers."""
_BENCHMARK = frozenset(
    {
        Stage.C1_DOWNLOAD, Stage.DAEMON_START, Stage.WARMUP, Stage.DAEMON_RESTART, Stage.BENCH,
        Stage.BENCH_DONE,
    }
)  # fmt: skip
"""Stages that a further run of the benchmark goes through again."""
_ANSWERED = frozenset({Happening.PROVED, Happening.DAEMON_READY, Happening.FLEET_JOB})


class Fold:
    """One pass over the happenings in their order."""

    def __init__(self) -> None:
        self.spans: list[StageSpan] = []
        self._attempts: dict[Stage, int] = {}
        self._again = False
        self._started_here = False
        self._served_fleet = False
        self._is_planned = False
        self._ready_at: float | None = None
        self._first_job = ""
        self._is_supposed = False

    def take(self, event: StageEvent) -> None:
        """Take the next happening."""
        if self._is_of_older_daemon(event):
            return
        if self._is_supposed and event.happening not in _ANSWERED:
            # What a log tells of the life counts more than what the answers let suppose.
            self.spans.clear()
            self._attempts.clear()
            self._is_supposed = False
        self._move(event)

    def _move(self, event: StageEvent) -> None:
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
                self._is_supposed = False
                self._reach(Stage.RUNNING, event)
            case Happening.BENCHMARK_JOB:
                self._benchmark_job(event)
            case Happening.PROVED:
                self._proved(event)
            case Happening.FAILED:
                self._failed(event)
            case Happening.PARAMS_FAILED:
                self._params_failed(event)

    def _is_of_older_daemon(self, event: StageEvent) -> bool:
        """Whether an answer is of the daemon before the one that is being started."""
        began = self.spans[-1].started_at if self._present in _STARTING else None
        return (
            event.daemon_since is not None
            and began is not None
            and event.daemon_since < began - _ANSWER_SECONDS
        )

    @property
    def _before_start(self) -> StageSpan | None:
        """Return what was before the daemon's present start."""
        earlier = (span for span in reversed(self.spans) if span.stage not in _STARTING)
        return next(earlier, None)

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
        if stage in (Stage.DAEMON_START, Stage.WARMUP):
            self._first_job = ""
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
            is_done = present is Stage.BENCH_DONE
            self._again = False
            self._open(stage, event, Outcome.DONE if is_done else Outcome.UNKNOWN)
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
        """Go on to where the daemon's start leads, unless work must show that first."""
        if self._present is Stage.DAEMON_START and not self._has_failed:
            before = self._before_start
            if before is None:
                # First seen at its start: who will use it is not known.
                self._end(event.at, Outcome.DONE)
            elif before.stage in _SERVED:
                self._open(Stage.RUNNING, event)
            self._ready_at = event.at
            return
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
                # What a daemon that never served was said to do.
                self._attempts[Stage.RUNNING] -= 1
                self.spans.pop()
            self.spans[-1] = replace_span(self.spans[-1], ended_at=event.at, outcome=Outcome.FAILED)
        elif self._present in event.stages:
            self._end(event.at, Outcome.FAILED)

    def _was_false_ready(self, event: StageEvent) -> bool:
        """Whether the daemon ends with an error just after it called itself ready."""
        ends = [span.stage for span in self.spans[-2:]]
        return (
            self._ready_at is not None
            and event.at - self._ready_at <= _FALSE_READY_SECONDS
            and event.stages <= _STARTING
            and (ends[-1] in _STARTING or (ends[0] in _STARTING and ends[-1] is Stage.RUNNING))
        )

    def _benchmark_job(self, event: StageEvent) -> None:
        present = self._present
        is_first = self._first_job in ("", event.job)
        if present is Stage.DAEMON_RESTART and (
            self._started_here or event.daemon_since is not None or not is_first
        ):
            # Without its start in view, the first job may be the warm-up's, dated too late.
            self._resume(event)
        elif present is None or _RANK[present] < _RANK[Stage.WARMUP]:
            self._reach(Stage.WARMUP, event)
        self._first_job = self._first_job or event.job

    def _resume(self, event: StageEvent) -> None:
        """Take that the restarted daemon works: for those that it worked for, or the benchmark."""
        before = self._before_start
        goes_on = before is not None and before.stage is Stage.RUNNING
        self._reach(Stage.RUNNING if goes_on else Stage.BENCH, event)

    def _proved(self, event: StageEvent) -> None:
        present, before = self._present, self._before_start
        if present is Stage.DAEMON_RESTART:
            self._resume(event)
        elif present is Stage.DAEMON_START:
            is_served = before is None or before.stage in _SERVED
            self._reach(Stage.RUNNING if is_served else Stage.WARMUP, event)
        elif present is None:
            self._reach(Stage.RUNNING, event)
            self._is_supposed = True

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
