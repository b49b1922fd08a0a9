"""Tools over text: cat, head, tail, grep, sort and their kin."""

import asyncio
import re
from collections.abc import AsyncIterator

from fleetui.simulator.hosts.shell.interpreter import Call, Tool
from fleetui.simulator.hosts.shell.options import UsageError, options
from fleetui.simulator.hosts.shell.streams import BytesReader, FileReader, Reader

_CHUNK = 65_536
_UNITS = {"k": 1024, "K": 1024, "M": 1 << 20, "G": 1 << 30, "b": 512}
_TAIL_POLL_SECONDS = 0.25


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


async def _lines(call: Call, names: list[str]) -> list[bytes]:
    lines: list[bytes] = []
    async for _, reader in inputs(call, names):
        lines += _split(await reader.all())
    return lines


def _split(data: bytes) -> list[bytes]:
    if not data:
        return []
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


async def cat(call: Call) -> int:
    """Copy files to stdout."""
    found, names = options(call.args, "unAvteEsTb")
    number = 0
    async for _, reader in inputs(call, names):
        if "n" in found:
            for line in _split(await reader.all()):
                number += 1
                await call.stdout.write(b"%6d\t%s\n" % (number, line))
            continue
        while chunk := await reader.read(_CHUNK):
            if found.keys() & {"v", "A", "e", "t"}:
                chunk = _visible(chunk, ends=bool(found.keys() & {"A", "e", "E"}))
            await call.stdout.write(chunk)
    return int(call.failed)


def _visible(data: bytes, *, ends: bool) -> bytes:
    def one(byte: int) -> bytes:
        if byte in {9, 10}:
            return b"$\n" if ends and byte == 10 else bytes([byte])
        high, low = (b"M-", byte - 128) if byte >= 128 else (b"", byte)
        return high + (b"^%c" % (low ^ 64) if low < 32 or low == 127 else bytes([low]))

    return b"".join(map(one, data))


def _counted(args: list[str]) -> list[str]:
    """Turn the old form `-20` into `-n 20`."""
    return [f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in args]


async def head(call: Call) -> int:
    """Copy the first lines or bytes."""
    found, names = options(_counted(call.args), "qv", "nc", ("lines", "bytes"))
    many = len(names) > 1 and "q" not in found
    first = True
    async for name, reader in inputs(call, names):
        if many or "v" in found:
            await call.out(f"{'' if first else chr(10)}==> {name} <==\n")
        first = False
        if "c" in found:
            left = size_value(found["c"].lstrip("+"))
            while left > 0 and (chunk := await reader.read(min(left, _CHUNK))):
                left -= len(chunk)
                await call.stdout.write(chunk)
            continue
        count = found.get("n", "10")
        if count.startswith("-"):
            lines = (await reader.all()).splitlines(keepends=True)
            await call.stdout.write(b"".join(lines[: max(0, len(lines) - int(count[1:]))]))
            continue
        for _ in range(size_value(count.lstrip("+"))):
            line = await reader.line()
            if not line:
                break
            await call.stdout.write(line)
    return int(call.failed)


async def tail(call: Call) -> int:
    """Copy the last lines or bytes, and with -f or -F what comes later."""
    args = ["-F" if word == "--follow=name" else word for word in call.args]
    args = ["-f" if word == "--follow=descriptor" else word for word in args]
    found, names = options(
        _counted(args), "fFqv", "ncs", ("follow", "retry", "pid", "lines", "bytes")
    )
    follow = bool(found.keys() & {"f", "F", "follow"})
    many = len(names) > 1 and "q" not in found
    last = ""
    followed: list[_Followed] = []
    if follow:
        followed = [_Followed(call, name, by_name="F" in found) for name in names if name != "-"]
    async for name, reader in inputs(call, names):
        if many or "v" in found:
            await call.out(f"{chr(10) if last else ''}==> {name} <==\n")
        last = name
        await _tail_of(call, reader, found)
        for item in followed:
            if item.name == name and isinstance(reader, FileReader):
                item.offset = reader.offset
    while follow and followed:
        await asyncio.sleep(float(found.get("s", _TAIL_POLL_SECONDS)))
        for item in followed:
            last = await item.copy(last, many=many)
    return int(call.failed)


async def _tail_of(call: Call, reader: Reader, found: dict[str, str]) -> None:
    by_bytes = "c" in found or "bytes" in found
    count = found.get("c") or found.get("bytes") or found.get("n") or found.get("lines") or "10"
    from_start = count.startswith("+")
    amount = size_value(count.lstrip("+-"))
    if from_start and by_bytes and isinstance(reader, FileReader):
        reader.offset = max(0, amount - 1)
        while chunk := await reader.read(_CHUNK):
            await call.stdout.write(chunk)
        return
    data = await reader.all()
    if by_bytes:
        data = data[max(0, amount - 1) :] if from_start else data[max(0, len(data) - amount) :]
    else:
        lines = (
            data.splitlines(keepends=True)
            if b"\r" not in data
            else re.findall(rb"[^\n]*\n|[^\n]+", data)
        )
        chosen = lines[max(0, amount - 1) :] if from_start else lines[max(0, len(lines) - amount) :]
        data = b"".join(chosen)
    await call.stdout.write(data)


class _Followed:
    """A file that `tail -f` (by inode) or `tail -F` (by name) goes on with."""

    def __init__(self, call: Call, name: str, *, by_name: bool) -> None:
        self._call = call
        self.name = name
        self._by_name = by_name
        self._path = call.path(name)
        self.offset = 0
        self._node = call.machine.files.stat(self._path)

    async def copy(self, last: str, *, many: bool) -> str:
        """Write what is new; returns the name last written."""
        files = self._call.machine.files
        node = files.stat(self._path)
        if self._by_name and node is not None and node is not self._node:
            appeared = "appeared" if self._node is None else "been replaced"
            await self._call.error(f"tail: '{self.name}' has {appeared};  following new file")
            self._node, self.offset = node, 0
        if self._node is None:
            return last
        if self._node.size < self.offset:
            await self._call.error(f"tail: {self.name}: file truncated")
            self.offset = 0
        while chunk := self._node.load(self.offset, _CHUNK):
            if many and last != self.name:
                await self._call.out(f"\n==> {self.name} <==\n")
                last = self.name
            self.offset += len(chunk)
            await self._call.stdout.write(chunk)
        return last


async def wc(call: Call) -> int:
    """Count lines, words and bytes."""
    found, names = options(call.args, "lwcm")
    wanted = [letter for letter in "lwc" if letter in found or (letter == "c" and "m" in found)]
    wanted = wanted or ["l", "w", "c"]
    total = dict.fromkeys("lwc", 0)
    width = 1 if len(wanted) == 1 and len(names) <= 1 else 7
    async for name, reader in inputs(call, names):
        data = await reader.all()
        counts = {"l": data.count(b"\n"), "w": len(data.split()), "c": len(data)}
        total = {key: total[key] + counts[key] for key in total}
        if names and len(names) == 1:
            width = max(len(str(counts[key])) for key in wanted)
        text = " ".join(f"{counts[key]:{width}}" for key in wanted)
        await call.out(text + (f" {name}" if name != "-" else "") + "\n")
    if len(names) > 1:
        await call.out(" ".join(f"{total[key]:{width}}" for key in wanted) + " total\n")
    return int(call.failed)


def _basic_to_python(pattern: str, *, extended: bool, fixed: bool) -> str:
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


async def grep(call: Call) -> int:
    """Print the lines that match."""
    patterns: list[str] = []
    args: list[str] = []
    index = 0
    while index < len(call.args):
        word = call.args[index]
        if word == "-e" and index + 1 < len(call.args):
            patterns.append(call.args[index + 1])
            index += 1
        else:
            args.append(word)
        index += 1
    found, names = options(args, "ivcnlLqsoEFHhawxrRP", "mABC", ("color", "line-buffered"))
    if not patterns:
        if not names:
            raise UsageError("no pattern")
        patterns = names.pop(0).split("\n")
    extended = "E" in found or "P" in found or call.name == "egrep"
    joined = "|".join(
        f"(?:{_basic_to_python(one, extended=extended, fixed='F' in found or call.name == 'fgrep')})"  # noqa: E501 - a line as it is printed
        for one in patterns
    )
    if "w" in found:
        joined = rf"(?<!\w)(?:{joined})(?!\w)"
    if "x" in found:
        joined = rf"(?:{joined})\Z"
    try:
        compiled = re.compile(joined.encode("latin-1"), re.IGNORECASE if "i" in found else 0)
    except re.error:
        await call.error(f"{call.name}: Invalid regular expression")
        return 2
    return await _Grep(call, compiled, found, many=len(names) > 1 or "H" in found).run(names)


class _Grep:
    def __init__(
        self, call: Call, compiled: re.Pattern[bytes], found: dict[str, str], *, many: bool
    ) -> None:
        self._call = call
        self._compiled = compiled
        self._found = found
        self._many = many and "h" not in found
        self._any = False

    async def run(self, names: list[str]) -> int:
        async for name, reader in inputs(self._call, names):
            shown = "(standard input)" if name == "-" else name
            if await self._one(shown, reader) and "q" in self._found:
                return 0
        if self._call.failed:
            return 2
        return 0 if self._any else 1

    async def _one(self, name: str, reader: Reader) -> bool:
        found = self._found
        prefix = f"{name}:" if self._many else ""
        count = number = pending = 0
        limit = int(found.get("m", "0") or 0)
        after = int(found.get("A") or found.get("C") or 0)
        kept = int(found.get("B") or found.get("C") or 0)
        before: list[bytes] = []
        silent = bool(found.keys() & {"c", "l", "L"})
        while line := await reader.line():
            number += 1
            text = line.removesuffix(b"\n")
            if not self._hit(text):
                if pending and not silent:
                    pending -= 1
                    await self._call.stdout.write(text + b"\n")
                elif kept:
                    before = [*before, text][-kept:]
                continue
            count += 1
            self._any = True
            if "q" in found:
                return True
            if not silent:
                label = prefix + (f"{number}:" if "n" in found else "")
                await self._show(label.encode("latin-1"), text, before)
                before, pending = [], after
            if limit and count >= limit:
                break
        await self._totals(name, prefix, count)
        return count > 0

    def _hit(self, text: bytes) -> bool:
        search = self._compiled.match if "x" in self._found else self._compiled.search
        return (search(text) is not None) != ("v" in self._found)

    async def _show(self, label: bytes, text: bytes, before: list[bytes]) -> None:
        for earlier in before:
            await self._call.stdout.write(earlier + b"\n")
        if "o" in self._found and "v" not in self._found:
            for part in self._compiled.finditer(text):
                await self._call.stdout.write(label + part[0] + b"\n")
        else:
            await self._call.stdout.write(label + text + b"\n")

    async def _totals(self, name: str, prefix: str, count: int) -> None:
        if "c" in self._found:
            await self._call.out(f"{prefix}{count}\n")
        elif ("l" in self._found and count) or ("L" in self._found and not count):
            await self._call.out(f"{name}\n")


def _leading_number(text: bytes) -> float:
    match = re.match(rb"\s*(-?\d+(?:\.\d+)?)", text)
    return float(match[1]) if match else 0.0


async def sort(call: Call) -> int:
    """Sort lines by bytes."""
    found, names = options(call.args, "nrubfhVs", "kt")
    lines = await _lines(call, names)
    field = found.get("k", "")
    separator = found["t"].encode("latin-1") if "t" in found else None
    match = re.match(r"(\d+)", field)
    column = int(match[1]) - 1 if match else -1
    numeric = "n" in found or "n" in field or "h" in found

    def key(line: bytes) -> tuple[float, bytes]:
        text = line
        if column >= 0:
            cells = line.split(separator)
            text = cells[column] if column < len(cells) else b""
        return (
            (_leading_number(text), b"")
            if numeric
            else (0.0, text.lower() if "f" in found else text)
        )

    ordered = sorted(sorted(lines), key=key)
    if "r" in found or "r" in field:
        ordered.reverse()
    if "u" in found:
        ordered = list({key(line): line for line in reversed(ordered)}.values())[::-1]
    await call.stdout.write(b"".join(line + b"\n" for line in ordered))
    return int(call.failed)


async def uniq(call: Call) -> int:
    """Drop repeated neighbours."""
    found, names = options(call.args, "cdui")
    groups: list[tuple[bytes, int]] = []
    for line in await _lines(call, names[:1]):
        if groups and groups[-1][0] == line:
            groups[-1] = (line, groups[-1][1] + 1)
        else:
            groups.append((line, 1))
    for line, count in groups:
        if ("d" in found and count < 2) or ("u" in found and count > 1):
            continue
        await call.stdout.write((b"%7d " % count if "c" in found else b"") + line + b"\n")
    return int(call.failed)


def _ranges(text: str) -> list[tuple[int, int]]:
    found = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not (first or last) or not (first + last).isdigit():
            raise UsageError(f"invalid field value '{text}'")
        start = int(first or 1)
        found.append((start, int(last or 1 << 30) if dash else start))
    return found


async def cut(call: Call) -> int:
    """Print fields or bytes of lines."""
    found, names = options(call.args, "s", "dfcb")
    ranges = _ranges(found.get("f") or found.get("c") or found.get("b") or "")
    delimiter = found.get("d", "\t").encode("latin-1")
    for line in await _lines(call, names):
        if "f" in found:
            if delimiter not in line:
                if "s" not in found:
                    await call.stdout.write(line + b"\n")
                continue
            cells = line.split(delimiter)
            chosen = [
                cell
                for index, cell in enumerate(cells, 1)
                if any(first <= index <= last for first, last in ranges)
            ]
            await call.stdout.write(delimiter.join(chosen) + b"\n")
        else:
            picked = bytes(
                byte
                for index, byte in enumerate(line, 1)
                if any(first <= index <= last for first, last in ranges)
            )
            await call.stdout.write(picked + b"\n")
    return int(call.failed)


_ESCAPES = {
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
_SETS = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\v\f\r",
    "[:blank:]": " \t",
    "[:alpha:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "[:alnum:]": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "[:cntrl:]": "".join(map(chr, [*range(32), 127])),
    "[:print:]": "".join(map(chr, range(32, 127))),
}


def _octal(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1][0].isdigit():
            return chr(int(match[1], 8) & 255)
        return _ESCAPES.get(match[1], match[1])

    return re.sub(r"\\([0-7]{1,3}|.)", one, text, flags=re.DOTALL)


def _set(text: str) -> str:
    for name, chars in _SETS.items():
        text = text.replace(name, chars)
    text = _octal(text)
    return re.sub(
        r"(.)-(.)",
        lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))),
        text,
        flags=re.DOTALL,
    )


async def tr(call: Call) -> int:
    """Replace, squeeze or delete characters."""
    found, sets = options(call.args, "dscC")
    first = _set(sets[0]) if sets else ""
    complement = bool(found.keys() & {"c", "C"})
    if complement:
        first = "".join(chr(code) for code in range(256) if chr(code) not in first)
    second = _set(sets[1]) if len(sets) > 1 else ""
    squeezed = second or first
    table = {}
    if second and "d" not in found:
        padded = second + second[-1] * (len(first) - len(second))
        table = {ord(a): padded[index] for index, a in enumerate(first)}
    last = ""
    while chunk := await call.stdin.read(_CHUNK):
        text = chunk.decode("latin-1")
        if "d" in found:
            text = "".join(char for char in text if char not in first)
        elif table:
            text = text.translate(table)
        if "s" in found:
            kept = []
            for char in text:
                if char != last or char not in squeezed:
                    kept.append(char)
                last = char
            text = "".join(kept)
        await call.out(text)
    return 0


async def echo(call: Call) -> int:
    """Print the arguments (dash: escapes are interpreted)."""
    args = call.args
    end = "\n"
    if args[:1] == ["-n"]:
        args, end = args[1:], ""
    text = " ".join(args)
    if "\\" in text:
        head_text, stop, _ = text.partition("\\c")
        text = re.sub(r"\\0([0-7]{0,3})", lambda m: chr(int(m[1] or "0", 8) & 255), head_text)
        text = re.sub(r"\\([abefnrtv\\])", lambda m: _ESCAPES[m[1]], text)
        if stop:
            end = ""
    await call.out(text + end)
    return 0


_FORMAT = re.compile(
    r"%%|%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?([sdiouxXcbeEfgG])|\\([0-7]{1,3}|.)|.", re.DOTALL
)


async def printf(call: Call) -> int:
    """Print by a format."""
    if not call.args:
        raise UsageError("usage: printf format [arg ...]")
    form, values = call.args[0], list(call.args[1:])
    out: list[str] = []
    status = 0
    while True:
        before = len(values)
        for match in _FORMAT.finditer(form):
            if match[0] == "%%":
                out.append("%")
            elif match[4]:
                text, good = _formatted(match, values)
                out.append(text)
                status |= not good
            elif match[5]:
                out.append(_octal(match[0]))
            else:
                out.append(match[0])
        if not values or len(values) == before:
            break
    await call.out("".join(out))
    return status


def _formatted(match: re.Match[str], values: list[str]) -> tuple[str, bool]:
    flags, width, precision, kind = match[1], match[2] or "", match[3], match[4]
    if width == "*":
        width = values.pop(0) if values else "0"
    if precision == "*":
        precision = values.pop(0) if values else "0"
    value = values.pop(0) if values else None
    spec = f"%{flags}{width}" + (f".{precision}" if precision is not None else "")
    if kind in "sb":
        return (spec + "s") % (_octal(value or "") if kind == "b" else value or ""), True
    if kind == "c":
        return (f"%{flags}{width}s") % (value or "")[:1], True
    try:
        if kind in "eEfgG":
            return (spec + kind) % float(value or 0), True
        number = (
            int(value, 0) if value and not re.fullmatch(r"0\d+", value) else int(value or "0", 8)
        )
        return (spec + ("d" if kind in "diu" else kind)) % number, True
    except ValueError:
        return (spec + "d") % 0, False


async def seq(call: Call) -> int:
    """Print a run of numbers."""
    numbers = [int(word) for word in call.args if re.fullmatch(r"-?\d+", word)]
    first, step, last = 1, 1, numbers[-1] if numbers else 0
    if len(numbers) == 2:
        first = numbers[0]
    elif len(numbers) == 3:
        first, step = numbers[0], numbers[1]
    values = range(first, last + (1 if step > 0 else -1), step or 1)
    await call.out("".join(f"{value}\n" for value in values))
    return 0


async def sed(call: Call) -> int:
    """Print lines by number (`-n 3,9p`), delete them, or substitute (`s/a/b/g`)."""
    found, names = options(call.args, "nrEu", "e")
    script = found["e"] if "e" in found else (names.pop(0) if names else "")
    extended = bool(found.keys() & {"r", "E"})
    parts = [one.strip() for one in script.split(";")]
    commands = [_sed_command(one, extended=extended) for one in parts if one]
    data = b""
    async for _, reader in inputs(call, names):
        data += await reader.all()
    lines = _split(data)
    for number, line in enumerate(lines, 1):
        last = number == len(lines)
        text, copies, done = _sed_line(line, number, len(lines), commands)
        copies += "n" not in found and copies >= 0
        end = b"" if last and not data.endswith(b"\n") else b"\n"
        if copies > 0:
            await call.stdout.write((text + b"\n") * (copies - 1) + text + end)
        if done:
            break
    return int(call.failed)


def _sed_line(
    line: bytes, number: int, count: int, commands: "list[_SedCommand]"
) -> tuple[bytes, int, bool]:
    """Apply the commands: the text, how often it is printed besides once (-1: deleted), end."""
    text, extra = line, 0
    for first, last, pattern, action, replace in commands:
        if pattern is not None:
            if not pattern.search(text):
                continue
        elif first is not None:
            start, end = (count if place == -1 else place for place in (first, last or first))
            if not start <= number <= end:
                continue
        if action == "d":
            return text, -1, False
        if action == "p":
            extra += 1
        elif action == "q":
            return text, extra, True
        elif replace is not None:
            text, changes = replace[0].subn(replace[1], text, count=replace[2])
            extra += bool(changes and replace[3])
    return text, extra, False


_SedCommand = tuple[
    int | None,
    int | None,
    re.Pattern[bytes] | None,
    str,
    tuple[re.Pattern[bytes], bytes, int, bool] | None,
]


def _sed_command(text: str, *, extended: bool) -> _SedCommand:
    match = re.fullmatch(
        r"(?:(\d+|\$)(?:,(\d+|\$))?|/((?:[^/\\]|\\.)*)/)?\s*([pdqs].*)", text, re.DOTALL
    )
    if match is None:
        raise UsageError(f"-e expression #1, char {len(text)}: unknown command")
    first = None if match[1] is None else (-1 if match[1] == "$" else int(match[1]))
    last = first if match[2] is None else (-1 if match[2] == "$" else int(match[2]))
    pattern = None
    if match[3] is not None:
        pattern = re.compile(
            _basic_to_python(match[3], extended=extended, fixed=False).encode("latin-1")
        )
    action = match[4]
    if action[0] != "s" or len(action) < 4:
        return first, last, pattern, action[0], None
    parts = re.split(rf"(?<!\\){re.escape(action[1])}", action[2:])
    if len(parts) != 3:
        raise UsageError("-e expression #1, char 0: unterminated `s' command")
    expression = _basic_to_python(
        parts[0].replace("\\" + action[1], action[1]), extended=extended, fixed=False
    )
    replacement = (
        re.sub(r"(?<!\\)&", r"\\g<0>", parts[1])
        .replace("\\" + action[1], action[1])
        .replace("\\&", "&")
    )
    return (
        first,
        last,
        pattern,
        "s",
        (
            re.compile(expression.encode("latin-1")),
            replacement.encode("latin-1"),
            0 if "g" in parts[2] else 1,
            "p" in parts[2],
        ),
    )


async def awk(call: Call) -> int:
    """`{print $N, ...}` with an optional /pattern/ or condition on NR."""
    found, names = options(call.args, "", "Fv")
    program = names.pop(0) if names else ""
    match = re.fullmatch(
        r"\s*(?:/((?:[^/\\]|\\.)*)/|NR\s*([<>=!]=?)\s*(\d+))?\s*(?:\{\s*print\s*(.*?)\s*;?\s*\})?\s*",
        program,
        re.DOTALL,
    )
    if match is None:
        await call.error("awk: only patterns and print are known here")
        return 2
    pattern = re.compile(match[1].encode("latin-1")) if match[1] is not None else None
    compare = {
        "==": "__eq__",
        "!=": "__ne__",
        "<": "__lt__",
        ">": "__gt__",
        "<=": "__le__",
        ">=": "__ge__",
    }
    for number, line in enumerate(await _lines(call, names), 1):
        if pattern is not None and not pattern.search(line):
            continue
        if match[2] and not getattr(number, compare.get(match[2], "__eq__"))(int(match[3])):
            continue
        cells = line.split(found["F"].encode("latin-1") if "F" in found else None)
        await call.stdout.write(_awk_line(match[4] or "$0", line, cells, number) + b"\n")
    return int(call.failed)


def _awk_line(items: str, line: bytes, cells: list[bytes], number: int) -> bytes:
    out: list[bytes] = []
    for item in re.findall(r'"[^"]*"|[^,\s]+|,', items):
        if item == ",":
            out.append(b" ")
        elif item.startswith('"'):
            out.append(_octal(item[1:-1]).encode("latin-1"))
        elif item == "$0":
            out.append(line)
        elif item == "NR":
            out.append(b"%d" % number)
        elif item == "NF":
            out.append(b"%d" % len(cells))
        elif item == "$NF":
            out.append(cells[-1] if cells else b"")
        elif item[1:].isdigit():
            index = int(item[1:])
            out.append(cells[index - 1] if index <= len(cells) else b"")
    return b"".join(out)


async def tee(call: Call) -> int:
    """Copy stdin to stdout and to files."""
    found, names = options(call.args, "ai")
    files = call.machine.files
    nodes = [files.open_for_writing(call.path(name), truncate="a" not in found) for name in names]
    while chunk := await call.stdin.read(_CHUNK):
        await call.stdout.write(chunk)
        for node in nodes:
            files.extend(node, chunk)
    return 0


async def rev_lines(call: Call) -> int:
    """`tac`: lines from last to first."""
    lines = await _lines(call, call.args)
    await call.stdout.write(b"".join(line + b"\n" for line in reversed(lines)))
    return int(call.failed)


def reader_of(data: bytes) -> Reader:
    """Return a reader over bytes."""
    return BytesReader(data)


TOOLS: dict[str, Tool] = {
    "awk": awk,
    "cat": cat,
    "cut": cut,
    "echo": echo,
    "egrep": grep,
    "fgrep": grep,
    "grep": grep,
    "head": head,
    "printf": printf,
    "sed": sed,
    "seq": seq,
    "sort": sort,
    "tac": rev_lines,
    "tail": tail,
    "tee": tee,
    "tr": tr,
    "uniq": uniq,
    "wc": wc,
}
