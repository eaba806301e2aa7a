"""Axis classes: which dims of which tensors are one axis. A union-find whose classes can be split into parts.

Dims meet by dataflow only. A dim is a tuple of classes, major first (a reshape that joins dims makes several); a dim
of size one is the empty tuple. A class that is split becomes its parts everywhere.
"""

from __future__ import annotations

import math

from mirage.errors import UnsupportedReshape

Leaves = tuple[int, ...]


class AxisClasses:
    """Classes are ints; `size` is in elements."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._parts: list[Leaves | None] = []  # what a class became: another class, or its parts

    def fresh(self, size: int) -> Leaves:
        """A new axis; none for size one."""
        if size == 1:
            return ()
        self._sizes.append(size)
        self._parts.append(None)
        return (len(self._sizes) - 1,)

    def size(self, leaf: int) -> int:
        return self._sizes[leaf]

    def resolve(self, leaves: Leaves) -> Leaves:
        """The classes that stand for these now."""
        out: list[int] = []
        for leaf in leaves:
            parts = self._parts[leaf]
            out += [leaf] if parts is None else self.resolve(parts)
        return tuple(out)

    def split(self, leaf: int, minor: int) -> tuple[int, int]:
        """Cut a class into (size / minor, minor)."""
        major = self.fresh(self._sizes[leaf] // minor)[0]
        low = self.fresh(minor)[0]
        self._parts[leaf] = (major, low)
        return major, low

    def unify(self, a: Leaves, b: Leaves, line: int | None = None) -> Leaves:
        """Make two dims of one size the same axes. Raises UnsupportedReshape where their parts do not line up."""
        left, right = list(self.resolve(a)), list(self.resolve(b))
        done: list[int] = []
        while left and right:
            x, y = left.pop(), right.pop()
            m, n = self._sizes[x], self._sizes[y]
            if m != n and (max(m, n) % min(m, n)):
                raise UnsupportedReshape(f"dimensions cut into parts of {m} and of {n} meet", line=line)
            if m > n:
                high, x = self.split(x, n)
                left.append(high)
            elif n > m:
                high, y = self.split(y, m)
                right.append(high)
            left, right = list(self.resolve(tuple(left))), list(self.resolve(tuple(right)))
            (x,), (y,) = self.resolve((x,)), self.resolve((y,))
            if x != y:
                self._parts[max(x, y)] = (min(x, y),)
            done.append(min(x, y))
        if left or right:
            raise UnsupportedReshape("dimensions of different sizes meet", line=line)
        return self.resolve(tuple(reversed(done)))

    def total(self, leaves: Leaves) -> int:
        return math.prod(self._sizes[leaf] for leaf in self.resolve(leaves))
