"""Requests taken back by viewers, and what hosts answered."""

import sqlite3
from pathlib import Path

import pytest

from fleetui.domain.answer import Answer
from fleetui.domain.intent import Intent, IntentState, Verb, Withdrawal
from fleetui.domain.text import SafeText
from fleetui.store import answer_tables
from fleetui.store.interface import StoreError
from fleetui.store.sqlite import SqliteStore
from store_bench import Bench, HandClock


def intent(name: str) -> Intent:
    return Intent(
        intent_id=name,
        verb=Verb.DESTROY,
        instance_id=7,
        actor=SafeText("ada@desk"),
        reason=SafeText("idle"),
        created_at=5.0,
    )


async def test_what_is_withdrawn_is_never_claimed(bench: Bench, path: Path) -> None:
    viewer = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    for name in ("a", "b", "c"):
        await viewer.intend(intent(name))
    back = Withdrawal("a", SafeText("bob@desk"), 6.0)
    await viewer.withdraw(back)
    with pytest.raises(StoreError, match="cannot be withdrawn any more: it is refused"):
        await viewer.withdraw(back)
    assert [item.intent_id for item in await bench.store.requested()] == ["b", "c"]
    assert [item.intent_id for item in await bench.store.claim(bench.lease, ["b"])] == ["b"]
    assert [item.intent_id for item in await bench.store.claim(bench.lease)] == ["c"]
    with pytest.raises(StoreError, match="it is running"):
        await viewer.withdraw(Withdrawal("b", SafeText("bob@desk"), 7.0))
    with pytest.raises(StoreError, match="no intent d"):
        await viewer.withdraw(Withdrawal("d", SafeText("bob@desk"), 7.0))
    with pytest.raises(StoreError, match="ended already"):
        await bench.store.settle(bench.lease, "a", IntentState.DONE, SafeText(), 8.0)
    withdrawn = await viewer.intent("a")
    assert withdrawn is not None
    assert withdrawn.state is IntentState.REFUSED
    assert withdrawn.result == "nothing was done: withdrawn by bob@desk"
    (entry,) = [item for item in await viewer.audit() if item.event == "withdrawn"]
    assert (entry.actor, entry.intent_id, entry.detail) == (
        "bob@desk",
        "a",
        "asked for by ada@desk",
    )
    await viewer.close()


async def test_answers_are_kept_within_their_room(bench: Bench) -> None:
    for name in ("a", "b"):
        answer = Answer(
            intent_id=name,
            instance_id=1,
            at=2.0,
            command=SafeText("df"),
            exit_status=0,
            lines=(SafeText("x" * 100),),
        )
        await bench.store.keep_answer(bench.lease, answer)
    found = await bench.store.answers(["b", "gone", "a"])
    assert [item.intent_id for item in found] == ["b", "a"]
    raw = sqlite3.connect(":memory:")
    for statement in answer_tables.TABLES:
        raw.execute(statement)
    document = answer_tables.pack(found[0])
    for name in ("a", "b", "c"):
        answer_tables.write_answer(raw, name, document, bytes_limit=2 * len(document))
    assert len(answer_tables.read_answers(raw, ["a", "b", "c"])) == 2
    assert answer_tables.read_answers(raw, ["a"]) == ()
    raw.close()
