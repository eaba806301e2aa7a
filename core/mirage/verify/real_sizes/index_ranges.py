"""Which numbers the function takes in its inputs of integers, found by asking it: where it indexes a dim, others have no value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mirage.ir.dtypes import DTYPES
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Program
from mirage.program.recorded_calls import overload
from mirage.verify.floats.directed_inputs import Rng, constants
from mirage.verify.real_sizes.tile_values import Array

Accepts = Callable[[Sequence[Array]], bool]  # does the function have a value for these inputs?
FIRST = (0, 1, 2)  # where a range is looked for
AT_ENDS = 0.25  # of the numbers that are drawn: at a range's ends, around zero, or beside it


@dataclass(frozen=True)
class IndexRange:
    """The numbers from `low` to `high`, and `others` beside them."""

    low: int
    high: int
    others: tuple[int, ...] = ()

    def draw(self, rng: Rng, shape: tuple[int, ...]) -> Array:
        near = (x for x in (-1, 0) if self.low <= x <= self.high)
        ends = np.asarray([self.low, self.high, *near, *self.others], np.int64)
        drawn = rng.integers(self.low, self.high, shape, np.int64, endpoint=True)
        return np.asarray(np.where(rng.random(shape) < AT_ENDS, rng.choice(ends, shape), drawn))

    def __str__(self) -> str:
        return " or ".join([f"from {self.low} to {self.high}", *map(str, self.others)])


def index_ranges(program: Program, accepts: Accepts) -> dict[int, IndexRange]:
    """The range of each input of integers for which the function does not take all numbers of its dtype, by the input's place.
    An input is asked with one number throughout; a number that is beside the range is one that the program names."""
    rng = np.random.default_rng(0)
    given = [np.asarray(_first(rng, i.type.dtype, i.type.shape)) for i in program.inputs]
    found: dict[int, IndexRange] = {}
    for n, i in enumerate(program.inputs):
        if DTYPES[i.type.dtype].floating or i.type.dtype == "bool":
            continue
        info = np.iinfo(DTYPES[i.type.dtype].numpy)

        def takes(x: int, n: int = n) -> bool:
            return accepts([np.full_like(v, x) if m == n else v for m, v in enumerate(given)])

        if takes(int(info.min)) and takes(int(info.max)):
            continue
        start = next((x for x in FIRST if takes(x)), None)
        if start is None:
            continue
        low, high = _end(takes, start, int(info.min)), _end(takes, start, int(info.max))
        beside = {x for x in _named(program) if info.min <= x <= info.max and not low <= x <= high}
        found[n] = IndexRange(low, high, tuple(x for x in sorted(beside) if takes(x)))
        given[n] = np.full_like(given[n], start)
    return found


def _first(rng: Rng, dtype: str, shape: tuple[int, ...]) -> Array:
    if DTYPES[dtype].floating:
        return np.asarray(rng.standard_normal(shape))
    return np.ones(shape, bool) if dtype == "bool" else np.zeros(shape, np.int64)


def _end(takes: Callable[[int], bool], start: int, last: int) -> int:
    """The number nearest to `last` up to which the function takes all from `start` on, as far as halving shows."""
    sign = 1 if last > start else -1
    step, inside, outside = 1, start, last + sign
    while (reached := start + sign * step) * sign <= last * sign:
        if not takes(reached):
            outside = reached
            break
        inside, step = reached, 2 * step
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if takes(middle) else (inside, middle)
    return inside


def _named(program: Program) -> Iterator[int]:
    """The whole numbers that the program names, and those that its calls of PyTorch have by default."""
    yield from (int(x) for x in constants([program]) if x == int(x))
    for node in program.nodes:
        if is_call(node.op):
            given = [a.default_value for a in overload(node.op)._schema.arguments if a.has_default_value()]
            yield from (x for x in given if type(x) is int)
