"""A host's files: growing logs, big files of which only the size matters, /proc and /sys."""

import posixpath
from collections.abc import Callable, Iterable

from fleetui.simulator.hosts.shell.patterns import compile_pattern, is_pattern, unescape

_DEVICE = 0x51
_ZEROS = bytes(65_536)
ROTATE_BYTES = 24 << 20


class Node:
    """One inode. `extra` bytes beyond `data` read as zeros (a file that is only its size)."""

    __slots__ = (
        "born",
        "data",
        "extra",
        "folder",
        "inode",
        "link",
        "links",
        "make",
        "mode",
        "mtime",
    )

    def __init__(
        self,
        inode: int,
        at: float,
        *,
        folder: bool = False,
        link: str | None = None,
        make: Callable[[], bytes] | None = None,
    ) -> None:
        self.inode = inode
        self.born = at
        self.mtime = at
        self.folder = folder
        self.link = link
        self.links = 1
        self.make = make
        self.data = bytearray()
        self.extra = 0
        self.mode = 0o755 if folder else 0o644

    @property
    def size(self) -> int:
        """Bytes in the file (made ones, as in /proc, have none)."""
        return 4096 if self.folder else len(self.data) + self.extra

    def load(self, offset: int, limit: int) -> bytes:
        """Return up to `limit` bytes from `offset`."""
        if self.make is not None:
            return self.make()[offset : offset + limit]
        if offset < len(self.data):
            return bytes(memoryview(self.data)[offset : offset + limit])
        rest = min(limit, len(self.data) + self.extra - offset, len(_ZEROS))
        return _ZEROS[:rest] if rest > 0 else b""


class Files:
    """The file tree. Every look first lets the host live up to the present (`sync`)."""

    device = _DEVICE

    def __init__(self, sync: Callable[[], None], now: Callable[[], float], inode: int) -> None:
        self._sync = sync
        self._now = now
        self._next_inode = inode
        self._nodes: dict[str, Node] = {}
        self._children: dict[str, set[str]] = {"/": set()}
        self._open: dict[str, Node] = {}
        self.virtual: Callable[[str], Node | None] = lambda _path: None
        self.virtual_names: Callable[[str], Iterable[str]] = lambda _path: ()
        self._put("/", folder=True)

    # ------------------------------------------------------------------ for the programs

    def _put(
        self, path: str, *, folder: bool = False, make: Callable[[], bytes] | None = None
    ) -> Node:
        if path != "/":
            parent, _, name = path.rpartition("/")
            if (parent or "/") not in self._nodes:
                self._put(parent or "/", folder=True)
            self._children.setdefault(parent or "/", set()).add(name)
        self._next_inode += 1
        node = Node(self._next_inode, self._now(), folder=folder, make=make)
        self._nodes[path] = node
        if folder:
            self._children.setdefault(path, set())
        return node

    def folder(self, path: str) -> None:
        """Make a folder and those above it."""
        if path not in self._nodes:
            self._put(path, folder=True)

    def device_file(self, path: str, make: Callable[[], bytes]) -> None:
        """Put a file whose content is made when it is read."""
        self._put(path, make=make)

    def append(self, path: str, data: bytes) -> None:
        """Add bytes to a file, which is made when missing."""
        node = self._nodes.get(path)
        if node is None:
            node = self._put(path)
        if len(node.data) > ROTATE_BYTES:
            self.rename(path, path + ".1")
            node = self._put(path)
        self.extend(node, data)

    def extend(self, node: Node, data: bytes) -> None:
        """Add bytes to an open file, wherever its name is now."""
        node.data += data
        node.mtime = self._now()

    def write(self, path: str, data: bytes) -> None:
        """Replace a file's content, keeping its inode (truncate, then write)."""
        node = self._nodes.get(path) or self._put(path)
        node.data = bytearray(data)
        node.extra = 0
        node.mtime = self._now()

    def sized(self, path: str, size: int) -> None:
        """Make a file of a size without content, or change its size."""
        node = self._nodes.get(path) or self._put(path)
        if node.extra != size:
            node.extra = size
            node.mtime = self._now()

    def open_for_writing(self, path: str, *, truncate: bool) -> Node:
        """Open a file for output."""
        self._sync()
        node = self._nodes.get(path) or self._put(path)
        if truncate:
            node.data = bytearray()
            node.extra = 0
            node.mtime = self._now()
        return node

    def remove(self, path: str) -> bool:
        """Delete a name; what has the file open keeps it."""
        if path not in self._nodes or path == "/":
            return False
        for name in list(self._children.get(path, ())):
            self.remove(f"{path}/{name}")
        self._children.pop(path, None)
        self._nodes.pop(path).links = 0
        parent, _, name = path.rpartition("/")
        self._children[parent or "/"].discard(name)
        return True

    def rename(self, old: str, new: str) -> bool:
        """Give a file another name; the inode stays."""
        node = self._nodes.get(old)
        if node is None or node.folder:
            return False
        self.remove(old)
        if new in self._nodes:
            self.remove(new)
        self._put(new)
        self._nodes[new] = node
        node.links = 1
        return True

    def clear(self) -> None:
        """Delete everything (the container is made anew)."""
        for name in list(self._children["/"]):
            self.remove(f"/{name}")

    # ------------------------------------------------------------------ for the shell

    @staticmethod
    def resolve(path: str, cwd: str) -> str:
        """Return the absolute, normal form of a path."""
        full = path if path.startswith("/") else f"{cwd}/{path}"
        if "/." not in full and "//" not in full and (full == "/" or full[-1] != "/"):
            return full
        return "/" + posixpath.normpath(full).lstrip("/")

    def stat(self, path: str, *, follow: bool = True) -> Node | None:
        """Return the inode a path leads to, or None."""
        self._sync()
        node = self._find(path)
        hops = 0
        while follow and node is not None and node.link is not None and hops < 8:
            node = self._find(node.link)
            hops += 1
        return node

    def open_path(self, node: Node) -> str:
        """Return a path that leads to an open file, whatever its name is now."""
        path = f"/proc/open/{node.inode}"
        self._open[path] = node
        return path

    def _find(self, path: str) -> Node | None:
        node = self._nodes.get(path)
        if node is None and path.startswith(("/proc/", "/sys/")):
            return self._open.get(path) or self.virtual(path)
        return node

    def exists(self, path: str) -> bool:
        """Say whether a path leads to something."""
        return self.stat(path) is not None

    def is_folder(self, path: str) -> bool:
        """Say whether a path leads to a folder."""
        node = self.stat(path)
        return node is not None and node.folder

    def link(self, path: str) -> str | None:
        """Return what a symbolic link holds, or None when it is none."""
        node = self.stat(path, follow=False)
        return None if node is None else node.link

    def size(self, path: str) -> int:
        """Return a file's size; 0 when missing."""
        node = self.stat(path)
        return 0 if node is None else node.size

    def read(self, path: str) -> bytes:
        """Return the text of a file without its `extra` zeros; empty when missing."""
        node = self.stat(path)
        if node is None:
            return b""
        return node.make() if node.make is not None else bytes(node.data)

    def opener(self, path: str) -> Callable[[int, int], bytes]:
        """Return a function (offset, limit) that reads the file open now."""
        node = self.stat(path)
        if node is None:
            return lambda _offset, _limit: b""

        def load(offset: int, limit: int) -> bytes:
            self._sync()
            return node.load(offset, limit)

        return load

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""
        self._sync()
        return sorted({*self._children.get(path, ()), *self.virtual_names(path)})

    def glob(self, pattern: str, cwd: str) -> list[str]:
        """Return the paths that match a pattern, sorted; none is an empty list."""
        self._sync()
        absolute = pattern.startswith("/")
        found = [""] if absolute else [cwd.rstrip("/")]
        shown = [""]
        for part in pattern.lstrip("/").split("/"):
            pairs = list(zip(found, shown, strict=True))
            found, shown = [], []
            for real, seen in pairs:
                for name in self._matching(real or "/", part):
                    found.append(f"{real}/{name}")
                    shown.append(f"{seen}/{name}" if absolute or seen else name)
        return sorted(shown)

    def _matching(self, folder: str, part: str) -> list[str]:
        if not is_pattern(part):
            name = unescape(part)
            path = f"{folder.rstrip('/')}/{name}"
            return [name] if self._find(path) is not None else []
        compiled = compile_pattern(part, path=True)
        names = {*self._children.get(folder, ()), *self.virtual_names(folder)}
        return [name for name in names if compiled.fullmatch(name)]
