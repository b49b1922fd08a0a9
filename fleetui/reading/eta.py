"""How long something will still take, with the spread that what was measured allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from fleetui.domain.stage import Progress, ProgressPart
from fleetui.domain.text import SafeText


@dataclass(frozen=True, slots=True)
class Eta:
    """Seconds left: the least, the likely and the most."""

    low: float
    middle: float
    high: float


def from_times(times: Sequence[float], slack: float) -> Eta | None:
    """Return an ETA from several ways to work it out; `None` without any.

    Where the ways differ nobody knows better: the spread covers all of them, and `slack` (a part
    of one) beyond.
    """
    known = sorted(max(time, 0.0) for time in times)
    if not known:
        return None
    middle = sqrt(known[0]) * sqrt(known[-1])
    return Eta(known[0] / (1.0 + slack), middle, known[-1] * (1.0 + slack))


def from_paces(left: float, paces: Sequence[float | None], events: float) -> Eta | None:
    """Return the ETA of `left` pieces at measured paces (pieces a second).

    `events` is how many pieces were counted: few of them leave much to chance.
    """
    times = [max(left, 0.0) / pace for pace in paces if pace is not None and pace > 0]
    return from_times(times, 0.05 + 1.0 / sqrt(max(events, 0.0) + 4.0))


def recent_pace(moments: Sequence[float], now: float) -> float | None:
    """Return the pace of the later half of ascending moments, up to `now`.

    The wait since the last one counts once it is longer than the waits before.
    """
    if len(moments) < 4:
        return None
    later = moments[len(moments) // 2 :]
    pieces = len(later) - 1
    length = later[-1] - later[0]
    if length <= 0:
        return None
    waited = now - later[-1]
    return pieces / length if waited <= length / pieces else (pieces + 1) / (length + waited)


def progress_with(
    eta: Eta | None,
    what: str,
    *,
    done: float,
    total: float | None,
    unit: str,
    updated_at: float | None,
    pace: float | None = None,
    parts: tuple[ProgressPart, ...] = (),
) -> Progress:
    """Return a progress with its ETA; `what` is one of our own words."""
    return Progress(
        what=SafeText(what),
        done=done,
        total=total,
        unit=unit,
        updated_at=updated_at,
        per_second=pace,
        eta_seconds=None if eta is None else eta.middle,
        eta_low_seconds=None if eta is None else eta.low,
        eta_high_seconds=None if eta is None else eta.high,
        parts=parts,
    )
