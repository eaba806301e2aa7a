"""Progress reports of long work, and the token that cancels it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mirage.errors import Cancelled


@dataclass(frozen=True)
class Progress:
    """A search event: the job's state, counts (values, mugraphs, checked, ...), the best so far in a few words."""

    state: str
    counts: dict[str, int] = field(default_factory=dict)
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
