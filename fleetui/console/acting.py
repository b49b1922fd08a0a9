"""From a key press to an intent: the target as seen, what it costs, what will run. Pure."""

import uuid

import msgspec

from fleetui.console import figures
from fleetui.console.glyphs import STAGE_WORDS
from fleetui.console.inspection import Subject
from fleetui.domain.intent import Intent, Verb
from fleetui.domain.reading import FleetRow
from fleetui.domain.text import SafeText


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The instance as the operator saw it when the key was pressed."""

    row: FleetRow
    loss: tuple[str, ...] = ()
    """What the act costs, line by line."""
    command: str = ""
    """What will run."""

    @property
    def name(self) -> str:
        """The target in words."""
        row = self.row
        label = f" ({row.label})" if row.label else ""
        return f"{row.instance_id}{label}, {row.num_gpus or '?'}x {row.gpu or 'GPU'}"

    @property
    def suffix(self) -> str:
        """The digits that confirm: the last four of the id."""
        return str(self.row.instance_id)[-4:]


class PendingDestroy(msgspec.Struct, frozen=True):
    """A confirmed destroy that can still be taken back until `due` (monotonic seconds)."""

    intent: Intent
    due: float


def new_intent(row: FleetRow, verb: Verb, actor: SafeText, now: float) -> Intent:
    """Build the intent with what the operator saw as its guard."""
    return Intent(
        intent_id=uuid.uuid4().hex,
        verb=verb,
        instance_id=row.instance_id,
        actor=actor,
        reason=SafeText("asked for in the console"),
        created_at=now,
        machine_id=row.machine_id,
        label=row.label,
    )


def restart_target(row: FleetRow) -> Target:
    """Describe a restart of the daemon."""
    loss = [f"state: {STAGE_WORDS[row.stage]}"]
    if row.progress_fraction is not None:
        share, what = figures.percent(row.progress_fraction), row.progress_text or "this stage"
        loss.append(f"work in flight is lost: {share} of {what}")
    else:
        loss.append("a proof in flight is lost; the parameters stay")
    return Target(row=row, loss=tuple(loss), command="the profile's restart script over SSH")


def destroy_target(row: FleetRow, subject: Subject | None, now: float) -> Target:
    """Describe a destroy and all that it loses."""
    state = f"state: {STAGE_WORDS[row.stage]}"
    if row.stage_since is not None:
        state += f" for {figures.duration(now - row.stage_since)}"
    if row.proofs_per_hour is not None:
        state += f", {figures.rate(row.proofs_per_hour)} proofs/h"
    loss = [state]
    started = subject.instance.start_date if subject and subject.instance else None
    if started is not None and row.cost_per_hour is not None:
        hours = max(now - started, 0.0) / 3600
        spent = figures.money(hours * row.cost_per_hour)
        loss.append(f"rented for {figures.duration(hours * 3600)}, about ${spent} spent")
    elif row.cost_per_hour is not None:
        loss.append(f"costs ${figures.money(row.cost_per_hour)} an hour")
    if row.progress_fraction is not None:
        what = f" ({row.progress_text})" if row.progress_text else ""
        loss.append(f"in flight, lost: {figures.percent(row.progress_fraction)} done{what}")
    loss.append("all data on its disk is deleted; a replacement downloads the parameters again")
    loss.append("the logs read so far stay in FleetUI")
    command = (
        f"DELETE /api/v0/instances/{row.instance_id}/ (vastai destroy instance {row.instance_id})"
    )
    return Target(row=row, loss=tuple(loss), command=command)
