"""Protected instances and blacklisted machines, in memory beside the store."""

from fleetui.domain.standing import Mark, Standing
from fleetui.store.interface import CollectorStore, Lease


class StandingBook:
    """What operators have laid down; every change is in the store before it counts here."""

    def __init__(self, store: CollectorStore, lease: Lease, standing: Standing) -> None:
        self._store = store
        self._lease = lease
        self._protected = dict(standing.protected)
        self._blacklist = dict(standing.blacklist)

    def protection(self, instance_id: int) -> Mark | None:
        """Return by whom and why an instance is protected."""
        return self._protected.get(instance_id)

    def blacklisting(self, machine_id: int) -> Mark | None:
        """Return by whom and why a machine is blacklisted."""
        return self._blacklist.get(machine_id)

    async def protect(self, instance_id: int, mark: Mark | None) -> None:
        """Protect an instance, or (`None`) no longer."""
        await self._store.write_protection(self._lease, instance_id, mark)
        _put(self._protected, instance_id, mark)

    async def blacklist(self, machine_id: int, mark: Mark | None) -> None:
        """Put a machine on the blacklist, or (`None`) take it off."""
        await self._store.write_blacklist(self._lease, machine_id, mark)
        _put(self._blacklist, machine_id, mark)


def _put(marks: dict[int, Mark], key: int, mark: Mark | None) -> None:
    if mark is None:
        marks.pop(key, None)
    else:
        marks[key] = mark
