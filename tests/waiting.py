"""Waiting for what another process or thread does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# Longer than anything here takes on a machine that does ten other things besides. It costs nothing where nothing is wrong.
LIMIT_S = 60.0
FIRST_S, LOOK_S, MOST_S = 0.001, 0.01, 0.1  # between two looks: at first, after a few, and after dear ones
IDLE = 3.0  # times as long as a look took nothing is looked at: what is waited for needs the processor too


def wait_until(true: Callable[[], T], what: str = "what should happen", seconds: float = LIMIT_S) -> T:
    """The first true value, or AssertionError that names what was waited for."""
    began, pause = time.monotonic(), FIRST_S
    deadline = began + seconds
    while not (value := true()):
        now = time.monotonic()
        assert now < deadline, f"waited {seconds:g} s in vain for {what}"
        time.sleep(max(pause, min(IDLE * (now - began), MOST_S)))
        began, pause = time.monotonic(), min(2 * pause, LOOK_S)
    return value


async def async_wait_until(true: Callable[[], T], what: str = "what should happen", seconds: float = LIMIT_S) -> T:
    """The same, while the event loop of this thread goes on."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain for {what}"
        await asyncio.sleep(LOOK_S)
    return value
