"""Actions without a screen: the same intents that the console writes, and how they ended."""

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

from fleetui.domain.clock import Clock
from fleetui.domain.codec import to_builtins
from fleetui.domain.host import SshState
from fleetui.domain.intent import Intent, IntentState, Verb, Withdrawal, intent_on
from fleetui.domain.reading import FleetRow
from fleetui.domain.role import Role
from fleetui.domain.text import sanitise
from fleetui.store.interface import StoreError, ViewerStore

LOOK_SECONDS = 0.3
WHAT_RUNS = {
    Verb.RESTART_DAEMON: "the profile's restart script over SSH",
    Verb.RESTART_BENCHMARK: "the profile's benchmark script over SSH, which ends the daemon first",
    Verb.RUN: "a command that only looks, over SSH",
    Verb.DESTROY: "DELETE /api/v0/instances/{id}/",
    Verb.STOP: 'PUT /api/v0/instances/{id}/ {{"state": "stopped"}}',
    Verb.START: 'PUT /api/v0/instances/{id}/ {{"state": "running"}}',
    Verb.REBOOT: "PUT /api/v0/instances/reboot/{id}/",
    Verb.RECYCLE: "PUT /api/v0/instances/recycle/{id}/",
    Verb.DRAIN_DESTROY: "after the proofs in flight: DELETE /api/v0/instances/{id}/",
    Verb.LABEL: 'PUT /api/v0/instances/{id}/ {{"label": ...}}',
    Verb.ACCEPT_HOST_KEY: "nothing on the host: the bound host key is dropped",
    Verb.PROTECT: "nothing on the host: every act on it is refused from now on",
    Verb.UNPROTECT: "nothing on the host: acts on it are allowed again",
    Verb.BLACKLIST: "nothing on the host: its machine is not rented again",
    Verb.UNBLACKLIST: "nothing on the host: its machine may be rented again",
    Verb.READ_OLDER: "tail | head over SSH: the next older part of a log is read and stored",
}


class ActError(Exception):
    """The action cannot be asked for; the text says why."""


async def targets(store: ViewerStore, instance_ids: Sequence[int] | None) -> tuple[FleetRow, ...]:
    """Return the rows of the ids (`None`: of all that are connected), as FleetUI shows them now.

    Raises:
        ActError: an id is not in the fleet, or none is connected.
    """
    rows = {row.instance_id: row for row in (await store.fleet()).rows}
    if instance_ids is None:
        connected = tuple(row for row in rows.values() if row.ssh is SshState.CONNECTED)
        if not connected:
            raise ActError("no instance is connected")
        return connected
    missing = [str(instance_id) for instance_id in instance_ids if instance_id not in rows]
    if missing:
        raise ActError(f"no such instance: {', '.join(missing)}; `fleetui status` lists them")
    return tuple(rows[instance_id] for instance_id in dict.fromkeys(instance_ids))


def plan_text(verb: Verb, rows: Sequence[FleetRow], argument: str | None = None) -> str:
    """Say what would run on which target and what is lost, one line each."""
    given = f" ({argument})" if argument else ""
    return "\n".join(
        f"{verb.replace('_', ' ')} {row.instance_id} ({row.label or 'no label'}, machine"
        f" {row.machine_id or '?'}, {row.num_gpus or '?'}x {row.gpu or '?'}, {row.stage}):"
        f" {WHAT_RUNS[verb].format(id=row.instance_id)}{given}{_loss(verb, row)}"
        for row in rows
    )


def _loss(verb: Verb, row: FleetRow) -> str:
    """Say what is lost by an act that interrupts work, as far as the row tells."""
    lost = []
    if row.protected and verb.interrupts_work:
        lost.append("it is protected and will be refused")
    if verb.interrupts_work and row.progress_fraction is not None:
        lost.append(f"loses {row.progress_fraction:.0%} of {row.progress_text or row.stage}")
    elif verb.interrupts_work and row.proofs_per_hour:
        lost.append(f"loses the proofs in flight, at {row.proofs_per_hour:.1f} proofs/h")
    if verb.loses_data:
        if row.spent is not None:
            lost.append(f"${row.spent:.2f} spent on it so far")
        if row.ssh is not SshState.CONNECTED:
            lost.append(f"no last look at its disk is possible (SSH: {row.ssh})")
    return "".join(f"; {words}" for words in lost)


def word_to_type(verb: Verb, rows: Sequence[FleetRow]) -> str:
    """Return what confirms the action: the number of targets, the one's last digits, or yes."""
    if len(rows) > 1:
        return str(len(rows))
    return str(rows[0].instance_id)[-4:] if verb.loses_data else "yes"


async def ask(
    store: ViewerStore,
    verb: Verb,
    rows: Sequence[FleetRow],
    *,
    clock: Clock,
    actor: str,
    role: Role,
    reason: str,
    argument: str | None,
) -> tuple[Intent, ...]:
    """Write one intent for each target, guarded by what its row shows."""
    asked = []
    for row in rows:
        intent = intent_on(
            row,
            verb,
            intent_id=uuid.uuid4().hex,
            actor=sanitise(actor),
            reason=sanitise(reason),
            now=clock.now(),
            argument=None if argument is None else sanitise(argument),
            role=role,
        )
        await store.intend(intent)
        asked.append(intent)
    return tuple(asked)


async def withdraw(
    store: ViewerStore, instance_ids: Sequence[int], *, clock: Clock, actor: str
) -> tuple[Intent, ...]:
    """Take back all requests on these instances that no collector has taken; returns them."""
    withdrawn = []
    for instance_id in dict.fromkeys(instance_ids):
        for intent in await store.intents(instance_id=instance_id):
            if intent.state is not IntentState.REQUESTED:
                continue
            try:
                await store.withdraw(Withdrawal(intent.intent_id, sanitise(actor), clock.now()))
            except StoreError:
                # A collector has taken it meanwhile; how that ends is told by the intent.
                continue
            withdrawn.append(await store.intent(intent.intent_id) or intent)
    return tuple(withdrawn)


async def outcomes(
    store: ViewerStore, asked: Sequence[Intent], *, patience_seconds: float
) -> tuple[Intent, ...]:
    """Wait until each is settled or the patience ends; returns them as they are then."""
    loop = asyncio.get_running_loop()
    end = loop.time() + patience_seconds
    while True:
        found = [await store.intent(intent.intent_id) for intent in asked]
        intents = tuple(new or old for new, old in zip(found, asked, strict=True))
        settled = all(
            intent.state.is_final or intent.state is IntentState.UNKNOWN for intent in intents
        )
        if settled or loop.time() > end:
            return intents
        await asyncio.sleep(LOOK_SECONDS)


def outcome_text(intents: Sequence[Intent]) -> str:
    """Say how each ended, one line each."""
    return "\n".join(
        f"{intent.verb.replace('_', ' ')} {intent.instance_id}: {intent.state}"
        + (f": {intent.result}" if intent.result else _pending_words(intent))
        for intent in intents
    )


def _pending_words(intent: Intent) -> str:
    if intent.state is IntentState.REQUESTED:
        return (
            ": no collector has taken it yet; one will unless it is too old by then, or taken back"
            f" (`fleetui act withdraw {intent.instance_id}`)"
        )
    if intent.state is IntentState.RUNNING:
        return ": still under way; `fleetui audit` tells how it ends"
    return ""


def outcome_report(intents: Sequence[Intent]) -> list[dict[str, Any]]:
    """Return the intents as JSON objects."""
    return [to_builtins(intent) for intent in intents]
