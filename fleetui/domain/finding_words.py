"""What the past of a fault reads like, for screens and reports alike."""

from fleetui.domain.finding_record import MachineMark, Mend, SignatureHistory
from fleetui.domain.text import SafeText, sanitise

_MARKS_TOLD = 3


def history_text(history: SignatureHistory | None, now: float) -> SafeText:
    """Say in one line where a fault was seen and what mended it; empty when that is no news."""
    if history is None:
        return SafeText()
    parts: list[str] = []
    if history.occurrences > 1:
        machines = len(history.machines)
        parts.append(
            f"seen {history.occurrences} times on {machines} machine" + "s" * (machines > 1)
        )
        parts.append(f"first {age_words(now - history.first_seen)} ago")
    parts += [_mend(mend) for mend in history.mends]
    return sanitise("; ".join(parts))


def _mend(mend: Mend) -> str:
    times = _times(mend.times)
    return f"{mend.action} mended it {times}" if mend.action else f"went away by itself {times}"


def marks_text(marks: tuple[MachineMark, ...], now: float) -> SafeText:
    """Say in one line what a machine is known for; empty when nothing is."""
    parts = [
        f"{mark.category} {_times(mark.occurrences)}, last {age_words(now - mark.last_seen)} ago"
        for mark in marks[:_MARKS_TOLD]
    ]
    if len(marks) > _MARKS_TOLD:
        parts.append(f"{len(marks) - _MARKS_TOLD} more")
    return sanitise("; ".join(parts))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def age_words(seconds: float) -> str:
    """Return e.g. `3 h`: one unit is enough to judge by."""
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"
