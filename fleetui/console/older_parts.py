"""Asks the collector for the part of a log that was never stored, and waits for it."""

import asyncio
import uuid

from fleetui.domain.clock import Clock
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.text import SafeText, sanitise
from fleetui.store.interface import ViewerStore

LOOK_SECONDS = 0.2
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
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    asked = await self._store.intent(intent.intent_id)
                    if asked is not None and asked.state is IntentState.DONE:
                        return ""
                    if asked is not None and asked.result is not None:
                        return str(asked.result)
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            return "no collector answers"
