"""The words and signs of states: two channels beside colour, in Unicode or ASCII."""

import msgspec

from fleetui.domain.finding import Severity
from fleetui.domain.host import SshState
from fleetui.domain.stage import Stage

STAGE_WORDS: dict[Stage, str] = {
    Stage.LOADING: "loading",
    Stage.BOOT: "boot",
    Stage.PARAM_FETCH: "params",
    Stage.PARAMS_DONE: "params ok",
    Stage.C1_DOWNLOAD: "c1 input",
    Stage.DAEMON_START: "daemon",
    Stage.WARMUP: "warmup",
    Stage.DAEMON_RESTART: "restart",
    Stage.BENCH: "bench",
    Stage.BENCH_DONE: "bench ok",
    Stage.RUNNING: "running",
    Stage.FAILED: "FAILED",
    Stage.STOPPED: "stopped",
    Stage.GONE: "gone",
}
"""What the table says of a stage, at most 9 cells."""

STAGE_TONES: dict[Stage, str] = {
    Stage.RUNNING: "ok",
    Stage.BENCH_DONE: "ok",
    Stage.BENCH: "active",
    Stage.WARMUP: "active",
    Stage.FAILED: "bad",
    Stage.STOPPED: "dim",
    Stage.GONE: "dim",
}
"""The tone of a stage; those not named are on their way: `busy`."""

SSH_WORDS: dict[SshState, str] = {
    SshState.NONE: "not tried",
    SshState.CONNECTING: "connecting",
    SshState.CONNECTED: "connected",
    SshState.REFUSED: "refused",
    SshState.TIMED_OUT: "timed out",
    SshState.AUTH_FAILED: "key refused",
    SshState.HOST_KEY_CHANGED: "HOST KEY CHANGED",
    SshState.NO_ADDRESS: "no address yet",
    SshState.LOST: "lost",
}

_FULL: dict[str, str] = {
    "critical": "✖",
    "warning": "▲",
    "info": "•",
    "running": "●",
    "busy": "◐",
    "done": "✓",
    "failed": "✖",
    "off": "○",
    "cursor": "▌",
    "mark": "◆",
    "full": "━",
    "empty": "─",
    "cell": "■",
    "open": "□",
    "up": "▲",
    "down": "▼",
    "rule": "─",
    "wall": "│",
    "more": "…",
    "at_least": "≥",
    "at_most": "≤",
    "arrow": "→",
    "left": "←",
    "dot": "·",
}
_ASCII: dict[str, str] = {
    "critical": "X",
    "warning": "!",
    "info": "i",
    "running": "*",
    "busy": "o",
    "done": "+",
    "failed": "X",
    "off": "-",
    "cursor": ">",
    "mark": "*",
    "full": "#",
    "empty": ".",
    "cell": "#",
    "open": ".",
    "up": "^",
    "down": "v",
    "rule": "-",
    "wall": "|",
    "more": "~",
    "at_least": ">",
    "at_most": "<",
    "arrow": "->",
    "left": "<",
    "dot": "-",
}
_TRANSLITERATION = str.maketrans(
    {"…": "~", "–": "-", "—": "-", "·": "-", "→": ">", "×": "x", "°": "C", "≥": ">", "≤": "<"}
)
_BLOCKS = ("▁▂▃▄▅▆▇█", "_.-=+*##")


class Glyphs(msgspec.Struct, frozen=True):
    """The signs of one kind of terminal."""

    ascii_only: bool = False

    def __getitem__(self, name: str) -> str:
        return (_ASCII if self.ascii_only else _FULL)[name]

    def plain(self, text: str) -> str:
        """Return the text in what the terminal can draw."""
        if not self.ascii_only:
            return text
        return text.translate(_TRANSLITERATION).encode("ascii", "replace").decode("ascii")

    def stage(self, stage: Stage) -> str:
        """Return the sign of a stage."""
        if stage is Stage.FAILED:
            return self["failed"]
        if stage in (Stage.STOPPED, Stage.GONE):
            return self["off"]
        return self["running" if stage is Stage.RUNNING else "busy"]

    def severity(self, severity: Severity) -> str:
        """Return the sign of a severity."""
        return self[severity.value]

    def bar(self, fraction: float, width: int) -> tuple[str, str]:
        """Return the done and the open part of a bar of `width` cells."""
        done = int(min(max(fraction, 0.0), 1.0) * width + 1e-9)
        return self["full"] * done, self["empty"] * (width - done)

    def sparkline(self, values: list[float | None], width: int) -> str:
        """Draw the last `width` values as blocks against their own maximum; blanks: unknown."""
        blocks = _BLOCKS[self.ascii_only]
        shown = values[-width:]
        top = max((value for value in shown if value is not None), default=0.0)
        return "".join(
            " " if value is None else blocks[min(int(value / top * 7.999), 7) if top > 0 else 0]
            for value in shown
        )
