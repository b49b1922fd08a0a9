"""Stores host keys, beside the book that the links consult."""

import asyncio

from fleetui.store.interface import CollectorStore, FenceLostError, Lease, StoreError

RETRY_SECONDS = 2.0


class HostKeyKeeper:
    """Writes host keys to the store; an empty text says that a key is forgotten."""

    def __init__(self, store: CollectorStore, lease: Lease) -> None:
        self._store = store
        self._lease = lease
        self._waiting: dict[int, str] = {}
        self._news = asyncio.Event()

    def keep(self, instance_id: int, key: str) -> None:
        """Store a key of first use soon; tried again while the store is in trouble."""
        self._waiting[instance_id] = key
        self._news.set()

    async def keep_now(self, instance_id: int, key: str) -> None:
        """Store a key, in place of one that waits.

        Raises:
            FenceLostError: somebody else holds the lease.
            StoreError: it is not stored.
        """
        await self._store.accept_host_key(self._lease, instance_id, key)
        self._waiting.pop(instance_id, None)

    async def run(self) -> None:
        """Store keys until cancelled.

        Raises:
            FenceLostError: somebody else holds the lease.
        """
        while True:
            await self._news.wait()
            self._news.clear()
            for instance_id, key in tuple(self._waiting.items()):
                try:
                    await self._store.accept_host_key(self._lease, instance_id, key)
                except FenceLostError:
                    raise
                except StoreError:
                    self._news.set()
                    await asyncio.sleep(RETRY_SECONDS)
                else:
                    if self._waiting.get(instance_id) == key:
                        del self._waiting[instance_id]
