"""Commands that change the shell itself, and `test`."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetui.simulator.hosts.shell.interpreter import Shell

Builtin = Callable[["Shell", list[str]], Awaitable[int]]


def _leave(kind: str) -> Builtin:
    async def leave(shell: "Shell", args: list[str]) -> int:
        from fleetui.simulator.hosts.shell.interpreter import Leave  # noqa: PLC0415 - a cycle

        default = shell.status if kind in {"exit", "return"} else 1
        value = int(args[0]) if args and args[0].lstrip("-").isdigit() else default
        raise Leave(kind, value & 255 if kind in {"exit", "return"} else value)

    return leave


async def _colon(shell: "Shell", args: list[str]) -> int:
    del shell, args
    return 0


async def _set(shell: "Shell", args: list[str]) -> int:
    if not args:
        for name in sorted(shell.variables):
            value = shell.variables[name].replace("'", "'\"'\"'")
            await shell.writers[1].write(f"{name}='{value}'\n".encode("latin-1"))
        return 0
    index = 0
    while index < len(args) and args[index][:1] in {"-", "+"} and len(args[index]) > 1:
        word = args[index]
        index += 1
        if word == "--":
            shell.positional = args[index:]
            return 0
        if word[1:] == "o":
            index += 1
            continue
        change = shell.options.update if word[0] == "-" else shell.options.difference_update
        change(word[1:])
    if index < len(args):
        shell.positional = args[index:]
    return 0


async def _shift(shell: "Shell", args: list[str]) -> int:
    count = int(args[0]) if args and args[0].isdigit() else 1
    if count > len(shell.positional):
        await shell.complain(f"{shell.name}: 1: shift: can't shift that many")
        return 2
    del shell.positional[:count]
    return 0


async def _unset(shell: "Shell", args: list[str]) -> int:
    functions = "-f" in args
    for name in args:
        if functions:
            shell.functions.pop(name, None)
        else:
            shell.variables.pop(name, None)
            shell.exported.discard(name)
    return 0


async def _export(shell: "Shell", args: list[str]) -> int:
    for word in args:
        name, given, value = word.partition("=")
        if given:
            shell.variables[name] = value
        shell.exported.add(name)
    return 0


async def _local(shell: "Shell", args: list[str]) -> int:
    for word in args:
        name, given, value = word.partition("=")
        if given:
            shell.variables[name] = value
    return 0


async def _eval(shell: "Shell", args: list[str]) -> int:
    from fleetui.simulator.hosts.shell.parser import parse  # noqa: PLC0415 - a cycle

    return await shell.run(parse(" ".join(args)))


async def _exec(shell: "Shell", args: list[str]) -> int:
    from fleetui.simulator.hosts.shell.interpreter import Leave  # noqa: PLC0415 - a cycle

    raise Leave("exit", await shell.call(args, {}))


async def _cd(shell: "Shell", args: list[str]) -> int:
    target = args[0] if args else "/root"
    path = shell.machine.files.resolve(target, shell.cwd)
    if not shell.machine.files.is_folder(path):
        await shell.complain(f"{shell.name}: 1: cd: can't cd to {target}")
        return 2
    shell.cwd = path
    shell.variables["PWD"] = path
    return 0


async def _pwd(shell: "Shell", args: list[str]) -> int:
    del args
    await shell.writers[1].write(shell.cwd.encode("latin-1") + b"\n")
    return 0


async def _read(shell: "Shell", args: list[str]) -> int:
    raw = "-r" in args
    names = [word for word in args if not word.startswith("-")] or ["REPLY"]
    line = (await shell.readers[0].line()).decode("latin-1")
    ended = line.endswith("\n")
    while not raw and line.endswith("\\\n"):
        line = line[:-2] + (await shell.readers[0].line()).decode("latin-1")
        ended = line.endswith("\n")
    line = line.removesuffix("\n")
    if not raw:
        line = line.replace("\\", "")
    ifs = shell.variables.get("IFS", " \t\n")
    blank = "".join(char for char in ifs if char in " \t\n")
    rest = line.strip(blank) if blank else line
    for name in names[:-1]:
        cut = next((at for at, char in enumerate(rest) if char in ifs), len(rest))
        shell.variables[name] = rest[:cut]
        after = rest[cut:].lstrip(blank) if blank else rest[cut:]
        rest = (
            after[1:].lstrip(blank)
            if after[:1] and after[0] in ifs and after[0] not in blank
            else after
        )
    shell.variables[names[-1]] = rest
    return 0 if ended else 1


async def _wait(shell: "Shell", args: list[str]) -> int:
    del args
    jobs = list(shell.background)
    if jobs:
        await asyncio.gather(*jobs, return_exceptions=True)
    return 0


async def _command(shell: "Shell", args: list[str]) -> int:
    if args[:1] in (["-v"], ["-V"]):
        name = args[1] if len(args) > 1 else ""
        if name in PLAIN or name in SPECIAL or name in shell.functions:
            found = name
        elif name in shell.tools or shell.machine.has_program(name):
            found = f"/usr/bin/{name}"
        else:
            return 127
        await shell.writers[1].write(found.encode("latin-1") + b"\n")
        return 0
    while args and args[0] in {"-p", "--"}:
        args = args[1:]
    return await shell.call(args, {}) if args else 0


async def _type(shell: "Shell", args: list[str]) -> int:
    return await _command(shell, ["-v", *args])


async def _test(shell: "Shell", args: list[str]) -> int:
    try:
        return 0 if _Test(shell, args).answer() else 1
    except ValueError as error:
        await shell.complain(f"{shell.name}: 1: [: {error}")
        return 2


async def _bracket(shell: "Shell", args: list[str]) -> int:
    if args[-1:] != ["]"]:
        await shell.complain(f"{shell.name}: 1: [: missing ]")
        return 2
    return await _test(shell, args[:-1])


def _number(text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise ValueError(f"Illegal number: {text}") from None


class _Test:
    """The expression of `test`."""

    def __init__(self, shell: "Shell", args: list[str]) -> None:
        self._shell = shell
        self._args = args
        self._at = 0

    def answer(self) -> bool:
        if not self._args:
            return False
        value = self._or()
        if self._at < len(self._args):
            raise ValueError(f"{self._args[self._at]}: unexpected operator")
        return value

    def _or(self) -> bool:
        value = self._and()
        while self._args[self._at : self._at + 1] == ["-o"]:
            self._at += 1
            value = self._and() or value
        return value

    def _and(self) -> bool:
        value = self._not()
        while self._args[self._at : self._at + 1] == ["-a"]:
            self._at += 1
            value = self._not() and value
        return value

    def _not(self) -> bool:
        rest = self._args[self._at :]
        if rest[:1] == ["!"] and len(rest) > 1 and not (len(rest) >= 3 and rest[1] in _BINARY):
            self._at += 1
            return not self._not()
        if rest[:1] == ["("] and len(rest) > 2 and rest[1] not in _BINARY:
            self._at += 1
            value = self._or()
            self._at += 1
            return value
        return self._primary(rest)

    def _primary(self, rest: list[str]) -> bool:
        if not rest:
            raise ValueError("argument expected")
        if len(rest) >= 3 and rest[1] in _BINARY:
            self._at += 3
            return _BINARY[rest[1]](rest[0], rest[2])
        if len(rest) >= 2 and len(rest[0]) == 2 and rest[0][0] == "-" and rest[0][1] in _UNARY:
            self._at += 2
            return self._unary(rest[0][1], rest[1])
        self._at += 1
        return rest[0] != ""

    def _unary(self, kind: str, value: str) -> bool:
        if kind in "nz":
            return (value != "") == (kind == "n")
        if kind == "t":
            return False
        files = self._shell.machine.files
        if not value:
            return False
        path = files.resolve(value, self._shell.cwd)
        if kind in "hL":
            return files.link(path) is not None
        if not files.exists(path):
            return False
        if kind == "s":
            return files.size(path) > 0
        if kind == "d":
            return files.is_folder(path)
        if kind in "fx":
            return not files.is_folder(path) or kind == "x"
        return kind in "erw"


_UNARY = "nzfderwxshLt"
_BINARY: dict[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "-eq": lambda a, b: _number(a) == _number(b),
    "-ne": lambda a, b: _number(a) != _number(b),
    "-lt": lambda a, b: _number(a) < _number(b),
    "-le": lambda a, b: _number(a) <= _number(b),
    "-gt": lambda a, b: _number(a) > _number(b),
    "-ge": lambda a, b: _number(a) >= _number(b),
}


async def _umask(shell: "Shell", args: list[str]) -> int:
    if not args:
        await shell.writers[1].write(b"0022\n")
    return 0


async def _dot(shell: "Shell", args: list[str]) -> int:
    from fleetui.simulator.hosts.shell.parser import parse  # noqa: PLC0415 - a cycle

    path = shell.machine.files.resolve(args[0], shell.cwd)
    if not shell.machine.files.exists(path):
        await shell.complain(f"{shell.name}: 1: .: cannot open {args[0]}: No such file")
        return 2
    text = shell.machine.files.read(path).decode("latin-1")
    with contextlib.suppress(ValueError):
        return await shell.run(parse(text))
    return 2


SPECIAL: dict[str, Builtin] = {
    ":": _colon,
    ".": _dot,
    "break": _leave("break"),
    "continue": _leave("continue"),
    "exit": _leave("exit"),
    "return": _leave("return"),
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "export": _export,
    "readonly": _export,
    "eval": _eval,
    "exec": _exec,
    "trap": _colon,
    "times": _colon,
}
PLAIN: dict[str, Builtin] = {
    "true": _colon,
    "cd": _cd,
    "pwd": _pwd,
    "read": _read,
    "wait": _wait,
    "command": _command,
    "type": _type,
    "test": _test,
    "[": _bracket,
    "local": _local,
    "umask": _umask,
    "ulimit": _colon,
    "jobs": _colon,
    "hash": _colon,
    "alias": _colon,
}
