"""What a long question shows while it is answered: one line that is rewritten on a terminal, one every few seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import click

from mirage.cli.plain_terminal import REDRAW
from mirage.results.progress import Progress

EVERY_S = {True: 0.5, False: 3.0}  # on a terminal; elsewhere, where the start of the command comes before the first
OTHERS_S = 1.0  # an answer waits no longer than that for what is said of others
WIDTH = 110
STATES = {
    "queued": "waiting for its turn",
    "tracing": "reading the function",
    "searching": "searching",
    "verifying": "checking a kernel",
    "tuning": "timing kernels on the GPU",
}
COUNTS = {  # of what is counted, what says something to who waits
    "mugraphs": "candidates",
    "tried": "checked",
    "timed": "timed",
    "sizes": "sizes",
    "retries": "workers lost",
}


def words(name: str, seen: Progress | None, seconds: float) -> str:
    """The line for a function's name, its last event (None: none yet) and the time since it was asked for."""
    if seen is None:
        return f"{name}: starting, {seconds:.0f} s"
    told = seen.counts.told()
    counts = [f"{told[field]} {word}" for field, word in COUNTS.items() if field in told]
    best = [f"best so far {seen.best}"] if seen.best else []
    return " · ".join([f"{name}: {STATES.get(seen.state, seen.state)}, {seconds:.0f} s", *counts, *best])


class ProgressLine:
    """Shows the events that it is called with, and that time goes on where none comes. `clear` ends it. `others` says in a few words
    what else is waited for, and may take a moment."""

    def __init__(
        self, name: str, clock: Callable[[], float] = time.monotonic, *, others: Callable[[], str] = str
    ) -> None:
        self._name, self._clock, self._began = name, clock, clock()
        self._others, self._said = others, ""
        self._terminal = sys.stderr.isatty()
        self._last: Progress | None = None
        self._over = threading.Event()
        self._ticks = threading.Thread(target=self._tick, name="mirage-progress", daemon=True)
        self._ticks.start()

    def __call__(self, seen: Progress) -> None:
        self._last = seen
        if self._terminal:
            self._draw()

    def clear(self) -> None:
        self._over.set()
        self._ticks.join(OTHERS_S)
        if self._terminal:
            click.echo(REDRAW, nl=False, err=True)

    def _tick(self) -> None:
        while not self._over.wait(EVERY_S[self._terminal]):
            self._said = self._others()
            if not self._over.is_set():
                self._draw()

    def _draw(self) -> None:
        text = " · ".join(filter(None, (words(self._name, self._last, self._clock() - self._began), self._said)))
        if self._terminal:
            click.echo(f"{REDRAW}{text[:WIDTH]}", nl=False, err=True)
        else:
            click.echo(text, err=True)
