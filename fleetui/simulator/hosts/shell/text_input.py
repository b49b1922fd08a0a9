"""Reading input and text forms that several tools share."""

import re
from collections.abc import AsyncIterator

from fleetui.simulator.hosts.shell.interpreter import Call
from fleetui.simulator.hosts.shell.options import UsageError
from fleetui.simulator.hosts.shell.streams import FileReader, Reader

CHUNK = 65_536


_UNITS = {"k": 1024, "K": 1024, "M": 1 << 20, "G": 1 << 30, "b": 512}


def size_value(text: str) -> int:
    """Read a byte count such as `10`, `4k` or `1M`.

    Raises:
        UsageError: it is none.
    """
    factor = _UNITS.get(text[-1:], 1)
    digits = text[:-1] if factor > 1 else text
    if not digits.isdigit():
        raise UsageError(f"invalid number: '{text}'")
    return int(digits) * factor


async def inputs(call: Call, names: list[str]) -> AsyncIterator[tuple[str, Reader]]:
    """Give each named file (`-`: stdin) that can be read; complains about the others."""
    if not names:
        yield "-", call.stdin
    for name in names:
        if name == "-":
            yield name, call.stdin
            continue
        path = call.path(name)
        files = call.machine.files
        if files.is_folder(path):
            await call.error(f"{call.name}: {name}: Is a directory")
            call.failed = True
        elif not files.exists(path):
            where = f"cannot open '{name}' for reading" if call.name in {"head", "tail"} else name
            await call.error(f"{call.name}: {where}: No such file or directory")
            call.failed = True
        else:
            yield name, FileReader(files.opener(path))


async def lines_of(call: Call, names: list[str]) -> list[bytes]:
    """Return the lines of files or stdin, without line ends."""
    lines: list[bytes] = []
    async for _, reader in inputs(call, names):
        lines += split_lines(await reader.all())
    return lines


def split_lines(data: bytes) -> list[bytes]:
    """Split bytes into lines without line ends."""
    if not data:
        return []
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


ESCAPES = {
    "e": "\x1b",
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
}


def unescape_octal(text: str) -> str:
    r"""Replace `\n`, `\033` and their kin."""

    def one(match: re.Match[str]) -> str:
        if match[1][0].isdigit():
            return chr(int(match[1], 8) & 255)
        return ESCAPES.get(match[1], match[1])

    return re.sub(r"\\([0-7]{1,3}|.)", one, text, flags=re.DOTALL)


def python_pattern(pattern: str, *, extended: bool, fixed: bool) -> str:
    """Return a POSIX expression in Python's spelling."""
    if fixed:
        return re.escape(pattern)
    if not extended:
        # In basic expressions ( ) { } + ? | are plain and get their meaning from a backslash.
        pattern = re.sub(
            r"\[\^?\]?[^]]*\]|\\?[(){}+?|]",
            lambda m: m[0] if m[0][0] == "[" else (m[0][1:] if m[0][0] == "\\" else "\\" + m[0]),
            pattern,
        )
    for name, chars in (
        ("digit", r"\d"),
        ("space", r"\s"),
        ("alpha", "A-Za-z"),
        ("alnum", "A-Za-z0-9"),
        ("upper", "A-Z"),
        ("lower", "a-z"),
    ):
        pattern = pattern.replace(f"[:{name}:]", chars)
    return pattern
