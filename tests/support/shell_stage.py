"""A console on a sample fleet whose first instance is a real sshd; run inside a terminal.

`python shell_stage.py PORT CLIENT_KEY [HOST_KEY_FILE]`: without a host key none is bound.
"""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from fleetui.console.terminal import prepare_terminal
from fleetui.domain.instance import Route, SshAddress
from sample_fleet import build

INSTANCE = 20110148


async def main(port: int, client_key: Path, host_key: str | None) -> None:
    from fleetui.console.app import FleetApp  # noqa: PLC0415 - after the terminal is prepared
    from fleetui.console.shell import ShellSettings  # noqa: PLC0415 - the same
    from fleetui.domain.clock import SystemClock  # noqa: PLC0415 - the same

    store = build(12)
    addresses = (
        SshAddress("127.0.0.1", 1, Route.PROXY),
        SshAddress("127.0.0.1", port, Route.DIRECT),
    )
    known = store.instances[INSTANCE]
    store.instances[INSTANCE] = msgspec.structs.replace(known, ssh_addresses=addresses)
    if host_key is not None:
        store.host_keys_by_id[INSTANCE] = host_key
    settings = ShellSettings(user=os.environ["LOGIN_AS"], key_files=(client_key,), use_agent=False)
    app = FleetApp(
        store, clock=SystemClock(), actor="ana@ops", account="sample", shell=settings
    )  # fmt: skip
    await app.run_async()


if __name__ == "__main__":
    prepare_terminal(os.environ)
    bound = " ".join(Path(sys.argv[3]).read_text().split()[:2]) if len(sys.argv) > 3 else None
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]), bound))
