"""Requested actions, their course, and the audit of who did what."""

from enum import StrEnum

import msgspec

from fleetui.domain.reading import FleetRow
from fleetui.domain.rental import Rental
from fleetui.domain.role import Role
from fleetui.domain.text import SafeText


class Verb(StrEnum):
    """What can be asked of the collector."""

    RESTART_DAEMON = "restart_daemon"
    RESTART_BENCHMARK = "restart_benchmark"
    RUN = "run"
    DESTROY = "destroy"
    STOP = "stop"
    START = "start"
    REBOOT = "reboot"
    RECYCLE = "recycle"
    DRAIN_DESTROY = "drain_destroy"
    LABEL = "label"
    ACCEPT_HOST_KEY = "accept_host_key"
    PROTECT = "protect"
    UNPROTECT = "unprotect"
    BLACKLIST = "blacklist"
    UNBLACKLIST = "unblacklist"
    READ_OLDER = "read_older"
    DEPLOY = "deploy"

    @property
    def ends_work(self) -> bool:
        """Whether it takes an instance from its work for good or until somebody acts again."""
        return self in (Verb.DESTROY, Verb.DRAIN_DESTROY, Verb.RECYCLE, Verb.STOP)

    @property
    def interrupts_work(self) -> bool:
        """Whether what an instance is at is lost, so that many at once are paced."""
        return self.ends_work or self in (
            Verb.RESTART_DAEMON,
            Verb.RESTART_BENCHMARK,
            Verb.REBOOT,
        )

    @property
    def can_mend(self) -> bool:
        """Whether a fault may have gone away by it; of the rest it is a coincidence."""
        return self.interrupts_work or self is Verb.START

    @property
    def begins_anew(self) -> bool:
        """Whether what the instance is at starts over, and so does what it is judged by."""
        return self in (
            Verb.RESTART_DAEMON,
            Verb.RESTART_BENCHMARK,
            Verb.REBOOT,
            Verb.RECYCLE,
            Verb.START,
        )

    @property
    def needs_host(self) -> bool:
        """Whether it is done over SSH, or goes by what SSH has shown."""
        return self.only_reads or self in (
            Verb.RESTART_DAEMON,
            Verb.RESTART_BENCHMARK,
            Verb.RUN,
            Verb.DRAIN_DESTROY,
            Verb.ACCEPT_HOST_KEY,
        )

    @property
    def loses_data(self) -> bool:
        """Whether what was on the instance is gone for good."""
        return self in (Verb.DESTROY, Verb.DRAIN_DESTROY, Verb.RECYCLE)

    @property
    def only_reads(self) -> bool:
        """Whether it changes nothing but what is stored, so that nobody need confirm it."""
        return self is Verb.READ_OLDER

    @property
    def stands_apart(self) -> bool:
        """Whether it disturbs no act that is under way, and so does not wait behind it."""
        return self.only_reads or self in (
            Verb.RUN,
            Verb.PROTECT,
            Verb.UNPROTECT,
            Verb.BLACKLIST,
            Verb.UNBLACKLIST,
            Verb.DEPLOY,
        )

    @property
    def spares_instance(self) -> bool:
        """Whether it does nothing to the instance itself, so that protection does not stop it."""
        return self.only_reads or self in (
            Verb.RUN,
            Verb.PROTECT,
            Verb.UNPROTECT,
            Verb.BLACKLIST,
            Verb.UNBLACKLIST,
            Verb.ACCEPT_HOST_KEY,
        )

    @property
    def needs(self) -> Role:
        """The least role that may ask for it."""
        if self.only_reads:
            return Role.VIEWER
        return Role.OWNER if self.loses_data else Role.OPERATOR

    @property
    def takes_argument(self) -> bool:
        """Whether it needs a text: a label, why a machine is blacklisted, a command, a path."""
        return self in (Verb.LABEL, Verb.BLACKLIST, Verb.RUN, Verb.READ_OLDER)


ANYWAY = "anyway"
"""Argument of `restart_benchmark`: also while a benchmark or a proof is at work, which is lost."""


class IntentState(StrEnum):
    """An intent's course. `running` is written before anything is done."""

    REQUESTED = "requested"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    UNKNOWN = "unknown"

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen to it."""
        return self in (IntentState.DONE, IntentState.FAILED, IntentState.REFUSED)


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """One action on one instance, as captured at the key press.

    `machine_id`, `host_id` (the machine's owner) and `label` are what the operator saw; the
    collector refuses when the API shows others just before the act. `argument` belongs to the
    verb (a new label, the reason for a blacklist, a command, `ANYWAY`). `role` is what the asking
    process may do by its own settings; the collector holds it against its own. A `deploy` has a
    `rental`, the machine and owner of its offer, and the instance id 0 until one was rented.
    """

    intent_id: str
    verb: Verb
    instance_id: int
    actor: SafeText
    reason: SafeText
    created_at: float
    machine_id: int | None = None
    host_id: int | None = None
    label: SafeText | None = None
    argument: SafeText | None = None
    rental: Rental | None = None
    role: Role = Role.OWNER
    state: IntentState = IntentState.REQUESTED
    epoch: int | None = None
    started_at: float | None = None
    finished_at: float | None = None
    result: SafeText | None = None


def intent_on(
    row: FleetRow,
    verb: Verb,
    *,
    intent_id: str,
    actor: SafeText,
    reason: SafeText,
    now: float,
    argument: SafeText | None = None,
    role: Role = Role.OWNER,
) -> Intent:
    """Build the intent of one who sees `row`: its machine and label guard the act."""
    return Intent(
        intent_id=intent_id,
        verb=verb,
        instance_id=row.instance_id,
        actor=actor,
        reason=reason,
        created_at=now,
        machine_id=row.machine_id,
        host_id=row.host_id,
        label=row.label,
        argument=argument,
        role=role,
    )


class Withdrawal(msgspec.Struct, frozen=True):
    """Somebody took a request back that no collector had taken; it reads as refused."""

    intent_id: str
    by: SafeText
    at: float

    def applied(self, intent: Intent) -> Intent:
        """Return the intent as it is with this."""
        return msgspec.structs.replace(
            intent,
            state=IntentState.REFUSED,
            finished_at=self.at,
            result=SafeText(f"nothing was done: withdrawn by {self.by}"),
        )


UNREADABLE = "unreadable"
"""Event of what stands for an entry of the audit that cannot be read."""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the append-only audit. `sequence` is given by the store."""

    at: float
    actor: SafeText
    event: str
    instance_id: int | None = None
    intent_id: str | None = None
    verb: Verb | None = None
    detail: SafeText = SafeText()
    sequence: int | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to an instance or to the collector, for the timeline.

    `kind` is a word such as `new`, `gone`, `status`, `price`, `address`, `stage`, `finding`.
    """

    at: float
    kind: str
    text: SafeText
    instance_id: int | None = None
