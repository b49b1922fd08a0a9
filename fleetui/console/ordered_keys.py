"""One key after the other: a burst of keys finds the screen that the keys before it left."""

import time
from collections import deque
from pathlib import PurePath

from textual.app import App
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.message_pump import MessagePump

MOST_HELD = 256
LOOK_AGAIN_SECONDS = 0.01
LONGEST_WAIT_SECONDS = 0.5
"""A key that was not seen to be handled by then holds the others no longer."""


class KeyDone(Message):
    """Goes the way of a key, one step behind it: when it arrives the key has been handled.

    It goes twice: the second time behind what the key made the widget say, such as `Submitted`.
    """

    def __init__(self, target: MessagePump, *, again: bool) -> None:
        super().__init__()
        self.target = target
        self.again = again


class OrderedKeysApp(App[None]):
    """Handles each key (or paste) to its end before it looks at the next one.

    A key is handled by the app after it went up from the focused widget; textual itself sends the
    next one to whatever has the focus meanwhile, so that what follows a `/` would act.
    """

    def __init__(self, css_path: list[str | PurePath] | None = None) -> None:
        super().__init__(css_path=css_path)
        self._held: deque[Key | Paste] = deque()
        self._under_way: KeyDone | None = None
        self._waiting_since = 0.0
        self._looks_again = False

    def takes_keys(self) -> bool:
        """Whether there is a screen that somebody can have meant; keys are dropped otherwise."""
        return True

    async def on_event(self, event: Event) -> None:
        """Take keys in turn; everything else at once."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        if len(self._held) < MOST_HELD:
            self._held.append(event)
        await self._next_key()

    async def on_key_done(self, message: KeyDone) -> None:
        """The key under way has been handled: take the next one."""
        message.stop()
        if message is self._under_way:
            self._under_way = None
            if message.again:
                self._send_done(message.target, again=False)
        await self._next_key()

    async def _next_key(self) -> None:
        while self._held:
            if not self.takes_keys():
                self._held.clear()
                return
            if self._must_wait():
                self._look_again()
                return
            event = self._held.popleft()
            target = self.focused or self.screen
            await super().on_event(event)
            self._waiting_since = time.monotonic()
            if event.is_forwarded:
                self._send_done(target, again=True)

    def _send_done(self, target: MessagePump, *, again: bool) -> None:
        done = KeyDone(target, again=again)
        self._under_way = done if target.post_message(done) else None

    def _must_wait(self) -> bool:
        if time.monotonic() - self._waiting_since > LONGEST_WAIT_SECONDS:
            self._under_way = None
            return False
        return self._under_way is not None or not self.screen.is_mounted

    def _look_again(self) -> None:
        if not self._looks_again:
            self._looks_again = True
            self.set_timer(LOOK_AGAIN_SECONDS, self._looked)

    async def _looked(self) -> None:
        self._looks_again = False
        await self._next_key()
