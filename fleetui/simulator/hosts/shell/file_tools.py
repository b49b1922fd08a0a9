"""Tools over the file tree: ls, stat, dd, find and their kin."""

import re
import stat as mode_bits
import time
from collections.abc import Callable
from datetime import UTC, datetime

from fleetui.simulator.hosts.files import Files, Node
from fleetui.simulator.hosts.shell.interpreter import Call, Tool
from fleetui.simulator.hosts.shell.options import UsageError, options
from fleetui.simulator.hosts.shell.patterns import compile_pattern
from fleetui.simulator.hosts.shell.text_input import size_value


def _mode(node: Node) -> int:
    kind = (
        mode_bits.S_IFDIR if node.folder else mode_bits.S_IFLNK if node.link else mode_bits.S_IFREG
    )
    return kind | node.mode


def _human_time(at: float) -> str:
    whole = datetime.fromtimestamp(at, UTC)
    return whole.strftime("%Y-%m-%d %H:%M:%S.") + f"{whole.microsecond * 1000:09d} +0000"


def _kind(node: Node) -> str:
    if node.folder:
        return "directory"
    if node.link:
        return "symbolic link"
    return "regular file" if node.size else "regular empty file"


_DIRECTIVES: dict[str, Callable[[str, Node], object]] = {
    "n": lambda path, _node: path,
    "s": lambda _path, node: node.size,
    "i": lambda _path, node: node.inode,
    "d": lambda _path, _node: Files.device,
    "D": lambda _path, _node: f"{Files.device:x}",
    "X": lambda _path, node: int(node.mtime),
    "Y": lambda _path, node: int(node.mtime),
    "Z": lambda _path, node: int(node.mtime),
    "W": lambda _path, node: int(node.born),
    "x": lambda _path, node: _human_time(node.mtime),
    "y": lambda _path, node: _human_time(node.mtime),
    "z": lambda _path, node: _human_time(node.mtime),
    "w": lambda _path, node: _human_time(node.born),
    "a": lambda _path, node: f"{node.mode:o}",
    "A": lambda _path, node: mode_bits.filemode(_mode(node)),
    "f": lambda _path, node: f"{_mode(node):x}",
    "F": lambda _path, node: _kind(node),
    "b": lambda _path, node: -(-node.size // 512),
    "B": lambda _path, _node: 512,
    "o": lambda _path, _node: 4096,
    "h": lambda _path, node: node.links,
    "u": lambda _path, _node: 0,
    "g": lambda _path, _node: 0,
    "U": lambda _path, _node: "root",
    "G": lambda _path, _node: "root",
    "m": lambda _path, _node: "/",
    "t": lambda _path, _node: 0,
    "T": lambda _path, _node: 0,
    "N": lambda path, node: f"'{path}'" + (f" -> '{node.link}'" if node.link else ""),
}


def _directive(name: str, path: str, node: Node) -> str:
    made = _DIRECTIVES.get(name)
    return "?" if made is None else str(made(path, node))


async def stat(call: Call) -> int:
    """Describe files by a format or in full."""
    found, names = options(call.args, "Lt", "c", ("format", "printf", "dereference"))
    form = found.get("c") or found.get("format")
    status = 0
    out = []
    files = call.machine.files
    for name in names:
        node = files.stat(call.path(name), follow="L" in found or "dereference" in found)
        if node is None:
            await call.error(f"stat: cannot statx '{name}': No such file or directory")
            status = 1
        elif form is not None:
            out.append(_formatted(form, name, node) + "\n")
        elif "printf" in found:
            out.append(_formatted(found["printf"], name, node).replace("\\n", "\n"))
        else:
            form_text = (
                "  File: %n\n  Size: %s\tBlocks: %b\tIO Block: %o   %F\nDevice: 0,81\tInode: %i\tLinks: 1\n"  # noqa: E501 - a line as it is printed
                "Access: (0%a/%A)  Uid: (    0/    root)   Gid: (    0/    root)\n"
                "Access: %x\nModify: %y\nChange: %z\n Birth: %w\n"
            )
            out.append(_formatted(form_text, name, node))
    await call.out("".join(out))
    return status


def _formatted(form: str, path: str, node: Node) -> str:
    return re.sub(
        r"%(%|[a-zA-Z])", lambda m: "%" if m[1] == "%" else _directive(m[1], path, node), form
    )


async def ls(call: Call) -> int:
    """List files."""
    found, names = options(call.args, "lahtrASs1dFihRn", "", ("color", "full-time", "time-style"))
    files = call.machine.files
    plain: list[str] = []
    folders: list[str] = []
    status = 0
    for name in names or ["."]:
        path = call.path(name)
        if not files.exists(path):
            await call.error(f"ls: cannot access '{name}': No such file or directory")
            status = 2
        elif files.is_folder(path) and "d" not in found:
            folders.append(name)
        else:
            plain.append(name)
    out: list[str] = []
    await _listing(call, [(name, call.path(name)) for name in plain], found, out, total=False)
    for index, name in enumerate(folders):
        path = call.path(name)
        if len(folders) > 1 or plain:
            out.append(("\n" if index or plain else "") + f"{name}:\n")
        shown = [
            entry for entry in files.names(path) if "a" in found or "A" in found or entry[0] != "."
        ]
        entries = [(entry, f"{path.rstrip('/')}/{entry}") for entry in shown]
        if "a" in found:
            entries = [(".", path), ("..", path.rpartition("/")[0] or "/"), *entries]
        await _listing(call, entries, found, out, total=True)
    await call.out("".join(out))
    return status


async def _listing(
    call: Call,
    entries: list[tuple[str, str]],
    found: dict[str, str],
    out: list[str],
    *,
    total: bool,
) -> None:
    files = call.machine.files
    rows = [
        (name, path, node) for name, path in entries if (node := files.stat(path, follow=False))
    ]
    if "t" in found:
        rows.sort(key=lambda row: -row[2].mtime)
    elif "S" in found:
        rows.sort(key=lambda row: -row[2].size)
    if "r" in found:
        rows.reverse()
    if not found.keys() & {"l", "n", "full-time"}:
        out.extend(f"{_inode(node, found)}{name}\n" for name, _, node in rows)
        return
    if total:
        out.append(f"total {sum(-(-node.size // 4096) * 4 for _, _, node in rows)}\n")
    sizes = [_size(node.size, human="h" in found) for _, _, node in rows]
    width = max((len(size) for size in sizes), default=1)
    now = call.machine.engine.now
    for (name, _, node), size in zip(rows, sizes, strict=True):
        at = time.gmtime(node.mtime)
        recent = now - node.mtime < 15_778_476
        when = time.strftime("%b %e %H:%M" if recent else "%b %e  %Y", at)
        if "full-time" in found:
            when = _human_time(node.mtime)
        arrow = f" -> {node.link}" if node.link else ""
        mode = mode_bits.filemode(_mode(node))
        out.append(
            f"{_inode(node, found)}{mode} {2 if node.folder else 1} root root {size:>{width}} {when} {name}{arrow}\n"  # noqa: E501 - a line as it is printed
        )


def _inode(node: Node, found: dict[str, str]) -> str:
    return f"{node.inode} " if "i" in found else ""


def _size(size: int, *, human: bool) -> str:
    if not human or size < 1024:
        return str(size)
    value = float(size)
    for unit in "KMGT":
        value /= 1024
        if value < 1024:
            return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
    return f"{value:.0f}P"


async def dd(call: Call) -> int:
    """Copy blocks of a file to stdout."""
    values = dict(word.partition("=")[::2] for word in call.args)
    block = size_value(values.get("bs", values.get("ibs", "512")))
    count = size_value(values["count"]) if "count" in values else None
    skip = size_value(values.get("skip", "0"))
    flags = values.get("iflag", "")
    offset = skip if "skip_bytes" in flags else skip * block
    left = (1 << 62) if count is None else count if "count_bytes" in flags else count * block
    if "if" in values:
        path = call.path(values["if"])
        if not call.machine.files.exists(path):
            await call.error(f"dd: failed to open '{values['if']}': No such file or directory")
            return 1
        load = call.machine.files.opener(path)
        copied = 0
        while left > 0 and (chunk := load(offset, min(left, 65_536))):
            await call.stdout.write(chunk)
            offset += len(chunk)
            copied += len(chunk)
            left -= len(chunk)
    else:
        copied = 0
        while left > 0 and (chunk := await call.stdin.read(min(left, 65_536))):
            await call.stdout.write(chunk)
            copied += len(chunk)
            left -= len(chunk)
    if values.get("status") != "none":
        await call.error(f"{copied // block}+{int(copied % block > 0)} records in")
        await call.error(f"{copied // block}+{int(copied % block > 0)} records out")
    return 0


async def find(call: Call) -> int:
    """Walk folders: -name, -type, -maxdepth, -size +N, -newer."""
    roots = []
    args = list(call.args)
    while args and not args[0].startswith("-"):
        roots.append(args.pop(0))
    tests = dict(zip(args[::2], args[1::2], strict=False))
    depth = int(tests.get("-maxdepth", "64"))
    compiled = compile_pattern(tests["-name"]) if "-name" in tests else None
    kind = tests.get("-type", "")
    files = call.machine.files
    status = 0

    async def walk(shown: str, path: str, level: int) -> None:
        node = files.stat(path, follow=False)
        if node is None:
            return
        name = shown.rsplit("/", 1)[-1]
        matches = compiled is None or compiled.fullmatch(name) is not None
        if matches and kind in {"", "d" if node.folder else "f"}:
            await call.out(f"{shown}\n")
        if node.folder and level < depth and path != "/proc":
            for entry in files.names(path):
                await walk(f"{shown.rstrip('/')}/{entry}", f"{path.rstrip('/')}/{entry}", level + 1)

    for root in roots or ["."]:
        path = call.path(root)
        if not files.exists(path):
            await call.error(f"find: '{root}': No such file or directory")
            status = 1
        else:
            await walk(root, path, 0)
    return status


async def readlink(call: Call) -> int:
    """Print where a link leads."""
    found, names = options(call.args, "fenm")
    for name in names:
        path = call.path(name)
        target = call.machine.files.link(path)
        if target is None and not found.keys() & {"f", "e", "m"}:
            return 1
        await call.out(f"{target or path}\n")
    return 0


async def mkdir(call: Call) -> int:
    """Make folders."""
    _, names = options(call.args, "p", "m")
    for name in names:
        call.machine.files.folder(call.path(name))
    return 0


async def touch(call: Call) -> int:
    """Make files or set their time to now."""
    _, names = options(call.args, "acm", "dtr")
    for name in names:
        call.machine.files.append(call.path(name), b"")
    return 0


async def rm(call: Call) -> int:
    """Delete files."""
    found, names = options(call.args, "rRfv")
    status = 0
    for name in names:
        path = call.path(name)
        if call.machine.files.is_folder(path) and not found.keys() & {"r", "R"}:
            await call.error(f"rm: cannot remove '{name}': Is a directory")
            status = 1
        elif not call.machine.files.remove(path) and "f" not in found:
            await call.error(f"rm: cannot remove '{name}': No such file or directory")
            status = 1
    return status


async def mv(call: Call) -> int:
    """Rename a file."""
    _, names = options(call.args, "fnv")
    if len(names) != 2:
        raise UsageError("missing file operand")
    target = call.path(names[1])
    if call.machine.files.is_folder(target):
        target = f"{target}/{names[0].rsplit('/', 1)[-1]}"
    if not call.machine.files.rename(call.path(names[0]), target):
        await call.error(f"mv: cannot stat '{names[0]}': No such file or directory")
        return 1
    return 0


async def cp(call: Call) -> int:
    """Copy a file."""
    _, names = options(call.args, "rRafpv")
    if len(names) != 2:
        raise UsageError("missing file operand")
    source, target = call.path(names[0]), call.path(names[1])
    files = call.machine.files
    if not files.exists(source):
        await call.error(f"cp: cannot stat '{names[0]}': No such file or directory")
        return 1
    if files.is_folder(target):
        target = f"{target}/{names[0].rsplit('/', 1)[-1]}"
    files.write(target, files.read(source))
    return 0


async def truncate(call: Call) -> int:
    """Cut files to a size."""
    found, names = options(call.args, "c", "s")
    size = size_value(found.get("s", "0"))
    for name in names:
        path = call.path(name)
        call.machine.files.write(path, call.machine.files.read(path)[:size])
    return 0


async def basename(call: Call) -> int:
    """Print the last part of a path."""
    text = call.args[0].rstrip("/").rsplit("/", 1)[-1] if call.args else ""
    suffix = call.args[1] if len(call.args) > 1 else ""
    await call.out((text.removesuffix(suffix) if text != suffix else text) + "\n")
    return 0


async def dirname(call: Call) -> int:
    """Print all but the last part of a path."""
    for word in call.args:
        folder, slash, _ = word.rstrip("/").rpartition("/")
        await call.out((folder or ("/" if slash else ".")) + "\n")
    return 0


async def df(call: Call) -> int:
    """Show the space of the disk."""
    found, names = options(call.args, "hPkTaim", "B", ("output",))
    machine = call.machine
    total = machine.hardware.disk_gib << 20
    used = min(machine.disk_used_kib, total)
    share = -(-used * 100 // total)
    if "h" in found:
        head, unit = "Filesystem      Size  Used Avail Use% Mounted on", 1
        cells = [_size(value * 1024, human=True) for value in (total, used, total - used)]
        row = f"overlay         {cells[0]:>4}  {cells[1]:>4} {cells[2]:>5} {share:>3}% /"
    else:
        unit = 1
        head = f"Filesystem     {'1024-blocks' if 'P' in found else '1K-blocks'}      Used Available {'Capacity' if 'P' in found else 'Use%'} Mounted on"  # noqa: E501 - a line as it is printed
        row = f"overlay        {total // unit:>9} {used // unit:>9} {(total - used) // unit:>9} {share:>3}% /"  # noqa: E501 - a line as it is printed
    rows = [row] * max(
        1, len([name for name in names if call.machine.files.exists(call.path(name))])
    )
    await call.out("\n".join([head, *rows]) + "\n")
    return 0


async def du(call: Call) -> int:
    """Sum up the sizes below a path."""
    found, names = options(call.args, "shkacx", "d", ("max-depth",))
    files = call.machine.files

    def total(path: str) -> int:
        node = files.stat(path)
        if node is None:
            return 0
        below = (
            sum(total(f"{path.rstrip('/')}/{name}") for name in files.names(path))
            if node.folder
            else 0
        )
        return node.size + below

    for name in names or ["."]:
        size = total(call.path(name))
        shown = _size(size, human=True) if "h" in found else str(-(-size // 1024))
        await call.out(f"{shown}\t{name}\n")
    return 0


TOOLS: dict[str, Tool] = {
    "basename": basename,
    "cp": cp,
    "dd": dd,
    "df": df,
    "dirname": dirname,
    "du": du,
    "find": find,
    "ls": ls,
    "mkdir": mkdir,
    "mv": mv,
    "readlink": readlink,
    "rm": rm,
    "stat": stat,
    "touch": touch,
    "truncate": truncate,
}
