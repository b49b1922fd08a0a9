"""Tools that copy and reorder text: cat, head, tail, sort, cut, tr and their kin."""

import asyncio
import re

from fleetui.simulator.hosts.shell.interpreter import Call, Tool
from fleetui.simulator.hosts.shell.options import UsageError, options
from fleetui.simulator.hosts.shell.streams import FileReader, Reader
from fleetui.simulator.hosts.shell.text_input import (
    CHUNK,
    inputs,
    lines_of,
    size_value,
    split_lines,
    unescape_octal,
)

_TAIL_POLL_SECONDS = 0.25


async def cat(call: Call) -> int:
    """Copy files to stdout."""
    found, names = options(call.args, "unAvteEsTb")
    number = 0
    async for _, reader in inputs(call, names):
        if "n" in found:
            for line in split_lines(await reader.all()):
                number += 1
                await call.stdout.write(b"%6d\t%s\n" % (number, line))
            continue
        while chunk := await reader.read(CHUNK):
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
            while left > 0 and (chunk := await reader.read(min(left, CHUNK))):
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
        while chunk := await reader.read(CHUNK):
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
        while chunk := self._node.load(self.offset, CHUNK):
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


def _leading_number(text: bytes) -> float:
    match = re.match(rb"\s*(-?\d+(?:\.\d+)?)", text)
    return float(match[1]) if match else 0.0


async def sort(call: Call) -> int:
    """Sort lines by bytes."""
    found, names = options(call.args, "nrubfhVs", "kt")
    lines = await lines_of(call, names)
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
    for line in await lines_of(call, names[:1]):
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
    for line in await lines_of(call, names):
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


def _set(text: str) -> str:
    for name, chars in _SETS.items():
        text = text.replace(name, chars)
    text = unescape_octal(text)
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
    while chunk := await call.stdin.read(CHUNK):
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


async def tee(call: Call) -> int:
    """Copy stdin to stdout and to files."""
    found, names = options(call.args, "ai")
    files = call.machine.files
    nodes = [files.open_for_writing(call.path(name), truncate="a" not in found) for name in names]
    while chunk := await call.stdin.read(CHUNK):
        await call.stdout.write(chunk)
        for node in nodes:
            files.extend(node, chunk)
    return 0


async def rev_lines(call: Call) -> int:
    """`tac`: lines from last to first."""
    lines = await lines_of(call, call.args)
    await call.stdout.write(b"".join(line + b"\n" for line in reversed(lines)))
    return int(call.failed)


TOOLS: dict[str, Tool] = {
    "cat": cat,
    "cut": cut,
    "head": head,
    "sort": sort,
    "tac": rev_lines,
    "tail": tail,
    "tee": tee,
    "tr": tr,
    "uniq": uniq,
    "wc": wc,
}
