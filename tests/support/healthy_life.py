"""A pretend host's whole life, read as the collector reads it, without a network."""

from collections.abc import Iterator

from fleetui.domain.finding import Severity
from fleetui.domain.host import FileState, Probe, Process, SshOutcome, SshState
from fleetui.domain.reading import Reading
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.reading.probe_output import parse_probe
from fleetui.reading.reader import Reader
from fleetui.reading.status import parse_status
from fleetui.simulator.hosts.host import Host
from fleetui.vast.rows import read_row
from pretend_host import BORN, make_host

LOGS = {
    "/var/log/entrypoint.log": "setup",
    "/tmp/setup.log": "setup",
    "/tmp/benchmark-full.log": "bench",
    "/tmp/cuzk-bench-daemon.log": "daemon",
    "/tmp/cuzk.log": "daemon",
    "/tmp/cuzk-bench-config.toml": "config",
    "/tmp/curio.log": "curio",
}
REQUEST = b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"


def readings(
    scenario: str, seed: int, *, seconds: int, step: int = 10
) -> Iterator[tuple[int, Reading]]:
    """Give the reading every `step` seconds of the life, with how old the host is."""
    host, clock = make_host(scenario, 0, seed=seed)
    reader = Reader(load("cuzk"), host.instance_id)
    known: dict[str, tuple[int, int]] = {}
    for age in range(0, seconds, step):
        clock.value = now = BORN + age
        row = read_row({"id": host.instance_id, "machine_id": 1, **host.api_view(now)})
        assert row is not None
        reader.observe_row(row, now)
        if host.reachable():
            reader.observe_ssh(SshOutcome(state=SshState.CONNECTED, at=now))
            for path, kind in LOGS.items():
                known[path] = _feed(reader, host, path, kind, known.get(path, (1, 0)), now)
            if age % 30 == 0:
                reader.observe_probe(_probe(host, now))
            head, _, body = host.answer_http(9821, REQUEST).partition(b"\r\n\r\n")
            if b" 200 " in head:
                reader.observe_status(parse_status(body, now), None, now)
        yield age, reader.reading(now)


def above_info(reading: Reading) -> list[str]:
    """Return what an operator would be called for."""
    return [
        f"{reading.stage} {finding.category}: {finding.summary}"
        for finding in reading.findings
        if finding.severity is not Severity.INFO
    ]


def _feed(  # noqa: PLR0917 - a step of the loop above
    reader: Reader, host: Host, path: str, kind: str, at: tuple[int, int], now: float
) -> tuple[int, int]:
    generation, offset = at
    if path not in host.machine.files._nodes:
        return at
    data = host.machine.files.read(path)
    if len(data) < offset:
        generation, offset = generation + 1, 0
    if len(data) > offset:
        chunk = LogChunk(
            stream=StreamId(host.instance_id, path), generation=generation, offset=offset,
            data=data[offset:], at=now,
        )  # fmt: skip
        reader.feed(chunk, kind)
    return generation, len(data)


def _probe(host: Host, now: float) -> Probe:
    machine = host.machine
    machine.sync()
    rows = machine.gpu_rows()
    table = "\n".join(", ".join(row.values()) for row in rows)
    shown = parse_probe({"nvidia-smi": f"{', '.join(rows[0])}\n{table}\n"}, now)
    processes = tuple(
        Process(
            pid=process.pid, args=sanitise(" ".join(process.args)),
            wait_channel=sanitise(process.wait_channel),
        )
        for process in machine.processes.values()
    )  # fmt: skip
    return Probe(
        at=now, gpus=shown.gpus, processes=processes,
        memory_max_bytes=machine.hardware.limit_gib << 30,
        memory_events={"oom_kill": 0},
        files=tuple(
            FileState(path=path, size=node.size)
            for path, node in machine.files._nodes.items()
            if path.startswith("/var/tmp/filecoin-proof-parameters/")
        ),
        disk_available_kib=float((machine.hardware.disk_gib << 20) - machine.disk_used_kib),
    )  # fmt: skip
