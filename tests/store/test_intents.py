import sqlite3
from pathlib import Path

import msgspec
import pytest

from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.text import SafeText
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
