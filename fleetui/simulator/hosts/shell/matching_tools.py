"""Tools that match and change text: grep, sed, awk."""

import re

from fleetui.simulator.hosts.shell.interpreter import Call, Tool
from fleetui.simulator.hosts.shell.options import UsageError, options
from fleetui.simulator.hosts.shell.streams import Reader
from fleetui.simulator.hosts.shell.text_input import (
    inputs,
    lines_of,
    python_pattern,
    split_lines,
    unescape_octal,
)


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
        f"(?:{python_pattern(one, extended=extended, fixed='F' in found or call.name == 'fgrep')})"
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
    lines = split_lines(data)
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
            python_pattern(match[3], extended=extended, fixed=False).encode("latin-1")
        )
    action = match[4]
    if action[0] != "s" or len(action) < 4:
        return first, last, pattern, action[0], None
    parts = re.split(rf"(?<!\\){re.escape(action[1])}", action[2:])
    if len(parts) != 3:
        raise UsageError("-e expression #1, char 0: unterminated `s' command")
    expression = python_pattern(
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
    for number, line in enumerate(await lines_of(call, names), 1):
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
            out.append(unescape_octal(item[1:-1]).encode("latin-1"))
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


TOOLS: dict[str, Tool] = {
    "awk": awk,
    "egrep": grep,
    "fgrep": grep,
    "grep": grep,
    "sed": sed,
}
