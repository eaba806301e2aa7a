"""A block graph of the original as data: its grid, its loop, and its operators in order.

`Threadblock` is the one description that the builder (`block_builder.py`) makes from calls and that a saved file is read into; with
`KNGraph.customized` it is a node of a kernel graph, and `lowered.mugraph_of(graph)` makes our µGraph of the whole graph, each
block graph a CustomKernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mirage.ir.program import Attr
from mirage_original.mistakes import Place

Three = tuple[int, int, int]


@dataclass(frozen=True)
class BlockStep:
    """One operator with its result: `args` are places of steps, `shape` that of its tile, `after`: it stands after an
    accumulator. `op` is one of

    input           input (which tensor of the kernel's, from 0), map (x, y, z), loop (the dim that the loop cuts, or -1)
    output          map (x, y, z), loop, full (the shape of the tensor that it writes)
    matmul concat(dim) and pointwise operators, with their numbers as attributes
    reduction(dim)  reduction_to_dimx(dim)  rms_norm
    reduction_max(dim): the running maximum over the iterations so far; max_change, of one: the old one less the new
    accumulate(acc): a name of `accumulators.ACCUMULATORS`
    """

    op: str
    args: tuple[int, ...]
    shape: tuple[int, ...]
    after: bool = False
    attrs: tuple[tuple[str, Attr], ...] = ()
    place: Place | None = field(default=None, compare=False)

    def attr(self, name: str, default: Attr = None) -> Any:
        return dict(self.attrs).get(name, default)


@dataclass(eq=False)
class Threadblock:
    """What one block does. `threads` are those of `block_dim`; `dimx` is `reduction_dimx`."""

    grid: Three
    block: Three
    forloop_range: int
    dimx: int
    steps: list[BlockStep] = field(default_factory=list)

    @property
    def inputs(self) -> list[BlockStep]:
        return [s for s in self.steps if s.op == "input"]

    @property
    def outputs(self) -> list[BlockStep]:
        return [s for s in self.steps if s.op == "output"]

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z
