"""The accumulators of the original's block graphs: what each one does to a tile before, in and after its loop.

An accumulator takes a tile that is made in each iteration of the for-loop and gives one that exists after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fold = Literal["", "sum", "todimx"]


@dataclass(frozen=True)
class Accumulator:
    """`fold`: what it sums of its tile's last dim ("": nothing, "sum": all of it, which stays with size 1, "todimx": it stays
    with the size `reduction_dimx`, element i being the sum of those at i, i + reduction_dimx, ...). `square`: of the
    elements' squares. `mean`: over the number of elements summed, iterations included. `root`: the square root of that.
    `rescaled`: before each iteration what it has is multiplied by a second tile. `largest`: a maximum, no sum."""

    name: str
    fold: Fold = ""
    square: bool = False
    mean: bool = False
    root: bool = False
    rescaled: bool = False
    largest: bool = False


ACCUMULATORS = {
    a.name: a
    for a in (
        Accumulator("none"),
        Accumulator("sum", "sum"),
        Accumulator("mean", "sum", mean=True),
        Accumulator("rms", "sum", square=True, mean=True, root=True),
        Accumulator("sum_todimx", "todimx"),
        Accumulator("rescale", rescaled=True),
        Accumulator("rescale_sum", "sum", rescaled=True),
        Accumulator("max", largest=True),
    )
}
PLAIN = (None, "none", "sum", "mean", "rms", "sum_todimx", "max")  # what `forloop_accum` takes
RESCALED = (None, "none", "sum")  # what `forloop_accum_rescale` takes
