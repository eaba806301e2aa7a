"""How many entries the cache holds and how many bytes their values take, counted along with each write.

To ask the file means a walk over all its rows: of a hundred thousand it takes 10 ms or more, during which no lookup has its turn.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class CacheTotals:
    """`kept` bytes are of kinds that are not forgotten, `size` of all kinds."""

    entries: int = 0
    size: int = 0
    kept: int = 0

    @property
    def forgettable(self) -> int:
        """Bytes of what may be forgotten."""
        return self.size - self.kept

    def add(self, entries: int, size: int, *, kept: bool) -> None:
        """So many entries more, which take so many bytes; fewer where the numbers are below zero."""
        self.entries += entries
        self.size += size
        self.kept += size if kept else 0
