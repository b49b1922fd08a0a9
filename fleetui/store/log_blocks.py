"""Log bytes: sealed blocks of up to 64 KiB, compressed with zstd, and a raw tail of pieces.

An append writes only its own bytes (a piece); when the pieces of a stream reach a block's size
they are sealed together. Blocks and pieces never span a gap or two generations. For every
generation holds: bytes in blocks + bytes in pieces + gaps + evicted = end offset
(facts: perf.md section 6 for the block's size and the level).
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import zstandard

from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.interface import StoreError

BLOCK_BYTES = 65_536
MERGE_SECONDS = 1.0
"""Bytes that arrived within this time of each other share one arrival time."""

_PIECE_BITS = 36
"""A piece's id is its stream's id, then its number: a stream's pieces lie together."""


class Piece(NamedTuple):
    """Bytes at an offset that arrived together at `at` (epoch seconds)."""

    offset: int
    at: float
    data: bytes

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.offset + len(self.data)


class Appended(msgspec.Struct, frozen=True):
    """What an append did: streams touched, bytes taken, bytes skipped, bytes of disk used."""

    streams: tuple[int, ...]
    received: int
    skipped: int
    disk_bytes: int


def append(
    connection: sqlite3.Connection,
    chunks: Sequence[LogChunk],
    positions: Sequence[StreamPosition],
) -> Appended:
    """Append chunks and move positions, inside a write transaction.

    Bytes that are stored already are left out, so a batch may be sent again. A position never
    moves back.

    Raises:
        StoreError: a chunk or position leaves out bytes that `skipped` does not account for.
    """
    work: dict[StreamId, tuple[list[LogChunk], list[StreamPosition]]] = {}
    for chunk in chunks:
        work.setdefault(chunk.stream, ([], []))[0].append(chunk)
    for position in positions:
        work.setdefault(position.stream, ([], []))[1].append(position)
    appenders = []
    for stream, (its_chunks, its_positions) in work.items():
        appender = _Appender(connection, stream, its_positions)
        for chunk in its_chunks:
            appender.add(chunk)
        for position in its_positions:
            appender.move(position)
        appender.finish()
        appenders.append(appender)
    return Appended(
        tuple(appender.stream_id for appender in appenders),
        sum(appender.received for appender in appenders),
        sum(appender.skipped for appender in appenders),
        sum(appender.disk_bytes for appender in appenders),
    )


def seal_instance(connection: sqlite3.Connection, instance_id: int) -> int:
    """Seal every tail of an instance that is gone; return the change in bytes of disk."""
    change = 0
    found = connection.execute(
        "SELECT path FROM stream WHERE instance_id = ? AND tail_size > 0", (instance_id,)
    ).fetchall()
    for (path,) in found:
        appender = _Appender(connection, StreamId(instance_id, path), ())
        appender.seal(everything=True)
        appender.finish()
        change += appender.disk_bytes
    return change


class _Generation:
    """How far one life of a file is stored."""

    __slots__ = ("changed", "end", "gaps", "lost_bytes", "lost_files")

    def __init__(
        self, end: int, gaps: int, lost_files: int, lost_bytes: int, *, changed: bool
    ) -> None:
        self.end = end
        self.gaps = gaps
        self.lost_files = lost_files
        self.lost_bytes = lost_bytes
        self.changed = changed


class _Appender:
    """One stream's part of an append; writes the stream's row once, at `finish`."""

    def __init__(
        self, connection: sqlite3.Connection, stream: StreamId, positions: Iterable[StreamPosition]
    ) -> None:
        self._connection = connection
        self._stream = stream
        self.received = 0
        self.skipped = 0
        self.disk_bytes = 0
        self._allowed: dict[int, int] = {}
        for position in positions:
            known = self._allowed.get(position.generation, 0)
            self._allowed[position.generation] = max(known, position.skipped)
        self._generations: dict[int, _Generation] = {}
        self._fresh: list[Piece] = []
        self._kind, self._generation, self._identity = "", 0, ""
        self._skipped = 0
        self._last_byte_at: float | None = None
        self._tail_generation, self._tail_size, self._tail_end = 0, 0, 0
        found = connection.execute(
            "SELECT id, kind, generation, identity, skipped, last_byte_at, tail_generation,"
            " tail_size, tail_end FROM stream WHERE instance_id = ? AND path = ?",
            (stream.instance_id, stream.path),
        ).fetchone()
        if found is None:
            (self.stream_id,) = connection.execute(
                "INSERT INTO stream (instance_id, path, generation) VALUES (?, ?, 0) RETURNING id",
                (stream.instance_id, stream.path),
            ).fetchone()
        else:
            (
                self.stream_id,
                self._kind,
                self._generation,
                self._identity,
                self._skipped,
                self._last_byte_at,
                self._tail_generation,
                self._tail_size,
                self._tail_end,
            ) = found
        self._tail_stored = self._tail_size
        self._tail_ids = tail_ids(self.stream_id)

    def add(self, chunk: LogChunk) -> None:
        """Take what is new of a chunk."""
        generation = self._reach(chunk.generation, chunk.offset)
        data = chunk.data[generation.end - chunk.offset :]
        if not data:
            return
        piece = Piece(generation.end, chunk.at, bytes(data))
        tail_place = (self._tail_generation, self._tail_end)
        if self._tail_size and tail_place != (chunk.generation, piece.offset):
            self.seal(everything=True)
        self._fresh.append(piece)
        self._tail_generation, self._tail_end = chunk.generation, piece.end
        self._tail_size += len(data)
        self.received += len(data)
        generation.end = piece.end
        generation.changed = True
        if self._last_byte_at is None or chunk.at > self._last_byte_at:
            self._last_byte_at = chunk.at
        if self._tail_size >= BLOCK_BYTES:
            self.seal(everything=False)

    def move(self, position: StreamPosition) -> None:
        """Take a position: what the bytes so far do not reach must have been skipped."""
        newer = position.generation > self._generation
        generation = self._reach(position.generation, position.offset)
        if position.lost_files > generation.lost_files:
            generation.lost_files = position.lost_files
            generation.lost_bytes = position.lost_bytes
            generation.changed = True
        if position.generation < self._generation:
            return
        self._kind, self._identity = position.kind, position.file_identity
        self._skipped = position.skipped if newer else max(self._skipped, position.skipped)
        if position.last_byte_at is not None:
            self._last_byte_at = position.last_byte_at

    def seal(self, *, everything: bool) -> None:
        """Turn the tail into blocks; a rest smaller than a block stays unless `everything`."""
        pieces = self._take_stored_tail() + self._fresh
        self._fresh = []
        for block in _cut(pieces):
            size = block[-1].end - block[0].offset
            if size == BLOCK_BYTES or everything:
                self.disk_bytes += write_block(
                    self._connection, self.stream_id, self._tail_generation, block
                )
                self._tail_size -= size
            else:
                self._fresh = block

    def finish(self) -> None:
        """Write the rest of the tail, the generations and the stream's row."""
        if self._fresh:
            self._write_pieces(_merge(self._fresh))
        self._connection.executemany(
            "INSERT INTO generation"
            " (stream_id, generation, end_offset, gaps, lost_files, lost_bytes)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET end_offset = excluded.end_offset,"
            " gaps = excluded.gaps, lost_files = excluded.lost_files,"
            " lost_bytes = excluded.lost_bytes",
            [
                (
                    self.stream_id,
                    number,
                    generation.end,
                    generation.gaps,
                    generation.lost_files,
                    generation.lost_bytes,
                )
                for number, generation in self._generations.items()
                if generation.changed
            ],
        )
        self._connection.execute(
            "UPDATE stream SET kind = ?, generation = ?, identity = ?, skipped = ?,"
            " last_byte_at = ?, tail_generation = ?, tail_size = ?, tail_end = ?,"
            " stored = stored + ? WHERE id = ?",
            (
                self._kind,
                self._generation,
                self._identity,
                self._skipped,
                self._last_byte_at,
                self._tail_generation,
                self._tail_size,
                self._tail_end,
                self.disk_bytes,
                self.stream_id,
            ),
        )

    def _reach(self, number: int, offset: int) -> _Generation:
        """Return a generation whose end has come to `offset` at least."""
        generation = self._generations.get(number)
        if generation is None:
            found = self._connection.execute(
                "SELECT end_offset, gaps, lost_files, lost_bytes FROM generation"
                " WHERE stream_id = ? AND generation = ?",
                (self.stream_id, number),
            ).fetchone()
            generation = _Generation(*(found or (0, 0, 0, 0)), changed=found is None)
            self._generations[number] = generation
        if number > self._generation:
            self._generation, self._skipped = number, 0
        gap = offset - generation.end
        if gap > 0:
            if generation.gaps + gap > self._allowed.get(number, 0):
                raise StoreError(
                    f"{self._stream.path} of instance {self._stream.instance_id}, generation"
                    f" {number}: {gap} bytes are missing between offsets {generation.end} and"
                    f" {offset}"
                )
            generation.end = offset
            generation.gaps += gap
            generation.changed = True
            self.skipped += gap
        return generation

    def _take_stored_tail(self) -> list[Piece]:
        if not self._tail_stored:
            return []
        pieces = [
            Piece(*row)
            for row in self._connection.execute(
                "SELECT offset, at, data FROM log_tail WHERE id BETWEEN ? AND ? ORDER BY id",
                self._tail_ids,
            )
        ]
        self._connection.execute("DELETE FROM log_tail WHERE id BETWEEN ? AND ?", self._tail_ids)
        self.disk_bytes -= self._tail_stored
        self._tail_stored = 0
        return pieces

    def _write_pieces(self, pieces: list[Piece]) -> None:
        (newest,) = self._connection.execute(
            "SELECT max(id) FROM log_tail WHERE id BETWEEN ? AND ?", self._tail_ids
        ).fetchone()
        first = self._tail_ids[0] if newest is None else newest + 1
        self._connection.executemany(
            "INSERT INTO log_tail (id, offset, at, data) VALUES (?, ?, ?, ?)",
            [(first + number, *piece) for number, piece in enumerate(pieces)],
        )
        self.disk_bytes += sum(len(piece.data) for piece in pieces)


def write_block(
    connection: sqlite3.Connection, stream_id: int, generation: int, block: list[Piece]
) -> int:
    """Write contiguous pieces of up to `BLOCK_BYTES` as one block; returns its bytes of disk."""
    merged = _merge(block)
    marks = encode_marks(merged)
    # Made anew each time: a compressor must not be shared between threads, and it is cheap.
    data = zstandard.ZstdCompressor(level=1).compress(b"".join(piece.data for piece in merged))
    connection.execute(
        "INSERT INTO log_block (stream_id, generation, offset, size, last_at, marks, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            stream_id,
            generation,
            block[0].offset,
            block[-1].end - block[0].offset,
            max(piece.at for piece in block),
            marks,
            data,
        ),
    )
    return len(data) + len(marks)


def encode_marks(pieces: Iterable[Piece]) -> bytes:
    """Encode when the bytes of a block arrived: size, time, size, time, ..."""
    return msgspec.msgpack.encode([value for p in pieces for value in (len(p.data), p.at)])


def split_block(offset: int, marks: bytes, raw: bytes) -> Iterator[Piece]:
    """Split a block's bytes into the pieces it was sealed from, those of one second merged."""
    values = msgspec.msgpack.decode(marks, type=list[float])
    start = 0
    for size, at in zip(values[::2], values[1::2], strict=True):
        end = start + int(size)
        yield Piece(offset + start, at, raw[start:end])
        start = end


def tail_ids(stream_id: int) -> tuple[int, int]:
    """Return the first and last possible id of a stream's pieces."""
    first = stream_id << _PIECE_BITS
    return first, first + (1 << _PIECE_BITS) - 1


def _cut(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Cut contiguous pieces into lists of a block's size; the last may be shorter."""
    block: list[Piece] = []
    room = BLOCK_BYTES
    for piece in pieces:
        rest = piece
        while rest.data:
            part = rest if len(rest.data) <= room else rest._replace(data=rest.data[:room])
            block.append(part)
            room -= len(part.data)
            rest = Piece(part.end, rest.at, rest.data[len(part.data) :])
            if room == 0:
                yield block
                block, room = [], BLOCK_BYTES
    if block:
        yield block


def _merge(pieces: list[Piece]) -> list[Piece]:
    """Join neighbours that arrived within `MERGE_SECONDS` of the first of them."""
    groups: list[list[Piece]] = []
    for piece in pieces:
        if groups and abs(piece.at - groups[-1][0].at) < MERGE_SECONDS:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [
        group[0]
        if len(group) == 1
        else group[0]._replace(data=b"".join(piece.data for piece in group))
        for group in groups
    ]
