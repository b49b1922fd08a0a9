"""Settings and the doctor; and what a first start without a key says."""

import os

from fleetui.console import figures
from fleetui.console.fitting import fit, wrap
from fleetui.console.inspection import Line
from fleetui.console.screens.lists import ListScreen
from fleetui.console.terminal_check import examine_terminal
from fleetui.domain.check import Check, Health

SIGNS = {
    Health.GOOD: ("done", "ok"),
    Health.POOR: ("warning", "warn"),
    Health.BAD: ("failed", "bad"),
}
PART_CELLS = 22
PLACES = (
    ("export VAST_API_KEY=...", "for this shell"),
    ("~/.config/vastai/vast_api_key", "where the vastai client keeps it"),
    ("fleetui doctor", "says what else is missing"),
    ("fleetui demo", "a pretend fleet, needs no key"),
)


def check_lines(checks: tuple[Check, ...], width: int, sign: dict[Health, str]) -> list[Line]:
    """Return the doctor's answers as lines: what was found, and below it what mends it."""
    lines: list[Line] = []
    room = max(width - PART_CELLS - 2, 10)
    for check in checks:
        tone = SIGNS[check.health][1]
        for number, text in enumerate(wrap(check.found, room) or [""]):
            head = fit(check.part, PART_CELLS) if not number else " " * PART_CELLS
            lines.append([
                (f"{sign[check.health]} " if not number else "  ", tone), (head, "strong"),
                (text, "text"),
            ])  # fmt: skip
        lines += [
            [
                (" " * (PART_CELLS + 2), "dim"),
                (text, "dim" if check.health is Health.GOOD else "ok"),
            ]
            for text in wrap(check.mend, room)
        ]
    return lines


class SettingsScreen(ListScreen):
    """Screen 7."""

    def __init__(self) -> None:
        super().__init__()
        self._checks: tuple[Check, ...] | None = None

    async def pull(self) -> None:
        """Let the doctor look once; `r` lets it look again."""
        if self._checks is None:
            self._draw()
            app = self.console_app
            terminal = await examine_terminal(os.environ, (app.size.width, app.size.height))
            others = await app.examine() if app.examine is not None else ()
            self._checks = (*others, *terminal)
        self._draw()

    def look_again(self) -> None:
        """Examine everything anew."""
        self._checks = None

    def _draw(self) -> None:
        app = self.console_app
        chosen = app.preferences.now
        width = self.inner_width
        lines: list[Line] = [[("doctor", "title bold"), ("   r looks again", "dim")], []]
        if self._checks is None:
            lines.append([("looking…", "busy")])
        else:
            signs = {health: app.glyphs[name] for health, (name, _) in SIGNS.items()}
            lines += check_lines(self._checks, width, signs)
        lines += [[], [("this console", "title bold")], []]
        rows = (
            ("colours", app.paint.name, "T"),
            ("times", "UTC" if chosen.utc else "local", "U"),
            ("columns", " ".join(chosen.columns) or "the usual ones", "O"),
            ("groups", chosen.group or "none", "b"),
            ("wide", "yes" if chosen.wide else "no", "w"),
            ("mode", "read-only" if app.read_only else "may act", ""),
            ("you are", str(app.actor), ""),
            ("terminal", app.link_words(), ""),
        )
        for name, value, key in rows:
            lines.append([
                ("  ", "dim"), (fit(name, PART_CELLS), "strong"), (value, "text"),
                (f"   {key} changes it" if key else "", "dim"),
            ])  # fmt: skip
        health = app.state.health
        if health is not None:
            up = figures.duration(app.state.now() - health.started_at)
            lines += [[], [("collector", "title bold")], []]
            words = f"{health.holder}, version {health.version}, up {up}"
            lines.append([("  ", "dim"), (words, "text")])
            done = f"{health.walks_complete} walks complete, {health.walks_failed} failed"
            lines.append([("  ", "dim"), (done, "dim")])
        self.put(lines)


class WelcomeScreen(ListScreen):
    """What stands in the way of a collector, and what to do about it."""

    def __init__(self, notice: str) -> None:
        super().__init__()
        self.notice = notice

    async def pull(self) -> None:
        """Draw; it goes by itself once a collector runs."""
        app = self.console_app
        if app.state.lease_held:
            self.console_app.leave(self)
            return
        width = self.inner_width
        lines: list[Line] = [
            [],
            [("FleetUI", "key bold"), (" watches a Vast.ai fleet", "text")],
            [],
        ]
        lines += [[(text, "warn")] for text in wrap(self.notice, width)]
        lines += [
            [],
            [("where to put a key", "title bold")],
            *([(f"  {what:<36}", "key"), (why, "dim")] for what, why in PLACES),
            [],
            [("r", "key bold"), (" tries again   ", "dim"), ("q", "key bold"),
             (" leaves; what the store has is behind this", "dim")],
        ]  # fmt: skip
        self.put(lines)
