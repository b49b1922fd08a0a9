"""One run of cuzk-bench's batch; it is silent for the first N-J proofs (cuzk.md section 2)."""

from dataclasses import dataclass

from fleetui.reading.figures import figure, whole
from fleetui.reading.rates import Benchmark


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
                self.count = whole(fields, "count") or self.count
                self.concurrency = whole(fields, "concurrency") or self.concurrency
            case "batch_proof":
                self.reported = max(self.reported, whole(fields, "index") or 0)
                self.count = whole(fields, "count") or self.count
            case "batch_summary":
                self.completed = whole(fields, "completed", self.completed)
                self.failed = whole(fields, "failed", self.failed)
                self.seconds = figure(fields.get("seconds"), self.seconds)
            case _:
                pass

    def benchmark(self, fields: dict[str, str], at: float) -> Benchmark | None:
        """Return what its last line says, `None` when that is no rate."""
        per_minute = figure(fields.get("per_minute"), 0.0)
        if per_minute <= 0:
            return None
        # The summary carries no time: it ends as long after its start as it says.
        ended = max(at, self.started_at + self.seconds)
        return Benchmark(per_minute, ended, self.completed or 0, self.seconds)
