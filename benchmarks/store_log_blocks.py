"""Log bytes in blocks against one row a line, side by side: size, write speed, reading the end.

Run: python benchmarks/store_log_blocks.py [lines]. Both sides write the same lines of 20 streams
in the same transactions: 10 lines of each stream a commit (live), then 500 (catching up).
"""

import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.connection import prepare_connection
from fleetui.store.log_blocks import append
from fleetui.store.log_reading import read_window

STREAMS = 20
LINES_A_COMMIT = (10, 500)
SHOWN_LINES = 2_000
WORDS = (
    "synthesis done for partition {n} of job {j} in {ms} ms",
    "GPU worker {w} picked partition {n} (queue depth {w})",
    "groth16 proof {j} finished: {ms} ms total, {w} partitions left",
    "POST /v1/prove 200 {ms}ms bytes={b}",
    "budget acquired {b} bytes for job {j}",
)


def lines(count: int, seed: int) -> list[bytes]:
    """Return log lines such as a proving daemon's."""
    source = random.Random(seed)  # noqa: S311 - invented log lines
    made = []
    for number in range(count):
        text = source.choice(WORDS).format(
            n=source.randrange(16),
            j=f"{source.getrandbits(64):016x}",
            ms=source.randrange(100, 90_000),
            w=source.randrange(4),
            b=source.randrange(1 << 32),
        )
        level = source.choice(("INFO", "INFO", "INFO", "WARN"))
        second = number // 10
        stamp = f"2026-11-30T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        made.append(f"{stamp}.{source.randrange(1000):03}Z {level} cuzk: {text}\n".encode())
    return made


class Blocks:
    """The store's own tables."""

    name = "blocks"

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        prepare_connection(connection, path, viewer=False)
        self.ends = dict.fromkeys(range(STREAMS), 0)

    def write(self, at: float, batch: dict[int, list[bytes]]) -> None:
        """Write one transaction."""
        chunks, positions = [], []
        for number, its_lines in batch.items():
            data = b"".join(its_lines)
            stream = StreamId(number, "/tmp/cuzk.log")  # noqa: S108 - a path on a pretend host
            chunks.append(
                LogChunk(stream=stream, generation=1, offset=self.ends[number], data=data, at=at)
            )
            self.ends[number] += len(data)
            positions.append(StreamPosition(stream=stream, kind="daemon", offset=self.ends[number]))
        self.connection.execute("BEGIN IMMEDIATE")
        append(self.connection, chunks, positions)
        self.connection.execute("COMMIT")

    def last(self, number: int) -> int:
        """Read the last lines of a stream and return how many."""
        stream = StreamId(number, "/tmp/cuzk.log")  # noqa: S108 - a path on a pretend host
        window = read_window(self.connection, stream, None, None, 120 * SHOWN_LINES)
        return min(window.data.count(b"\n"), SHOWN_LINES) if window else 0


class Rows:
    """One row a line with an index by stream and offset."""

    name = "row a line"

    def __init__(self, connection: sqlite3.Connection, _path: Path) -> None:
        self.connection = connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE line (id INTEGER PRIMARY KEY, stream INTEGER, offset INTEGER, at REAL,"
            " text BLOB)"
        )
        connection.execute("CREATE INDEX line_place ON line (stream, offset)")
        self.ends = dict.fromkeys(range(STREAMS), 0)

    def write(self, at: float, batch: dict[int, list[bytes]]) -> None:
        """Write one transaction."""
        rows = []
        for number, its_lines in batch.items():
            for line in its_lines:
                rows.append((number, self.ends[number], at, line))
                self.ends[number] += len(line)
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(
            "INSERT INTO line (stream, offset, at, text) VALUES (?, ?, ?, ?)", rows
        )
        self.connection.execute("COMMIT")

    def last(self, number: int) -> int:
        """Read the last lines of a stream and return how many."""
        return len(
            self.connection.execute(
                "SELECT text FROM line WHERE stream = ? ORDER BY offset DESC LIMIT ?",
                (number, SHOWN_LINES),
            ).fetchall()
        )


def measure(
    make: Callable[[sqlite3.Connection, Path], Blocks | Rows], made: list[list[bytes]], step: int
) -> None:
    """Write everything, then read the end of each stream, and print one row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logs.db"
        connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        side = make(connection, path)
        raw = sum(len(line) for stream in made for line in stream)
        start = time.perf_counter()
        for first in range(0, len(made[0]), step):
            side.write(
                first / step / 2,
                {number: stream[first : first + step] for number, stream in enumerate(made)},
            )
        seconds = time.perf_counter() - start
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reads = []
        for number in range(STREAMS):
            start = time.perf_counter()
            assert side.last(number) == min(SHOWN_LINES, len(made[0]))  # noqa: S101 - a benchmark checks its answer
            reads.append(time.perf_counter() - start)
        count = sum(map(len, made))
        print(
            f"{side.name:<12}{step:>8}"
            f"{path.stat().st_size / raw:>10.3f}{raw / seconds / 1e6:>10.1f}"
            f"{count / seconds:>12,.0f}{statistics.median(reads) * 1e3:>14.2f}"
        )
        connection.close()


def main() -> None:
    """Compare the two."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    made = [lines(count // STREAMS, seed) for seed in range(STREAMS)]
    raw = sum(len(line) for stream in made for line in stream)
    print(f"{count:,} lines of {STREAMS} streams, {raw / 1e6:.1f} MB")
    print(f"{'':<12}{'a commit':>8}{'size/raw':>10}{'MB/s':>10}{'lines/s':>12}{'last 2000 ms':>14}")
    for step in LINES_A_COMMIT:
        measure(Rows, made, step)
        measure(Blocks, made, step)


if __name__ == "__main__":
    main()
