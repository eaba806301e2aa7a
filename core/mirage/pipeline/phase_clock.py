"""Measures the phases of one answer: seconds by name, a phase within another counted as itself alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mirage.results.phases import PHASES, PhaseSeconds


@dataclass
class PhaseClock:
    """Of one thread. `now` gives seconds."""

    now: Callable[[], float] = time.monotonic
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    first_kernel: float = 0.0
    begun: float = field(init=False)
    within: list[str] = field(init=False, default_factory=list)
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.since = self.now()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What runs in it is that phase's, but for the phases that begin in it. KeyError for a name that is no phase."""
        self._turn()
        self.spent[name] += 0.0
        self.within.append(name)
        try:
            yield
        finally:
            self._turn()
            self.within.pop()

    def _turn(self) -> None:
        """Books what passed since the last turn to the phase that runs."""
        now = self.now()
        if self.within:
            self.spent[self.within[-1]] += now - self.since
        self.since = now

    def move(self, source: str, to: str, seconds: float) -> None:
        """Books seconds that passed in one phase to another, at most what that has."""
        moved = min(seconds, self.spent[source])
        self.spent[source] -= moved
        self.spent[to] += moved

    def verified(self) -> None:
        """A kernel was verified; the first one's time is kept."""
        self.first_kernel = self.first_kernel or self.now() - self.begun

    def seconds(self) -> PhaseSeconds:
        """All so far, in milliseconds' precision."""
        found = {name: round(s, 3) for name, s in self.spent.items()}
        return PhaseSeconds(**found, first_kernel=round(self.first_kernel, 3), total=round(self.now() - self.begun, 3))
