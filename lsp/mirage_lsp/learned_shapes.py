"""Polling of the daemon for observed shapes, while an open function does not say its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mirage.errors import MirageError, MissingShape, SymbolWithoutSize
from mirage_lsp.document import Document
from mirage_lsp.observed_shapes import Seen

if TYPE_CHECKING:
    from mirage_lsp.session import Session

EVERY_S = 2.0
LOOKS = 300  # after a change of a text; a daemon that nobody needs may end
ANSWERS = (MissingShape, SymbolWithoutSize)  # what learned shapes help with


class Learner:
    """Looks at once when it is told to, and then every EVERY_S until nothing is left to learn, LOOKS times at most."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._task: asyncio.Task[None] | None = None
        self._left = LOOKS
        self._timer: asyncio.TimerHandle | None = None

    def look(self, again: bool = False) -> None:
        """Look now. Without `again` as if for the first time: the text has changed."""
        self._left = self._left - 1 if again else LOOKS
        if self._left <= 0:
            return
        if self._task is None and any(self._wants(d) for d in self._session.documents.values()):
            if self._timer is not None:
                self._timer.cancel()
            self._task = asyncio.ensure_future(self._look())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    @staticmethod
    def _wants(document: Document) -> bool:
        return any(isinstance(entry.error, ANSWERS) for entry in document.entries.values())

    async def _look(self) -> None:
        try:
            for document in [d for d in self._session.documents.values() if self._wants(d)]:
                self._take(document, await self._session.jobs.shapes(document.path))
        except MirageError:
            pass  # the daemon is away: nothing is learned now
        finally:
            self._task = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(EVERY_S, self.look, True)

    def _take(self, document: Document, found: dict[str, Seen]) -> None:
        fresh = False
        for name, entry in document.entries.items():
            seen = found.get(name)
            if seen and seen != entry.seen:
                entry.seen, fresh = seen, True
        if fresh:
            self._session.settle_again([document])
