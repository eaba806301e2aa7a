"""What was not used for long is forgotten, and its room given back to the disk, in parts between which others have their turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirage_daemon.server import Server

ROWS, PAGES, PAUSE_S = 32, 128, 0.002  # entries and pages of the file between which others have their turn
SPARE = 64  # free pages that stay till the end


async def collect(server: Server, limit: int | None, older_s: float | None = None) -> int:
    """Forget what was not used for long, and give its room back to the disk, in parts: lookups have their turn between two, for as
    long as a part took."""
    deleted = 0
    async for part in _in_parts(server, partial(server._store.gc, limit, older_s, ROWS)):
        deleted += part
        await _give_back(server, SPARE)
    if deleted:
        await _give_back(server, 0)
    return deleted


async def _give_back(server: Server, leave: int) -> None:
    before = -1
    async for left in _in_parts(server, partial(server._store.give_back, PAGES, leave)):
        if left == before:  # the disk takes nothing back now
            return
        before = left


async def _in_parts(server: Server, part: Callable[[], int]) -> AsyncIterator[int]:
    """What each part gives, until one gives nothing."""
    while True:
        began = time.monotonic()
        done = await server._in_store(part)
        await asyncio.sleep(max(PAUSE_S, time.monotonic() - began))
        if not done:
            return
        yield done
