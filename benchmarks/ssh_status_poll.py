"""One `/status` poll: our kept channel beside `ssh host curl` over a ControlMaster.

Both ask the same small HTTP server through the same real sshd on loopback. CPU is the client's
own: this process for ours; the `ssh` processes and their master for the other.

    python benchmarks/ssh_status_poll.py --polls 200
"""

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from fleetui.ssh.login import Login
from fleetui.ssh.settings import SshSettings
from fleetui.ssh.status import StatusDoor
from openssh import Sshd, free_port, serving

BODY = json.dumps({f"metric_{number}": number * 1.5 for number in range(80)})
SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # one packet an answer, as the daemon sends it
    def do_GET(self):
        body = sys.argv[2].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
GOAL = 1 / 30
TICKS = os.sysconf("SC_CLK_TCK")


async def ours(server: Sshd, port: int, polls: int) -> tuple[float, float]:
    """Return CPU and wall milliseconds a poll."""
    login = Login(SshSettings(key_files=(server.client_key,), use_agent=False))
    connection = (await login.connect(server.address, None)).connection
    door = StatusDoor(connection, port)
    while await door.ask() is None:  # noqa: ASYNC110 - a benchmark may look at the clock
        await asyncio.sleep(0.05)
    spent, began = time.process_time(), time.monotonic()
    for _ in range(polls):
        await door.ask()
    figures = time.process_time() - spent, time.monotonic() - began
    connection.close()
    await connection.wait_closed()
    return figures[0] / polls * 1000, figures[1] / polls * 1000


async def rival(server: Sshd, folder: Path, port: int, polls: int) -> tuple[float, float]:
    """Return CPU and wall milliseconds a poll."""
    options = (
        "-T", "-p", str(server.port), "-i", str(server.client_key), "-F", "none",
        "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
        "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes", "-o", f"ControlPath={folder}/master",
    )  # fmt: skip
    master = await asyncio.create_subprocess_exec("ssh", *options, "-M", "-N", "root@127.0.0.1")
    while not (folder / "master").exists():  # noqa: ASYNC110 - a benchmark may look at the clock
        await asyncio.sleep(0.02)

    def spent() -> float:
        fields = Path(f"/proc/{master.pid}/stat").read_text().rsplit(")", 1)[1].split()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (int(fields[11]) + int(fields[12])) / TICKS + used.ru_utime + used.ru_stime

    before, began = spent(), time.monotonic()
    for _ in range(polls):
        poll = await asyncio.create_subprocess_exec(
            "ssh", *options, "root@127.0.0.1", f"curl -s http://127.0.0.1:{port}/status",
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        answer, _ = await poll.communicate()
        if answer.decode() != BODY:
            raise RuntimeError("curl did not get the status")
    figures = spent() - before, time.monotonic() - began
    master.terminate()
    await master.wait()
    return figures[0] / polls * 1000, figures[1] / polls * 1000


async def measure(polls: int) -> None:
    """Print both figures and the verdict."""
    with (
        tempfile.TemporaryDirectory() as name,
        serving(Path(name), options=(f"SetEnv HOME={name}",)) as server,
    ):
        port = free_port()
        daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", SERVER, str(port), BODY)
        try:
            our_cpu, our_wall = await ours(server, port, polls * 5)
            their_cpu, their_wall = await rival(server, Path(name), port, polls)
        finally:
            daemon.terminate()
            await daemon.wait()
    print(f"kept channel:            {our_cpu:.3f} ms CPU, {our_wall:.2f} ms a poll")
    print(f"ControlMaster, ssh curl: {their_cpu:.3f} ms CPU, {their_wall:.2f} ms a poll")
    share = our_cpu / their_cpu
    verdict = "met" if share <= GOAL else "MISSED"
    print(f"goal: at most 1/{1 / GOAL:.0f} of the CPU; here 1/{1 / share:.0f}: {verdict}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--polls", type=int, default=200)
    asyncio.run(measure(parser.parse_args().polls))


if __name__ == "__main__":
    main()
