"""The frames that follow.sh writes, parsed from bytes in any split.

Grammar: see the head of follow.sh. Whatever a login prints before the first line of the script
(banners, an rc file's echo) is passed over.
"""

import re

import msgspec

from fleetui.domain.text import sanitise

_HELLO = b"@follow 1"
_NOISE_LIMIT = 64 * 1024
_HEADER_LIMIT = 8 * 1024
_DIGITS = 18
REFUSED_LIMIT = 100
_PATH_BYTES = 4096
"""`PATH_MAX` of Linux."""
_FILE = re.compile(rb"@file (\S+) (\d{1,18}) (\d{1,18}) (\d{1,18}) (\d{1,18}) ([^\n]+)\n")


class FrameError(ValueError):
    """The bytes are not frames; the channel must be opened anew."""


class FileFrame(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a file from `offset`, read at a moment when it was `size` long.

    `before` are the bytes just before `offset`, sent once more. `whole` tells that the file was
    still the same and long enough after the read; only then do the bytes count.
    """

    path: str
    identity: str
    size: int
    offset: int
    before: bytes
    data: bytes
    whole: bool


class GoneFrame(msgspec.Struct, frozen=True, gc=False):
    """A followed file was removed; all that was left of it has been sent."""

    path: str
    identity: str


class LostFrame(msgspec.Struct, frozen=True, gc=False):
    """A followed file is no longer to be found: what it held beyond its offset cannot be had.

    `unread` counts the bytes of that which the host saw: 0 when it saw none, though there may
    have been.
    """

    path: str
    identity: str
    unread: int


class BeyondFrame(msgspec.Struct, frozen=True, gc=False):
    """So many files are not followed, for there are more than were asked for."""

    count: int


class Beat(msgspec.Struct, frozen=True, gc=False):
    """The host has carried out its order."""


Frame = FileFrame | GoneFrame | LostFrame | BeyondFrame | Beat


class FrameParser:
    """Incremental and exact over any split of the input.

    Frames for paths that are not clean UTF-8 text are read over; `refused` counts such paths.
    """

    def __init__(self, *, length_limit: int) -> None:
        self._parts: list[bytes] = []
        self._held = 0
        self._wanted = 0
        self._length_limit = length_limit
        self._greeted = False
        self._noise = 0
        self._raw_path = b""
        self._path: str | None = None
        self._refused: set[bytes] = set()

    @property
    def refused(self) -> int:
        """How many paths were read over, up to `REFUSED_LIMIT`."""
        return len(self._refused)

    @property
    def mid_frame(self) -> bool:
        """Whether a frame is begun and not complete."""
        return self._held > 0

    def feed(self, data: bytes) -> list[Frame]:
        """Take more bytes and return the frames they complete.

        Raises:
            FrameError: the input is not frames, or the script reported an error.
        """
        if self._parts:
            self._parts.append(data)
            self._held += len(data)
            if self._held < self._wanted:
                return []
            data = b"".join(self._parts)
        frames: list[Frame] = []
        self._wanted = 0
        at = 0 if self._greeted else self._greet(data)
        while self._greeted and (after := self._take(data, at, frames)) > at:
            at = after
        rest = data[at:]
        self._parts = [rest] if rest else []
        self._held = len(rest)
        return frames

    def _greet(self, data: bytes) -> int:
        """Pass over what is printed before the script's first line; returns where to go on."""
        at = 0
        while (end := data.find(b"\n", at)) >= 0:
            line = data[at:end]
            at = end + 1
            if line == _HELLO:
                self._greeted = True
                return at
            if line.startswith(b"@error "):
                raise FrameError(_shown(line[7:]))
            self._noise += len(line)
        if self._noise + len(data) - at > _NOISE_LIMIT:
            raise FrameError(f"no frames but {_shown(data)}")
        return at

    def _take(self, data: bytes, at: int, frames: list[Frame]) -> int:
        """Take the frame at `at`; returns where the next begins, `at` when bytes are missing."""
        if header := _FILE.match(data, at):
            return self._take_file(data, header, frames)
        end = data.find(b"\n", at)
        if end < 0:
            if len(data) - at > _HEADER_LIMIT:
                raise FrameError(f"a line without end: {_shown(data[at:])}")
            return at
        word, _, rest = data[at:end].partition(b" ")
        if word == b"@beat":
            frames.append(Beat())
        elif word == b"@beyond" and rest.isdigit() and len(rest) <= _DIGITS:
            frames.append(BeyondFrame(int(rest)))
        elif word in {b"@gone", b"@lost"}:
            identity, _, raw = rest.partition(b" ")
            count = b""
            if word == b"@lost":
                count, _, raw = raw.partition(b" ")
                if not count.isdigit() or len(count) > _DIGITS:
                    raise FrameError(f"not a count of bytes: {_shown(data[at:end])}")
            path = _path(raw)
            name = identity.decode("ascii", "replace")
            if path is None:
                self._refuse(raw)
            else:
                lost = word == b"@lost"
                frames.append(LostFrame(path, name, int(count)) if lost else GoneFrame(path, name))
        else:
            raise FrameError(f"not a frame: {_shown(data[at:end])}")
        return end + 1

    def _take_file(self, data: bytes, header: re.Match[bytes], frames: list[Frame]) -> int:
        opening, raw_size, raw_offset, raw_repeated, raw_length, raw_path = header.groups()
        offset, repeated, length = int(raw_offset), int(raw_repeated), int(raw_length)
        at, body = header.span()
        if repeated + length > self._length_limit or repeated > offset:
            raise FrameError(f"a frame longer than allowed: {_shown(header[0])}")
        stop = body + repeated + length
        if len(data) <= stop:
            self._wanted = stop + 1 - at
            return at
        if data[stop] != 0x0A:
            raise FrameError("a frame does not end where it should")
        end = data.find(b"\n", stop + 1)
        if end < 0:
            if len(data) - stop > _HEADER_LIMIT:
                raise FrameError("a frame does not end where it should")
            return at
        word, _, closing = data[stop + 1 : end].partition(b" ")
        if word != b"@end":
            raise FrameError(f"not the end of a frame: {_shown(data[stop + 1 : end])}")
        # Most frames are about one file.
        path = self._path if raw_path == self._raw_path else _path(raw_path)
        if path is None:
            self._refuse(raw_path)
            return end + 1
        self._raw_path, self._path = raw_path, path
        identity, _, after = closing.partition(b" ")
        frames.append(
            FileFrame(
                path=path,
                identity=opening.decode("ascii", "replace"),
                size=int(raw_size),
                offset=offset,
                before=data[body : body + repeated],
                data=data[body + repeated : stop],
                whole=identity == opening and after.isdigit() and int(after) >= offset + length,
            )
        )
        return end + 1

    def _refuse(self, raw: bytes) -> None:
        if len(self._refused) < REFUSED_LIMIT:
            self._refused.add(raw[:_PATH_BYTES])


def _path(raw: bytes) -> str | None:
    """Return a path that can be named again, `None` for one that cannot."""
    if len(raw) > _PATH_BYTES:
        return None
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return path if path.startswith("/") and path.isprintable() else None


def _shown(raw: bytes) -> str:
    return sanitise(raw[:300], 120)
