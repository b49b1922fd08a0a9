"""An OpenSSH server behind a network that can be cut without a word and healed again.

Where namespaces may be made, the server lives in one, at the far end of a pair of virtual
interfaces. Elsewhere a relay on loopback stands for the network: it stops carrying bytes.
"""

import asyncio
import contextlib
import itertools
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fleetui.domain.instance import Route, SshAddress
from openssh import Sshd, serving

_numbers = itertools.count()


class Network(Protocol):
    """What lies between a link and its server."""

    async def cut(self) -> None:
        """From now on no byte arrives on either side, and nobody is told."""

    async def heal(self) -> None:
        """Carry bytes again, those that are still being sent as well."""


@dataclass(frozen=True)
class FarServer:
    """A server, the way to it, and where its door is on this side."""

    sshd: Sshd
    network: Network
    address: SshAddress


class Namespace:
    """A network namespace at the far end of a pair of virtual interfaces."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.name = f"fleetui-{os.getpid()}-{number}"
        self._near, self._far = f"fn{os.getpid() % 10**8}.{number}", "far0"
        # One /30 for each process and number; 10.213.0.0/16 is nobody's on a test machine.
        block = (os.getpid() * 7 + number) % (1 << 14) * 4
        self.host = f"10.213.{block >> 8}.{(block & 255) + 2}"
        self._gateway = f"10.213.{block >> 8}.{(block & 255) + 1}"

    def make(self) -> bool:
        """Make it; false where this machine does not let us."""
        try:
            _ip("netns", "add", self.name)
            far = ("peer", "name", self._far, "netns", self.name)
            _ip("link", "add", self._near, "type", "veth", *far)
            _ip("addr", "add", f"{self._gateway}/30", "dev", self._near)
            _ip("-n", self.name, "addr", "add", f"{self.host}/30", "dev", self._far)
            _ip("link", "set", self._near, "up")
            _ip("-n", self.name, "link", "set", self._far, "up")
        except (OSError, subprocess.CalledProcessError):
            self.drop()
            return False
        return True

    def drop(self) -> None:
        """Drop it and its interfaces."""
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            _ip("link", "del", self._near)
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            _ip("netns", "del", self.name)

    async def cut(self) -> None:
        """Take the far interface down."""
        await asyncio.to_thread(_ip, "-n", self.name, "link", "set", self._far, "down")

    async def heal(self) -> None:
        """Put it up again."""
        await asyncio.to_thread(_ip, "-n", self.name, "link", "set", self._far, "up")


class Relay:
    """Carries TCP connections from a loopback port to a server, or stops to.

    `change` is applied to all that the server sends.
    """

    def __init__(self, server: Sshd, *, change: Callable[[bytes], bytes] = bytes) -> None:
        self._server = server
        self._change = change
        self._open = asyncio.Event()
        self._open.set()
        self._pumps: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[SshAddress]:
        listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        try:
            yield SshAddress("127.0.0.1", port, Route.DIRECT)
        finally:
            listener.close()
            for pump in self._pumps:
                pump.cancel()
            await asyncio.gather(*self._pumps, return_exceptions=True)

    async def cut(self) -> None:
        """Stop carrying."""
        self._open.clear()

    async def heal(self) -> None:
        """Carry on."""
        self._open.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pump = asyncio.create_task(self._carry(reader, writer), name="relay")
        self._pumps.add(pump)
        pump.add_done_callback(self._pumps.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far: asyncio.StreamWriter | None = None
        try:
            await self._open.wait()
            address = self._server.address
            far_reader, far = await asyncio.open_connection(address.host, address.port)
            ways = [
                asyncio.create_task(self._copy(reader, far, bytes)),
                asyncio.create_task(self._copy(far_reader, writer, self._change)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass  # the server is not there: the client sees its end close
        finally:
            for end in (writer, far):
                if end is not None:
                    end.transport.abort()

    async def _copy(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        change: Callable[[bytes], bytes],
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                writer.write(change(data))
                await writer.drain()
        await self._open.wait()


@contextlib.asynccontextmanager
async def far_server(
    folder: Path, *, namespace: bool, options: tuple[str, ...] = ()
) -> AsyncIterator[FarServer]:
    """Run a server behind a network: of its own where wanted and allowed, else a relay."""
    network = Namespace()
    if namespace and await asyncio.to_thread(network.make):
        try:
            launcher = ("ip", "netns", "exec", network.name)
            with serving(folder, options=options, listen=network.host, launcher=launcher) as sshd:
                yield FarServer(sshd, network, sshd.address)
        finally:
            await asyncio.to_thread(network.drop)
        return
    with serving(folder, options=options) as sshd:
        relay = Relay(sshd)
        async with relay.running() as address:
            yield FarServer(sshd, relay, address)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)
