"""One exec or shell channel: runs the pretend shell over a host."""

import asyncio
import contextlib

import asyncssh

from fleetui.simulator.hosts.host import Host
from fleetui.simulator.hosts.shell import (
    file_tools,
    gpu_tools,
    matching_tools,
    printing_tools,
    process_tools,
    running_tools,
    system_tools,
    text_tools,
)
from fleetui.simulator.hosts.shell.interpreter import Leave, Shell, Tool
from fleetui.simulator.hosts.shell.streams import CallbackWriter, ClosedPipeError, Pipe

TOOLS: dict[str, Tool] = {
    **text_tools.TOOLS,
    **matching_tools.TOOLS,
    **printing_tools.TOOLS,
    **file_tools.TOOLS,
    **process_tools.TOOLS,
    **gpu_tools.TOOLS,
    **system_tools.TOOLS,
    **running_tools.TOOLS,
}
_WELCOME = (
    b"Welcome to vast.ai. If authentication fails, try again after a few seconds.\nHave fun!\n"
)


def make_shell(host: Host) -> Shell:
    """Return a login's shell on a host."""
    machine = host.machine
    machine.sync()
    environment = {
        "HOME": "/root",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/bash",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }
    return Shell(machine, TOOLS, environment=environment, pid=machine.next_pid())


class ShellSession(asyncssh.SSHServerSession[bytes]):
    """Bytes in, bytes out; ends with the channel."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._command: str | None = None
        self._terminal = False
        self._channel: asyncssh.SSHServerChannel[bytes] | None = None
        self._input = Pipe()
        self._writable = asyncio.Event()
        self._writable.set()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """Keep the channel."""
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: object, term_modes: object) -> bool:
        """Accept a terminal."""
        del term_type, term_size, term_modes
        self._terminal = True
        return True

    def shell_requested(self) -> bool:
        """Accept a login."""
        return True

    def exec_requested(self, command: str) -> bool:
        """Accept a command."""
        self._command = command
        return True

    def session_started(self) -> None:
        """Start the shell."""
        self._task = asyncio.create_task(
            self._run(), name=f"simulated-shell-{self._host.instance_id}"
        )

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Take input."""
        del datatype
        self._input.feed(data)

    def eof_received(self) -> bool:
        """Take the end of input; output goes on."""
        self._input.end()
        return True

    def pause_writing(self) -> None:
        """Wait until the client has read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Go on writing."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """End what runs."""
        del exc
        self._closed = True
        self._input.end()
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    async def _send(self, data: bytes, kind: int | None = None) -> None:
        if self._closed or self._channel is None:
            raise ClosedPipeError
        await self._writable.wait()
        if self._closed:
            raise ClosedPipeError
        if self._terminal:
            data = data.replace(b"\n", b"\r\n")
        self._channel.write(data, kind)

    async def _run(self) -> None:
        shell = make_shell(self._host)
        shell.readers[0] = self._input
        shell.writers[1] = CallbackWriter(self._send)
        shell.writers[2] = CallbackWriter(
            lambda data: self._send(data, None if self._terminal else asyncssh.EXTENDED_DATA_STDERR)
        )
        status = 0
        try:
            if self._command is not None:
                command = self._command.encode("utf-8", "surrogateescape").decode("latin-1")
                status = await shell.run_text(command)
            else:
                status = await self._prompt(shell)
        except (ClosedPipeError, BrokenPipeError):
            status = 141
        finally:
            for job in list(shell.background):
                job.cancel()
        if self._channel is not None and not self._closed:
            with contextlib.suppress(OSError, asyncssh.Error):
                self._channel.exit(status & 255)

    async def _prompt(self, shell: Shell) -> int:
        prompt = f"root@C.{self._host.instance_id}:".encode() if self._terminal else b""
        if self._terminal:
            await self._send(_WELCOME)
        buffered = b""
        while True:
            if prompt:
                place = b"~" if shell.cwd == "/root" else shell.cwd.encode("latin-1")
                await self._send(prompt + place + b"# ")
            line, buffered = await self._line(buffered)
            if line is None:
                return shell.status
            try:
                await shell.run_line(line.decode("latin-1"))
            except Leave as leave:
                return leave.value

    async def _line(self, buffered: bytes) -> tuple[bytes | None, bytes]:
        typed = bytearray()
        while True:
            for index, byte in enumerate(buffered):
                if byte == 4 and not typed:
                    return None, b""
                echoed = _edit(typed, byte)
                if self._terminal and echoed:
                    await self._send(echoed)
                if byte in {3, 10, 13}:
                    return bytes(typed), buffered[index + 1 :]
            buffered = await self._input.read()
            if not buffered:
                return (bytes(typed) if typed else None), b""


def _edit(typed: bytearray, byte: int) -> bytes:
    """Apply one key to the line being typed; returns what the terminal shows for it."""
    if byte in {10, 13}:
        return b"\n"
    if byte == 3:
        typed.clear()
        return b"^C\n"
    if byte in {8, 127}:
        if not typed:
            return b""
        del typed[-1:]
        return b"\b \b"
    if byte >= 32 or byte == 9:
        typed.append(byte)
        return bytes([byte])
    return b""
