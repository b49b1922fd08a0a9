import msgspec
import pytest

from fleetui.domain.codec import encode
from fleetui.domain.finding import Finding, Severity
from fleetui.domain.instance import Instance, Walk, WalkOutcome
from fleetui.domain.intent import Event
from fleetui.domain.reading import Reading
from fleetui.domain.secret import Secret
from fleetui.domain.stage import Stage
from fleetui.domain.text import SafeText, sanitise
from fleetui.store.fleet_tables import HORIZON_SECONDS
from fleetui.store.interface import CollectorHealth
from store_bench import Bench, row


def reading(instance_id: int, **fields: object) -> Reading:
    plain = Reading(instance_id=instance_id, at=5.0, stage=Stage.BENCH)
    return msgspec.structs.replace(plain, **fields)


def walk(outcome: WalkOutcome, ended_at: float) -> Walk:
    return Walk(started_at=ended_at - 1, ended_at=ended_at, outcome=outcome, rows=3)


async def test_an_empty_store_lists_nothing(bench: Bench) -> None:
    view = await bench.store.fleet()
    assert (view.rows, view.removed, view.whole, view.lease_held) == ((), (), True, True)
    assert view.last_walk is None
    assert view.health is None


async def test_follow_gives_only_what_changed(bench: Bench) -> None:
    first = await bench.publish(rows=[row(1), row(2), row(3)])
    second = await bench.publish(rows=[row(1), row(2, util=50.0), row(3)])
    assert second == first + 1
    view = await bench.store.follow(first)
    assert view.rows == (row(2, util=50.0),)
    assert not view.whole
    assert view.revision == second
    assert (await bench.store.follow(second)).rows == ()
    assert {item.instance_id for item in (await bench.store.fleet()).rows} == {1, 2, 3}


async def test_a_gone_id_is_removed_once_and_keeps_its_history(bench: Bench) -> None:
    await bench.publish(
        instances=[Instance(instance_id=1), Instance(instance_id=2)],
        rows=[row(1), row(2)],
        readings=[reading(1), reading(2)],
    )
    position = (await bench.store.fleet()).revision
    await bench.publish(rows=[row(2, util=1.0)], readings=[reading(2, at=9.0)], gone=[2])
    view = await bench.store.follow(position)
    assert (view.rows, view.removed) == ((), (2,))
    assert [item.instance_id for item in (await bench.store.fleet()).rows] == [1]
    assert [item.instance_id for item in await bench.store.readings()] == [1]
    assert [item.instance_id for item, _ in await bench.store.inventory()] == [1]
    assert await bench.store.reading(2) == reading(2, at=9.0)
    assert await bench.store.instance(2) == Instance(instance_id=2)
    await bench.publish(gone=[2, 99])
    assert (await bench.store.follow(view.revision)).removed == ()


async def test_an_id_that_comes_back_is_listed_again(bench: Bench) -> None:
    await bench.publish(instances=[Instance(instance_id=2)], rows=[row(2)])
    await bench.publish(gone=[2])
    position = (await bench.store.fleet()).revision
    await bench.publish(instances=[Instance(instance_id=2)], rows=[row(2)])
    view = await bench.store.follow(position)
    assert (view.rows, view.removed) == ((row(2),), ())
    assert len(await bench.store.inventory()) == 1


async def test_a_position_older_than_the_horizon_gets_the_whole_fleet(bench: Bench) -> None:
    old = await bench.publish(rows=[row(1), row(2)])
    removed = await bench.publish(gone=[2])
    bench.clock.at += HORIZON_SECONDS + 1
    newest = await bench.publish()
    assert (await bench.store.follow(removed)).whole is False
    view = await bench.store.follow(old)
    assert (view.whole, view.rows, view.revision) == (True, (row(1),), newest)


async def test_a_position_of_another_store_gets_the_whole_fleet(bench: Bench) -> None:
    await bench.publish(rows=[row(1)])
    view = await bench.store.follow(10_000)
    assert (view.whole, view.rows) == (True, (row(1),))


async def test_a_failed_walk_does_not_hide_the_last_complete_one(bench: Bench) -> None:
    await bench.publish(walk=walk(WalkOutcome.COMPLETE, 10.0))
    position = await bench.publish(walk=walk(WalkOutcome.FAILED, 20.0))
    view = await bench.store.follow(position)
    assert view.last_walk == walk(WalkOutcome.FAILED, 20.0)
    assert view.last_complete_walk == walk(WalkOutcome.COMPLETE, 10.0)


async def test_health_events_and_findings_come_back_as_they_were(bench: Bench) -> None:
    health = CollectorHealth(at=1.0, holder="h", version="0", started_at=0.0, error=SafeText("x"))
    finding = Finding(
        category="prover_lost",
        severity=Severity.CRITICAL,
        confidence=0.9,
        summary=sanitise("it broke [b]"),
        advice=sanitise("restart it"),
    )
    events = [
        Event(at=float(number), kind="stage", text=SafeText(str(number)), instance_id=number % 2)
        for number in range(4)
    ]
    await bench.publish(health=health, readings=[reading(1, findings=(finding,))], events=events)
    assert (await bench.store.fleet()).health == health
    stored = await bench.store.reading(1)
    assert stored is not None
    assert stored.findings == (finding,)
    assert isinstance(stored.findings[0].summary, SafeText)
    assert await bench.store.events(limit=3) == tuple(reversed(events))[:3]
    assert await bench.store.events(instance_id=1) == (events[3], events[1])


async def test_the_inventory_tells_when_a_row_was_last_seen(bench: Bench) -> None:
    await bench.publish(instances=[Instance(instance_id=1), Instance(instance_id=2)])
    seen = bench.clock.at
    bench.clock.at += 15
    await bench.publish(instances=[Instance(instance_id=2)])
    assert {item.instance_id: at for item, at in await bench.store.inventory()} == {
        1: seen,
        2: seen + 15,
    }


async def test_host_keys_are_bound_and_replaced(bench: Bench) -> None:
    await bench.store.accept_host_key(bench.lease, 1, "ssh-ed25519 AAAA")
    await bench.store.accept_host_key(bench.lease, 1, "ssh-ed25519 BBBB")
    assert await bench.store.host_keys() == {1: "ssh-ed25519 BBBB"}


async def test_what_is_not_there_is_none(bench: Bench) -> None:
    assert await bench.store.reading(5) is None
    assert await bench.store.instance(5) is None
    assert await bench.store.intent("none") is None
    assert await bench.store.newest_viewer() is None


async def test_a_secret_cannot_be_encoded() -> None:
    with pytest.raises(NotImplementedError):
        encode({"key": Secret("s3cret")})
