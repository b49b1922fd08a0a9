"""What an instance shares with its siblings, and where it is the odd one.

Siblings are the other instances of the fleet; for what depends on the hardware only those with
as many cards of the same kind.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from fleetui.domain.instance import Instance
from fleetui.domain.stage import Stage
from fleetui.domain.text import SafeText, sanitise
from fleetui.reading.case import Case, Difference

LEAST_SIBLINGS = 3
_AT_FULL_WIDTH = frozenset({Stage.BENCH, Stage.BENCH_DONE, Stage.RUNNING})
_SHOWN_LENGTH = 60
_OF_HARDWARE = frozenset({"partition workers", "minimum rate"})
_FROM_LINES = {
    "config.partition_workers": ("partition workers", "value"),
    "mark.workers": ("partition workers", "workers"),
    "setup.bench_start": ("concurrency", "concurrency"),
    "bench.concurrency": ("concurrency", "concurrency"),
}


class Sibling(msgspec.Struct, frozen=True):
    """One instance's traits; `hardware` is e.g. `2x RTX 3090`."""

    instance_id: int
    hardware: str
    traits: Mapping[str, str]


def sibling_of(instance: Instance, traits: Mapping[str, str]) -> Sibling:
    """Return an instance with the traits of its reading."""
    hardware = f"{instance.num_gpus or '?'}x {instance.gpu_name or '?'}"
    return Sibling(instance.instance_id, hardware, traits)


def traits_of(case: Case) -> dict[str, str]:
    """Return what can be compared between instances: image, era, driver, configuration."""
    instance, probe = case.instance, case.probe
    traits: dict[str, str] = {}
    if instance is not None and instance.image:
        traits["image"] = str(instance.image)
    driver = instance.driver_version if instance is not None else None
    for gpu in (probe.gpus if probe is not None else None) or ():
        driver = gpu.driver_version or driver
    if driver:
        traits["driver"] = driver.split(".", 1)[0]
    if case.era is not None:
        traits["daemon era"] = case.era
    if case.min_rate is not None:
        traits["minimum rate"] = f"{case.min_rate:g}"
    for fact in case.facts:
        place = _FROM_LINES.get(fact.rule)
        if place is not None and fact.fields.get(place[1]):
            traits[place[0]] = fact.fields[place[1]]
    if case.stage not in _AT_FULL_WIDTH:
        # A first warmup runs with fewer workers on purpose (facts: cuzk.md section 5).
        traits.pop("partition workers", None)
    return traits


class Census:
    """How often each value of each trait occurs in a fleet."""

    def __init__(self, siblings: Iterable[Sibling]) -> None:
        self._siblings = {sibling.instance_id: sibling for sibling in siblings}
        self._counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for sibling in self._siblings.values():
            for trait, value in sibling.traits.items():
                self._counts[_scope(sibling, trait)][value] += 1

    def __len__(self) -> int:
        return len(self._siblings)

    def differences(self, instance_id: int) -> tuple[Difference, ...]:
        """Return the traits in which an instance differs from most of its siblings.

        Most are more than half of at least three that are known.
        """
        own = self._siblings.get(instance_id)
        found = []
        for trait, value in (own.traits if own is not None else {}).items():
            assert own is not None  # noqa: S101 - it has traits
            others = self._counts[_scope(own, trait)].copy()
            others[value] -= 1
            total = others.total()
            usual, count = max(others.items(), key=lambda item: (item[1], item[0]))
            if total >= LEAST_SIBLINGS and usual != value and count * 2 > total:
                found.append(
                    Difference(trait=trait, own=value, usual=usual, siblings=total, alike=count)
                )
        return tuple(found)

    def only_odd_ones(self, instance_ids: Iterable[int]) -> SafeText | None:
        """Say what sets at least two instances apart from all others, if one trait does.

        All of them share a value that none of the others has, or few others have.
        """
        chosen = set(instance_ids) & self._siblings.keys()
        if len(chosen) < 2:
            return None
        for trait in sorted({name for one in chosen for name in self._siblings[one].traits}):
            values = {self._siblings[one].traits.get(trait) for one in chosen}
            value = next(iter(values))
            if len(values) > 1 or value is None:
                continue
            alike = {one for one, it in self._siblings.items() if it.traits.get(trait) == value}
            known = sum(trait in it.traits for it in self._siblings.values())
            if known - len(alike) < LEAST_SIBLINGS or len(alike) * 2 > known:
                continue
            if len(alike) == len(chosen):
                who = f"only the {len(chosen)}"
            elif len(chosen) * 2 > len(alike):
                who = f"{len(chosen)} of the {len(alike)}"
            else:
                continue
            return sanitise(f"{who} with {trait} {shown(value)}")
        return None


def shown(value: str) -> str:
    """Return a trait's value, cut in front where it is long: the end of an image tells most."""
    return value if len(value) <= _SHOWN_LENGTH else "…" + value[1 - _SHOWN_LENGTH :]


def _scope(sibling: Sibling, trait: str) -> tuple[str, str]:
    return trait, sibling.hardware if trait in _OF_HARDWARE else ""
