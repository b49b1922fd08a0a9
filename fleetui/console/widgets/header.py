"""The header's and the flags' words, from the fleet's state. Pure."""

from fleetui.console import figures
from fleetui.console.fitting import cells, fit
from fleetui.console.fleet_state import MISSED_WALK_SECONDS, FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.palette import Piece
from fleetui.domain.finding import Severity
from fleetui.domain.money import hours_left
from fleetui.domain.role import Role

LOW_BALANCE_HOURS = 24.0
ROLE_WORDS: dict[Role, Piece] = {
    Role.VIEWER: (" RO ", "title@cursor"),
    Role.OPERATOR: (" RW no destroy ", "title@cursor"),
    Role.OWNER: (" RW ", "warn@cursor"),
}


def header(
    state: FleetState,
    account: str,
    *,
    role: Role,
    glyphs: Glyphs,
    width: int,
    frozen: int | None = None,
    link: str = "",
    pace: float = 0.0,
) -> tuple[list[Piece], list[Piece]]:
    """Return the header's left part (who, how, what is wrong) and right part (the sums).

    `frozen` counts the rows that changed since the screen was frozen; `link` says what a slow
    terminal does to the screen; `pace` how many seconds lie between two readings of the store.
    """
    core: list[Piece] = [ROLE_WORDS[role]]
    if state.speed != 1.0:
        core.append((f" {state.speed:g}x", "warn"))
    if frozen is not None:
        core.append((f" FROZEN +{frozen} ", "warn bold"))
    if link:
        core.append((f" {link} ", "warn"))
    if pace > 1:
        core.append((f" every {pace:g} s ", "warn"))
    core += [("  ", "dim"), *_freshness(state, glyphs)]
    groups = _sums(state, glyphs, width)
    brand: list[Piece] = [(" FleetUI ", "key bold")]
    # How fresh the figures are matters most: the account is shortened first, then the brand
    # goes, then the first of the sums. An error may be long: it is cut where the sums begin.
    needed = cells(core) + 1
    while len(groups) > 1 and sum(map(cells, groups)) + needed > width:
        groups.pop(0)
    right = [piece for group in groups for piece in group]
    room = width - cells(right) - needed
    errors = _errors(state, glyphs)
    if errors and room > 4:
        whole = cells([(errors, "warn")]) <= room
        said: list[Piece] = [(errors, "warn")]
        if not whole:
            # It is whole behind the key.
            said = [
                (fit(errors, max(room - 2, 1), more=glyphs["more"]), "warn"),
                (" !", "key bold"),
            ]
        core += said
        room -= cells(said)
    if room < cells(brand):
        return core, right
    name = glyphs.plain(account)
    room -= cells(brand) + 1
    if cells([(name, "strong")]) > room:
        name = fit(name, room, more=glyphs["more"]) if room >= 4 else ""
    who: list[Piece] = [(name, "strong"), (" ", "dim")] if name else []
    return [*brand, *who, *core], right


def _freshness(state: FleetState, glyphs: Glyphs) -> list[Piece]:
    if state.trouble:
        return [(glyphs.plain(f"{glyphs['failed']} store: {state.trouble}"), "bad")]
    if not state.loaded:
        return [("opening the store", "dim")]
    pieces: list[Piece] = []
    silence = state.collector_silence()
    if silence is not None:
        since = "yet" if state.health is None else f"for {figures.exact_age(silence)}"
        pieces.append((f"{glyphs['failed']} no collector {since}  ", "bad bold"))
    elif state.collector_starting and not state.lease_held:
        pieces.append(("collector starting  ", "busy"))
    age = state.walk_age()
    if age is None:
        pieces.append(("API not read yet", "busy"))
    else:
        old = age > MISSED_WALK_SECONDS * state.speed
        pieces += [("API ", "dim"), (f"{figures.exact_age(age)} ago", "warn" if old else "text")]
    return pieces


def _errors(state: FleetState, glyphs: Glyphs) -> str:
    """Return what went wrong with the API and in the collector, each thing once."""
    if state.trouble or not state.loaded:
        return ""
    found = [state.walk_error() or "", (state.health.error if state.health else None) or ""]
    first, second = found
    if first in second or second in first:
        found = [max(found, key=len)]
    return "".join(glyphs.plain(f" {glyphs['warning']} {error}") for error in found if error)


def _sums(state: FleetState, glyphs: Glyphs, width: int) -> list[list[Piece]]:
    """Return groups of pieces, the one that may go first in front."""
    totals = state.totals()
    gap: Piece = ("  ", "dim")
    groups: list[list[Piece]] = []
    if state.health:
        down = state.health.ssh_connected < state.health.ssh_wanted
        tone = "warn" if down else "text"
        ssh = f"{state.health.ssh_connected}/{state.health.ssh_wanted}"
        groups.append([("SSH ", "dim"), (ssh, tone), gap])
        if state.health.balance is not None and width >= 120:
            balance = f"${figures.money(state.health.balance)}"
            group: list[Piece] = [("balance ", "dim"), (balance, "text")]
            left = hours_left(state.health.balance, totals.burn)
            if left is not None:
                tone = "warn bold" if left < LOW_BALANCE_HOURS else "dim"
                most = glyphs["at_most"] if totals.unpriced else ""
                group.append((f" {most}{figures.duration(left * 3600)} left", tone))
            groups.append([*group, gap])
    burn = f"{glyphs['at_least'] if totals.unpriced else ''}${figures.money(totals.burn)}"
    groups.append([(burn, "strong"), ("/h", "dim"), gap])
    measured = figures.rate(totals.proofs_per_hour) if totals.measured else figures.UNKNOWN
    groups.append([(glyphs.plain(measured), "ok bold"), (" proofs/h ", "dim")])
    return groups


def totals_line(state: FleetState, glyphs: Glyphs) -> list[Piece]:
    """Return what fits on the smallest of screens."""
    totals = state.totals()
    counts = state.severities()
    critical = counts[Severity.CRITICAL]
    pieces: list[Piece] = []
    if state.trouble or state.collector_silence() is not None:
        pieces.append(("no data " if state.trouble else "no collector ", "bad"))
    pieces += [(f"{totals.instances} hosts ", "text")]
    pieces += [(f"{glyphs['critical']}{critical} ", "bad" if critical else "dim")]
    pieces += [(f"{figures.rate(totals.proofs_per_hour)}p/h ", "ok")]
    return [*pieces, (f"${figures.money(totals.burn)}/h", "text")]


def flags(state: FleetState, glyphs: Glyphs) -> list[Piece]:
    """Return what asks for an operator: trouble of our own, counts of findings, or nothing."""
    pieces: list[Piece] = []
    if state.write_trouble:
        pieces.append((glyphs.plain(f" {glyphs['failed']} {state.write_trouble}"), "bad bold"))
    elif state.loaded and state.collector_silence() is not None:
        remedy = f" {glyphs['warning']} start a collector: `fleetui collect`, or this console again"
        pieces.append((glyphs.plain(f"{remedy}   "), "warn"))
    if state.proposals:
        s = "s" if state.proposals > 1 else ""
        words = f" {glyphs['arrow']} {state.proposals} proposal{s} of your rules (4)   "
        pieces.append((glyphs.plain(words), "active bold"))
    for severity, tone in ((Severity.CRITICAL, "bad"), (Severity.WARNING, "warn")):
        found = state.categories(severity)
        if not found:
            continue
        total = sum(count for _, count in found)
        pieces.append((f" {glyphs.severity(severity)} {total} {severity.value}", f"{tone} bold"))
        pieces += [(f"  {count} {category}", tone) for category, count in found[:5]]
        if len(found) > 5:
            pieces.append((f"  +{len(found) - 5} kinds", "dim"))
        pieces.append(("   ", "dim"))
    return pieces
