"""Named axes of a kernel graph of the original's: which parts of which dims are one axis.

Maps cut a dim into grid part, loop part and tile. Inside a block dims meet by dataflow; between kernels, and with a program,
where they are dims of one tensor. Two axes of one block are made one by what stands outside it only where no tile has both:
else an access keeps axes of its own, of the same sizes, and verification says what it computes.
"""

from __future__ import annotations

from collections.abc import Iterable

from mirage.errors import UnsupportedReshape
from mirage.program.axis_classes import AxisClasses, Leaves

Owners = dict[int, frozenset[int]]  # block -> its axes that a class is, -1 for a part of one


class Joint(AxisClasses):
    """Axis classes that know which axes of which blocks they are."""

    def __init__(self) -> None:
        super().__init__()
        self._owners: list[Owners] = []
        self._inherit: Owners = {}
        self._apart: set[tuple[int, int]] = set()
        self._alone: set[int] = set()

    def fresh(self, size: int) -> Leaves:
        made = super().fresh(size)
        self._owners += [dict(self._inherit) for _ in made]
        return made

    def of(self, size: int, group: int, *, alone: bool = False) -> Leaves:
        """A new axis of a block; `alone`: never one with another axis of it."""
        made = self.fresh(size)
        for x in made:
            self._owners[x] = {group: frozenset({x})}
            if alone:
                self._alone.add(x)
        return made

    def copy(self, leaf: int, group: int) -> int:
        """Another axis of the same size in the same block."""
        return self.of(self.size(leaf), group)[0]

    def split(self, leaf: int, minor: int) -> tuple[int, int]:
        self._inherit = {g: frozenset({-1}) for g in self._owners[leaf]}
        made = super().split(leaf, minor)
        self._inherit = {}
        return made

    def together(self, leaves: Iterable[int]) -> None:
        """A tile has these axes, so no two of them are one."""
        have = list(leaves)
        self._apart |= {(a, b) for a in have for b in have if a != b}

    def _may_join(self, x: int, y: int) -> bool:
        for group in self._owners[x].keys() & self._owners[y].keys():
            for a in self._owners[x][group]:
                for b in self._owners[y][group]:
                    if -1 in (a, b) or a in self._alone or b in self._alone or (a, b) in self._apart:
                        return False
        return True

    def meet(self, a: Leaves, b: Leaves) -> bool:
        """Two dims of one size are cut alike, and made the same axes where they may be. Did that change anything?
        Raises UnsupportedReshape where their parts do not line up."""
        left, right = list(self.resolve(a)), list(self.resolve(b))
        changed = False
        while left and right:
            x, y = left[-1], right[-1]
            m, n = self.size(x), self.size(y)
            if m != n:
                if max(m, n) % min(m, n):
                    raise UnsupportedReshape(f"a dimension is cut into parts of {m} here and of {n} there")
                self.split(x if m > n else y, min(m, n))
            else:
                left.pop()
                right.pop()
                if x == y or not self._may_join(x, y):
                    continue
                first, second = min(x, y), max(x, y)
                self._parts[second] = (first,)
                for group, own in self._owners[second].items():
                    self._owners[first][group] = self._owners[first].get(group, frozenset()) | own
            changed = True
            left, right = list(self.resolve(tuple(left))), list(self.resolve(tuple(right)))
        return changed
