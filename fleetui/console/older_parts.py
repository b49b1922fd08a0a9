"""Asks the collector for the part of a log that was never stored, and waits for it."""

import asyncio
import uuid

from fleetui.domain.clock import Clock
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.text import SafeText, sanitise
from fleetui.store.interface import ViewerStore

LOOK_SECONDS = 0.2
TAKEN_SECONDS = 8.0
"""A collector that runs takes a request within a second."""
PATIENCE_SECONDS = 45.0


class OlderParts:
    """What the log view asks for at the top of a file whose beginning is on the host only."""

    def __init__(self, store: ViewerStore, actor: SafeText, clock: Clock) -> None:
        self._store = store
        self._actor = actor
        self._clock = clock

    async def fetch(self, instance_id: int, path: str) -> str:
        """Have the next older part stored; returns why it is not, or nothing."""
        intent = Intent(
            intent_id=uuid.uuid4().hex,
            verb=Verb.READ_OLDER,
            instance_id=instance_id,
            actor=self._actor,
            reason=SafeText("somebody reads back so far"),
            created_at=self._clock.now(),
            argument=sanitise(path),
        )
        await self._store.intend(intent)
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < PATIENCE_SECONDS:
            asked = await self._store.intent(intent.intent_id) or intent
            if asked.state is IntentState.DONE:
                return ""
            if asked.result is not None:
                return str(asked.result)
            if asked.state is IntentState.REQUESTED and loop.time() - began > TAKEN_SECONDS:
                return "no collector takes the request"
            await asyncio.sleep(LOOK_SECONDS)
        return "the collector does not say what came of it"
