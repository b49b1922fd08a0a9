"""What an instance costs now, in US dollars an hour (facts: vast_api.md rule R9)."""

from collections.abc import Mapping

from fleetui.vast.gates import money

_DISK_ONLY = frozenset({"loading", "created", "stopped", "exited"})


def cost_now(
    *, instance: object, actual_status: str | None, dph_total: object, storage_total: object
) -> float | None:
    """Derive the present cost: the API's own total when it gives one, else by state.

    A null status is an instance being provisioned, which pays like one that loads. A state the
    facts say nothing of is counted as running, because unseen cost hurts more than overstated.
    """
    if isinstance(instance, Mapping):
        total = money(instance.get("totalHour"))
        if total is not None:
            return total
    if actual_status == "offline":
        return 0.0
    if actual_status is None or actual_status in _DISK_ONLY:
        return money(storage_total)
    return money(dph_total)
