"""A life as its lines tell it, fed second by second."""

from fleetui.domain.instance import Instance
from fleetui.domain.reading import Reading
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader

T0 = 1773298800.0  # 2026-03-12T07:00:00Z
PATHS = {
    "setup": "/var/log/entrypoint.log",
    "bench": "/tmp/benchmark-full.log",
    "daemon": "/tmp/cuzk-bench-daemon.log",
    "curio": "/tmp/curio.log",
}
PROFILE = load("cuzk")
BOOT = "[entrypoint] {t} label=C.1 min_rate=29.0"
FETCH = "{z}\tINFO\tparamfetch\tx.go:1\tFetching /p/a.params from https://x"
PARAM_OK = "{z}\tINFO\tparamfetch\tx.go:1\tParameter file /p/v28-a.params is ok"
COMPLETE = "{z}\tINFO\tparamfetch\tx.go:1\tparameter and key-fetching complete"
STARTING = "{z}  INFO cuzk_daemon: cuzk-daemon starting"
SUBMIT = "{z}  INFO cuzk_bench: submitting proof proof_type=porep"
JOB = "{z}  INFO cuzk_core::scheduler: job enqueued job_id=ps-porep-1-1-{n} proof_kind=porep-c2"
PASSED = (
    "{z}  INFO cuzk_core::engine: Phase 7: PoRep proof self-check PASSED job_id=ps-porep-1-1-{n}"
)
BENCH_JOB = (
    "{z}  INFO cuzk_core::scheduler: job enqueued "
    "job_id=95975193-f4a7-4915-9a07-d6043ff0a043 proof_kind=porep-c2"
)
READY = "{z}  INFO cuzk_daemon: cuzk-daemon ready, serving on 0.0.0.0:9820"
LOST = "Error: Prove RPC failed: transport error: connection reset by peer"


class Life:
    """Writes lines at given seconds and feeds them as a follower would."""

    def __init__(self) -> None:
        self.reader = Reader(PROFILE, 7)
        self._offsets: dict[str, int] = {}
        self._generations: dict[str, int] = {}
        self._number = 0

    def say(self, second: float, kind: str, text: str, *, anew: bool = False) -> "Life":
        if anew:
            self._generations[kind] = self._generations.get(kind, 1) + 1
            self._offsets[kind] = 0
        self._number += 1
        minute, rest = divmod(int(second), 60)
        hour, minute = divmod(minute, 60)
        clock = f"{7 + hour:02}:{minute:02}:{rest:02}"
        line = text.format(z=f"2026-03-12T{clock}Z", t=f"2026-03-12 {clock}", n=self._number)
        data = line.encode() + b"\n"
        offset = self._offsets.get(kind, 0)
        self._offsets[kind] = offset + len(data)
        chunk = LogChunk(
            stream=StreamId(7, PATHS[kind]),
            generation=self._generations.get(kind, 1),
            offset=offset,
            data=data,
            at=T0 + second,
        )
        self.reader.feed(chunk, kind)
        return self

    def at(self, second: float) -> Reading:
        return self.reader.reading(T0 + second)

    def stages(self) -> list[tuple[str, int, str]]:
        spans = self.at(9000).spans
        return [(span.stage.value, span.attempt, span.outcome.value) for span in spans]


def instance(status: str | None, **changes: object) -> Instance:
    text = None if status is None else sanitise(status)
    return Instance(instance_id=7, actual_status=text, **changes)  # type: ignore[arg-type]  # any field


def to_bench() -> Life:
    return (
        Life()
        .say(1, "setup", BOOT)
        .say(2, "setup", FETCH)
        .say(199, "setup", PARAM_OK)
        .say(200, "setup", COMPLETE)
        .say(201, "setup", "[entrypoint] {t} Starting benchmark (proofs=12 concurrency=3)")
        .say(202, "bench", "C1 output not found at /data/c1.json")
        .say(210, "daemon", STARTING)
        .say(240, "bench", SUBMIT)
        .say(440, "bench", "Restarting daemon with full partition_workers=16 for benchmark...")
        .say(442, "daemon", STARTING)
        .say(480, "bench", "=== Batch Benchmark ===")
    )
