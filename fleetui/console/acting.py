"""From a key press to intents: the targets as seen, what it costs, what will run. Pure."""

import uuid
from collections.abc import Sequence

import msgspec

from fleetui.console.act_words import ACTS, said
from fleetui.console.inspection import Subject
from fleetui.console.losses import is_at_work, loss_of_many, loss_of_one
from fleetui.console.what_runs import masked, what_runs
from fleetui.domain.intent import ANYWAY, Intent, Verb, intent_on
from fleetui.domain.reading import FleetRow
from fleetui.domain.role import Role
from fleetui.domain.stage import Stage
from fleetui.domain.text import SafeText
from fleetui.store.interface import LogMissing

SHOWN_TARGETS = 10
REASON = SafeText("asked for in the console")


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What more is known than the rows: of a single target, and what a verb runs on a host."""

    subject: Subject | None = None
    missing: LogMissing | None = None
    script: str = ""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """An act on the instances as the operator saw them when the key was pressed."""

    verb: Verb
    rows: tuple[FleetRow, ...]
    loss: tuple[str, ...] = ()
    """What the act costs, line by line."""
    command: str = ""
    """What will run."""
    script: str = ""
    """The whole of it, when it is a script; secrets masked."""
    argument: SafeText | None = None
    reason: SafeText = REASON

    @property
    def words(self) -> str:
        """The verb as it is said."""
        return said(self.verb)

    @property
    def name(self) -> str:
        """The targets in words."""
        if len(self.rows) > 1:
            return f"{len(self.rows)} marked instances: {_ids(self.rows)}"
        row = self.rows[0]
        label = f" ({row.label})" if row.label else ""
        return f"{row.instance_id}{label}, {row.num_gpus or '?'}x {row.gpu or 'GPU'}"

    @property
    def typed(self) -> str:
        """What must be typed to confirm: the count, the id's last four digits, or nothing."""
        if len(self.rows) > 1:
            return str(len(self.rows))
        return "" if ACTS[self.verb].settles else str(self.rows[0].instance_id)[-4:]

    @property
    def can_drain(self) -> bool:
        """Whether it destroys what is proving, so that its proofs could be waited for."""
        return self.verb is Verb.DESTROY and any(row.stage is Stage.RUNNING for row in self.rows)

    def intent(self, row: FleetRow, actor: SafeText, role: Role, now: float) -> Intent:
        """Build the intent on one of the rows with what the operator saw as its guard."""
        argument = self.argument
        if self.verb is Verb.RESTART_BENCHMARK and is_at_work(row):
            # The dialog said what is lost; what began since is not lost by it.
            argument = SafeText(ANYWAY)
        return intent_on(
            row,
            self.verb,
            intent_id=uuid.uuid4().hex,
            actor=actor,
            reason=self.reason,
            now=now,
            argument=argument,
            role=role,
        )


class Pending(msgspec.Struct, frozen=True):
    """Confirmed intents that can still be taken back until `due` (monotonic seconds)."""

    intents: tuple[Intent, ...]
    due: float


def request(
    verb: Verb,
    rows: Sequence[FleetRow],
    known: Known,
    now: float,
    *,
    argument: SafeText | None = None,
    reason: SafeText | None = None,
) -> Request:
    """Describe an act on rows; `reason` is why, when it is not the operator's own idea."""
    subject = known.subject
    if verb is Verb.ACCEPT_HOST_KEY:
        outcome = subject.reading.ssh if subject and subject.reading else None
        argument = outcome.other_key if outcome else None
    if len(rows) > 1:
        loss = loss_of_many(verb, rows, argument)
    else:
        loss = loss_of_one(
            verb, rows[0], subject, missing=known.missing, argument=argument, now=now
        )
    target = str(rows[0].instance_id) if len(rows) == 1 else "ID"
    each = "" if len(rows) == 1 else f", once for each of the {len(rows)}"
    return Request(
        verb=verb,
        rows=tuple(rows),
        loss=tuple(filter(None, loss)),
        command=what_runs(verb, target, argument or "", known.script) + each,
        script=masked(known.script),
        argument=argument,
        reason=reason or REASON,
    )


def _ids(rows: Sequence[FleetRow]) -> str:
    shown = " ".join(str(row.instance_id) for row in rows[:SHOWN_TARGETS])
    more = len(rows) - SHOWN_TARGETS
    return f"{shown} and {more} more" if more > 0 else shown
