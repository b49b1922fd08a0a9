"""What the log files of one instance tell: chunks to facts, happenings and work."""

from collections import deque
from collections.abc import Callable

from fleetui.domain.finding import Evidence
from fleetui.domain.host import DaemonStatus, Pipeline
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact, LogChunk
from fleetui.domain.text import SafeText
from fleetui.logs.matcher import Matcher
from fleetui.profiles.model import Profile, Rule
from fleetui.reading.case import StreamTail
from fleetui.reading.daemon_starts import SLACK_SECONDS
from fleetui.reading.facts import Facts
from fleetui.reading.figures import figure
from fleetui.reading.happenings import FREQUENT, happening_of, served_happenings
from fleetui.reading.progress import Work
from fleetui.reading.skew import LONGEST_FIRST_SECONDS, Skew
from fleetui.reading.stage_event import Happening, StageEvent
from fleetui.reading.stages import StageMachine
from fleetui.reading.streams import Arrival, StreamReader

_MOST_STREAMS = 64
_ROUNDED_SECONDS = 1.5
"""Programs that share a file may cut their times to whole seconds, and so seem to go back."""

_AHEAD_SECONDS = 5.0
"""How much later than its arrival a line may claim to be; reading and clocks are not that exact."""


class Intake:
    """Takes the bytes of all streams of one instance.

    Times of the host become ours here, once; nothing behind this door knows the host's clock.
    """

    def __init__(self, profile: Profile, matcher: Matcher) -> None:
        self._profile = profile
        self._matcher = matcher
        self._streams: dict[str, StreamReader] = {}
        self._copied: dict[str, tuple[str, int, int]] = {}
        self._order = 0
        self._last_event: dict[str, tuple[Happening, Stage | None]] = {}
        self._last_at: dict[str, float] = {}
        self._guessed: dict[str, list[int]] = {}
        self._placed: dict[tuple[str, int], float] = {}
        self.facts = Facts()
        self.stages = StageMachine()
        self.work = Work(profile)
        self.era: str | None = None
        self.min_rate: float | None = None
        self.skew = Skew()
        self._came_at = 0.0
        self._is_ahead = False
        self._jobs: deque[str] = deque(maxlen=64)
        self._served: tuple[float, frozenset[Happening]] = (0.0, frozenset())
        self._unmeasured: dict[str, StreamReader] = {}

    def feed(self, chunk: LogChunk, kind: str) -> None:
        """Take bytes of a stream of this kind."""
        path = chunk.stream.path
        stream = self._streams.get(path)
        if stream is None:
            if len(self._streams) >= _MOST_STREAMS:
                return
            stream = StreamReader(path, kind, self._matcher.for_kind(kind))
            self._streams[path] = stream
        if self._unmeasured and chunk.at != self._came_at:
            self.measure()
        self._came_at = chunk.at
        self._unmeasured[path] = stream
        before = stream.generation
        arrivals = stream.feed(chunk, self.skew.seconds)
        if stream.generation != before:
            self._generation_began(stream, chunk, before)
        self._read(stream, arrivals)
        if stream.last_stamp is not None and path in self._guessed:
            self._place_guesses(path, stream)

    def take_status(self, status: DaemonStatus, running: tuple[Pipeline, ...]) -> None:
        """Take what the daemon's own answer proves of the stage: that it serves, and for whom.

        Each is said once a daemon; `running` are the jobs that are really under way.
        """
        if status.at is None:
            return
        since = status.at - status.uptime_secs
        known_since, said = self._served
        if abs(since - known_since) > SLACK_SECONDS:
            said = frozenset()
        for happening, job in served_happenings(status, running):
            if happening in said:
                continue
            said |= {happening}
            self._order += 1
            done = status.counters.total_completed
            text = f"up {status.uptime_secs:.0f} s, {done} proofs done, {len(running)} under way"
            self.stages.add(
                StageEvent(
                    at=status.at,
                    order=self._order,
                    happening=happening,
                    job=job,
                    daemon_since=since,
                    evidence=Evidence(source="status", text=SafeText(text), at=status.at),
                )
            )
        self._served = (since, said)

    def measure(self) -> None:
        """Measure the host's clock by what came last.

        What came at one time is measured as a whole, for how it was cut must not show.
        """
        streams, self._unmeasured = self._unmeasured, {}
        for stream in streams.values():
            stamp = stream.new_stamp
            if stamp is not None:
                self._measure_skew(self._came_at, stamp, is_live=stream.is_live)
        if self._is_ahead:
            self._is_ahead = False
            self._date_anew(lambda at: min(at, self._came_at))

    def take_clock(self, at: float, host_at: float) -> None:
        """Take what the host's clock showed when a look at the host came."""
        self.measure()
        self._move(self.skew.take_clock(at, at - host_at), host_at)

    def finish(self) -> None:
        """End all unfinished last lines, as nothing will follow."""
        for stream in list(self._streams.values()):
            if stream.grown_at is not None:
                self._read(stream, stream.finish(stream.grown_at))

    def tails(self) -> tuple[StreamTail, ...]:
        """Return the ends of all streams."""
        tails = (stream.tail() for stream in self._streams.values())
        return tuple(tail for tail in tails if tail is not None)

    def known_since(self, kind: str) -> float | None:
        """Return since when everything of the files of a kind was read; `None` for ever."""
        streams = [stream for stream in self._streams.values() if stream.kind == kind]
        moments = [stream.known_since for stream in streams]
        return max(
            (moment + self.skew.correction for moment in moments if moment is not None),
            default=None,
        )

    def newest(self) -> StreamReader | None:
        """Return the stream that grew last."""
        return max(
            (stream for stream in self._streams.values() if stream.grown_at is not None),
            key=lambda stream: stream.grown_at or 0.0,
            default=None,
        )

    def newest_time(self) -> float | None:
        """Return the newest time of any line or arrival."""
        streams = self._streams.values()
        moments = [stream.grown_at for stream in streams if stream.grown_at is not None]
        moments += [
            stream.last_stamp + self.skew.correction
            for stream in streams
            if stream.last_stamp is not None
        ]
        return max(moments, default=None)

    def _measure_skew(self, at: float, stamp: float, *, is_live: bool) -> None:
        """Take a line's time and when it came."""
        self._move(self.skew.take_line(at, at - stamp, is_live=is_live), stamp)

    def _move(self, seconds: float, newest: float) -> None:
        """Set right what was read while something else was believed of the host's clock.

        What is later than the host's `newest` time was dated by its arrival, and is right.
        """
        # Lines from so far ahead were dated by their arrival, all of them.
        if not seconds or seconds < -LONGEST_FIRST_SECONDS:
            return
        last = newest + self.skew.correction - seconds

        def moved(at: float) -> float:
            return at + seconds if at <= last else at

        self._date_anew(moved)

    def _date_anew(self, moved: Callable[[float], float]) -> None:
        self.facts.move(moved)
        self.work.move(moved)
        guessed = {order for orders in self._guessed.values() for order in orders}
        self.stages.move(moved, guessed)
        self._placed = {key: moved(at) for key, at in self._placed.items()}
        self._last_at = {path: moved(at) for path, at in self._last_at.items()}

    def _our_time(self, stream: StreamReader, arrival: Arrival) -> float:
        """Return when a line was written, by our clock.

        No line comes before it is written, and none of a file that is followed is older than the
        one before it: what claims so has a stray time, or its clock was just set.
        """
        key = (stream.path, arrival.generation)
        before = self._placed.get(key)
        at = arrival.at if arrival.is_guess else arrival.at + self.skew.correction
        ahead = at - arrival.arrived
        if self.skew.seconds is None and 0 < ahead <= LONGEST_FIRST_SECONDS:
            # A clock that is ahead is measured when all that came now is read.
            self._is_ahead = True
        elif ahead > _AHEAD_SECONDS:
            at = min(arrival.arrived if before is None else before, arrival.arrived)
        else:
            at = min(at, arrival.arrived)
        if before is not None and stream.is_followed:
            at = max(at, before)
        self._placed[key] = at
        return at

    def _read(self, stream: StreamReader, arrivals: list[Arrival]) -> None:
        if not arrivals:
            return
        copies = self._profile.copies_of(stream.kind)
        for arrival in arrivals:
            if copies and self._is_copy(stream, arrival):
                continue
            at = self._our_time(stream, arrival)
            for rule, fields in arrival.hit.matches:
                fact = Fact(
                    rule=rule.id,
                    kind=stream.kind,
                    source=stream.path,
                    generation=arrival.generation,
                    offset=arrival.hit.offset,
                    line=arrival.hit.line,
                    text=arrival.hit.text,
                    at=at,
                    fields=fields,
                    category=rule.category,
                )
                self.facts.add(rule, fact)
                if rule.signal is not None or rule.stage is not None:
                    self._act(stream, rule, fact, at, arrival)

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

    def _act(
        self, stream: StreamReader, rule: Rule, fact: Fact, at: float, arrival: Arrival
    ) -> None:
        signal = rule.signal
        if signal == "boot":
            self.min_rate = _positive(fact.fields.get("min_rate"), self.min_rate)
        elif signal == "era_preload":
            self.era = "O"
        elif signal == "era_budget":
            self.era = "N"
        if signal is not None:
            self.work.take(signal, fact.fields, at, arrival.arrived)
        event = happening_of(rule, fact)
        if event is None:
            return
        happening, stage, stages = event
        job = fact.fields.get("job", "") if happening is Happening.BENCHMARK_JOB else ""
        is_known = not job or job in self._jobs
        if not is_known:
            self._jobs.append(job)
        is_same = self._last_event.get(stream.path) == (happening, stage)
        if signal in FREQUENT and is_same and is_known:
            return
        self._happen(stream, fact, happening, stage, stages, is_guess=arrival.is_guess, job=job)

    def _happen(
        self,
        stream: StreamReader,
        fact: Fact,
        happening: Happening,
        stage: Stage | None = None,
        stages: frozenset[Stage] = frozenset(),
        *,
        is_guess: bool = False,
        job: str = "",
    ) -> None:
        self._order += 1
        self._last_event[stream.path] = (happening, stage)
        at, before = fact.at or 0.0, self._last_at.get(stream.path, 0.0)
        if 0 < before - at <= _ROUNDED_SECONDS:
            at = before
        self._last_at[stream.path] = at
        if is_guess:
            self._guessed.setdefault(stream.path, []).append(self._order)
        self.stages.add(
            StageEvent(
                at=at,
                order=self._order,
                happening=happening,
                stage=stage,
                stages=stages,
                job=job,
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
                self.stages.date_back(order, first + self.skew.correction)

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
        stage = self._profile.stage_of(stream.kind)
        if stage is not None:
            self._happen(stream, fact, Happening.STAGE, stage, is_guess=True)
        elif before and stream.kind == "bench":
            self._happen(stream, fact, Happening.BENCHMARK_RUN)


def _positive(text: str | None, other: float | None) -> float | None:
    value = figure(text, 0.0)
    return value if 0 < value < 1e9 else other
