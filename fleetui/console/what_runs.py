"""What exactly an act runs: the API call, or the profile's script. Pure."""

from fleetui.domain.intent import Verb
from fleetui.domain.redaction import Redactor

ON_NO_HOST = {
    Verb.PROTECT: "nothing on the host: every act on it is refused from now on",
    Verb.UNPROTECT: "nothing on the host: acts on it are allowed again",
    Verb.BLACKLIST: "nothing on the host: its machine is not rented again",
    Verb.UNBLACKLIST: "nothing on the host: its machine may be rented again",
    Verb.ACCEPT_HOST_KEY: "nothing on the host: the key it showed instead is bound, and no other",
}


def what_runs(verb: Verb, target: str, argument: str, script: str) -> str:
    """Say in a line what runs for a target (`ID`: each of several)."""
    match verb:
        case Verb.DESTROY:
            return f"DELETE /api/v0/instances/{target}/ (vastai destroy instance {target})"
        case Verb.DRAIN_DESTROY:
            return f"after the proofs in flight: DELETE /api/v0/instances/{target}/"
        case Verb.STOP | Verb.START:
            word = verb.value
            return f"PUT /api/v0/instances/{target}/ (vastai {word} instance {target})"
        case Verb.REBOOT | Verb.RECYCLE:
            word = verb.value
            return f"PUT /api/v0/instances/{word}/{target}/ (vastai {word} instance {target})"
        case Verb.LABEL:
            return f"PUT /api/v0/instances/{target}/ (vastai label instance {target} {argument!r})"
        case Verb.RESTART_DAEMON | Verb.RESTART_BENCHMARK:
            lines = len(script.splitlines())
            return "sh over SSH, the profile's script" + (f" of {lines} lines" if lines else "")
        case _:
            return ON_NO_HOST[verb]


def masked(script: str) -> str:
    """Return a script as it may be shown: its secrets masked."""
    return Redactor().text(script).rstrip()
