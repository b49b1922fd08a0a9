"""`fleetui act`: the same intents as the console's, asked for and settled without a screen."""

import json
from functools import partial
from pathlib import Path

import asyncssh
import pytest

from collecting import collecting, simulated, some_running
from command_line import command_line
from fleetui.domain.intent import IntentState, Verb
from fleetui.domain.reading import FleetRow
from fleetui.domain.role import Role, role_of
from fleetui.domain.stage import Stage
from fleetui.reports.act import word_to_type
from fleetui.verbs import actor


async def test_an_action_is_planned_asked_for_and_told(tmp_path: Path) -> None:
    async with (
        simulated(tmp_path, hosts=6) as fleet,
        collecting(fleet.settings(tmp_path)) as run,
    ):
        one, other, *_ = await some_running(run, 2)
        act = partial(command_line(run, fleet), "act")

        status, text = await act("destroy", one.instance_id, "--dry-run")
        assert status == 0
        assert f"DELETE /api/v0/instances/{one.instance_id}/" in text
        status, text = await act("destroy", one.instance_id)
        assert (status, "--yes" in text) == (2, True)
        status, text = await act("stop", 12, "--yes")
        assert (status, "no such instance: 12" in text) == (2, True)
        status, text = await act("explode", one.instance_id, "--yes")
        assert (status, "restart-daemon" in text) == (2, True)
        status, text = await act("stop", one.instance_id, "--yes", FLEETUI_READ_ONLY="1")
        assert (status, "read_only" in text) == (2, True)
        assert await run.store.intents() == ()

        status, text = await act(
            "label", one.instance_id, other.instance_id, "--argument", "mine", "--yes",
            "--reason", "a test", "--json", "--wait", "10",
        )  # fmt: skip
        assert status == 0, text
        assert {item["state"] for item in json.loads(text)} == {"done"}
        rows = [await run.store.intent(item["intent_id"]) for item in json.loads(text)]
        assert [(row.reason, row.argument) for row in rows if row] == [("a test", "mine")] * 2

        # What is asked for next is guarded by the row, which must not lag behind.
        shown = {row.instance_id: row.label for row in (await run.store.fleet()).rows}
        assert [shown[key.instance_id] for key in (one, other)] == ["mine", "mine"]
        await fleet.fault("refused")
        status, text = await act("reboot", one.instance_id, "--yes")
        assert status == 1, text
        assert "failed: the API refused" in text
        newest, *_ = await run.store.intents(instance_id=one.instance_id)
        assert newest.state is IntentState.FAILED


def test_the_audit_names_user_host_origin_and_the_login_s_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.9 50000 10.0.0.1 22")
    monkeypatch.delenv("SSH_USER_AUTH", raising=False)
    assert actor().endswith(" from 10.0.0.9")
    key = asyncssh.generate_private_key("ssh-ed25519").convert_to_public()
    exposed = tmp_path / "auth"
    exposed.write_text(f"publickey {key.export_public_key().decode()}")
    monkeypatch.setenv("SSH_USER_AUTH", str(exposed))
    name = actor()
    assert name.endswith(f" from 10.0.0.9 key {key.get_fingerprint()}")
    assert role_of(name, {key.get_fingerprint(): Role.VIEWER}, Role.OWNER) is Role.VIEWER
    exposed.write_bytes(b"password\n\xff")
    assert actor().endswith(" from 10.0.0.9")


def test_the_word_to_type_grows_with_what_is_lost() -> None:
    one, other = (FleetRow(instance_id=number, stage=Stage.BENCH) for number in (410_001, 410_002))
    assert word_to_type(Verb.STOP, [one]) == "yes"
    assert word_to_type(Verb.DESTROY, [one]) == "0001"
    assert word_to_type(Verb.STOP, [one, other]) == "2"
