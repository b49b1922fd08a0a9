"""Unknown is never none: what a walk may and may not change."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetui.domain.instance import Instance, Route, SshAddress, Walk, WalkOutcome
from fleetui.domain.text import sanitise
from fleetui.vast.answers import Presence, PresenceKind, WalkResult
from fleetui.vast.inventory import MOST_SUSPECTS, Inventory
from pretend_vast import RealTime, client_of, pretend_vast

GONE = Presence(PresenceKind.GONE)
UNKNOWN = Presence(PresenceKind.UNKNOWN)


def row(instance_id: int = 1, **fields: Any) -> Instance:  # noqa: ANN401 - any of its fields
    return Instance(instance_id=instance_id, **fields)


def walk(*rows: Instance, outcome: WalkOutcome = WalkOutcome.COMPLETE, odd: int = 0) -> WalkResult:
    done = Walk(started_at=1.0, ended_at=2.0, outcome=outcome, rows=len(rows))
    return WalkResult(done, rows, odd)


def test_gone_needs_two_walks_and_a_look() -> None:
    inventory = Inventory()
    inventory.apply(walk(row(1), row(2)))
    assert inventory.apply(walk(row(2))).suspects == ()
    assert not inventory.confirm(1, GONE)
    assert inventory.apply(walk(row(2))).suspects == (1,)
    assert not inventory.confirm(1, UNKNOWN)
    assert inventory.apply(walk(row(2))).suspects == (1,)
    assert inventory.confirm(1, GONE)
    assert not inventory.confirm(1, GONE)
    assert [instance.instance_id for instance in inventory.instances] == [2]


def test_failed_walks_and_unreadable_rows_prove_nothing() -> None:
    inventory = Inventory([(row(1), 0.0)])
    for _ in range(5):
        assert inventory.apply(walk(outcome=WalkOutcome.FAILED)).suspects == ()
        assert inventory.apply(walk(odd=1)).suspects == ()
    assert len(inventory.instances) == 1


def test_a_look_that_finds_it_ends_the_suspicion() -> None:
    inventory = Inventory([(row(1), 0.0)])
    inventory.apply(walk())
    assert inventory.apply(walk()).suspects == (1,)
    assert not inventory.confirm(1, Presence(PresenceKind.PRESENT, row(1)))
    assert inventory.apply(walk()).suspects == ()


def test_many_suspects_take_turns() -> None:
    inventory = Inventory([(row(number), 0.0) for number in range(1, 36)])
    inventory.apply(walk())
    asked: set[int] = set()
    for _ in range(8):
        suspects = inventory.apply(walk()).suspects
        assert len(suspects) <= MOST_SUSPECTS
        asked |= set(suspects)
    assert asked == set(range(1, 36))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ({"actual_status": sanitise("loading")}, {"actual_status": sanitise("running")}, "status"),
        ({"price_running": 0.3}, {"price_running": 0.4}, "price"),
        ({}, {"ssh_addresses": (SshAddress("192.0.2.1", 22, Route.DIRECT),)}, "address"),
    ],
)
def test_events(before: dict[str, Any], after: dict[str, Any], kind: str) -> None:
    inventory = Inventory([(row(1, **before), 0.0)])
    assert inventory.apply(walk(row(1, **before))).events == ()
    (event,) = inventory.apply(walk(row(1, **after))).events
    assert (event.kind, event.instance_id, event.at) == (kind, 1, 2.0)


def test_new_rows_are_told_once() -> None:
    inventory = Inventory()
    assert [event.kind for event in inventory.apply(walk(row(5))).events] == ["new"]
    assert inventory.apply(walk(row(5))).events == ()


def test_an_outbid_is_told_from_a_stop_of_our_own() -> None:
    stopped = {name: sanitise("stopped") for name in ("cur_state", "intended_status", "next_state")}
    for own in (False, True):
        inventory = Inventory([(row(1, is_bid=True), 0.0)])
        if own:
            inventory.expect_stop(1)
        kinds = [
            event.kind for event in inventory.apply(walk(row(1, is_bid=True, **stopped))).events
        ]
        assert kinds == ([] if own else ["outbid"])
        assert inventory.apply(walk(row(1, is_bid=True, **stopped))).events == ()


FAULTS = st.sampled_from(
    [
        "api_down", "api_500", "api_503", "html", "html_200", "auth", "redirect", "deprecated",
        "empty_list", "null_list", "partial_walk", "broken_page", "row_vanishes", "odd_rows",
        "rate_limited",
    ]
)  # fmt: skip
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("fault"), FAULTS),
        st.tuples(st.just("brief"), FAULTS),
        st.tuples(st.just("clear"), st.just("")),
        st.tuples(st.sampled_from(["destroy", "create", "linger"]), st.just("")),
        st.tuples(st.just("walk"), st.just("")),
    ),
    max_size=14,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_no_living_instance_is_ever_called_gone(steps: list[tuple[str, str]]) -> None:
    asyncio.run(live_through(steps))


async def live_through(steps: list[tuple[str, str]]) -> None:
    real = RealTime()
    async with (
        pretend_vast(27, real=real) as served,
        client_of(served.environment["VAST_URL"]) as client,
    ):
        inventory = Inventory()
        seen: set[int] = set()
        gone: set[int] = set()

        async def look() -> None:
            result = await client.walk()
            changes = inventory.apply(result)
            seen.update(instance.instance_id for instance in result.instances)
            for suspect in changes.suspects:
                if inventory.confirm(suspect, await client.single(suspect)):
                    assert served.world.living(suspect) is None, f"{suspect} lives"
                    gone.add(suspect)

        for name, argument in steps:
            if name in ("fault", "brief"):
                value = 0.01 if argument == "rate_limited" else None
                calls = 2 if name == "brief" else None
                served.faults.switch_on(argument, value=value, calls=calls)
            elif name == "clear":
                served.faults.switch_off()
            elif name == "destroy":
                living = [key for key in served.world.rentals if served.world.living(key)]
                if living:
                    served.world.destroy(living[len(living) // 2])
            elif name == "create":
                served.world.add("idle", served.world.clock.now())
            elif name == "linger":
                real.value += 60
            else:
                await look()
        served.faults.switch_off()
        real.value += 60
        for _ in range(3):
            await look()
        assert gone == {key for key in seen if served.world.living(key) is None}
        known = {instance.instance_id for instance in inventory.instances}
        assert known == set(served.world.rentals)
