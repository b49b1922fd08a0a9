"""`fleetui diagnose INSTANCE_ID`: the diagnosis from the store, also when the host is gone."""

from fleetui.domain.finding_words import age_words, history_text, marks_text
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage
from fleetui.reports.diagnose import Answer, answer_of
from fleetui.store.interface import ViewerStore

_OF_THE_ROW = frozenset({Stage.GONE, Stage.STOPPED, Stage.LOADING, Stage.FAILED})
"""Stages of the fleet's table that say nothing of how far the work came."""


class InquestError(ValueError):
    """What was asked for cannot be told; the text says why."""


async def diagnose_instance(store: ViewerStore, instance_id: int) -> Answer:
    """Return the answer on an instance, in the form that `diagnose` has for folders and files.

    Raises:
        InquestError: the store has no reading of it.
    """
    reading = await store.reading(instance_id)
    if reading is None:
        message = f"nothing is known of instance {instance_id}; `fleetui status` lists all"
        raise InquestError(message)
    answer = answer_of(str(_reached(reading)), reading.findings)
    answer.recognised = len(reading.spans)
    return answer


async def notes_on(store: ViewerStore, instance_id: int, now: float) -> list[str]:
    """Return what else is known: whether it is gone, the faults' past, machine, last looks."""
    notes: list[str] = []
    reading = await store.reading(instance_id)
    instance = await store.instance(instance_id)
    if reading is not None:
        gone = "The instance is gone. " if reading.stage is Stage.GONE else ""
        notes.append(f"{gone}The reading is {age_words(now - reading.at)} old.")
        for finding in reading.findings:
            before = history_text(await store.signature_history(finding.signature), now)
            if before:
                notes.append(f"{finding.category} before: {before}")
    if instance is not None and instance.machine_id is not None:
        marks = await store.machine_marks(instance.machine_id)
        others = tuple(mark for mark in marks if mark.is_of_another(instance_id))
        if others:
            text = marks_text(others, now)
            notes.append(f"Machine {instance.machine_id} has a record of other instances: {text}")
    notes += [
        f"Snapshot, {age_words(now - one.at)} ago: {one.reason} ({len(one.sections)} sections)"
        for one in await store.snapshots(instance_id)
    ]
    return notes


def _reached(reading: Reading) -> Stage:
    """Return the last stage of the work itself."""
    stages = [span.stage for span in reading.spans if span.stage not in _OF_THE_ROW]
    return stages[-1] if stages else reading.stage
