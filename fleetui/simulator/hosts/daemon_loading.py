"""How a daemon loads its parameters and its constraint cache."""

from typing import Any

from fleetui.simulator.hosts.daemon_state import PCE_PATH, DaemonState
from fleetui.simulator.hosts.engine import Script
from fleetui.simulator.hosts.parameters import FOLDER, POREP_PARAMS

SUMMARY = (
    "PreCompiledCircuit { inputs: 328, aux: 130169893, constraints: 130278869, "
    "A: {nnz: 309405051, avg/row: 2.4}, B: {nnz: 130327340, avg/row: 1.0}, "
    "C: {nnz: 282656500, avg/row: 2.2}, total_nnz: 722388891, mem: 25.7 GiB }"
)
_OTHER_PCE = (
    ("winning-32g", "pce-winning-post.bin"),
    ("wpost-32g", "pce-window-post.bin"),
    ("snap-32g", "pce-snap-deals-32g.bin"),
)


class Loading(DaemonState):
    """A daemon that can load what it needs."""

    def _srs_error(self) -> str:
        path = f"{FOLDER}/{POREP_PARAMS}"
        if not self.machine.files.size(path):
            return f"SRS param file not found for Porep32G: {path}"
        return f"failed to load SRS from {path}"

    def _load_srs(self) -> Script:
        path = f"{FOLDER}/{POREP_PARAMS}"
        self._loading = True
        if not self.machine.files.size(path):
            self._loaded.fire(value=False)
            return
        self._say(
            "cuzk_core::srs_manager",
            "loading SRS from disk",
            circuit_id="porep-32g",
            path=path,
            file_size_gib=44,
        )
        seconds = self._vary(19.0, 0.2) / self.machine.hardware.speed
        if self.options.no_devices:
            yield 1.5
            self._raw(
                "thread 'tokio-runtime-worker' panicked at supraseal-c2/src/lib.rs:155:9:\n"
                'cudaGetDeviceCount(&n)@sppark-0.1.14/sppark/util/all_gpus.cpp:31 failed: "CUDA driver version is insufficient for CUDA runtime version"\n'  # noqa: E501 - a line as it is printed
                "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
            )
            self._loaded.fire(value=False)
            return
        yield seconds
        self._grow(44)
        extra: dict[str, Any] = {}
        if self.options.era == "N":
            extra = {
                "budget_used_gib": 44,
                "budget_available_gib": self.machine.hardware.memory_gib - 49,
            }
        self._say(
            "cuzk_core::srs_manager",
            "SRS loaded successfully",
            circuit_id="porep-32g",
            elapsed_ms=int(seconds * 1000),
            **extra,
        )
        if self.options.era == "O":
            self._say(
                "cuzk_core::engine",
                "SRS preloaded (Phase 2)",
                circuit_id="porep-32g",
                elapsed_ms=int(seconds * 1000),
            )
        for gpu in self.machine.gpus:
            gpu.memory_used_mib = 1450
        self._loaded.fire(value=True)

    def _load_pce(self) -> Script:
        pipeline, disk = "cuzk_core::pipeline", "cuzk_pce::disk"
        if self.machine.files.size(PCE_PATH):
            self._say(disk, "loading PCE from disk", path=PCE_PATH, file_size_gib='"25.7"')
            self._say(
                disk,
                "PCE file header valid, loading raw data",
                num_inputs=328,
                num_aux=130169893,
                num_constraints=130278869,
                total_nnz=722388891,
            )
            seconds = self._vary(9.2)
            yield seconds
            self._say(
                disk,
                "PCE loaded from disk (raw format)",
                path=PCE_PATH,
                duration_ms=int(seconds * 1000),
                read_speed_gbs=f'"{27.6 / seconds:.1f}"',
                summary=SUMMARY,
            )
            self._grow(26)
            self._pce = True
        else:
            self._say(pipeline, "PCE file not found on disk", circuit_id="porep-32g", path=PCE_PATH)
        for circuit, name in _OTHER_PCE:
            self._say(
                pipeline, "PCE file not found on disk", circuit_id=circuit, path=f"{FOLDER}/{name}"
            )
        count = int(self._pce)
        self._say(pipeline, "PCE disk preload complete", loaded=count, total=4)
        self._say("cuzk_core::engine", "PCE disk preload complete", loaded=count)
        if self._pce:
            self._say(pipeline, "PCE loaded from disk into cache", circuit_id="porep-32g")
        yield 0.04
