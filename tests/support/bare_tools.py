"""Folders with few tools: what `PATH` is on a poor host."""

import shutil
from pathlib import Path

KINDS = ("bare", "applets")
_POSIX = """
awk basename cat cksum cut date dd df dirname env expr false getconf grep head id kill ls nl od
paste printf ps sed sh sleep sort tail tee test tr true tty uname uniq wc who xargs
"""


def bare_tools(folder: Path, kind: str) -> Path:
    """Return a folder in `folder` that has this machine's tools of POSIX, or those of busybox.

    Neither has `stat`.
    """
    tools = folder / f"tools-{kind}"
    if not tools.exists():
        tools.mkdir()
        for name in _POSIX.split():
            real = shutil.which("busybox" if kind == "applets" else name)
            if real is not None:
                (tools / name).symlink_to(real)
    return tools
