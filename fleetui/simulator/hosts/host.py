"""A pretend host: what the rental service and an SSH login see of one instance."""

import hashlib
from dataclasses import replace
from typing import Any

from fleetui.domain.clock import Clock
from fleetui.simulator.hosts.daemon import PORT, STATUS_PORT
from fleetui.simulator.hosts.engine import Engine
from fleetui.simulator.hosts.machine import GIB, Hardware, Machine
from fleetui.simulator.hosts.parameters import FOLDER, POREP_PARAMS
from fleetui.simulator.hosts.plan import Plan
from fleetui.simulator.hosts.scenarios import SCENARIOS, hardware_of
from fleetui.simulator.hosts.workload import SETUP_LOGS, Workload

IMAGE = "magik6k/curio-cuzk:latest"
_LAYERS = 14
_RESTART_SECONDS = 8.0
_CONTAINER_ERROR = (
    "Error response from daemon: failed to create task for container: failed to create shim task: "
    "OCI runtime create failed: could not apply required modification to OCI specification: error "
    "modifying OCI spec: failed to inject CDI devices: unresolvable CDI devices D.{id}/gpu=0: unknown\n"  # noqa: E501 - a line as it is printed
    "Error: failed to start containers: C.{id}\n"
)


class Host:
    """One instance. The same arguments and clock readings give the same bytes and figures."""

    def __init__(
        self,
        instance_id: int,
        scenario_name: str,
        seed: int,
        clock: Clock,
        started_at: float,
        *,
        hardware: Hardware | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.instance_id = instance_id
        self.scenario_name = scenario_name
        self.scenario = SCENARIOS[scenario_name]
        if plan is not None:
            self.scenario = replace(self.scenario, plan=plan)
        self.clock = clock
        self.started_at = started_at
        digest = hashlib.sha256(f"{seed}/{instance_id}/{scenario_name}".encode()).digest()
        self._seed = int.from_bytes(digest[:6], "big")
        self.hardware = hardware or hardware_of(scenario_name, self._seed)
        self._boots_at = started_at + self.scenario.pull_seconds
        self._stopped_at: float | None = None
        if self.scenario.vast == "stopped":
            self._stopped_at = started_at
        self.machine = Machine(self.hardware, self._seed, clock, self._boots_at)
        self.workload = Workload(self.machine, self.scenario.plan, instance_id)
        if self._contained:
            self.workload.start()

    @property
    def _contained(self) -> bool:
        return self.scenario.vast not in {"failed", "loading"} and self._stopped_at is None

    # ------------------------------------------------------------------ the service's view

    def _state(self, now: float) -> str:
        if self._stopped_at is not None and now >= self._stopped_at:
            return "stopped"
        if now < self._boots_at or self.scenario.vast == "loading":
            return "loading"
        if self.scenario.vast == "failed":
            return "created"
        if (
            self.scenario.vast in {"offline", "exited"}
            and now >= self.started_at + self.scenario.vast_after
        ):
            return self.scenario.vast
        return "running"

    def reachable(self) -> bool:
        """Say whether an SSH server answers."""
        return self._state(self.clock.now()) == "running"

    def api_view(self, now: float) -> dict[str, Any]:
        """Return the API fields that the host itself decides (units as the API's)."""
        state = self._state(now)
        hardware = self.hardware
        name = hardware.gpu_name.removeprefix("GeForce ")
        view: dict[str, Any] = {
            "actual_status": state,
            "intended_status": "stopped" if state == "stopped" else "running",
            "cur_state": "stopped" if state == "stopped" else "running",
            "next_state": "stopped" if state == "stopped" else "running",
            "status_msg": self._message(state, now),
            "image_uuid": IMAGE,
            "gpu_name": name,
            "num_gpus": hardware.gpus,
            "gpu_ram": hardware.gpu_memory_mib,
            "gpu_totalram": hardware.gpu_memory_mib * hardware.gpus,
            "cpu_name": hardware.cpu_name,
            "cpu_cores": hardware.cores,
            "cpu_cores_effective": float(hardware.cores),
            "cpu_ram": hardware.memory_gib * 1024,
            "mem_limit": float(hardware.limit_gib),
            "driver_version": hardware.driver,
            "cuda_max_good": float(hardware.cuda),
            "compute_cap": hardware.compute_capability,
            "disk_space": float(hardware.disk_gib),
            "start_date": self.started_at,
            "gpu_util": None,
            "gpu_temp": None,
            "mem_usage": None,
            "vmem_usage": None,
            "cpu_util": None,
            "uptime_mins": None,
            "disk_usage": -1.0,
            "disk_util": -1.0,
        }
        if state in {"running", "offline"}:
            self.machine.sync()
            rows = self.machine.gpu_rows()
            used = self.machine.memory_used() + GIB
            busy = any(gpu.busy for gpu in self.machine.gpus)
            view |= {
                "gpu_util": sum(float(row["utilization.gpu"][:-2]) for row in rows) / len(rows),
                "gpu_temp": max(float(row["temperature.gpu"]) for row in rows),
                "mem_usage": round(min(used, hardware.limit_gib * GIB) / GIB, 3),
                "vmem_usage": round(
                    sum(gpu.memory_used_mib for gpu in self.machine.gpus) / 1024, 3
                ),
                "cpu_util": 61.0 if busy else 2.5,
                "uptime_mins": round(max(0.0, now - self._boots_at) / 60, 2),
                "disk_usage": round(self.machine.disk_used_kib / (1 << 20), 2),
                "disk_util": round(self.machine.disk_used_kib / (hardware.disk_gib << 20), 4),
            }
        return view

    def _message(self, state: str, now: float) -> str | None:
        if state == "running":
            return f"success, running {IMAGE.replace(':', '_')}/ssh\n"
        if state == "created":
            return _CONTAINER_ERROR.format(id=self.instance_id)
        if state != "loading":
            return ""
        share = (now - self.started_at) / min(self.scenario.pull_seconds, 300.0)
        if share < 0.05:
            return None
        done = min(_LAYERS - 1, int(share * _LAYERS))
        layers = [
            hashlib.sha256(f"{self._seed}/{index}".encode()).hexdigest()[:12]
            for index in range(_LAYERS)
        ]
        if self.scenario.vast == "loading":
            done = min(done, 5)
        return f"{layers[done - 1]}: Download complete\n{layers[done]}: Pulling fs layer\n"

    # ------------------------------------------------------------------ actions

    def restart_daemon(self) -> bool:
        """End the daemon with SIGTERM; a new one starts seconds later with a fresh log."""
        self.machine.sync()
        daemon = self.workload.daemon
        if daemon is None or not daemon.alive:
            return False
        log, arguments = daemon.process.output, daemon.process.args
        self.machine.signal(daemon.process.pid, 15)

        def start() -> None:
            self.machine.files.write(log, b"")
            self.workload.spawn_daemon(1, log, arguments[-1], self.workload.options())

        self.machine.engine.schedule(4.0, start)
        return True

    def stop(self, now: float) -> None:
        """Stop the container: its processes end, its files stay."""
        self.machine.sync()
        self._stopped_at = now
        self._halt(now)

    def start(self, now: float) -> None:
        """Start the container again; its entrypoint runs anew."""
        if self._stopped_at is None:
            return
        self._stopped_at = None
        self._boots_at = now + _RESTART_SECONDS
        self._boot(now)

    def reboot(self, now: float) -> None:
        """Stop and start the container."""
        self.machine.sync()
        self._halt(now)
        self._stopped_at = None
        self._boots_at = now + _RESTART_SECONDS
        self._boot(now)

    def recycle(self, now: float) -> None:
        """Make the container anew from its image: all files are lost."""
        self.machine.sync()
        self._halt(now)
        self._stopped_at = None
        self._boots_at = now + 3 * _RESTART_SECONDS
        self.machine.files.clear()
        self.machine.restore()
        self._boot(now)

    def _halt(self, now: float) -> None:
        # What is scheduled belongs to the old engine, which nobody advances any more.
        self.machine.engine = Engine(now)
        for process in list(self.machine.processes.values()):
            self.machine.end(process, 137)
        self.machine.engine = Engine(now)
        self.machine.ports = {22: 4096}

    def _boot(self, now: float) -> None:
        del now
        if not self._contained:
            return
        self.machine.engine = Engine(self._boots_at)
        self.machine.booted = self._boots_at
        for path in SETUP_LOGS:
            if self.machine.files.exists(path):
                self.machine.files.write(path, b"")
        plan = self.scenario.plan
        if plan.params == "ok" and self.machine.files.size(f"{FOLDER}/{POREP_PARAMS}"):
            plan = replace(plan, params="cached")
        self.workload = Workload(self.machine, plan, self.instance_id)
        self.workload.start()

    # ------------------------------------------------------------------ ports

    def listens(self, port: int) -> bool:
        """Say whether a loopback port of the host accepts connections."""
        self.machine.sync()
        return self.machine.ports.get(port, 0) > 0

    def answer_http(self, port: int, request: bytes) -> bytes:
        """Answer one request to the daemon's status port (facts: cuzk.md section 3.1)."""
        self.machine.sync()
        daemon = self.workload.daemon
        if port != STATUS_PORT or daemon is None or not daemon.alive:
            return b"" if port != PORT else b"\x00\x00\x12\x04\x00\x00\x00\x00\x00"
        if not request.startswith(b"GET /status"):
            return _response("404 Not Found", "text/plain", b"404 Not Found\n")
        return _response("200 OK", "application/json", daemon.status())


def _response(status: str, kind: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
