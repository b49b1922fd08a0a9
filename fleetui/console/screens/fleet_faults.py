"""Rows with trouble: going from one to the next, and saying that somebody has seen it."""

from fleetui.console.decisions import decide
from fleetui.console.ordering import is_failure
from fleetui.console.screens.fleet_acts import FleetActs
from fleetui.domain.finding_record import DecisionKind

HOUR = 3600.0
DECISIONS = {
    "acknowledge": (DecisionKind.ACKNOWLEDGE, None, "quiet until it is over"),
    "snooze 1 h": (DecisionKind.SNOOZE, HOUR, "quiet for an hour"),
    "snooze 8 h": (DecisionKind.SNOOZE, 8 * HOUR, "quiet for eight hours"),
    "hear again": (DecisionKind.REOPEN, None, "as if nothing had been decided"),
}


class FleetFaults(FleetActs):
    """Goes through the faults of the table and acknowledges them."""

    def action_fault(self, step: int) -> None:
        """Put the cursor on the next row with trouble, or on the one before."""
        order, here = self.table.order, self.table.cursor_place
        places = range(here + 1, len(order)) if step > 0 else range(here - 1, -1, -1)
        for place in places:
            row = self.state.row(order[place])
            if row is not None and is_failure(row, self.state.quiet):
                self.table.go(place)
                return
        self.console_app.say("no trouble further " + ("down" if step > 0 else "up"))

    def action_acknowledge(self) -> None:
        """Choose what is decided about the findings of the targets."""
        from fleetui.console.modals.menu import Choice, Menu  # noqa: PLC0415 - on demand only

        if self.console_app.read_only:
            self.console_app.say("read-only: nothing is decided from here")
            return
        targets = self.targets()
        if not targets:
            return
        many = "" if len(targets) == 1 else f" of {len(targets)} marked"
        choices = [Choice(name, name, note) for name, (_, _, note) in DECISIONS.items()]
        menu = Menu(f"the findings{many}", choices, self.glyphs)

        def chosen(name: str | None) -> None:
            if name is not None:
                self.console_app.work(self._decide(targets, name), "decide", "decide")

        self.app.push_screen(menu, chosen)

    async def _decide(self, targets: list[int], name: str) -> None:
        app = self.console_app
        kind, seconds, note = DECISIONS[name]
        try:
            records = [
                record for record in await app.store.findings() if record.instance_id in targets
            ]
            count = await decide(app, records, kind, seconds=seconds)
        except Exception as error:  # noqa: BLE001 - whatever it was, the operator must learn of it
            app.say(f"nothing was decided: {error}", severity="error")
            return
        app.say(f"{count} findings: {note}" if count else "nothing is wrong with it")
        self.fleet_changed(set(targets))
