"""Where the store may live: a local disk, readable by its owner only."""

import errno
import os
import re
from pathlib import Path

from fleetui.store.interface import StoreError, StoreFullError

NETWORK_TYPES = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph-fuse", "fuse.davfs2",
    "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.juicefs", "fuse.rclone", "fuse.s3fs",
    "fuse.sshfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2",
    "orangefs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs",
})  # fmt: skip
"""File-system types that several kernels share: SQLite's WAL needs shared memory of one kernel."""

MOUNT_TABLE = Path("/proc/self/mountinfo")


def mounted_type(path: Path, mount_table: str) -> str | None:
    """Return the type of the file system that holds an absolute path, from mountinfo text.

    The longest mount point wins, and of two on one point the later. `None` when no line fits.
    """
    best: tuple[int, str] | None = None
    for line in mount_table.splitlines():
        left, separator, right = line.partition(" - ")
        fields = left.split(" ")
        if not separator or len(fields) < 5 or not right:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4]))
        if path.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = len(point.parts), right.split(" ")[0]
    return best[1] if best else None


def prepare_place(path: Path, mount_table: Path = MOUNT_TABLE) -> None:
    """Make the store's folder (0700) and file (0600), and refuse what WAL cannot work on.

    Raises:
        StoreError: the folder is on a network file system, or cannot be made or written.
        StoreFullError: the disk is full or read-only.
    """
    try:
        folder = path.parent.resolve()
        kind = mounted_type(folder, _read(mount_table))
        if kind in NETWORK_TYPES:
            raise StoreError(
                f"{folder} lies on a network file system ({kind}), where the store would be"
                " damaged. Either put it on a local disk (--state-dir or FLEETUI_STATE_DIR), or run"
                " fleetui on the machine whose disk this is and reach it with ssh."
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prepare_file(path)
    except OSError as error:
        raise place_trouble(path, error) from error


def _prepare_file(path: Path) -> None:
    """Make the file, or close it to others. One that is there is never opened here.

    Closing a descriptor drops every lock that this process has on the file, those of its other
    connections too; SQLite elsewhere would then take itself for the last one and remove the WAL.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        if not os.access(path, os.R_OK | os.W_OK):
            # This fails, and the kernel says why.
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))


def place_trouble(path: Path, error: OSError) -> StoreError:
    """Turn an error of the operating system into one that says what to do."""
    full = {"ENOSPC", "EDQUOT", "EROFS"}
    if errno_name(error) in full:
        return StoreFullError(
            f"{path.parent}: {error.strerror}. Make room or make it writable; work goes on then."
        )
    return StoreError(
        f"cannot use {path}: {error.strerror or error}. Check who owns the folder, or name another"
        " with --state-dir."
    )


def errno_name(error: OSError) -> str:
    """Return the symbolic name of an error number, such as `ENOSPC`."""
    return errno.errorcode.get(error.errno or 0, "")


def _read(table: Path) -> str:
    try:
        return table.read_text("utf-8", "replace")
    except OSError:
        return ""  # not Linux: the type cannot be told
