"""Whatever the splits, overlaps, lives and limits: bytes stored are the bytes written."""

import asyncio
import sqlite3
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fleetui.domain.stream import LogChunk, StreamId
from fleetui.store.interface import StoreError
from fleetui.store.log_budget import LogBudget
from store_bench import STREAM, Bench, chunk, position

OTHER = StreamId(8, "/var/log/entrypoint.log")
SIZES = st.one_of(st.integers(0, 300), st.sampled_from([65_535, 65_536, 65_537, 150_001]))


class Life:
    """What the model knows of one generation: its bytes, `None` where they were skipped."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, bytes]] = []
        self.end = 0
        self.skipped = 0
        self.fetched = 0
        self.content = bytearray()
        """All that the file held, skipped parts too."""

    def write(self, data: bytes) -> None:
        if data:
            self.parts.append((self.end, data))
            self.end += len(data)
            self.content += data

    def skip(self, hidden: bytes) -> None:
        self.content += hidden
        self.end += len(hidden)
        self.skipped += len(hidden)

    def fetch(self, start: int, end: int) -> None:
        """Take the bytes that were fetched from the file."""
        self.parts.insert(0, (start, bytes(self.content[start:end])))

    def slice(self, start: int) -> bytes:
        """Return the written bytes from `start`, to send them again."""
        return b"".join(
            data[max(start - at, 0) :] for at, data in self.parts if at + len(data) > start
        )

    def last_gap_end(self) -> int:
        end, cursor = 0, 0
        for at, data in self.parts:
            if at > cursor:
                end = at
            cursor = at + len(data)
        return max(end, cursor) if cursor < self.end else end


class LogMachine(RuleBasedStateMachine):
    budget = LogBudget(stream_bytes=120_000, instance_bytes=150_000, total_bytes=200_000)

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.path = Path(self.folder.name) / "fleet.db"
        self.lives: dict[tuple[StreamId, int], Life] = {}
        self.counter = 0
        self.at = 0.0

    @initialize(limited=st.booleans())
    def start(self, limited: bool) -> None:
        self.limits = self.budget if limited else None
        self.bench = self.loop.run_until_complete(Bench.open(self.path, self.limits))

    def teardown(self) -> None:
        self.loop.run_until_complete(self.bench.store.close())
        self.loop.close()
        self.folder.cleanup()

    def noise(self, size: int) -> bytes:
        self.counter += 1
        return (b"%08d" % self.counter * (size // 8 + 1))[:size]

    def newest(self, stream: StreamId) -> tuple[int, Life]:
        number = max((life for known, life in self.lives if known == stream), default=1)
        return number, self.lives.setdefault((stream, number), Life())

    def send(self, stream: StreamId, number: int, chunks: list[LogChunk]) -> None:
        life = self.lives[stream, number]
        where = position(life.end, generation=number, skipped=life.skipped, stream=stream)
        self.loop.run_until_complete(self.bench.publish(*chunks, positions=[where]))

    @rule(
        stream=st.sampled_from([STREAM, OTHER]),
        sizes=st.lists(SIZES, min_size=1, max_size=4),
        back=st.integers(0, 400),
        later=st.sampled_from([0.0, 0.4, 30.0]),
    )
    def append(self, stream: StreamId, sizes: list[int], back: int, later: float) -> None:
        number, life = self.newest(stream)
        self.at += later
        chunks = []
        # The first chunk repeats up to `back` bytes that are stored already.
        start = max(life.end - back, life.last_gap_end())
        repeated = life.slice(start)
        if repeated:
            chunks.append(chunk(start, repeated, generation=number, at=self.at, stream=stream))
        for size in sizes:
            data = self.noise(size)
            chunks.append(chunk(life.end, data, generation=number, at=self.at, stream=stream))
            life.write(data)
        self.send(stream, number, chunks)

    @rule(stream=st.sampled_from([STREAM, OTHER]), ahead=st.integers(1, 2))
    def replace_file(self, stream: StreamId, ahead: int) -> None:
        number = max((life for known, life in self.lives if known == stream), default=0)
        life = self.lives.setdefault((stream, number + ahead), Life())
        data = self.noise(50)
        life.write(data)
        self.send(
            stream, number + ahead, [chunk(0, data, generation=number + ahead, stream=stream)]
        )

    @rule(stream=st.sampled_from([STREAM, OTHER]), gap=st.integers(1, 10_000), size=SIZES)
    def skip(self, stream: StreamId, gap: int, size: int) -> None:
        number, life = self.newest(stream)
        life.skip(self.noise(gap))
        data = self.noise(size)
        chunks = [chunk(life.end, data, generation=number, at=self.at, stream=stream)]
        life.write(data)
        self.send(stream, number, chunks)

    @rule(
        stream=st.sampled_from([STREAM, OTHER]),
        size=st.one_of(st.integers(1, 3000), st.sampled_from([65_536, 140_000])),
        again=st.integers(0, 300),
    )
    def fetch_older(self, stream: StreamId, size: int, again: int) -> None:
        if not any(known == stream for known, _ in self.lives):
            return
        number, life = self.newest(stream)
        store = self.bench.store
        window = self.loop.run_until_complete(store.log_window(stream, generation=number))
        if window is None or window.first_offset == window.end_offset:
            return
        first = window.first_offset
        start = max(first - size, 0)
        # The last bytes are stored already.
        data = bytes(life.content[start : first + again])
        older = chunk(start, data, generation=number, at=1e9, stream=stream)
        dropped = window.dropped
        try:
            new = self.loop.run_until_complete(store.keep_older(self.bench.lease, older))
        except StoreError:
            assert self.limits is not None, "there is room"
            return
        assert new == first - start
        life.fetch(start, first)
        life.fetched += new
        window = self.loop.run_until_complete(store.log_window(stream, generation=number))
        assert window is not None
        assert (window.first_offset, window.dropped) == (start, dropped - new)
        assert self.loop.run_until_complete(store.keep_older(self.bench.lease, older)) == 0

    @precondition(lambda self: self.lives)
    @rule(data=st.sampled_from([b"", b"x"]))
    def a_hole_before_older_bytes_is_refused(self, data: bytes) -> None:
        stream, number = max(self.lives, key=lambda known: (known[0].path, known[1]))
        window = self.loop.run_until_complete(
            self.bench.store.log_window(stream, generation=number)
        )
        if window is None or window.first_offset < 2:
            return
        older = chunk(0, data, generation=number, stream=stream)
        try:
            self.loop.run_until_complete(self.bench.store.keep_older(self.bench.lease, older))
        except StoreError:
            return
        raise AssertionError("bytes were left out without a word")

    @precondition(lambda self: self.lives)
    @rule(gap=st.integers(1, 100))
    def a_hole_is_refused(self, gap: int) -> None:
        stream, number = next(iter(self.lives))
        life = self.lives[stream, number]
        hole = chunk(life.end + gap, b"x", generation=number, stream=stream)
        before = self.loop.run_until_complete(self.bench.store.fleet()).revision
        try:
            self.loop.run_until_complete(self.bench.publish(hole))
        except StoreError:
            after = self.loop.run_until_complete(self.bench.store.fleet()).revision
            assert after == before
        else:
            raise AssertionError("bytes were lost without a word")

    @rule()
    def reopen(self) -> None:
        self.loop.run_until_complete(self.bench.store.close())
        self.bench = self.loop.run_until_complete(Bench.open(self.path, self.limits))

    @rule(stream=st.sampled_from([STREAM, OTHER]))
    def instance_goes(self, stream: StreamId) -> None:
        self.loop.run_until_complete(self.bench.publish(gone=[stream.instance_id]))

    @invariant()
    def stored_is_written(self) -> None:
        for (stream, number), life in self.lives.items():
            chunks = self.loop.run_until_complete(self.bench.store.log_bytes(stream, number))
            window = self.loop.run_until_complete(
                self.bench.store.log_window(stream, generation=number, size=70_000)
            )
            assert window is not None
            assert window.end_offset == life.end
            kept = sum(len(piece.data) for piece in chunks)
            assert kept + window.dropped == life.end
            if self.limits is None:
                assert window.dropped == life.skipped - life.fetched
            whole = bytearray(life.end)
            for at, data in life.parts:
                whole[at : at + len(data)] = data
            cursor = -1
            for piece in chunks:
                assert piece.offset >= cursor
                assert piece.at < 1e9
                cursor = piece.offset + len(piece.data)
                assert whole[piece.offset : cursor] == piece.data
            assert window.first_offset == (chunks[0].offset if chunks else life.end)
            assert whole[window.offset : window.offset + len(window.data)] == window.data

    @invariant()
    def accounts_agree(self) -> None:
        totals = self.loop.run_until_complete(self.bench.store.log_totals())
        raw = sqlite3.connect(self.path)
        try:
            per_stream = raw.execute("SELECT ifnull(sum(stored), 0) FROM stream").fetchone()[0]
            blocks = raw.execute(
                "SELECT ifnull(sum(length(data) + length(marks)), 0) FROM log_block"
            ).fetchone()[0]
            tails = raw.execute("SELECT ifnull(sum(length(data)), 0) FROM log_tail").fetchone()[0]
            marked = raw.execute("SELECT ifnull(sum(tail_size), 0) FROM stream").fetchone()[0]
        finally:
            raw.close()
        assert totals.disk_bytes == per_stream == blocks + tails
        assert marked == tails
        if self.limits is not None:
            assert totals.disk_bytes <= self.limits.total_bytes


LogMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestLogMachine = LogMachine.TestCase
