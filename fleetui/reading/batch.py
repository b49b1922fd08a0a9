"""One run of cuzk-bench's batch; it is silent for the first N-J proofs (cuzk.md section 2)."""

from dataclasses import dataclass

from fleetui.reading.figures import figure, whole
from fleetui.reading.rates import MOST_PER_HOUR, Benchmark

_MOST_PROOFS = 1_000_000
_LONGEST_SECONDS = 366 * 86400.0


@dataclass(slots=True)
class Batch:
    """What the batch said of itself."""

    started_at: float
    count: int | None = None
    concurrency: int | None = None
    reported: int = 0
    completed: int | None = None
    failed: int | None = None
    seconds: float = 0.0

    def take(self, signal: str, fields: dict[str, str]) -> None:
        """Take one of its lines."""
        match signal:
            case "batch_size":
                self.count = _count(fields, "count") or self.count
                self.concurrency = _count(fields, "concurrency") or self.concurrency
            case "batch_proof":
                self.reported = max(self.reported, _count(fields, "index") or 0)
                self.count = _count(fields, "count") or self.count
            case "batch_summary":
                self.completed = _count(fields, "completed", self.completed)
                self.failed = _count(fields, "failed", self.failed)
                seconds = figure(fields.get("seconds"), self.seconds)
                self.seconds = seconds if seconds <= _LONGEST_SECONDS else self.seconds
            case _:
                pass

    def benchmark(self, fields: dict[str, str], at: float, arrived: float) -> Benchmark | None:
        """Return what its last line says, `None` when that is no rate.

        `at` is the line's time as far as known; it came at `arrived`, and was over by then.
        """
        per_minute = figure(fields.get("per_minute"), 0.0)
        if not 0 < per_minute * 60.0 <= MOST_PER_HOUR:
            return None
        # The summary carries no time: it ends as long after its start as it says.
        ended = min(max(at, self.started_at + self.seconds), max(at, arrived))
        return Benchmark(per_minute, ended, self.completed or 0, self.seconds)


def _count(fields: dict[str, str], name: str, other: int | None = None) -> int | None:
    count = whole(fields, name, other)
    return count if count is None or count <= _MOST_PROOFS else other
