import sqlite3
from pathlib import Path

import msgspec
import pytest

from fleetui.domain.codec import encode
from fleetui.domain.intent import AuditEntry, Intent, IntentState, Verb, Withdrawal
from fleetui.domain.text import SafeText
from fleetui.reports.audit import audit_text
from fleetui.store.interface import StoreError
from fleetui.store.sqlite import SqliteStore
from store_bench import Bench, HandClock


def intent(name: str, instance_id: int = 1, **fields: object) -> Intent:
    plain = Intent(
        intent_id=name,
        verb=Verb.DESTROY,
        instance_id=instance_id,
        actor=SafeText("ada@desk"),
        reason=SafeText("idle"),
        created_at=5.0,
        label=SafeText("prover-1"),
    )
    return msgspec.structs.replace(plain, **fields)


async def test_the_course_of_an_intent_is_audited(bench: Bench, path: Path) -> None:
    viewer = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    await viewer.intend(intent("a"))
    await viewer.intend(intent("b", 2))
    assert [item.intent_id for item in await viewer.intents()] == ["b", "a"]
    claimed = await bench.store.claim(bench.lease)
    assert [(item.intent_id, item.state, item.epoch) for item in claimed] == [
        ("a", IntentState.RUNNING, bench.lease.epoch),
        ("b", IntentState.RUNNING, bench.lease.epoch),
    ]
    assert claimed[0].started_at == bench.clock.at
    assert await bench.store.claim(bench.lease) == ()
    await bench.store.settle(bench.lease, "a", IntentState.DONE, SafeText("gone"), 9.0)
    done = await viewer.intent("a")
    assert done is not None
    assert (done.state, done.result, done.finished_at) == (IntentState.DONE, "gone", 9.0)
    entries = await viewer.audit()
    assert [(entry.event, entry.intent_id, entry.detail) for entry in entries] == [
        ("done", "a", "gone"),
        ("running", "b", ""),
        ("running", "a", ""),
        ("requested", "b", "idle"),
        ("requested", "a", "idle"),
    ]
    assert [entry.sequence for entry in entries] == [5, 4, 3, 2, 1]
    assert {entry.actor for entry in entries} == {"ada@desk"}
    assert await viewer.intents(instance_id=2, limit=1) == (claimed[1],)
    await viewer.close()


async def test_intents_of_a_dead_epoch_are_shown_to_the_next(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        await bench.store.intend(intent(name))
    await bench.store.claim(bench.lease)
    await bench.store.settle(bench.lease, "a", IntentState.DONE, SafeText(), 6.0)
    await bench.store.settle(bench.lease, "b", IntentState.UNKNOWN, SafeText("timeout"), 6.0)
    assert await bench.store.unfinished(bench.lease) == ()
    await bench.store.release(bench.lease)
    lease = await bench.store.take_lease("next", 60.0)
    assert lease is not None
    assert [item.intent_id for item in await bench.store.unfinished(lease)] == ["b", "c"]
    await bench.store.settle(lease, "b", IntentState.FAILED, SafeText("it lives"), 7.0)
    assert [item.intent_id for item in await bench.store.unfinished(lease)] == ["c"]


async def test_nothing_is_asked_or_ended_twice(bench: Bench) -> None:
    await bench.store.intend(intent("a"))
    with pytest.raises(StoreError, match="before"):
        await bench.store.intend(intent("a"))
    with pytest.raises(StoreError, match="requested"):
        await bench.store.intend(intent("b", state=IntentState.RUNNING))
    with pytest.raises(StoreError, match="no intent"):
        await bench.store.settle(bench.lease, "b", IntentState.DONE, SafeText(), 0.0)
    await bench.store.settle(bench.lease, "a", IntentState.REFUSED, SafeText("not ours"), 1.0)
    with pytest.raises(StoreError, match="ended already"):
        await bench.store.settle(bench.lease, "a", IntentState.DONE, SafeText(), 2.0)
    assert [entry.event for entry in await bench.store.audit()] == ["refused", "requested"]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM audit",
        "UPDATE audit SET doc = x'00'",
        "INSERT OR REPLACE INTO audit (sequence, doc) VALUES (1, x'00')",
        "REPLACE INTO audit (sequence, doc) VALUES (1, x'00')",
    ],
)
async def test_the_audit_only_grows(bench: Bench, path: Path, statement: str) -> None:
    await bench.store.intend(intent("a"))
    before = await bench.store.audit()
    raw = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw.execute(statement)
    raw.close()
    assert await bench.store.audit() == before


async def test_watches_tell_what_is_shown_and_who_lives(bench: Bench, path: Path) -> None:
    viewer = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    await viewer.watch("ada", 7, 100.0)
    await viewer.watch("bob", None, 130.0)
    assert await bench.store.watched(99.0) == {7: "ada"}
    assert await bench.store.watched(100.0) == {}
    assert await bench.store.newest_viewer() == 130.0
    await viewer.watch("ada", 8, 140.0)
    assert await bench.store.watched(99.0) == {8: "ada"}
    await viewer.watch("ada", None, 5000.0)
    assert await bench.store.watched(99.0) == {}
    assert await bench.store.newest_viewer() == 5000.0
    await viewer.close()


@pytest.mark.parametrize("document", [b"\x00", b'{"verb":"dance"}', b'{"\xff":1}', b"[" * 99_999])
async def test_an_intent_that_cannot_be_read_is_set_aside_and_ends_nobody(
    bench: Bench, path: Path, document: bytes
) -> None:
    viewer = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    statement = (
        "INSERT INTO intent (intent_id, instance_id, state, doc) VALUES ('odd', 7, 'requested', ?)"
    )
    await viewer._database.write(lambda raw: raw.execute(statement, (document,)).fetchall())
    await viewer.intend(intent("a"))
    assert [item.intent_id for item in await bench.store.requested()] == ["a"]
    assert [item.intent_id for item in await bench.store.claim(bench.lease)] == ["a"]
    assert [item.intent_id for item in await viewer.intents()] == ["a"]
    assert await viewer.intent("odd") is None
    (entry,) = [item for item in await viewer.audit() if item.intent_id == "odd"]
    assert (entry.event, entry.instance_id) == ("refused", 7)
    assert "cannot be read" in entry.detail
    assert await bench.store.unfinished(bench.lease) == ()
    assert await bench.store.requested() == ()
    assert len(await viewer.audit()) == 3, "it is set aside once"
    await viewer.close()


async def test_an_intent_that_is_not_what_its_row_says_is_never_begun(
    bench: Bench, path: Path
) -> None:
    viewer = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    forged = [
        intent("running", state=IntentState.RUNNING, epoch=0, started_at=5.0),
        intent("other", 8),
        intent("far", created_at=1e300),
    ]

    def forge(raw: sqlite3.Connection) -> None:
        for one in forged:
            raw.execute(
                "INSERT INTO intent (intent_id, instance_id, state, doc)"
                " VALUES (?, 1, 'requested', ?)",
                (one.intent_id, encode(one)),
            )

    await viewer._database.write(forge)
    await viewer.intend(intent("a"))
    assert [item.intent_id for item in await bench.store.claim(bench.lease)] == ["a"]
    await bench.store.release(bench.lease)
    lease = await bench.store.take_lease("next", 60.0)
    assert lease is not None
    assert [item.intent_id for item in await bench.store.unfinished(lease)] == ["a"]
    await viewer.close()


async def test_what_cannot_be_read_of_the_audit_hides_nothing_else(path: Path) -> None:
    viewer = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    await viewer.intend(intent("a"))
    late = encode(AuditEntry(at=1e300, actor=SafeText("x"), event="x"))
    for document in (b"\x00", b"[]", late):
        await viewer._database.write(
            lambda raw, document=document: raw.execute(  # type: ignore[misc]  # a default binds it
                "INSERT INTO audit (doc) VALUES (?)", (document,)
            ).fetchall()
        )
    await viewer.intend(intent("b"))
    entries = await viewer.audit()
    assert [entry.event for entry in entries] == ["requested", *["unreadable"] * 3, "requested"]
    lines = audit_text(entries).splitlines()
    assert len(lines) == 3
    assert lines[-1] == "3 entries cannot be read: 4, 3, 2"
    await viewer.close()


@pytest.mark.parametrize(
    "statement",
    [
        "REPLACE INTO withdrawal (intent_id, doc) VALUES ('b', x'00')",
        *(
            f"{verb} INTO intent ({columns}) VALUES ({values})"
            for verb, columns, values in (
                ("INSERT", "intent_id, instance_id, state, doc", "'x', 1, 'running', x'00'"),
                ("INSERT", "intent_id, instance_id, state, doc", "'x', 1, 'unknown', x'00'"),
                (
                    "INSERT",
                    "intent_id, instance_id, state, epoch, doc",
                    "'x', 1, 'requested', 1, x''",
                ),
                ("REPLACE", "intent_id, instance_id, state, doc", "'a', 1, 'requested', x'00'"),
                (
                    "REPLACE",
                    "id, intent_id, instance_id, state, doc",
                    "1, 'x', 1, 'requested', x''",
                ),
            )
        ),
    ],
)
@pytest.mark.parametrize("viewer", [True, False])
async def test_an_intent_begins_as_requested_and_stands(
    bench: Bench, path: Path, statement: str, *, viewer: bool
) -> None:
    await bench.store.intend(intent("a"))
    await bench.store.intend(intent("b"))
    await bench.store.withdraw(Withdrawal("b", SafeText("ada"), 6.0))
    before = await bench.store.intents()
    store = await SqliteStore.open(path, clock=HandClock(), viewer=viewer)
    with pytest.raises(StoreError):
        await store._database.write(lambda raw: raw.execute(statement).fetchall())
    assert await store.intents() == before
    await store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE shard SET rev = 9",
        "DELETE FROM instance",
        "INSERT INTO event (doc) VALUES (x'00')",
        "UPDATE intent SET state = 'done'",
        "DELETE FROM intent",
        "DROP TRIGGER audit_keeps",
        "CREATE TABLE mine (x)",
        "ATTACH 'other.db' AS other",
        "PRAGMA user_version = 9",
        "PRAGMA writable_schema = ON",
    ],
)
async def test_a_viewers_connection_refuses_everything_else(
    bench: Bench, path: Path, statement: str
) -> None:
    viewer = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    await bench.store.intend(intent("a"))
    with pytest.raises(StoreError, match="viewer"):
        await viewer._database.write(lambda raw: raw.execute(statement).fetchall())
    await viewer.close()
