"""What the doctor says of the terminal: colours, characters, clipboard, tmux."""

import asyncio
import locale
from collections.abc import Mapping

from fleetui.console.terminal import inside_multiplexer, over_ssh
from fleetui.domain.check import Check, Health
from fleetui.domain.text import sanitise

TMUX_SECONDS = 2.0
RULER = "✖▲●◐✓○▌━─■□→◆▁▂▃▄▅▆▇█"
"""Every sign that is drawn outside ASCII: each must be one cell wide."""
SLOW_ESCAPE_MS = 100


async def examine_terminal(environ: Mapping[str, str], size: tuple[int, int]) -> tuple[Check, ...]:
    """Look at the terminal at hand."""
    checks = [_colour(environ), _characters(environ), _size(size)]
    if environ.get("TMUX"):
        checks += await _tmux()
    else:
        checks.append(_clipboard(environ))
    if over_ssh(environ):
        checks.append(
            _check("link", Health.GOOD, "over SSH: no animation, 15 frames a second, no mouse")
        )
    return tuple(checks)


def _check(part: str, health: Health, found: str, mend: str = "") -> Check:
    return Check(part=part, health=health, found=sanitise(found, 400), mend=sanitise(mend, 400))


def _colour(environ: Mapping[str, str]) -> Check:
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR"):
        return _check("colour", Health.GOOD, "NO_COLOR is set: attributes only")
    if environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        return _check("colour", Health.GOOD, f"{term}, true colour")
    if "256" in term:
        return _check(
            "colour",
            Health.GOOD,
            f"{term}: 256 colours",
            "export COLORTERM=truecolor if the terminal can (ssh does not forward it)",
        )
    return _check(
        "colour", Health.POOR, f"{term or 'no TERM'}: 16 colours",
        "export TERM=xterm-256color, or take the theme terminal or mono (T)",
    )  # fmt: skip


def _characters(environ: Mapping[str, str]) -> Check:
    encoding = locale.getpreferredencoding(do_setlocale=False).upper().replace("-", "")
    named = next((environ[n] for n in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(n)), "not set")
    if encoding != "UTF8":
        return _check(
            "characters", Health.BAD, f"{encoding} ({named})",
            "export LANG=C.UTF-8, or start with --ascii",
        )  # fmt: skip
    return _check(
        "characters", Health.GOOD, f"UTF-8 ({named}); one cell each: {RULER}|",
        "if the bar is not right behind the last block: --ascii",
    )  # fmt: skip


def _size(size: tuple[int, int]) -> Check:
    width, height = size
    small = width < 80 or height < 24
    return _check(
        "size", Health.POOR if small else Health.GOOD, f"{width}x{height}",
        "from 80x24 on nothing is left out" if small else "",
    )  # fmt: skip


def _clipboard(environ: Mapping[str, str]) -> Check:
    screen = inside_multiplexer(environ)
    return _check(
        "clipboard",
        Health.POOR if screen else Health.GOOD,
        "OSC 52" + (" through screen" if screen else "") + ": c copies; terminals do not confirm",
        "if pasting gives nothing, allow clipboard access (OSC 52) in the terminal's settings",
    )


async def _tmux() -> list[Check]:
    options = {
        name: await _ask("show-options", "-gqv" if glob else "-sqv", name)
        for name, glob in (("escape-time", False), ("set-clipboard", False), ("mouse", True))
    }
    version = await _ask("-V")
    if not version:
        return [_check("tmux", Health.POOR, "TMUX is set, but tmux does not answer")]
    wait = options["escape-time"]
    slow = wait.isdigit() and int(wait) > SLOW_ESCAPE_MS
    clipboard = options["set-clipboard"] or "external"
    return [
        _check(
            "tmux escape-time",
            Health.POOR if slow else Health.GOOD,
            f"{version}: {wait or '?'} ms",
            "tmux set -s escape-time 10 (esc waits so long; q and ctrl+c do not)" if slow else "",
        ),
        _check(
            "tmux clipboard",
            Health.POOR if clipboard == "off" else Health.GOOD,
            f"set-clipboard {clipboard}: copies go into tmux's buffer and to the terminal",
            "tmux set -s set-clipboard on" if clipboard == "off" else "",
        ),
    ]


async def _ask(*arguments: str) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux", *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return ""
    try:
        async with asyncio.timeout(TMUX_SECONDS):
            out, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    return out.decode("utf-8", "replace").strip()
