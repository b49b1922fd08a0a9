"""The client against the simulated API over real HTTP."""

import logging

import pytest

from fleetui.domain.instance import WalkOutcome
from fleetui.vast.client import PresenceKind
from fleetui.vast.errors import VastError
from pretend_vast import KEY, RealTime, client_of, pretend_vast


async def test_a_walk_reads_every_page_and_no_secret() -> None:
    async with pretend_vast(60) as served, client_of(served.environment["VAST_URL"]) as client:
        result = await client.walk()
        assert result.walk.outcome is WalkOutcome.COMPLETE, result.walk.error
        assert {instance.instance_id for instance in result.instances} == set(served.world.rentals)
        assert result.walk.total_reported == 60
        assert len(served.api.recorded) == 3
        for call in served.api.recorded:
            assert "jupyter_token" not in call.query["select_cols"]
            assert "api_key" not in call.query
        row = result.instances[0]
        assert row.odd is None
        assert row.ssh_addresses[0].host == "127.0.0.1"


@pytest.mark.parametrize(
    "fault",
    [
        "api_down", "api_500", "api_503", "html", "html_200", "auth", "redirect", "deprecated",
        "null_list", "partial_walk", "broken_page",
    ],
)  # fmt: skip
async def test_no_trouble_passes_for_a_walk(fault: str) -> None:
    async with pretend_vast(30) as served, client_of(served.environment["VAST_URL"]) as client:
        served.faults.switch_on(fault)
        result = await client.walk()
        assert result.walk.outcome is WalkOutcome.FAILED
        assert result.walk.error
        assert result.walk.error_category == "vast_api_error"
        assert result.instances == ()
        assert KEY not in result.walk.error
        served.faults.switch_off()
        assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE


async def test_short_trouble_is_waited_out() -> None:
    async with pretend_vast(2) as served, client_of(served.environment["VAST_URL"]) as client:
        for fault, value in (("api_503", None), ("rate_limited", 0.05), ("html", None)):
            served.faults.switch_on(fault, calls=2, value=value)
            assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE, fault


async def test_a_long_wish_to_wait_is_not_followed() -> None:
    async with pretend_vast(2) as served, client_of(served.environment["VAST_URL"]) as client:
        served.faults.switch_on("rate_limited", value=3600.0)
        result = await client.walk()
        assert result.walk.outcome is WalkOutcome.FAILED
        assert "429" in str(result.walk.error)
        assert len(served.api.recorded) == 1


async def test_odd_rows_cost_the_others_nothing() -> None:
    async with pretend_vast(3) as served, client_of(served.environment["VAST_URL"]) as client:
        odd = min(served.world.rentals)
        served.faults.switch_on("odd_rows", instances=[odd])
        result = await client.walk()
        assert result.walk.outcome is WalkOutcome.COMPLETE
        oddness = {instance.instance_id: instance.odd for instance in result.instances}
        assert oddness.pop(odd)
        assert set(oddness.values()) == {None}


async def test_single_tells_present_gone_and_unknown_apart() -> None:
    async with pretend_vast(2) as served, client_of(served.environment["VAST_URL"]) as client:
        one = min(served.world.rentals)
        present = await client.single(one)
        assert present.kind is PresenceKind.PRESENT
        assert present.instance is not None
        assert (await client.single(999)).kind is PresenceKind.GONE
        for fault in ("auth", "html", "api_500", "html_200", "redirect"):
            served.faults.switch_on(fault)
            answer = await client.single(one)
            assert answer.kind is PresenceKind.UNKNOWN, fault
            assert answer.reason
            served.faults.switch_off()


async def test_walk_and_single_agree_on_a_row() -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        listed = (await client.walk()).instances[0]
        single = await client.single(listed.instance_id)
        assert single.instance == listed


async def test_actions_act() -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        (one,) = served.world.rentals
        assert (await client.label(one, "neu")).ok
        assert (await client.set_state(one, "stopped")).ok
        stopped = (await client.single(one)).instance
        assert stopped is not None
        assert (stopped.label, stopped.actual_status) == ("neu", "stopped")
        assert (await client.set_state(one, "running")).ok
        assert (await client.reboot(one)).ok
        assert (await client.recycle(one)).ok
        assert (await client.destroy(one)).ok
        again = await client.destroy(one)
        assert again.ok
        assert again.code == 404
        missing = await client.reboot(one)
        assert not missing.ok
        assert missing.code == 404
        assert (await client.account()).credit == 342.8


async def test_success_false_under_200_is_a_failure() -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        (one,) = served.world.rentals
        served.faults.switch_on("refused")
        for result in (await client.destroy(one), await client.set_state(one, "stopped")):
            assert (result.ok, result.queued, result.code) == (False, False, 200)
            assert "does not take this" in result.text
        assert served.world.living(one)


async def test_a_start_may_be_queued_and_cancelled() -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        (one,) = served.world.rentals

        async def row() -> tuple[str, bool]:
            instance = (await client.look(one)).instance
            assert instance is not None
            return str(instance.actual_status), instance.is_start_queued

        served.faults.switch_on("queued")
        assert (await client.set_state(one, "stopped")).ok
        for _ in range(2):
            result = await client.set_state(one, "running")
            assert (result.ok, result.queued) == (False, True)
            assert await row() == ("stopped", True)
            assert (await client.set_state(one, "stopped")).ok
            assert await row() == ("stopped", False)
        assert (await client.set_state(one, "running")).queued
        served.faults.switch_off()
        assert await row() == ("running", False)


async def test_what_is_not_idempotent_is_sent_once() -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        (one,) = served.world.rentals
        served.faults.switch_on("lost_answer")
        for act in (client.reboot, client.recycle):
            served.api.recorded.clear()
            result = await act(one)
            assert not result.ok
            assert result.code is None
            assert len(served.api.recorded) == 1
        served.api.recorded.clear()
        assert not (await client.set_state(one, "running")).ok
        assert len(served.api.recorded) == 1


async def test_a_lost_answer_to_a_destroy_is_asked_again() -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        (one,) = served.world.rentals
        served.faults.switch_on("lost_answer")
        result = await client.destroy(one)
        assert result.ok
        assert served.world.living(one) is None


async def test_a_bad_key_is_never_a_destroyed_instance() -> None:
    async with (
        pretend_vast(1) as served,
        client_of(served.environment["VAST_URL"], key="wrong-key-777") as client,
    ):
        (one,) = served.world.rentals
        result = await client.destroy(one)
        assert not result.ok
        assert result.code == 401
        assert (await client.single(one)).kind is PresenceKind.UNKNOWN
        with pytest.raises(VastError, match="refuses the key"):
            await client.account()


@pytest.mark.parametrize("key", ["", "bad\nkey", "schlüssel", "two words"])
async def test_an_unusable_key_is_said_without_showing_it(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        pretend_vast(1) as served,
        client_of(served.environment["VAST_URL"], key=key) as client,
    ):
        with caplog.at_level(logging.DEBUG):
            error = (await client.walk()).walk.error
        assert error is not None
        assert "key" in error
        assert not served.api.recorded
        if key:
            assert key not in error
            assert key not in caplog.text


async def test_the_key_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        with caplog.at_level(logging.DEBUG, logger="httpx"):
            await client.walk()
            served.faults.switch_on("api_down")
            await client.single(1)
        assert KEY not in caplog.text


async def test_a_look_ahead_of_an_act_spares_the_single_lane() -> None:
    async with pretend_vast(30) as served, client_of(served.environment["VAST_URL"]) as client:
        one, other = sorted(served.world.rentals)[:2]
        present = await client.look(one)
        assert present.instance is not None
        assert present.instance.instance_id == one
        assert [call.path for call in served.api.recorded] == ["/api/v1/instances/"]
        served.world.destroy(other)
        served.faults.switch_on("row_vanishes", instances=[one, other])
        assert (await client.look(one)).kind is PresenceKind.PRESENT
        assert (await client.look(other)).kind is PresenceKind.GONE
        served.faults.switch_on("html")
        assert (await client.look(one)).kind is PresenceKind.UNKNOWN


async def test_a_narrow_key_reads_and_what_it_lacks_is_named() -> None:
    async with pretend_vast(1) as served:
        url, narrow = served.environment["VAST_URL"], served.environment["FLEETUI_READ_KEY"]
        (one,) = served.world.rentals
        async with client_of(url, key=narrow) as client:
            assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE
            assert (await client.account()).credit is not None
            for act in (client.destroy, client.reboot, client.recycle):
                result = await act(one)
                assert (result.ok, result.code) == (False, 403)
                assert "it needs the permission instance_write" in result.text
            assert served.world.living(one)
        async with client_of(url, key=None, write_key=KEY) as client:
            assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE
        async with client_of(url, key=narrow, write_key=KEY) as client:
            assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE
            assert (await client.destroy(one)).ok


async def test_reading_and_acting_use_their_own_keys() -> None:
    async with (
        pretend_vast(1) as served,
        client_of(served.environment["VAST_URL"], key="reader", write_key=KEY) as client,
    ):
        (one,) = served.world.rentals
        assert (await client.walk()).walk.outcome is WalkOutcome.FAILED
        assert (await client.label(one, "x")).ok


async def test_a_dead_port_is_a_failed_walk() -> None:
    async with client_of("http://127.0.0.1:9") as client:
        assert (await client.walk()).walk.outcome is WalkOutcome.FAILED


async def test_silence_ends_at_the_deadline() -> None:
    async with (
        pretend_vast(1) as served,
        client_of(served.environment["VAST_URL"], deadline_seconds=0.1) as client,
    ):
        served.faults.switch_on("slow", value=30.0)
        presence = await client.single(1)
        assert presence.kind is PresenceKind.UNKNOWN
        assert "0 s" in presence.reason


async def test_documented_spacing_meets_the_documented_limits() -> None:
    """At a fifth of the documented spacing on both sides, no call is refused."""
    async with (
        pretend_vast(60, pace=0.2) as served,
        client_of(served.environment["VAST_URL"], pace=0.2) as client,
    ):
        assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE
        for _ in range(2):
            await client.single(1)
        assert {call.status for call in served.api.recorded} == {200}


async def test_refused_calls_are_sent_again_when_the_server_says() -> None:
    """The server wants more than the client knows: it adapts and still completes."""
    async with (
        pretend_vast(60, pace=0.2) as served,
        client_of(served.environment["VAST_URL"], pace=0.0) as client,
    ):
        assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE
        assert 429 in {call.status for call in served.api.recorded}


async def test_a_destroyed_row_lingers_then_leaves() -> None:
    real = RealTime()
    async with (
        pretend_vast(2, real=real) as served,
        client_of(served.environment["VAST_URL"]) as client,
    ):
        one = min(served.world.rentals)
        assert (await client.destroy(one)).ok
        assert (await client.single(one)).kind is PresenceKind.GONE
        assert one in {row.instance_id for row in (await client.walk()).instances}
        real.value += 10
        assert one not in {row.instance_id for row in (await client.walk()).instances}
