"""From a key press to intents: the targets as seen, what it costs, what will run. Pure."""

import uuid
from collections.abc import Sequence

import msgspec

from fleetui.console import figures
from fleetui.console.glyphs import STAGE_WORDS
from fleetui.console.inspection import Subject
from fleetui.domain.intent import Intent, Verb, intent_on
from fleetui.domain.reading import FleetRow
from fleetui.domain.text import SafeText

SHOWN_TARGETS = 10
SETTLED_AT_ONCE = frozenset(
    {
        Verb.RESTART_DAEMON,
        Verb.STOP,
        Verb.START,
        Verb.REBOOT,
        Verb.PROTECT,
        Verb.UNPROTECT,
        Verb.BLACKLIST,
    }
)
"""Acts that can be made good again: a key accepts them. The others want digits typed."""
COUNTED_DOWN = frozenset({Verb.DESTROY, Verb.DRAIN_DESTROY, Verb.RECYCLE})
ON_NO_HOST = {
    Verb.PROTECT: "nothing on the host: every act on it is refused from now on",
    Verb.UNPROTECT: "nothing on the host: acts on it are allowed again",
    Verb.BLACKLIST: "nothing on the host: its machine is not rented again",
}
"""Acts that lose data: once confirmed they can still be taken back for a few seconds."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """An act on the instances as the operator saw them when the key was pressed."""

    verb: Verb
    rows: tuple[FleetRow, ...]
    loss: tuple[str, ...] = ()
    """What the act costs, line by line."""
    command: str = ""
    """What will run."""
    argument: SafeText | None = None

    @property
    def words(self) -> str:
        """The verb as it is said."""
        return self.verb.value.replace("_", " ")

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
        return "" if self.verb in SETTLED_AT_ONCE else str(self.rows[0].instance_id)[-4:]


class Pending(msgspec.Struct, frozen=True):
    """Confirmed intents that can still be taken back until `due` (monotonic seconds)."""

    intents: tuple[Intent, ...]
    due: float


def new_intent(
    row: FleetRow, verb: Verb, actor: SafeText, now: float, argument: SafeText | None = None
) -> Intent:
    """Build the intent with what the operator saw as its guard."""
    return intent_on(
        row,
        verb,
        intent_id=uuid.uuid4().hex,
        actor=actor,
        reason=SafeText("asked for in the console"),
        now=now,
        argument=argument,
    )


def request(verb: Verb, rows: Sequence[FleetRow], subject: Subject | None, now: float) -> Request:
    """Describe an act on rows; `subject` is what more is known of a single one."""
    if len(rows) > 1:
        loss = _loss_of_many(verb, rows)
    elif verb is Verb.DESTROY:
        loss = _loss_of_destroy(rows[0], subject, now)
    elif verb is Verb.ACCEPT_HOST_KEY:
        loss = _loss_of_accepting(subject)
    else:
        loss = _loss_of_one(verb, rows[0])
    outcome = subject.reading.ssh if subject and subject.reading else None
    argument = outcome.other_key if outcome and verb is Verb.ACCEPT_HOST_KEY else None
    if verb is Verb.BLACKLIST:
        argument = SafeText("asked for in the console")
    return Request(
        verb=verb,
        rows=tuple(rows),
        loss=tuple(loss),
        command=_command(verb, rows),
        argument=argument,
    )


def _ids(rows: Sequence[FleetRow]) -> str:
    shown = " ".join(str(row.instance_id) for row in rows[:SHOWN_TARGETS])
    more = len(rows) - SHOWN_TARGETS
    return f"{shown} and {more} more" if more > 0 else shown


def _command(verb: Verb, rows: Sequence[FleetRow]) -> str:
    target = str(rows[0].instance_id) if len(rows) == 1 else "ID"
    each = "" if len(rows) == 1 else f", once for each of the {len(rows)}"
    match verb:
        case Verb.DESTROY:
            call = f"DELETE /api/v0/instances/{target}/ (vastai destroy instance {target})"
        case Verb.DRAIN_DESTROY:
            call = f"after the proofs in flight: DELETE /api/v0/instances/{target}/"
        case Verb.PROTECT | Verb.UNPROTECT | Verb.BLACKLIST:
            call = ON_NO_HOST[verb]
        case Verb.STOP | Verb.START:
            word = verb.value
            call = f"PUT /api/v0/instances/{target}/ (vastai {word} instance {target})"
        case Verb.REBOOT | Verb.RECYCLE:
            word = verb.value
            call = f"PUT /api/v0/instances/{word}/{target}/ (vastai {word} instance {target})"
        case Verb.ACCEPT_HOST_KEY:
            call = "nothing on the host: the key it showed instead is bound, and no other"
        case _:
            call = "the profile's restart script over SSH"
    return call + each


def _loss_of_one(verb: Verb, row: FleetRow) -> list[str]:
    loss = [f"state: {STAGE_WORDS[row.stage]}"]
    if verb in ON_NO_HOST:
        return loss
    if verb is Verb.DRAIN_DESTROY:
        return [*loss, "all data on its disk is deleted; the logs read so far stay in FleetUI"]
    if verb is Verb.RECYCLE:
        loss.append("the container is made anew: all data in it is lost, the logs here stay")
    if verb is Verb.START:
        return [*loss, _hourly(row)] if row.cost_per_hour is not None else loss
    if row.progress_fraction is not None:
        share, what = figures.percent(row.progress_fraction), row.progress_text or "this stage"
        loss.append(f"work in flight is lost: {share} of {what}")
    elif verb is not Verb.RECYCLE:
        loss.append("a proof in flight is lost; the parameters stay")
    return loss


def _hourly(row: FleetRow) -> str:
    return f"costs ${figures.money(row.cost_per_hour)} an hour"


def _loss_of_destroy(row: FleetRow, subject: Subject | None, now: float) -> list[str]:
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
        loss.append(_hourly(row))
    if row.progress_fraction is not None:
        what = f" ({row.progress_text})" if row.progress_text else ""
        loss.append(f"in flight, lost: {figures.percent(row.progress_fraction)} done{what}")
    loss.append("all data on its disk is deleted; a replacement downloads the parameters again")
    loss.append("the logs read so far stay in FleetUI")
    return loss


def _loss_of_accepting(subject: Subject | None) -> list[str]:
    detail = (
        subject.reading.ssh.detail if subject and subject.reading and subject.reading.ssh else ""
    )
    ssh = subject.reading.ssh if subject and subject.reading else None
    shown = ssh.other_key if ssh else None
    return [
        f"accepts: {shown}" if shown else "the fingerprint it shows is not known here",
        "the host shows another key than the one bound to this instance",
        str(detail or ""),
        "that is harmless only if you know why: a recycle, a new image, a re-made container",
        "if you do not, somebody may stand between you and the host",
    ]


def _loss_of_many(verb: Verb, rows: Sequence[FleetRow]) -> list[str]:
    counts: dict[str, int] = {}
    for row in rows:
        word = STAGE_WORDS[row.stage]
        counts[word] = counts.get(word, 0) + 1
    loss = ["states: " + ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))]
    burn = sum(row.cost_per_hour or 0.0 for row in rows)
    rate = sum(row.proofs_per_hour or 0.0 for row in rows)
    loss.append(f"together ${figures.money(burn)}/h and {figures.rate(rate)} proofs/h")
    working = sum(row.progress_fraction is not None for row in rows)
    if working and verb not in (Verb.START, Verb.DRAIN_DESTROY, *ON_NO_HOST):
        loss.append(f"work in flight is lost on {working} of them")
    if verb in COUNTED_DOWN:
        loss.append("all data on their disks is deleted; the logs read so far stay in FleetUI")
    return loss
