"""The last looks at one host, as its black box kept them; they stay when the host is gone."""

from fleetui.console import figures
from fleetui.console.inspection import Line, section
from fleetui.console.screens.lists import ListScreen


class SnapshotsScreen(ListScreen):
    """All kept snapshots of an instance, the newest first, each with all of its sections."""

    def __init__(self, instance_id: int) -> None:
        super().__init__()
        self.instance_id = instance_id

    async def pull(self) -> None:
        """Read and draw."""
        app = self.console_app
        snapshots = await app.store.snapshots(self.instance_id)
        utc, glyphs = app.preferences.now.utc, app.glyphs
        lines: list[Line] = [[(f"last looks at {self.instance_id}", "title bold")]]
        if not snapshots:
            words = "none is kept: one is taken when a finding turns critical and before a destroy"
            lines += [[], [(words, "dim")]]
        for snapshot in snapshots:
            cut = "" if snapshot.whole else "  cut short: the time or the connection ended"
            when = figures.date_time(snapshot.at, utc=utc)
            lines += [[], [(when, "strong bold"), (f"  {snapshot.reason}", "text"), (cut, "warn")]]
            for part in snapshot.sections:
                lines += section(part.name, self.inner_width, glyphs)
                lines += [[(line, "text")] for line in part.lines]
        self.put(lines)
