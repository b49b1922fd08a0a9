"""Log files of instances: their lives, positions, bytes and matched lines."""

import msgspec

from fleetui.domain.text import SafeText


class StreamId(msgspec.Struct, frozen=True):
    """One log file of one instance, named by its path on the host."""

    instance_id: int
    path: str


class StreamPosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far a stream has been stored; committed together with the bytes it counts.

    `generation` counts the lives of the file from 1 (a truncation or replacement starts the
    next). `file_identity` is what the host said of the file (device and inode). `offset` is the
    next byte to read. `skipped` counts bytes of this generation left out on purpose. `lost_files`
    counts files that were moved out of reach before they were read to their end, since this
    generation began: it itself or ones that had the path after it; `lost_bytes` are what was seen
    of their unread part, so at least so many. `end` are the last bytes before `offset`, as far as
    known: they tell an appended file from a rewritten one. The store need not keep them, for it
    holds the bytes themselves.
    """

    stream: StreamId
    kind: str
    generation: int = 1
    file_identity: str = ""
    offset: int = 0
    skipped: int = 0
    lost_files: int = 0
    lost_bytes: int = 0
    last_byte_at: float | None = None
    end: bytes = b""


class LogChunk(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one generation in their order, as read from the host at `at` (epoch seconds).

    `behind` is how many bytes of the file were not read yet then; `None` where nobody knows. It
    is not stored.
    """

    stream: StreamId
    generation: int
    offset: int
    data: bytes
    at: float
    behind: int | None = None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One line that a rule of the profile matched.

    `rule` is the rule's id, `kind` the stream kind (`setup`, `bench`, `daemon`, `curio`,
    `dmesg`, `vast`, `nvidia_smi`, `ssh`), `fields` the named groups of its pattern. `line`
    counts physical lines of the generation from 1; `offset` is the line's first byte. `at` is
    the line's own time, else the last one seen before it, else when it arrived.
    """

    rule: str
    kind: str
    source: str
    generation: int
    offset: int
    line: int
    text: SafeText
    at: float | None = None
    fields: dict[str, str] = {}
    category: str | None = None
    """The category the rule names, when its id does not begin with it."""
