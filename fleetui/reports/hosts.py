"""What is remembered of the machines that were rented, searched and sorted."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from fleetui.domain.codec import to_builtins
from fleetui.domain.machine_record import MachineRecord
from fleetui.reports.figures import cut, number
from fleetui.store.interface import ViewerStore


class HostOrder(StrEnum):
    """What machines are sorted by, the best first and what is not known last."""

    MACHINE = "machine"
    RATE = "rate"
    RUNNING = "running"
    PRICE = "price"
    PROOF = "proof"
    DOWNLOAD = "download"
    FINDINGS = "findings"
    SEEN = "seen"


async def hosts_report(
    store: ViewerStore, words: Sequence[str], order: HostOrder
) -> list[dict[str, Any]]:
    """Return the records that have all the words, each as an object.

    A record's figures are those of `MachineRecord`, with `best_rate`, `median_rate`, `last_rate`,
    `running_rate`, `download_speed` (bytes a second), `dollars_per_proof` (last price by middle
    benchmark) and `live`, the instances on the machine now.
    """
    live: dict[int, list[int]] = {}
    for row in (await store.fleet()).rows:
        if row.machine_id is not None:
            live.setdefault(row.machine_id, []).append(row.instance_id)
    records = in_order(matching(await store.machine_records(), words), order)
    return [
        {
            **to_builtins(record),
            "best_rate": record.best_rate,
            "median_rate": record.median_rate,
            "last_rate": record.last_rate,
            "running_rate": record.running_rate,
            "download_speed": record.download_speed,
            "dollars_per_proof": dollars_per_proof(record),
            "live": live.get(record.machine_id, []),
        }
        for record in records
    ]


def matching(records: Sequence[MachineRecord], words: Sequence[str]) -> list[MachineRecord]:
    """Return the records in whose id, GPU, place, findings or blacklist all words occur."""
    wanted = [word.casefold() for word in words]
    return [record for record in records if all(word in _text(record) for word in wanted)]


def _text(record: MachineRecord) -> str:
    mark = record.blacklist
    return " ".join((
        str(record.machine_id), record.gpu_name or "", record.geolocation or "",
        "" if record.host_id is None else str(record.host_id),
        *(finding.category for finding in record.findings),
        "" if mark is None else f"blacklisted {mark.reason} {mark.by}",
    )).casefold()  # fmt: skip


def dollars_per_proof(record: MachineRecord) -> float | None:
    """Return what a proof costs at the last price and the middle benchmark."""
    price, rate = record.price_last, record.median_rate
    return price / rate if price and rate else None


def in_order(records: Sequence[MachineRecord], order: HostOrder) -> list[MachineRecord]:
    """Sort; what is not known comes last, equals by their id."""

    def key(record: MachineRecord) -> tuple[bool, float, int]:
        value = _figure(record, order)
        return value is None, value or 0.0, record.machine_id

    return sorted(records, key=key)


def _figure(record: MachineRecord, order: HostOrder) -> float | None:
    rising = {
        HostOrder.MACHINE: float(record.machine_id),
        HostOrder.PRICE: record.price_last or None,
        HostOrder.PROOF: dollars_per_proof(record),
    }
    if order in rising:
        return rising[order]
    falling = {
        HostOrder.RATE: record.median_rate,
        HostOrder.RUNNING: record.running_rate,
        HostOrder.DOWNLOAD: record.download_speed,
        HostOrder.FINDINGS: float(sum(finding.occurrences for finding in record.findings)),
        HostOrder.SEEN: record.last_seen,
    }
    value = falling[order]
    return None if value is None else -value


def hosts_text(report: Sequence[dict[str, Any]]) -> str:
    """Draw one line a machine."""
    lines = [
        (
            f"{'machine':>8} {'gpu':<18}{'rented':>7}{'hours':>7}{'failed':>7}"
            f"{'best':>7}{'middle':>7}{'last':>7}{'running':>8}{'$/h':>8}{'$/proof':>9}"
            f"{'MB/s':>6}  findings, blacklist"
        )
    ]
    for item in report:
        speed = item["download_speed"]
        gpu = f"{item.get('num_gpus') or '?'}x {item.get('gpu_name') or '?'}"
        lines.append(
            f"{cut(str(item['machine_id']), 8):>8} {cut(gpu, 17):<18}{item.get('rentals', 0):>7}"
            f"{number(item.get('rented_hours', 0.0), 1, 6):>7}"
            f"{item.get('failures', 0):>7}{number(item['best_rate'], 1, 6):>7}"
            f"{number(item['median_rate'], 1, 6):>7}{number(item['last_rate'], 1, 6):>7}"
            f"{number(item['running_rate'], 1, 7):>8}{number(item.get('price_last'), 3, 7):>8}"
            f"{number(item['dollars_per_proof'], 4, 8):>9}"
            f"{number(None if speed is None else speed / 1e6, 0, 5):>6}  {_marks(item)}".rstrip()
        )
    return "\n".join(lines)


def _marks(item: dict[str, Any]) -> str:
    words = [
        f"{mark['category']} x{mark.get('occurrences', 1)}" for mark in item.get("findings", ())
    ]
    if mark := item.get("blacklist"):
        words.append(f"BLACKLISTED by {mark['by']}: {mark['reason']}")
    return ", ".join(words)
