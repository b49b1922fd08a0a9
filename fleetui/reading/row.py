"""What the API's row alone says about the stage (facts: vast_api.md section 3)."""

from fleetui.domain.instance import Instance
from fleetui.domain.stage import Stage

_LOADING = frozenset({"", "created", "loading", "connecting", "scheduling", "rebooting"})
_STOPPED = frozenset({"exited", "stopped", "frozen"})


def row_stage(instance: Instance) -> Stage | None:
    """Return the stage that the row decides, or `None` when the logs decide.

    `unknown` and `offline` say that the host is not heard of, not that the work has ended.
    """
    status = (instance.actual_status or "").strip().lower()
    if status in _LOADING:
        return Stage.LOADING
    if status in _STOPPED:
        return Stage.STOPPED
    return None
