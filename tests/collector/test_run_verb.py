"""Commands that only look, run on simulated hosts and compared."""

import json
from pathlib import Path

from collecting import Collecting, collecting, simulated, some_running
from command_line import command_line
from fleetui.collector.command_run import BYTES_LIMIT
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.text import sanitise

PLAN = [("running", 420.0), ("running", 420.0), ("xid_79", 200.0)]


async def three(run: Collecting) -> list[Instance]:
    found = await some_running(run, 3)
    return sorted(found, key=lambda one: one.instance_id)


async def test_hosts_are_asked_and_their_answers_compared(tmp_path: Path) -> None:
    async with (
        simulated(tmp_path, plan=PLAN) as fleet,
        collecting(fleet.settings(tmp_path)) as run,
    ):
        one, other, odd = await three(run)
        fleetui = command_line(run, fleet)
        ids = [one.instance_id, other.instance_id, odd.instance_id]

        status, text = await fleetui("run", "nvidia-smi -L | cut -d'(' -f1", *ids, "--json")
        found = json.loads(text)
        shown = {tuple(group["instance_ids"]): group for group in found["groups"]}
        assert [group["exit_status"] for group in found["groups"]] == [0] * len(shown), text
        assert status == int(len(shown) > 1)
        assert sorted(number for key in shown for number in key) == ids

        status, text = await fleetui("run", "cat /etc/os-release", "--all")
        assert status == 0, text
        assert text.startswith("3 hosts answered (exit status 0)")
        assert "Ubuntu 24.04.2" in text

        await fleet.shell(odd, "echo odd > /tmp/mark; echo x=y > /tmp/more")
        await fleet.shell(one, "echo even > /tmp/mark")
        await fleet.shell(other, "echo even > /tmp/mark")
        status, text = await fleetui("run", "cat /tmp/mark", *ids)
        assert status == 1
        assert f"1 host differs (exit status 0): {odd.instance_id}" in text
        assert "  - even\n  + odd" in text

        await fleet.fault("ssh_refused", instances=[other.instance_id])
        await fleet.fault("ssh_cut", instances=[other.instance_id])

        async def cut() -> bool:
            return len(await run.running()) == 2

        await run.until(cut, "one is not connected")
        status, text = await fleetui("run", "cat /tmp/mark", *ids)
        assert status == 1
        assert f"{other.instance_id}: no answer: refused: nothing was done: no SSH" in text

        # Nor can a last look be taken at it, which is said before and after.
        status, text = await fleetui("act", "destroy", other.instance_id, "--dry-run")
        assert "no last look at its disk is possible (SSH: " in text
        status, text = await fleetui("act", "destroy", other.instance_id, "--yes")
        assert status == 0, text
        assert "; without a last look at its disk: SSH: " in text

        before = len(await run.store.intents())
        for words, said in (
            (["rm -rf /tmp/mark", one.instance_id], "not among the programs"),
            (["cat /tmp/mark"], "--all"),
            (["cat /tmp/mark", 12], "no such instance"),
        ):
            status, text = await fleetui("run", *words)
            assert (status, said in text) == (2, True), text
        status, text = await fleetui("run", "uptime", "--all", FLEETUI_ROLE="viewer")
        assert (status, "read_only" in text) == (2, True), text
        assert len(await run.store.intents()) == before


async def test_the_collector_reads_a_command_itself(tmp_path: Path) -> None:
    async with (
        simulated(tmp_path, plan=PLAN) as fleet,
        collecting(fleet.settings(tmp_path)) as run,
    ):
        instance, *_ = await three(run)

        async def asked(command: str) -> Intent:
            argument = sanitise(command)
            return await run.settled(await run.intend(Verb.RUN, instance, argument=argument))

        await run.settled(await run.intend(Verb.PROTECT, instance))
        for command, said in (
            ("touch /tmp/mark", "not among the programs"),
            ("cat /etc/hostname > /tmp/mark", "> is not allowed"),
            ("", "there is no command"),
        ):
            intent = await asked(command)
            assert intent.state is IntentState.REFUSED
            assert said in str(intent.result)
        assert await fleet.shell(instance, "ls /tmp/mark") == b""

        # A look is no touch: protection does not hinder it. Secrets stay on the host.
        await fleet.shell(instance, "printf 'API_TOKEN=abcdef123456\\0x=1' > /tmp/environ")
        seen = await asked("cat /tmp/environ")
        assert seen.state is IntentState.DONE, seen.result
        (answer,) = await run.store.answers([seen.intent_id])
        assert list(answer.lines) == ["API_TOKEN=***", "x=1"]
        assert "abcdef" not in str(seen.result)

        await fleet.shell(instance, "head -c 60000 /dev/zero | tr '\\0' 'a' > /tmp/part")
        await fleet.shell(instance, "cat /tmp/part /tmp/part > /tmp/large")
        much = await asked("cat /tmp/large")
        assert "cut off" in str(much.result)
        (answer,) = await run.store.answers([much.intent_id])
        assert answer.cut
        assert sum(map(len, answer.lines)) <= BYTES_LIMIT

        none = await asked("cat /tmp/nothing")
        assert none.state is IntentState.DONE
        assert str(none.result).startswith("exit status 1")
