"""The frames that follow.sh writes, parsed from bytes in any split.

Grammar: see the head of follow.sh. Whatever a login prints before the first line of the script
(banners, an rc file's echo) is passed over.
"""

from dataclasses import dataclass

from fleetui.domain.text import sanitise

_HELLO = b"@follow 1"
_NOISE_LIMIT = 64 * 1024
_HEADER_LIMIT = 8 * 1024


class FrameError(ValueError):
    """The bytes are not frames; the channel must be opened anew."""


@dataclass(frozen=True, slots=True)
class FileFrame:
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


@dataclass(frozen=True, slots=True)
class GoneFrame:
    """A followed file was removed; all that was left of it has been sent."""

    path: str
    identity: str


@dataclass(frozen=True, slots=True)
class Beat:
    """The host has nothing else to say."""


Frame = FileFrame | GoneFrame | Beat


@dataclass(frozen=True, slots=True)
class _Header:
    path: str | None
    identity: str
    size: int
    offset: int
    repeated: int
    length: int


class FrameParser:
    """Incremental and exact over any split of the input.

    Frames for paths that are not clean UTF-8 text are read over and counted in `refused`.
    """

    def __init__(self, *, length_limit: int) -> None:
        self._buffer = bytearray()
        self._length_limit = length_limit
        self._greeted = False
        self._noise = 0
        self._header: _Header | None = None
        self._body = b""
        self._has_body = False
        self.refused = 0

    @property
    def mid_frame(self) -> bool:
        """Whether a file's bytes are still to come."""
        return self._header is not None

    def feed(self, data: bytes) -> list[Frame]:
        """Take more bytes and return the frames they complete.

        Raises:
            FrameError: the input is not frames, or the script reported an error.
        """
        self._buffer += data
        frames: list[Frame] = []
        if not self._greeted and not self._greet():
            return frames
        while self._step(frames):
            pass
        return frames

    def _greet(self) -> bool:
        while (line := self._line()) is not None:
            if line == _HELLO:
                self._greeted = True
                return True
            if line.startswith(b"@error "):
                raise FrameError(_shown(line[7:]))
            self._noise += len(line)
        if self._noise + len(self._buffer) > _NOISE_LIMIT:
            raise FrameError(f"no frames but {_shown(self._buffer)}")
        return False

    def _step(self, frames: list[Frame]) -> bool:
        """Take one piece of the grammar; false when more bytes are needed."""
        header = self._header
        if header is None:
            return self._take_line(frames)
        if not self._has_body:
            count = header.repeated + header.length
            if len(self._buffer) <= count:
                return False
            if self._buffer[count] != 0x0A:
                raise FrameError("a frame does not end where it should")
            self._body = bytes(memoryview(self._buffer)[:count])
            del self._buffer[: count + 1]
            self._has_body = True
            return True
        line = self._line()
        if line is None:
            return False
        frame = self._finish(header, line)
        self._header = None
        self._has_body = False
        self._body = b""
        if frame is None:
            self.refused += 1
        else:
            frames.append(frame)
        return True

    def _take_line(self, frames: list[Frame]) -> bool:
        line = self._line()
        if line is None:
            return False
        word, _, rest = line.partition(b" ")
        if word == b"@beat":
            frames.append(Beat())
        elif word == b"@file":
            self._header = self._read_header(rest)
        elif word == b"@gone":
            identity, _, path = rest.partition(b" ")
            name = _path(path)
            if name is None:
                self.refused += 1
            else:
                frames.append(GoneFrame(name, _text(identity)))
        else:
            raise FrameError(f"not a frame: {_shown(line)}")
        return True

    def _read_header(self, rest: bytes) -> _Header:
        fields = rest.split(b" ", 5)
        if len(fields) != 6:
            raise FrameError(f"not a file header: {_shown(rest)}")
        size, offset, repeated, length = (_number(field) for field in fields[1:5])
        if repeated + length > self._length_limit or repeated > offset:
            raise FrameError(f"a frame longer than allowed: {_shown(rest)}")
        return _Header(_path(fields[5]), _text(fields[0]), size, offset, repeated, length)

    def _finish(self, header: _Header, line: bytes) -> FileFrame | None:
        word, _, rest = line.partition(b" ")
        if word != b"@end":
            raise FrameError(f"not the end of a frame: {_shown(line)}")
        if header.path is None:
            return None
        identity, _, size = rest.partition(b" ")
        whole = (
            _text(identity) == header.identity
            and size.isdigit()
            and int(size) >= header.offset + header.length
        )
        return FileFrame(
            path=header.path,
            identity=header.identity,
            size=header.size,
            offset=header.offset,
            before=self._body[: header.repeated],
            data=self._body[header.repeated :],
            whole=whole,
        )

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n")
        if end < 0:
            if self._greeted and len(self._buffer) > _HEADER_LIMIT:
                raise FrameError(f"a line without end: {_shown(self._buffer)}")
            return None
        line = bytes(memoryview(self._buffer)[:end])
        del self._buffer[: end + 1]
        return line


def _number(field: bytes) -> int:
    if not field.isdigit() or len(field) > 18:
        raise FrameError(f"not a number: {_shown(field)}")
    return int(field)


def _path(raw: bytes) -> str | None:
    """Return a path that can be named again, `None` for one that cannot."""
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return path if path.startswith("/") and path.isprintable() else None


def _text(raw: bytes) -> str:
    return raw.decode("ascii", "replace")


def _shown(raw: bytes | bytearray) -> str:
    return sanitise(bytes(raw[:300]), 120)
