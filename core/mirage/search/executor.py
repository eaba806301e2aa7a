"""Executors of a search's parts: a protocol, and the one that runs them in this process.

The parts are pure, so that the answers are the same and come in the same order wherever the parts run; an executor in several
processes or on other machines would be another class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from mirage.search.limits import Guard
from mirage.search.subproblems import Key, Part, SharedWork


class Executor(Protocol):
    """Runs the parts that `keys` name. Yields them in that order; raises what `guard.check()` raises."""

    def parts(self, work: SharedWork, keys: Sequence[Key], guard: Guard) -> Iterator[Part]: ...

    def close(self) -> None: ...


class Serial:
    """One after the other, here, each when it is asked for."""

    def parts(self, work: SharedWork, keys: Sequence[Key], guard: Guard) -> Iterator[Part]:
        for key in keys:
            yield work.search(key, guard)

    def close(self) -> None:
        pass
