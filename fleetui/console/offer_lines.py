"""Offers of the market as lines. Pure."""

from collections.abc import Collection, Sequence

from fleetui.console import figures
from fleetui.console.fitting import fit
from fleetui.console.inspection import Line
from fleetui.domain.expected_cost import Basis, RankedOffer

WIDE, MIDDLE = 120, 106
"""So many cells have room for all columns, and for all but memory and cores."""


def heading(width: int) -> str:
    """Return the columns' titles."""
    if width < MIDDLE:
        return (
            f"  {'offer':<10}{'machine':>7} {'GPU':<12}{'$/h':>7}{'proofs/h':>9}{'$/proof':>9}"
            f"{'133 GiB':>8}  where"
        )
    more = f"{'RAM':>6}{'cores':>6}" if width >= WIDE else ""
    return (
        f"  {'offer':<10}{'machine':>8} {'GPU':<16}{more}{'$/h':>7}{'proofs/h':>10}"
        f"{'$/proof':>9} {'quartiles':<14}{'133 GiB':>8}{'ours':>7}  where"
    )


def offer_line(item: RankedOffer, width: int, marked: Collection[int]) -> Line:
    """Return an offer's line, of columns that no figure of a host widens.

    `~` before a rate says that it is its kind's, not its own; before the time of a download, where
    both share a column, that it is what the host states.
    """
    offer, rate = item.offer, item.rate
    is_wide, is_middle = width >= WIDE, width >= MIDDLE
    known = "" if rate is None else ("" if rate.basis is Basis.MACHINE else "~")
    proofs = known + figures.rate(None if rate is None else rate.proofs_per_hour)
    memory = figures.whole(None if offer.cpu_ram_mb is None else offer.cpu_ram_mb / 1000)
    more: Line = [(f"{memory:>6}{figures.whole(offer.cpu_cores):>6}", "dim")] if is_wide else []
    gpu = f"{offer.num_gpus or '?'}x {offer.gpu_name or '?'}"
    return [
        ("* " if offer.offer_id in marked else "  ", "key bold"),
        (fit(str(offer.offer_id), 9) + " ", "strong"),
        (fit(str(offer.machine_id or "?"), 7).strip().rjust(8 if is_middle else 7) + " ", "text"),
        (fit(gpu, 16) if is_middle else fit(gpu, 11) + " ", "text"),
        *more,
        (figures.money(offer.price, 3).rjust(7), "text"),
        (
            proofs.rjust(10 if is_middle else 9),
            "text" if rate is not None and not known else "dim",
        ),
        (figures.money(item.dollars_per_proof, 5).rjust(9), "ok" if rate else "faint"),
        *(_both_downloads(item) if is_middle else _download(item)),
        *_place(item),
    ]


def _both_downloads(item: RankedOffer) -> Line:
    return [
        (" " + fit(_quartiles(item), 14), "dim"),
        (_minutes(item.stated_download).rjust(8), "dim"),
        (_minutes(item.remembered_download).rjust(7), "text"),
    ]


def _download(item: RankedOffer) -> Line:
    """The time of the download at the remembered speed, else at the stated one."""
    if item.remembered_download is not None:
        return [(_minutes(item.remembered_download).rjust(8), "text")]
    stated = item.stated_download
    return [((figures.UNKNOWN if stated is None else "~" + _minutes(stated)).rjust(8), "dim")]


def _place(item: RankedOffer) -> Line:
    if item.blacklist is not None:
        reason = item.blacklist.reason or "no reason given"
        return [(f"  BLACKLISTED by {item.blacklist.by}: {reason}", "bad bold")]
    return [(f"  {item.offer.geolocation or figures.UNKNOWN}", "dim")]


def _quartiles(item: RankedOffer) -> str:
    if item.cheapest is None or item.dearest is None:
        return ""
    return f"{figures.money(item.cheapest, 4)}-{figures.money(item.dearest, 4)}"


def _minutes(seconds: float | None) -> str:
    return figures.UNKNOWN if seconds is None else figures.duration(seconds)


def doubt_lines(doubts: Sequence[str]) -> list[Line]:
    """Say what of the query was not understood."""
    return [[(f"not understood: {doubt}", "warn")] for doubt in doubts]
