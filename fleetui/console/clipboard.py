"""The operator's clipboard: OSC 52 on our own terminal, through tmux where it stands between."""

import asyncio
import base64
from collections.abc import Callable, Mapping

TERMINAL_LIMIT_BYTES = 74_994
"""Encoded bytes that terminals take in one OSC 52 sequence (facts: tui.md C-15)."""
TMUX_SECONDS = 3.0


class ClipboardRefusedError(Exception):
    """The text was not sent; the text of this says why."""


def osc52(text: str, environ: Mapping[str, str]) -> str:
    """Return the sequence that puts a text on the terminal's clipboard.

    Inside GNU screen it is wrapped so that it passes through.

    Raises:
        ClipboardRefusedError: the text is longer than terminals take.
    """
    encoded = base64.b64encode(text.encode()).decode("ascii")
    if len(encoded) > TERMINAL_LIMIT_BYTES:
        raise ClipboardRefusedError(f"{len(text)} characters are more than a terminal takes")
    sequence = f"\x1b]52;c;{encoded}\x07"
    if environ.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environ.get("STY"):
        # screen takes at most 768 bytes of one string.
        parts = [sequence[start : start + 700] for start in range(0, len(sequence), 700)]
        return "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return sequence


async def copy(text: str, environ: Mapping[str, str], write: Callable[[str], None]) -> str:
    """Send a text to the clipboard and say how; nobody confirms that a terminal took it.

    tmux is asked to do it itself, which needs none of its settings changed; it also keeps the
    text in its own paste buffer.

    Raises:
        ClipboardRefusedError: the text is longer than terminals take.
    """
    if environ.get("TMUX") and await _through_tmux(text):
        return "copied: tmux has it (prefix ]) and passed it to the terminal"
    write(osc52(text, environ))
    return "copied: sent to the terminal (it does not confirm)"


async def _through_tmux(text: str) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux", "load-buffer", "-w", "-",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return False
    try:
        async with asyncio.timeout(TMUX_SECONDS):
            await process.communicate(text.encode())
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return process.returncode == 0
