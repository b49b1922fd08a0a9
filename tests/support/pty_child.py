"""A program in a pseudo-terminal of our own: its bytes, its keys, its CPU time."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from pathlib import Path


class PtyChild:
    """Starts a command in a terminal of `width` x `height` cells."""

    def __init__(
        self, command: list[str], *, width: int = 200, height: int = 50, **environment: str
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        kept = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
        }
        kept |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        for name in ("TMUX", "STY", "SSH_CONNECTION", "SSH_TTY", "NO_COLOR"):
            kept.pop(name, None)
        self.started_at = time.monotonic()
        self._process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=kept | environment,
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def read(self, seconds: float) -> bytes:
        """Return what comes within a time."""
        parts: list[bytes] = []
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._master], [], [], left)[0]:
                break
            try:
                parts.append(os.read(self._master, 1 << 16))
            except OSError:
                break
        return b"".join(parts)

    def read_until(self, wanted: bytes, seconds: float = 60.0) -> bytes:
        """Return what comes up to and with the wanted bytes.

        Raises:
            TimeoutError: they did not come.
        """
        found = b""
        end = time.monotonic() + seconds
        while wanted not in found:
            if time.monotonic() > end:
                raise TimeoutError(f"{wanted!r} did not come within {seconds} s: {found[-2000:]!r}")
            found += self.read(0.02)
        return found

    def write(self, keys: bytes) -> None:
        """Type."""
        os.write(self._master, keys)

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process so far, from /proc."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_bytes(self) -> int:
        """Return the resident memory now, from /proc."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def wait(self, seconds: float = 30.0) -> int:
        """Wait for its end, reading what it still writes; returns its exit status."""
        end = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        return self._process.wait(timeout=1)

    def hang_up(self) -> int:
        """Take the terminal away without a word; returns the exit status."""
        os.close(self._master)
        self._master = -1
        return self._process.wait(timeout=60)

    def end(self) -> None:
        """End it, whatever it does."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._master >= 0:
            os.close(self._master)
