"""Unknown is never none: what a walk may and may not change."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetui.domain.instance import Instance, Route, SshAddress, Walk, WalkOutcome
from fleetui.domain.text import sanitise
from fleetui.simulator.run import Serving
from fleetui.vast.answers import Presence, PresenceKind, WalkResult
from fleetui.vast.inventory import Inventory
from pretend_vast import RealTime, client_of, pretend_vast

GONE = Presence(PresenceKind.GONE)
UNKNOWN = Presence(PresenceKind.UNKNOWN)


def row(instance_id: int = 1, **fields: Any) -> Instance:  # noqa: ANN401 - any of its fields
    return Instance(instance_id=instance_id, **fields)


def suspected(inventory: Inventory) -> list[int]:
    return list(inventory.suspects)


def walk(*rows: Instance, outcome: WalkOutcome = WalkOutcome.COMPLETE, odd: int = 0) -> WalkResult:
    done = Walk(started_at=1.0, ended_at=2.0, outcome=outcome, rows=len(rows))
    return WalkResult(done, rows, odd)


def test_gone_needs_two_walks_and_a_look() -> None:
    inventory = Inventory()
    inventory.apply(walk(row(1), row(2)))
    inventory.apply(walk(row(2)))
    assert suspected(inventory) == []
    assert inventory.confirm(1, GONE, 3.0) is None
    inventory.apply(walk(row(2)))
    assert suspected(inventory) == [1]
    assert inventory.confirm(1, UNKNOWN, 4.0) is None
    inventory.apply(walk(row(2)))
    assert suspected(inventory) == [1]
    event = inventory.confirm(1, GONE, 5.0)
    assert event is not None
    assert (event.kind, event.instance_id, event.at) == ("gone", 1, 5.0)
    assert inventory.confirm(1, GONE, 6.0) is None
    assert [instance.instance_id for instance in inventory.instances] == [2]


def test_failed_walks_and_unreadable_rows_prove_nothing() -> None:
    inventory = Inventory([(row(1), 0.0)])
    for _ in range(5):
        inventory.apply(walk(outcome=WalkOutcome.FAILED))
        inventory.apply(walk(odd=1))
        assert suspected(inventory) == []
    assert 1 in inventory


def test_a_look_or_a_walk_that_finds_it_ends_the_suspicion() -> None:
    inventory = Inventory([(row(1), 0.0)])
    for find in (
        lambda: inventory.confirm(1, Presence(PresenceKind.PRESENT, row(1)), 3.0),
        lambda: inventory.apply(walk(row(1))),
    ):
        inventory.apply(walk())
        inventory.apply(walk())
        assert suspected(inventory) == [1]
        find()
        assert suspected(inventory) == []
        inventory.apply(walk())
        assert suspected(inventory) == []
        inventory.apply(walk(row(1)))


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
    assert inventory.apply(walk(row(1, **before))) == ()
    (event,) = inventory.apply(walk(row(1, **after)))
    assert (event.kind, event.instance_id, event.at) == (kind, 1, 2.0)


def test_a_price_that_moved_behind_a_row_without_one_is_told() -> None:
    inventory = Inventory([(row(1, price_running=0.39), 0.0)])
    assert inventory.apply(walk(row(1))) == ()
    (event,) = inventory.apply(walk(row(1, price_running=0.9)))
    assert event.text == "price 0.3900 -> 0.9000 $/h"


def test_a_stop_that_did_not_come_about_hides_no_outbid() -> None:
    stopped = {name: sanitise("stopped") for name in ("cur_state", "intended_status", "next_state")}
    inventory = Inventory([(row(1, is_bid=True), 0.0)], stopping=[1])
    inventory.withdraw_stop(1)
    events = inventory.apply(walk(row(1, is_bid=True, **stopped)))
    assert [event.kind for event in events] == ["outbid"]


def test_new_rows_are_told_once() -> None:
    inventory = Inventory()
    assert [event.kind for event in inventory.apply(walk(row(5)))] == ["new"]
    assert inventory.apply(walk(row(5))) == ()


def test_an_outbid_is_told_from_a_stop_of_our_own() -> None:
    stopped = {name: sanitise("stopped") for name in ("cur_state", "intended_status", "next_state")}
    for own in (False, True):
        inventory = Inventory([(row(1, is_bid=True), 0.0)])
        if own:
            inventory.expect_stop(1)
        kinds = [event.kind for event in inventory.apply(walk(row(1, is_bid=True, **stopped)))]
        assert kinds == ([] if own else ["outbid"])
        assert inventory.apply(walk(row(1, is_bid=True, **stopped))) == ()


FAULTS = st.sampled_from(
    [
        "api_down", "api_500", "api_503", "html", "html_200", "auth", "redirect", "deprecated",
        "empty_list", "null_list", "partial_walk", "broken_page", "row_vanishes", "odd_rows",
        "rate_limited", "vanishes_mid_walk", "appears_mid_walk",
    ]
)  # fmt: skip
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("fault"), FAULTS),
        st.tuples(st.just("brief"), FAULTS),
        st.tuples(st.just("unusable"), st.sampled_from("012345")),
        st.tuples(st.just("clear"), st.just("")),
        st.tuples(
            st.sampled_from(["destroy", "destroy many", "create", "linger", "restart"]),
            st.just(""),
        ),
        st.tuples(st.just("walk"), st.just("")),
    ),
    max_size=14,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_no_living_instance_is_ever_called_gone(steps: list[tuple[str, str]]) -> None:
    asyncio.run(live_through(steps))


def upset(served: Serving, name: str, argument: str) -> None:
    """Change the fleet or what is wrong with its API."""
    if name in ("fault", "brief"):
        value = 0.01 if argument == "rate_limited" else None
        calls = 2 if name == "brief" else None
        served.faults.switch_on(argument, value=value, calls=calls)
    elif name == "unusable":
        served.faults.switch_on("single_unusable", value=float(argument))
    elif name == "clear":
        served.faults.switch_off()
    elif name == "create":
        served.world.add("idle", served.world.clock.now())
    else:
        living = [key for key in served.world.rentals if served.world.living(key)]
        for instance_id in living[:: 2 if name == "destroy many" else 27]:
            served.world.destroy(instance_id)


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
            inventory.apply(result)
            seen.update(instance.instance_id for instance in result.instances)
            for suspect in inventory.suspects:
                if inventory.confirm(suspect, await client.single(suspect), 1.0) is not None:
                    assert served.world.living(suspect) is None, f"{suspect} lives"
                    gone.add(suspect)

        for name, argument in steps:
            if name == "restart":
                inventory = Inventory([(known, 0.0) for known in inventory.instances])
            elif name == "linger":
                real.value += 60
            elif name == "walk":
                await look()
            else:
                upset(served, name, argument)
        served.faults.switch_off()
        real.value += 60
        for _ in range(3):
            await look()
        assert gone == {key for key in seen if served.world.living(key) is None}
        assert {known.instance_id for known in inventory.instances} == set(served.world.rentals)
