"""The simulator as its own process and its control port."""

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import asyncssh
import httpx
import pytest

from fleetui.domain.clock import parse_clock
from fleetui.domain.instance import WalkOutcome
from pretend_vast import client_of, pretend_vast

DEADLINE_SECONDS = 60.0


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / "simulator.env"


async def start(env_file: Path, *more: str, **kinds: object) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fleetui", "simulate", "--env-file", str(env_file),
        "--hosts", "6", "--seed", "3", "--speed", "10", *more, **kinds,  # type: ignore[arg-type] # pass_fds
    )  # fmt: skip


async def ready(env_file: Path, process: asyncio.subprocess.Process) -> Mapping[str, str]:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not (lines := _lines(env_file)):
            assert process.returncode is None
            await asyncio.sleep(0.05)
    return dict(line.split("=", 1) for line in lines)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


async def ended(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(DEADLINE_SECONDS):
        return await process.wait()


@pytest.fixture
async def running(env_file: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await start(env_file)
    yield process
    if process.returncode is None:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_serves_and_leaves_nothing(
    running: asyncio.subprocess.Process, env_file: Path, number: signal.Signals
) -> None:
    environment = await ready(env_file, running)
    key_file = Path(environment["FLEETUI_SSH_KEY"])
    for path in (env_file, key_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert parse_clock(environment["FLEETUI_CLOCK"]).now() > 0
    async with client_of(environment["VAST_URL"], key=environment["VAST_API_KEY"]) as client:
        result = await client.walk()
        assert result.walk.outcome is WalkOutcome.COMPLETE
        assert len(result.instances) == 6
        up = [row for row in result.instances if row.actual_status == "running"]
        address = up[0].ssh_addresses[0]
    async with asyncssh.connect(
        address.host, address.port, username="root", client_keys=[str(key_file)],
        known_hosts=None, config=None,
    ) as connection:  # fmt: skip
        answer = await connection.run("echo hello", check=True, timeout=DEADLINE_SECONDS)
        assert answer.stdout == "hello\n"
    running.send_signal(number)
    assert await ended(running) == 0
    assert list(env_file.parent.iterdir()) == []


async def test_it_ends_with_its_lifeline(env_file: Path) -> None:
    read, write = os.pipe()
    process = await start(env_file, "--lifeline", str(read), pass_fds=(read,))
    try:
        os.close(read)
        await ready(env_file, process)
        os.close(write)
        assert await ended(process) == 0
        assert list(env_file.parent.iterdir()) == []
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_the_control_port_tells_and_breaks() -> None:
    async with (
        pretend_vast(3) as served,
        httpx.AsyncClient(base_url=served.environment["FLEETUI_CONTROL_URL"]) as control,
        client_of(served.environment["VAST_URL"]) as client,
    ):
        state = (await control.get("/state")).json()
        one = state["instances"][0]
        assert {row["id"] for row in state["instances"]} == set(served.world.rentals)
        assert one["ssh_port"] > 0
        on = await control.post("/faults", json={"name": "api_500", "calls": 1})
        assert on.json()["on"][0]["name"] == "api_500"
        assert (await client.walk()).walk.outcome is WalkOutcome.FAILED
        assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE
        assert (await control.post("/faults", json={"name": "nonsense"})).status_code == 404
        assert (await control.post("/faults", content=b"{")).status_code == 400
        assert "api_down" in (await control.get("/faults")).json()["known"]
        requests = (await control.get("/requests")).json()
        assert requests[0]["path"] == "/api/v1/instances/"
        assert "key" not in str(requests).lower().replace("monkey", "")
        assert (await control.post(f"/hosts/{one['id']}/stop")).status_code == 200
        assert (await control.post("/hosts/1/stop")).status_code == 404
        assert (await control.post(f"/hosts/{one['id']}/dance")).status_code == 404
        await control.post(f"/hosts/{one['id']}/destroy")
        assert served.world.living(one["id"]) is None


async def test_ssh_ports_follow_instances_and_faults() -> None:
    async with (
        pretend_vast(2) as served,
        httpx.AsyncClient(base_url=served.environment["FLEETUI_CONTROL_URL"]) as control,
    ):
        one, two = served.world.rentals.values()

        async def listens(port: int) -> bool:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return False
            writer.close()
            await writer.wait_closed()
            return True

        assert await listens(one.ssh_port)
        await control.post("/faults", json={"name": "ssh_refused", "instances": [one.instance_id]})
        assert not await listens(one.ssh_port)
        assert await listens(two.ssh_port)
        await control.delete("/faults/ssh_refused")
        assert await listens(one.ssh_port)
        await control.post(f"/hosts/{one.instance_id}/stop")
        assert not await listens(one.ssh_port)
        for name in ("ssh_cut", "host_key_changed"):
            answer = await control.post("/faults", json={"name": name})
            assert answer.json()["on"] == []
        await control.post(f"/hosts/{two.instance_id}/destroy")
        assert not await listens(two.ssh_port)
