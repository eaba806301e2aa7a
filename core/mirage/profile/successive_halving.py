"""Successive halving (Jamieson and Talwalkar, AISTATS'16): many candidates timed shortly, the better ones longer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)
KEEP = 4  # one of so many goes on
LAST = 3  # so many are timed in full


def halve(
    names: Sequence[Name],
    times: Callable[[Sequence[Name], int], dict[Name, float]],
    *,
    efforts: Sequence[int] = (1, 3),
    protected: Sequence[Name] = (),
) -> list[Name]:
    """The best `LAST` of `names` (and `protected`), fastest first by the last round they were in. `times(names, effort)`
    gives the time of each; one without a time falls out."""
    left = list(names)
    order: list[Name] = left
    for effort in efforts:
        if len(left) <= LAST:
            break
        found = times(left, effort)
        order = sorted((n for n in left if n in found), key=lambda n: found[n])
        left = order[: max(LAST, len(order) // KEEP)]
    return left[:LAST] + [p for p in protected if p in names and p not in left[:LAST]]
