"""Where each followed file stands, and which bytes of a frame are new (pure)."""

from collections.abc import Mapping

import msgspec

from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.profiles.model import glob_covers
from fleetui.ssh.frames import Beat, BeyondFrame, FileFrame, Frame, FrameError, LostFrame
from fleetui.ssh.scripts import REPEATED_BYTES
from fleetui.ssh.settings import FollowPlan, SshSettings

GONE_PATHS = 1000
"""Paths of removed files that an instance may have besides those followed."""


class Rewritten(Exception):  # noqa: N818 - a turn in the story of a file, not an error
    """A file was rewritten in place beyond the offset; the channel must resume from its start."""


class Delivery(msgspec.Struct, frozen=True):
    """New bytes of a stream and the position after them.

    The data is empty when a file is seen for the first time without bytes, when it was cut to
    nothing (the next generation begins), when it was removed (`file_identity` is empty), and when
    it was lost.
    """

    chunk: LogChunk
    position: StreamPosition
    kind: str


class Positions:
    """Turns frames into deliveries: counts generations, drops what does not count.

    A new generation begins when the file has another identity, is shorter than what was read,
    was removed in between, or holds other bytes than those read before the offset. It begins at the
    offset when those bytes are zeros (counted as skipped), else at the start of the file.

    A host names as many paths as it likes: those beyond `most_paths` are left out, and `is_full`
    tells that there were some.
    """

    def __init__(
        self,
        instance_id: int,
        plan: FollowPlan,
        resume: Mapping[str, StreamPosition],
        *,
        max_files: int = SshSettings.max_files,
    ) -> None:
        self._instance_id = instance_id
        self._plan = plan
        self._positions = dict(resume)
        self._backlogs: dict[str, int] = {}
        self._kinds: dict[str, str | None] = {}
        self.most_paths = max_files + GONE_PATHS
        self.is_full = False

    @property
    def positions(self) -> Mapping[str, StreamPosition]:
        """Positions by path, as far as frames have been taken."""
        return self._positions

    def of(self, frame: Frame) -> StreamPosition | None:
        """Return the position of the file that a frame is about."""
        return None if isinstance(frame, Beat | BeyondFrame) else self._positions.get(frame.path)

    def known(self, limit: int) -> str:
        """Return the KNOWN parameter of follow.sh: at most `limit` files, the latest first."""
        alive = [
            (path, position)
            for path, position in self._positions.items()
            if position.file_identity and path.isprintable() and self._kind(path) is not None
        ]
        alive.sort(key=lambda item: item[1].last_byte_at or 0.0, reverse=True)
        return "\n".join(
            f"{position.file_identity} {position.offset} {self._backlogs.get(path, 0)} {path}"
            for path, position in alive[:limit]
        )

    def restore(self, path: str, position: StreamPosition | None) -> None:
        """Go back to an earlier position: its bytes were not taken after all."""
        now = self._positions.get(path)
        if position is None or now is None or now.file_identity != position.file_identity:
            self._backlogs.pop(path, None)
        if position is None:
            self._positions.pop(path, None)
        else:
            self._positions[path] = position

    def take(self, frame: Frame, at: float) -> Delivery | None:
        """Take a frame read at `at` (epoch seconds).

        Raises:
            Rewritten: the bytes before the offset are not those read before.
            FrameError: the frame does not fit what was read before.
        """
        if isinstance(frame, Beat | BeyondFrame):
            return None
        kind = self._kind(frame.path)
        if kind is None:
            return None
        old = self._positions.get(frame.path)
        if not isinstance(frame, FileFrame):
            if isinstance(frame, LostFrame):
                return self._lose(frame, old, at)
            if old is None or not old.file_identity:
                return None
            gone = msgspec.structs.replace(old, file_identity="", kind=kind, end=b"")
            return self._deliver(gone, b"", at)
        if not frame.whole:
            return None
        if old is None and len(self._positions) >= self.most_paths:
            self.is_full = True
            return None
        position = self._place(frame, old, kind)
        if frame.size > frame.offset + len(frame.data):
            self._backlogs[frame.path] = frame.size
        else:
            self._backlogs.pop(frame.path, None)
        if position is old and not frame.data:
            return None
        behind = max(frame.size - frame.offset - len(frame.data), 0)
        return self._deliver(position, frame.data, at, behind)

    def _lose(self, frame: LostFrame, old: StreamPosition | None, at: float) -> Delivery | None:
        """Count a file that cannot be read on; one that was never read has no position."""
        self._backlogs.pop(frame.path, None)
        if old is None:
            return None
        lost = msgspec.structs.replace(
            old, lost_files=old.lost_files + 1, lost_bytes=old.lost_bytes + frame.unread
        )
        return self._deliver(lost, b"", at)

    def _place(self, frame: FileFrame, old: StreamPosition | None, kind: str) -> StreamPosition:
        """Return the position that the frame's new bytes belong to."""
        if old is None:
            return self._begin(frame, kind, 1)
        if old.file_identity != frame.identity or frame.offset < old.offset:
            return self._begin(frame, kind, old.generation + 1)
        if frame.offset > old.offset:
            raise FrameError(f"bytes {old.offset} to {frame.offset} of {frame.path} are missing")
        count = min(len(old.end), len(frame.before))
        if count and old.end[-count:] != frame.before[-count:]:
            if not any(frame.before):
                # Emptied under a writer that goes on at its own offset: before that is a hole.
                return self._begin(frame, kind, old.generation + 1)
            self._positions[frame.path] = msgspec.structs.replace(
                old,
                generation=old.generation + 1,
                offset=0,
                skipped=0,
                lost_files=0,
                lost_bytes=0,
                end=b"",
            )
            raise Rewritten(frame.path)
        return old

    def _begin(self, frame: FileFrame, kind: str, generation: int) -> StreamPosition:
        return StreamPosition(
            stream=StreamId(self._instance_id, frame.path),
            kind=kind,
            generation=generation,
            file_identity=frame.identity,
            offset=frame.offset,
            skipped=frame.offset,
            end=frame.before,
        )

    def _deliver(
        self, position: StreamPosition, data: bytes, at: float, behind: int | None = None
    ) -> Delivery:
        chunk = LogChunk(
            stream=position.stream,
            generation=position.generation,
            offset=position.offset,
            data=data,
            at=at,
            behind=behind,
        )
        if data:
            position = StreamPosition(
                stream=position.stream,
                kind=position.kind,
                generation=position.generation,
                file_identity=position.file_identity,
                offset=position.offset + len(data),
                skipped=position.skipped,
                lost_files=position.lost_files,
                lost_bytes=position.lost_bytes,
                last_byte_at=at,
                end=(
                    data[-REPEATED_BYTES:]
                    if len(data) >= REPEATED_BYTES
                    else (position.end + data)[-REPEATED_BYTES:]
                ),
            )
        self._positions[position.stream.path] = position
        return Delivery(chunk, position, position.kind)

    def _kind(self, path: str) -> str | None:
        if path not in self._kinds:
            if len(self._kinds) >= 2 * self.most_paths:
                self._kinds.clear()
            self._kinds[path] = next(
                (kind for kind, pattern in self._plan.streams if glob_covers(pattern, path)), None
            )
        return self._kinds[path]
