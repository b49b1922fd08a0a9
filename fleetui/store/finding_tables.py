"""Findings over their whole course: the records, and what operators decided about them.

Records are written with the readings that show them, in the same transaction. Decisions come
from viewers, each with its audit entry.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import zstandard

from fleetui.domain.codec import decode, decode_if_sound, encode
from fleetui.domain.finding import Finding, Severity
from fleetui.domain.finding_record import (
    CAUSE_GONE,
    FLEET,
    INSTANCE_GONE,
    DecisionKind,
    FindingDecision,
    FindingRecord,
    FleetFinding,
    begun,
    ended,
    missed,
    seen_again,
    sees,
)
from fleetui.domain.instance import Instance
from fleetui.domain.intent import AuditEntry
from fleetui.domain.reading import Reading
from fleetui.domain.text import SafeText, sanitise
from fleetui.store.intent_tables import append_audit
from fleetui.store.interface import StoreError
from fleetui.store.machine_marks import write_mark, write_mend

COLLECTOR = SafeText("collector")
_IDS_A_QUERY = 500

TABLES = (
    """
    CREATE TABLE finding (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        instance_id INTEGER NOT NULL,
        category TEXT NOT NULL,
        signature TEXT NOT NULL,
        machine_id INTEGER,
        resolved_at REAL,
        doc BLOB NOT NULL,
        UNIQUE (instance_id, category)
    ) STRICT
    """,
    "CREATE INDEX finding_open ON finding (instance_id) WHERE resolved_at IS NULL",
    "CREATE INDEX finding_signature ON finding (signature)",
    """
    CREATE TABLE finding_decision (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        finding_id INTEGER,
        signature TEXT,
        until REAL,
        doc BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX finding_decision_one ON finding_decision (finding_id)",
    "CREATE INDEX finding_decision_all ON finding_decision (signature, until)",
)


def write_readings(connection: sqlite3.Connection, readings: Sequence[Reading]) -> None:
    """Carry the records of the readings' instances on: begin, refresh, resolve."""
    known = _open_of(connection, [reading.instance_id for reading in readings])
    for reading in readings:
        records = known.get(reading.instance_id, {})
        if records or reading.findings:
            _carry_on(connection, reading, records)


def write_fleet_findings(
    connection: sqlite3.Connection, findings: Iterable[FleetFinding], at: float
) -> None:
    """Carry the fleet's own records on; `findings` are all that stand now."""
    records = _open_of(connection, [FLEET]).get(FLEET, {})
    present = set()
    for fleet_finding in findings:
        finding = fleet_finding.finding
        present.add(finding.category)
        _take(
            connection, records.get(finding.category), finding, at,
            instance_id=FLEET, instance_ids=fleet_finding.instance_ids,
        )  # fmt: skip
    for category, record in records.items():
        if category not in present:
            _put(connection, record, missed(record, at))


def end_gone(connection: sqlite3.Connection, gone: Iterable[int], at: float) -> None:
    """Close the records of instances that are gone; their machines keep the marks."""
    for records in _open_of(connection, list(gone)).values():
        for record in records.values():
            _put(connection, record, ended(record, at, INSTANCE_GONE))


def prune_decisions(connection: sqlite3.Connection, at: float) -> None:
    """Forget decisions that are long over."""
    connection.execute(
        "DELETE FROM finding_decision WHERE until < ? OR (finding_id IS NOT NULL AND finding_id"
        " NOT IN (SELECT id FROM finding))",
        (at - 86_400.0,),
    )


def write_decision(connection: sqlite3.Connection, decision: FindingDecision) -> None:
    """Note what an operator decided, with its audit entry.

    Raises:
        StoreError: there is no such finding, or a snooze has no end.
    """
    if decision.kind is DecisionKind.SNOOZE and decision.until is None:
        raise StoreError("a snooze needs an end")
    if (decision.finding_id is None) == (decision.signature is None):
        raise StoreError("a decision is about one finding or about one signature")
    instance_id: int | None = None
    what = decision.signature or ""
    if decision.finding_id is not None:
        row = connection.execute(
            "SELECT instance_id, category FROM finding WHERE id = ?", (decision.finding_id,)
        ).fetchone()
        if row is None:
            raise StoreError(f"there is no finding {decision.finding_id}")
        instance_id, what = row[0] or None, row[1]
    elif decision.kind is not DecisionKind.SNOOZE:
        raise StoreError("only a snooze can be for a whole signature")
    connection.execute(
        "INSERT INTO finding_decision (finding_id, signature, until, doc) VALUES (?, ?, ?, ?)",
        (decision.finding_id, decision.signature, decision.until, encode(decision)),
    )
    until = "" if decision.until is None else f" for {decision.until - decision.at:.0f} s"
    note = f": {decision.note}" if decision.note else ""
    entry = AuditEntry(
        at=decision.at,
        actor=decision.actor,
        event=f"finding {_PAST[decision.kind]}",
        instance_id=instance_id,
        detail=sanitise(f"{what}{until}{note}"),
    )
    append_audit(connection, entry)


_PAST = {
    DecisionKind.ACKNOWLEDGE: "acknowledged",
    DecisionKind.SNOOZE: "snoozed",
    DecisionKind.REOPEN: "reopened",
}


def read_findings(
    connection: sqlite3.Connection,
    *,
    instance_id: int | None = None,
    signature: str | None = None,
    resolved: bool = False,
    limit: int = 5_000,
) -> tuple[FindingRecord, ...]:
    """Read records with the decision that counts for each, the gravest and newest first."""
    conditions, values = ["1"], list[object]()
    if instance_id is not None:
        conditions.append("instance_id = ?")
        values.append(instance_id)
    if signature is not None:
        conditions.append("signature = ?")
        values.append(signature)
    if not resolved:
        conditions.append("resolved_at IS NULL")
    where = " AND ".join(conditions)
    found = connection.execute(
        f"SELECT id, doc FROM finding WHERE {where} ORDER BY id DESC LIMIT ?",  # noqa: S608 - our own text
        (*values, limit),
    ).fetchall()
    records = [_record(number, document) for number, document in found]
    decided = [_with_decision(connection, record) for record in records]
    decided.sort(key=lambda record: (record.finding.severity.rank, -record.opened_at))
    return tuple(decided)


def _carry_on(
    connection: sqlite3.Connection, reading: Reading, records: dict[str, FindingRecord]
) -> None:
    for finding in reading.findings:
        _take(
            connection, records.get(finding.category), finding, reading.at,
            instance_id=reading.instance_id,
        )  # fmt: skip
    present = {finding.category for finding in reading.findings}
    for category, record in records.items():
        if category not in present and sees(reading, record.finding):
            _put(connection, record, missed(record, reading.at))


def _take(
    connection: sqlite3.Connection,
    record: FindingRecord | None,
    finding: Finding,
    at: float,
    *,
    instance_id: int,
    instance_ids: tuple[int, ...] = (),
) -> None:
    record = record or _resolved_one(connection, instance_id, finding.category)
    if record is not None:
        _put(connection, record, seen_again(record, finding, at, instance_ids=instance_ids))
        return
    machine_id, label = _place_of(connection, instance_id)
    record = msgspec.structs.replace(
        begun(finding, at, instance_id=instance_id, instance_ids=instance_ids),
        machine_id=machine_id,
        label=label,
    )
    connection.execute(
        "INSERT INTO finding (instance_id, category, signature, machine_id, doc)"
        " VALUES (?, ?, ?, ?, ?)",
        (instance_id, finding.category, finding.signature, machine_id, _document(record)),
    )
    _note(connection, record, "opened", finding.summary, at)
    write_mark(connection, record, at, occurred=1)


def _put(connection: sqlite3.Connection, old: FindingRecord, new: FindingRecord) -> None:
    """Write a record that changed, with what follows from the change."""
    if new is old:
        return
    connection.execute(
        "UPDATE finding SET signature = ?, resolved_at = ?, doc = ? WHERE id = ?",
        (new.finding.signature, new.resolved_at, _document(new), new.finding_id),
    )
    if new.resolved_at is not None:
        _note(connection, new, "resolved", new.resolution or SafeText(), new.resolved_at)
        if new.resolution == CAUSE_GONE and new.instance_id != FLEET:
            write_mend(connection, new)
        return
    returned = old.resolved_at is not None
    if returned:
        _note(connection, new, "opened again", new.finding.summary, new.opened_at)
    elif new.stands_since != old.stands_since:
        _note(connection, new, "became graver", new.finding.summary, new.stands_since)
    fresh = returned or new.finding.signature != old.finding.signature
    if new.missing_since is None:
        write_mark(connection, new, new.last_seen, occurred=int(fresh))


def _note(
    connection: sqlite3.Connection, record: FindingRecord, event: str, detail: SafeText, at: float
) -> None:
    """Write the audit; what is for information only would drown the rest."""
    if record.finding.severity is not Severity.INFO:
        entry = AuditEntry(
            at=at,
            actor=COLLECTOR,
            event=f"finding {event}",
            instance_id=record.instance_id or None,
            detail=sanitise(f"{record.finding.category}: {detail}"),
        )
        append_audit(connection, entry)


def _open_of(
    connection: sqlite3.Connection, instance_ids: Sequence[int]
) -> dict[int, dict[str, FindingRecord]]:
    found: dict[int, dict[str, FindingRecord]] = {}
    for ids in _portions(instance_ids):
        marks = ",".join("?" * len(ids))
        rows = connection.execute(
            f"SELECT id, doc FROM finding WHERE resolved_at IS NULL AND instance_id IN ({marks})",  # noqa: S608 - question marks only
            ids,
        )
        for number, document in rows.fetchall():
            record = _record(number, document)
            found.setdefault(record.instance_id, {})[record.finding.category] = record
    return found


def _portions(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for begin in range(0, len(ids), _IDS_A_QUERY):
        yield ids[begin : begin + _IDS_A_QUERY]


def _resolved_one(
    connection: sqlite3.Connection, instance_id: int, category: str
) -> FindingRecord | None:
    row = connection.execute(
        "SELECT id, doc FROM finding WHERE instance_id = ? AND category = ?",
        (instance_id, category),
    ).fetchone()
    return None if row is None else _record(*row)


def _with_decision(connection: sqlite3.Connection, record: FindingRecord) -> FindingRecord:
    found = connection.execute(
        "SELECT id, doc FROM finding_decision WHERE finding_id = ?1"
        " UNION ALL SELECT id, doc FROM finding_decision WHERE signature = ?2"
        " ORDER BY id DESC",
        (record.finding_id, record.finding.signature),
    )
    for _, document in found:
        decision = decode_if_sound(document, FindingDecision)
        if decision is None:
            continue
        if decision.signature is not None or decision.at >= record.stands_since:
            return msgspec.structs.replace(record, decision=decision)
    return record


def _place_of(
    connection: sqlite3.Connection, instance_id: int
) -> tuple[int | None, SafeText | None]:
    row = connection.execute(
        "SELECT doc FROM instance WHERE instance_id = ?", (instance_id,)
    ).fetchone()
    if row is None:
        return None, None
    instance = decode(row[0], Instance)
    return instance.machine_id, instance.label


def _document(record: FindingRecord) -> bytes:
    plain = msgspec.structs.replace(record, finding_id=0, decision=None)
    return zstandard.ZstdCompressor(level=1).compress(encode(plain))


def _record(number: int, document: bytes) -> FindingRecord:
    record = decode(zstandard.decompress(document), FindingRecord)
    return msgspec.structs.replace(record, finding_id=number)
