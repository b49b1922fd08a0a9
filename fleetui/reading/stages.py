"""Where an instance is in its life, from events that may come in any order between streams.

Events are kept by the time they happened and folded anew when one is added, so that a file read
late (first sight, an inquest without arrival times) tells the same story as one that was
followed. Inside one stream the order of its lines always holds.
"""

from bisect import insort
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from fleetui.domain.stage import Outcome, Stage, StageSpan
from fleetui.reading.stage_event import Happening, StageEvent
from fleetui.reading.stage_fold import Fold

_KEPT_FIRST = 64
_KEPT = 512
_BREAK_SECONDS = 60.0
_LATE_SECONDS = 30.0
"""How late an end without a time may come: longer than a pause between reads of a file."""


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
            fold = Fold()
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


def stay_began(
    spans: Sequence[StageSpan], stages: Collection[Stage], *, anew_at: float | None = None
) -> float | None:
    """Return since when the limit of these stages counts for the present stay, `None` if unknown.

    It counts anew after a failure, after a break (nothing known of what was between), and when
    somebody had the instance begin anew (`anew_at`).
    """
    since: float | None = None
    for span in reversed(spans):
        if span.stage not in stages:
            break
        ended = span.ended_at
        if since is not None and ended is not None and since - ended > _BREAK_SECONDS:
            break
        if span.outcome is Outcome.FAILED:
            since = span.ended_at if since is None else since
            break
        since = span.started_at if span.started_at is not None else since
    return since if since is None or anew_at is None else max(since, anew_at)


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
