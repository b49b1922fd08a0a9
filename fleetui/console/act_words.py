"""The words of all that an operator can have done to instances."""

import msgspec

from fleetui.domain.intent import Verb


class ActWords(msgspec.Struct, frozen=True):
    """How an act is said: in the menu, as the dialog's question and button, while it is asked for.

    `settles` says that a key accepts it for one target, since it can be made good again; the
    others want digits typed.
    """

    offer: str
    question: str
    button: str
    doing: str
    settles: bool = True


ACTS: dict[Verb, ActWords] = {
    Verb.RESTART_DAEMON: ActWords(
        "restart the proving daemon (of all marked instances, when some are)…",
        "Restart the proving daemon?", "Restart", "restarting",
    ),
    Verb.RESTART_BENCHMARK: ActWords(
        "run the benchmark anew…", "Run the benchmark anew?", "Restart", "new benchmark",
    ),
    Verb.DESTROY: ActWords(
        "destroy it… (type the last 4 digits of its id, or the number of marks)",
        "Destroy for good?", "Destroy", "destroying", settles=False,
    ),
    Verb.DRAIN_DESTROY: ActWords(
        "destroy it once the proofs in flight are done…",
        "Destroy for good after the proofs in flight?", "Drain", "draining", settles=False,
    ),
    Verb.STOP: ActWords(
        "stop the instance: its disk stays and costs…", "Stop?", "Stop", "stopping",
    ),
    Verb.START: ActWords("start a stopped instance…", "Start?", "Start", "starting"),
    Verb.REBOOT: ActWords("reboot the container…", "Reboot?", "Reboot", "rebooting"),
    Verb.RECYCLE: ActWords(
        "make the container anew, losing its data…",
        "Recycle, losing the container's data?", "Recycle", "recycling", settles=False,
    ),
    Verb.LABEL: ActWords("give it another label…", "Give it this label?", "Label", "labelling"),
    Verb.PROTECT: ActWords(
        "refuse every act on it from now on…", "Protect from every act?", "Protect", "protecting",
    ),
    Verb.UNPROTECT: ActWords(
        "allow acts on it again…", "Allow acts again?", "Unprotect", "unprotecting",
    ),
    Verb.BLACKLIST: ActWords(
        "never rent its machine again: say why…",
        "Never rent its machine again?", "Blacklist", "blacklisting",
    ),
    Verb.UNBLACKLIST: ActWords(
        "allow its machine to be rented again…",
        "Allow its machine again?", "Unblacklist", "unblacklisting",
    ),
    Verb.ACCEPT_HOST_KEY: ActWords(
        "accept the changed host key… (type the last 4 digits of its id)",
        "Accept the changed host key?", "Accept", "new key", settles=False,
    ),
}  # fmt: skip
"""Verb to its words, in the order of the menu."""


def said(verb: Verb) -> str:
    """Return a verb as it is said."""
    return verb.value.replace("_", " ")
