"""What goes wrong on purpose, switched by the control port or a test."""

from collections.abc import Iterable
from dataclasses import dataclass

API_FAULTS = {
    "api_down": "connections to the API are cut without an answer",
    "api_500": "every call answers 500",
    "api_503": "every call answers 503 with an empty body",
    "html": "every call answers 502 with an HTML page",
    "html_200": "every call answers 200 with an HTML page",
    "auth": "the key is refused the way the API does it: 404 auth_error",
    "rate_limited": "every call answers 429; `value` is Retry-After",
    "slow": "every call takes `value` seconds longer",
    "redirect": "every call is redirected to another origin",
    "deprecated": "the list answers 410",
    "empty_list": "the list answers 200 with no instances and a total of 0",
    "null_list": "the list answers 200 with instances null and no total",
    "partial_walk": "the list lacks its last row while the total counts it",
    "broken_page": "every page but the first answers 500",
    "row_vanishes": "the list lacks the given instances and does not count them",
    "vanishes_mid_walk": "the list has the given rows on its first page's call only",
    "appears_mid_walk": "the list has the given rows on all but its first page's call",
    "odd_rows": "the given rows (or all) hold nulls, words and hostile text for numbers",
    "single_unusable": "a single look brings nothing usable; `value` 0-5 says in which way",
    "price": "the given rows cost `value` times as much",
    "outbid": "the given instances are interruptible and stopped by a higher bid",
    "refused": "an action answers 200 with success false and does nothing",
    "queued": "a start or renting waits, as for busy GPUs, until this is off; a stop cancels it",
    "offer_lost": "somebody else was faster at every offer that is to be rented",
    "lost_answer": "an action is done, and the connection cut instead of an answer",
}
SSH_FAULTS = {
    "ssh_refused": "SSH ports do not listen",
    "ssh_auth": "SSH refuses every user key",
    "ssh_cut": "SSH connections are cut once",
    "host_key_changed": "the host shows another SSH key from now on",
}
KNOWN = API_FAULTS | SSH_FAULTS
MOMENTARY = frozenset({"ssh_cut", "host_key_changed"})


@dataclass
class Fault:
    """One fault that is on: for the given instances (none means all), for `calls` more calls."""

    name: str
    instances: frozenset[int] = frozenset()
    value: float | None = None
    calls: int | None = None

    def hits(self, instance_id: int | None) -> bool:
        """Whether it concerns an instance (or a call about none)."""
        return not self.instances or instance_id in self.instances


def parse_fault(text: str) -> tuple[str, float | None]:
    """Read `NAME` or `NAME=VALUE`, as on the command line.

    Raises:
        ValueError: there is no such fault, or the value is no number.
    """
    name, equals, value = text.partition("=")
    if name not in KNOWN:
        raise ValueError(f"no such fault: {name!r}; known: {', '.join(KNOWN)}")
    if name in MOMENTARY:
        raise ValueError(f"{name} is a moment, not a state: post it to the control port")
    try:
        return name, float(value) if equals else None
    except ValueError:
        raise ValueError(f"the value of {name} must be a number, not {value!r}") from None


class Faults:
    """The faults that are on."""

    def __init__(self) -> None:
        self._on: dict[str, Fault] = {}

    def switch_on(
        self,
        name: str,
        *,
        instances: Iterable[int] = (),
        value: float | None = None,
        calls: int | None = None,
    ) -> None:
        """Switch a fault on.

        Raises:
            KeyError: there is no such fault.
        """
        if name not in KNOWN:
            raise KeyError(name)
        self._on[name] = Fault(name, frozenset(instances), value, calls)

    def switch_off(self, name: str | None = None) -> None:
        """Switch one fault off, or all."""
        if name is None:
            self._on.clear()
        else:
            self._on.pop(name, None)

    def get(self, name: str, instance_id: int | None = None) -> Fault | None:
        """Return a fault that is on for this instance."""
        fault = self._on.get(name)
        return fault if fault is not None and fault.hits(instance_id) else None

    def take(self, name: str, instance_id: int | None = None) -> Fault | None:
        """Return a fault that is on, and count this call against it."""
        fault = self.get(name, instance_id)
        if fault is not None and fault.calls is not None:
            fault.calls -= 1
            if fault.calls <= 0:
                del self._on[name]
        return fault

    def state(self) -> list[dict[str, object]]:
        """Return what is on, for the control port."""
        return [
            {
                "name": fault.name,
                "instances": sorted(fault.instances),
                "value": fault.value,
                "calls": fault.calls,
            }
            for fault in self._on.values()
        ]
