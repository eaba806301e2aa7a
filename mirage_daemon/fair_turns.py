"""Turns at something scarce, dealt out round the clients: what one asks for in plenty waits behind that one's own requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator

WITHOUT_BOUND = 1 << 30


class FairTurns:
    """At most `at_once` turns are held at any time, `each` of them by one client. A turn that becomes free goes to the client that
    has waited longest since its last one. Made for one event loop."""

    def __init__(self, at_once: int, each: int) -> None:
        self._free, self._each = at_once, each
        self._held = Counter[int]()
        self._waiting: OrderedDict[int, deque[asyncio.Future[None]]] = OrderedDict()  # whose turn is next comes first

    @contextlib.asynccontextmanager
    async def turn(self, client: int) -> AsyncIterator[None]:
        """Hold a turn of `client`."""
        await self.take(client)
        try:
            yield
        finally:
            self.give(client)

    def waiting(self, client: int) -> int:
        """How many turns it waits for."""
        return len(self._waiting.get(client, ()))

    async def take(self, client: int) -> None:
        """Wait for a turn of `client`, which `give` ends."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(mine)
        self._deal()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                self._forget(client, mine)
            else:  # it was given in the same moment
                self.give(client)
            raise

    def give(self, client: int) -> None:
        """A turn of `client` is over."""
        self._free += 1
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        self._deal()

    def _forget(self, client: int, mine: asyncio.Future[None]) -> None:
        left = self._waiting[client]
        left.remove(mine)
        if not left:
            del self._waiting[client]

    def _deal(self) -> None:
        for client in list(self._waiting):
            if not self._free:
                return
            if self._held[client] >= self._each:
                continue
            mine = next((w for w in self._waiting[client] if not w.done()), None)
            if mine is None:  # all were cancelled, and take themselves out
                continue
            self._forget(client, mine)
            if client in self._waiting:
                self._waiting.move_to_end(client)
            self._free -= 1
            self._held[client] += 1
            mine.set_result(None)
