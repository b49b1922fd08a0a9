"""Proof rates of a GPU type and of the fleet, from the counts on the rows. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.reading.rates import WINDOWS

_HOUR = 3600.0


class GroupRate(msgspec.Struct, frozen=True, kw_only=True):
    """A sum of measured rates.

    `window_seconds` is `None` for the time since each instance's work began. `measured` of the
    `proving` instances have been counted for the whole window; the others are not in the sum.
    `oldest_at` is when the oldest of the counts ended.
    """

    window_seconds: float | None
    proofs_per_hour: float
    proofs: int
    measured: int
    proving: int
    oldest_at: float


def fleet_rates(rows: Iterable[FleetRow]) -> tuple[GroupRate, ...]:
    """Return the rates of the instances that prove now, over 15 min, 1 h, 24 h and since start.

    A window that nobody was counted for is left out.
    """
    proving = [row for row in rows if row.stage is Stage.RUNNING]
    rates = [_group(proving, window) for window in (*WINDOWS, None)]
    return tuple(rate for rate in rates if rate is not None)


def gpu_rates(rows: Iterable[FleetRow]) -> dict[str, tuple[GroupRate, ...]]:
    """Return the same for each GPU type, by name."""
    by_gpu: dict[str, list[FleetRow]] = {}
    for row in rows:
        by_gpu.setdefault(str(row.gpu or "?"), []).append(row)
    rates = {gpu: fleet_rates(group) for gpu, group in sorted(by_gpu.items())}
    return {gpu: several for gpu, several in rates.items() if several}


def trend(counted: Sequence[tuple[float, int]]) -> float | None:
    """Return how the last hour's rate differs from that before, as a part of it (-0.2: slower).

    `counted` are windows in seconds with their proofs, all ending now. 0 when chance alone (two
    standard deviations of the counts) could make the difference; `None` before there are two
    hours to compare.
    """
    lasts = [proofs for window, proofs in counted if window == _HOUR]
    wholes = [entry for entry in counted if entry[0] >= 2 * _HOUR]
    if not lasts or not wholes:
        return None
    last = lasts[0]
    window, proofs = wholes[0]
    before = (proofs - last) / (window - _HOUR) * _HOUR
    if before <= 0:
        return None
    noise = 2.0 * ((before + before / ((window - _HOUR) / _HOUR)) ** 0.5)
    return 0.0 if abs(last - before) <= noise else last / before - 1.0


def _group(proving: list[FleetRow], window: float | None) -> GroupRate | None:
    counts = [
        (seconds, proofs, row.counted_at)
        for row in proving
        for seconds, proofs in (row.counted[-1:] if window is None else row.counted)
        if (window is None or seconds == window) and row.counted_at is not None
    ]
    if not counts:
        return None
    return GroupRate(
        window_seconds=window,
        proofs_per_hour=sum(proofs * _HOUR / seconds for seconds, proofs, _ in counts),
        proofs=sum(proofs for _, proofs, _ in counts),
        measured=len(counts),
        proving=len(proving),
        oldest_at=min(at for _, _, at in counts),
    )
