"""The right to write facts: a row with a growing epoch, and a lock that dies with its holder.

The epoch is the fence: every write names it, and a write under an older one changes nothing.
The lock (`flock` on a file of the epoch's own) is proof of death on one host: when it can be had,
its process is gone and nobody need wait for the row to expire. A hung holder keeps its lock, so
there the row's expiry decides (facts: console_and_scale.md sections 2.2 and 3.4).
"""

import contextlib
import fcntl
import os
import sqlite3
import time
from pathlib import Path

import msgspec

from fleetui.store.interface import FenceLostError, Lease

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class HostClock(msgspec.Struct, frozen=True):
    """Seconds since this machine's boot: a step of the wall clock changes nothing.

    `boot_id` names the boot; another one makes every older lease void.
    """

    boot_id: str

    def now(self) -> float:
        """Return the seconds since boot, time asleep included."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def host_clock() -> HostClock:
    """Return this machine's clock."""
    try:
        return HostClock(_BOOT_ID.read_text("ascii").strip())
    except OSError:
        return HostClock("")


class HolderLock:
    """The lock file of one epoch, held as long as this object is open."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, store: Path, epoch: int) -> "HolderLock | None":
        """Lock the epoch's file; `None` when it cannot be, then only expiry ends the lease."""
        descriptor = os.open(_lock_path(store, epoch), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return cls(descriptor)

    def close(self) -> None:
        """Let go. The file stays and proves to others that the holder is gone."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_proven_dead(store: Path, epoch: int) -> bool:
    """Tell whether the process that took `epoch` on this host is known to have ended."""
    try:
        descriptor = os.open(_lock_path(store, epoch), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


class LeaseRow(msgspec.Struct, frozen=True):
    """The lease as the shard's row has it; `expires` counts on the host's boot clock."""

    holder: str
    epoch: int
    ttl: float
    expires: float
    boot_id: str

    def is_held(self, store: Path, clock: HostClock, *, trust_fresh: bool) -> bool:
        """Tell whether somebody holds it.

        The lock is asked too, but with `trust_fresh` only when the last renewal is old.
        """
        left = self.expires - clock.now()
        if not self.holder or self.boot_id != clock.boot_id or left <= 0:
            return False
        if trust_fresh and left > self.ttl / 2:
            return True
        return not is_proven_dead(store, self.epoch)


def read_lease(connection: sqlite3.Connection) -> LeaseRow:
    """Read the lease's row."""
    return LeaseRow(
        *connection.execute("SELECT holder, epoch, ttl, expires, boot_id FROM shard").fetchone()
    )


def take(
    connection: sqlite3.Connection, store: Path, clock: HostClock, holder: str, ttl: float
) -> tuple[Lease, HolderLock | None] | None:
    """Take the lease inside a write transaction, or return `None` when somebody holds it.

    The lock is `None` when the file system has none. The caller closes it when the transaction
    fails.
    """
    row = read_lease(connection)
    if row.is_held(store, clock, trust_fresh=False):
        return None
    epoch = row.epoch + 1
    connection.execute(
        "UPDATE shard SET holder = ?, epoch = ?, ttl = ?, expires = ?, boot_id = ?",
        (holder, epoch, ttl, clock.now() + ttl, clock.boot_id),
    )
    return Lease(holder, epoch, ttl), HolderLock.take(store, epoch)


def bump(connection: sqlite3.Connection, clock: HostClock, lease: Lease) -> int:
    """Renew the lease and take the next revision: the first statement of every publish.

    Raises:
        FenceLostError: the epoch is not ours any more.
    """
    rows = connection.execute(
        "UPDATE shard SET rev = rev + 1, expires = ? WHERE epoch = ? AND holder = ? RETURNING rev",
        (clock.now() + lease.ttl_seconds, lease.epoch, lease.holder),
    ).fetchall()
    if not rows:
        raise fence_lost(connection, lease)
    revision: int = rows[0][0]
    return revision


def renew(connection: sqlite3.Connection, clock: HostClock, lease: Lease) -> None:
    """Extend the lease without a new revision.

    Raises:
        FenceLostError: the epoch is not ours any more.
    """
    changed = connection.execute(
        "UPDATE shard SET expires = ? WHERE epoch = ? AND holder = ?",
        (clock.now() + lease.ttl_seconds, lease.epoch, lease.holder),
    ).rowcount
    if not changed:
        raise fence_lost(connection, lease)


def give_back(connection: sqlite3.Connection, lease: Lease) -> None:
    """End the lease if it is still ours."""
    connection.execute(
        "UPDATE shard SET holder = '', expires = 0 WHERE epoch = ? AND holder = ?",
        (lease.epoch, lease.holder),
    )


def fence_lost(connection: sqlite3.Connection, lease: Lease) -> FenceLostError:
    """Say who holds the lease now."""
    row = read_lease(connection)
    now = f"{row.holder} does (epoch {row.epoch})" if row.holder else "nobody does"
    return FenceLostError(f"{lease.holder} (epoch {lease.epoch}) holds the lease no more; {now}")


def remove_old_locks(store: Path, epoch: int) -> None:
    """Remove the lock files of epochs before `epoch`."""
    for path in store.parent.glob(f"{store.name}.lease-*"):
        number = path.name.rpartition("-")[2]
        if number.isdigit() and int(number) < epoch:
            with contextlib.suppress(OSError):
                path.unlink()


def _lock_path(store: Path, epoch: int) -> Path:
    return store.with_name(f"{store.name}.lease-{epoch}")
