"""The line above the table: what it shows, how it is ordered, what is marked. Pure."""

from fleetui.console.columns import BY_NAME
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.palette import Piece
from fleetui.console.widgets.fleet_table import FleetTable


def crumbs(
    table: FleetTable, state: FleetState, query_text: str, glyphs: Glyphs
) -> tuple[list[Piece], list[Piece]]:
    """Return the left part (what is selected) and the right part (order and count)."""
    selection = table.selection
    left: list[Piece] = [(" fleet", "title")]
    if selection.failures_only:
        left.append((f" {glyphs['arrow']} only trouble", "warn"))
    if query_text:
        left.append((f" {glyphs['arrow']} ", "dim"))
        left.append((glyphs.plain(query_text), "key"))
    if selection.group:
        left.append((f" {glyphs['arrow']} by {selection.group}", "title"))
    if table.follow:
        left.append((f" {glyphs['arrow']} following {table.cursor_id}", "active"))
    marked = table.marks.live(state.rows, table.order)
    if marked:
        hidden = len(set(marked).difference(table.order))
        unseen = f" ({hidden} hidden)" if hidden else ""
        left.append((f"   {glyphs['mark']} {len(marked)} marked{unseen}", "warn bold"))
    shown, known = len(table.order), len(state.rows)
    sign = glyphs["down" if selection.descending else "up"]
    title = BY_NAME[selection.sort].title
    right: list[Piece] = [("by ", "dim"), (f"{title} {sign}", "title")]
    if not table.shows(selection.sort):
        right.append((" (hidden column)", "warn"))
    right.append(("   ", "dim"))
    if table.order_waits:
        right.insert(0, ("order waits while you read   ", "faint"))
    count = f"{known} instances " if shown == known else f"{shown} of {known} instances "
    return left, [*right, (count, "dim" if shown == known else "strong")]
