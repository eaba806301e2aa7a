"""Progress reports of long work, and the token that cancels it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from mirage.errors import Cancelled


@dataclass(frozen=True)
class ProgressCounts:
    """What work has counted so far; 0 where it says nothing of a number. The search: `values` to `mugraphs`. Timing on a GPU:
    how many candidates are `checked`, `right`, `timed` in this round. `tried` are the verified candidates, `sizes` the
    sizes whose kernels are put together, `retries` the workers that died."""

    values: int = 0
    systems: int = 0
    parts: int = 0
    resumed: int = 0
    cut_sets: int = 0
    mugraphs: int = 0
    tried: int = 0
    sizes: int = 0
    checked: int = 0
    right: int = 0
    timed: int = 0
    retries: int = 0

    def __add__(self, other: ProgressCounts) -> ProgressCounts:
        return ProgressCounts(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def told(self) -> dict[str, int]:
        """The numbers that it says something of, by name."""
        return {f.name: n for f in fields(self) if (n := getattr(self, f.name))}


@dataclass(frozen=True)
class Progress:
    """A search event: the job's state, its counts, the best so far in a few words."""

    state: str
    counts: ProgressCounts = ProgressCounts()
    best: str = ""


class CancelToken:
    """Asked between steps of any long work; `check` raises Cancelled. Setting it is safe from another thread."""

    def __init__(self, ask: Callable[[], bool] | None = None) -> None:
        self._set, self._ask = False, ask

    def cancel(self) -> None:
        self._set = True

    @property
    def cancelled(self) -> bool:
        return self._set or (self._ask is not None and self._ask())

    def check(self) -> None:
        if self.cancelled:
            raise Cancelled("the work was cancelled")
