"""One instance on the whole screen: findings, stages, files, processes, charts, its raw row."""

import msgspec
from textual.app import ComposeResult
from textual.containers import Container, Vertical

from fleetui.console import figures
from fleetui.console.fitting import fit, wrap
from fleetui.console.inspection import Line, Subject, describe, section
from fleetui.console.screens.lists import ListScreen
from fleetui.console.screens.snapshots import SnapshotsScreen
from fleetui.console.screens.target_acts import TargetActs
from fleetui.console.widgets.chart import Chart
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.codec import encode
from fleetui.domain.intent import Event

CHART_HOURS = 6.0
EVENTS = 40
PROCESSES = 24


class InstanceScreen(TargetActs):
    """The page behind enter."""

    scope = "lists"
    scopes = ("instance",)

    def __init__(self, instance_id: int, *, ascii_only: bool) -> None:
        super().__init__()
        self.instance_id = instance_id
        self.subject: Subject | None = None
        self._events: tuple[Event, ...] = ()
        self.rate = Chart("proofs/h, 6 h", ascii_only=ascii_only, id="rate")
        self.load = Chart("GPU %, 6 h", tone="active", ascii_only=ascii_only, id="load")

    def compose(self) -> ComposeResult:
        """Lay out the bars, the lines and the charts."""
        yield LineBar(id="header")
        with Container(id="instance"):
            yield LinesView(id="details")
            with Vertical(id="instance-charts"):
                yield self.rate
                yield self.load
        yield LineBar(id="footer")

    def on_resize(self) -> None:
        """Arrange for the new size."""
        self._arrange()
        super().on_resize()

    def _arrange(self) -> None:
        """Charts stand beside the lines where there is room for both, and something to draw."""
        none = self.size.width < 120 or not (self.rate.display or self.load.display)
        self.query_one("#instance-charts").set_class(none, "-none")

    def on_mount(self) -> None:
        """The lines scroll."""
        super().on_mount()
        self.set_focus(self.query_one(LinesView))

    async def pull(self) -> None:
        """Read the instance."""
        app = self.console_app
        self.subject = await app.read_subject(self.instance_id)
        self._events = await app.store.events(instance_id=self.instance_id, limit=EVENTS)
        if self.subject is not None:
            samples = self.subject.samples
            row = self.subject.row
            utc = app.preferences.now.utc
            self.rate.set_points(
                [(s.at, s.proofs_per_hour) for s in samples], row.proofs_per_hour, utc=utc
            )
            self.load.set_points([(s.at, s.gpu_util) for s in samples], row.gpu_util, utc=utc)
            self.rate.display = any(s.proofs_per_hour is not None for s in samples)
            self.load.display = any(s.gpu_util is not None for s in samples)
            self._arrange()
        self._draw()

    def fleet_changed(self, changed: set[int]) -> None:
        """Draw with the present ages."""
        super().fleet_changed(changed)
        self._draw()
        for chart in (self.rate, self.load):
            if chart.size.height:
                chart.advance()

    def _draw(self) -> None:
        view = self.query_one(LinesView)
        app = self.console_app
        if self.subject is None:
            view.show([[(f"nothing is known of {self.instance_id}", "warn")]])
            return
        row = app.state.row(self.instance_id) or self.subject.row
        utc = app.preferences.now.utc
        subject = msgspec.structs.replace(self.subject, row=row, now=app.state.now(), utc=utc)
        width = view.inner_width
        lines = describe(subject, width, app.glyphs)
        lines += self._files(subject, width)
        lines += self._processes(subject, width)
        lines += self._timeline(width, utc=utc)
        plain = app.glyphs.plain
        view.show([[(plain(text), tone) for text, tone in line] for line in lines])

    def _files(self, subject: Subject, width: int) -> list[Line]:
        progress = subject.reading.progress if subject.reading else None
        if progress is None or len(progress.parts) <= 6:
            return []
        lines = section("all files", width, self.console_app.glyphs)
        for part in progress.parts:
            done = figures.amount(part.done, progress.unit)
            total = "" if part.total is None else f" of {figures.amount(part.total, progress.unit)}"
            share = figures.percent(part.done / part.total) if part.total else ""
            speed = ""
            if part.per_second:
                speed = f"  {figures.amount(part.per_second, progress.unit)}/s"
            lines.append([
                (fit(part.name, max(width - 42, 12), more="…"), "text"),
                (share.rjust(6), "strong"), (f"  {done}{total}{speed}", "dim"),
            ])  # fmt: skip
        return lines

    def _processes(self, subject: Subject, width: int) -> list[Line]:
        probe = subject.reading.probe if subject.reading else None
        if probe is None:
            return []
        glyphs = self.console_app.glyphs
        lines: list[Line] = []
        if probe.processes:
            lines += section("processes", width, glyphs, f"{len(probe.processes)}")
            for process in probe.processes[:PROCESSES]:
                memory = None if process.rss_kib is None else process.rss_kib * 1024
                lines.append([
                    (f"{process.pid:>7} ", "dim"), (fit(process.state or "", 3), "text"),
                    (figures.duration(process.elapsed_seconds).rjust(6) + " ", "dim"),
                    (figures.size(memory).rjust(10) + "  ", "text"),
                    (fit(process.args, max(width - 30, 10), more="…"), "text"),
                ])  # fmt: skip
        if probe.errors:
            lines += section("what could not be looked at", width, glyphs)
            lines += [
                [(f"{name}: ", "dim"), (fit(text, max(width - len(name) - 2, 8)), "warn")]
                for name, text in sorted(probe.errors.items())
            ]
        return lines

    def _timeline(self, width: int, *, utc: bool) -> list[Line]:
        if not self._events:
            return []
        lines = section("what happened", width, self.console_app.glyphs)
        for event in self._events:
            for number, text in enumerate(wrap(event.text, max(width - 32, 10), 2)):
                at = figures.date_time(event.at, utc=utc) if not number else ""
                kind = event.kind if not number else ""
                lines.append([
                    (fit(at, 20), "dim"), (fit(kind, 11) + " ", "strong"), (text, "text"),
                ])  # fmt: skip
        return lines

    def on_lines_view_leave(self) -> None:
        """Back to where this was opened."""
        self.console_app.leave(self)

    def action_step(self, step: int) -> None:
        """Show the next instance of the table, or the one before."""
        table = self.console_app.fleet_screen.table
        order = table.order
        place = order.index(self.instance_id) + step if self.instance_id in order else 0
        if not 0 <= place < len(order):
            self.console_app.say("no instance further " + ("down" if step > 0 else "up"))
            return
        self.instance_id, self.subject, self._events = order[place], None, ()
        table.go_to(self.instance_id)
        self.query_one(LinesView).scroll_home(animate=False, immediate=True)
        self.console_app.wake()

    def action_raw(self) -> None:
        """Show all that is known as it is kept."""
        self.console_app.show_raw(self.instance_id)

    def action_snapshots(self) -> None:
        """Show the last looks at its host."""
        self.app.push_screen(SnapshotsScreen(self.instance_id))

    def action_logs(self) -> None:
        """Show its logs."""
        self.console_app.show_logs([self.instance_id])

    def action_evidence(self) -> None:
        """Go to the line that proves the first finding."""
        reading = self.subject.reading if self.subject else None
        if reading is None or not reading.findings:
            self.console_app.say("nothing is wrong with it")
            return
        self.console_app.show_evidence(self.instance_id, reading.findings[0])

    def action_shell(self) -> None:
        """Open an SSH shell on it."""
        self.console_app.shell.open_shell(self.instance_id)

    def action_copy(self) -> None:
        """Copy its id."""
        self.console_app.shell.copy_text(str(self.instance_id))

    def present_targets(self) -> list[int]:
        """It alone."""
        return [self.instance_id]


class RawScreen(ListScreen):
    """All that the store has of an instance, as JSON."""

    def __init__(self, instance_id: int) -> None:
        super().__init__()
        self.instance_id = instance_id

    async def pull(self) -> None:
        """Read and draw."""
        subject = await self.console_app.read_subject(self.instance_id)
        if subject is None:
            self.put([[(f"nothing is known of {self.instance_id}", "warn")]])
            return
        lines: list[Line] = []
        for title, value in (
            ("the API's row", subject.instance),
            ("the fleet's row", subject.row),
            ("the reading", subject.reading),
        ):
            lines += [[(title, "title bold")]]
            text = msgspec.json.format(encode(value), indent=2).decode()
            for line in text.split("\n"):
                name, colon, rest = line.partition('": ')
                pieces: Line = (
                    [(name + colon, "key"), (rest, "text")] if colon else [(line, "text")]
                )
                lines.append(pieces)
            lines.append([])
        self.put(lines)
