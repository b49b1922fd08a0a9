"""Tools that print their arguments: echo, printf, seq."""

import re

from fleetui.simulator.hosts.shell.interpreter import Call, Tool
from fleetui.simulator.hosts.shell.options import UsageError
from fleetui.simulator.hosts.shell.text_input import ESCAPES, unescape_octal


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
        text = re.sub(r"\\([abefnrtv\\])", lambda m: ESCAPES[m[1]], text)
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
                out.append(unescape_octal(match[0]))
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
        return (spec + "s") % (unescape_octal(value or "") if kind == "b" else value or ""), True
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


TOOLS: dict[str, Tool] = {
    "echo": echo,
    "printf": printf,
    "seq": seq,
}
