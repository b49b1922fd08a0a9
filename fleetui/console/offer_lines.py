"""Offers of the market as lines. Pure."""

from collections.abc import Collection, Sequence

from fleetui.console import figures
from fleetui.console.fitting import fit
from fleetui.console.inspection import Line
from fleetui.domain.expected_cost import Basis, RankedOffer

WIDE = 120


def heading(width: int) -> str:
    """Return the columns' titles."""
    more = f"{'RAM':>6}{'cores':>6}" if width >= WIDE else ""
    return (
        f"  {'offer':<10}{'machine':>8} {'GPU':<16}{more}{'$/h':>7}{'proofs/h':>10}"
        f"{'$/proof':>9} {'quartiles':<14}{'133 GiB':>8}{'ours':>7}  where"
    )


def offer_line(item: RankedOffer, width: int, marked: Collection[int]) -> Line:
    """Return an offer's line. `~` before a rate says that it is its kind's, not its own."""
    offer, rate = item.offer, item.rate
    known = "" if rate is None else ("" if rate.basis is Basis.MACHINE else "~")
    proofs = figures.UNKNOWN if rate is None else f"{known}{rate.proofs_per_hour:.1f}"
    memory = figures.UNKNOWN if offer.cpu_ram_mb is None else f"{offer.cpu_ram_mb / 1000:.0f}"
    cores = figures.UNKNOWN if offer.cpu_cores is None else f"{offer.cpu_cores:.0f}"
    more: Line = [(f"{memory:>6}{cores:>6}", "dim")] if width >= WIDE else []
    gpu = f"{offer.num_gpus or '?'}x {offer.gpu_name or '?'}"
    return [
        ("* " if offer.offer_id in marked else "  ", "key bold"),
        (f"{offer.offer_id:<10}", "strong"),
        (f"{offer.machine_id or '?':>8} ", "text"),
        (fit(gpu, 16), "text"),
        *more,
        (figures.money(offer.price, 3).rjust(7), "text"),
        (proofs.rjust(10), "text" if rate is not None and not known else "dim"),
        (figures.money(item.dollars_per_proof, 5).rjust(9), "ok" if rate else "faint"),
        (" " + fit(_quartiles(item), 14), "dim"),
        (_minutes(item.stated_download).rjust(8), "dim"),
        (_minutes(item.remembered_download).rjust(7), "text"),
        *_place(item),
    ]


def _place(item: RankedOffer) -> Line:
    if item.blacklist is not None:
        reason = item.blacklist.reason or "no reason given"
        return [(f"  BLACKLISTED by {item.blacklist.by}: {reason}", "bad bold")]
    return [(f"  {item.offer.geolocation or figures.UNKNOWN}", "dim")]


def _quartiles(item: RankedOffer) -> str:
    if item.cheapest is None or item.dearest is None:
        return ""
    return f"{item.cheapest:.4f}-{item.dearest:.4f}"


def _minutes(seconds: float | None) -> str:
    return figures.UNKNOWN if seconds is None else figures.duration(seconds)


def doubt_lines(doubts: Sequence[str]) -> list[Line]:
    """Say what of the query was not understood."""
    return [[(f"not understood: {doubt}", "warn")] for doubt in doubts]
