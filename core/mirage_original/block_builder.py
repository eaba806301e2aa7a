"""The original's block graph builder: `new_threadblock_graph`, its inputs, operators, accumulators and outputs.

Every call checks its operands and raises GraphMistake with the line of the script; what it builds is data
(`block_data.py`) that `KNGraph.customized` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from mirage.ir.narrowing import MAX_BLOCK, MAX_GRID, MAX_THREADS, WARP
from mirage.ir.program import Attr
from mirage_original.accumulators import ACCUMULATORS, PLAIN, RESCALED
from mirage_original.arguments import finite, limits, shown, whole_numbers
from mirage_original.block_data import BlockStep, Threadblock, Three
from mirage_original.mistakes import caller, mistake
from mirage_original.tensors import DTensor, size

if TYPE_CHECKING:
    from mirage_original.tensors import dtype

MOST_RANGE = 1 << 20
FOUR_WARPS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, eq=False)
class STensor:
    """A tile of a block graph: `dim(i)` is a size, `num_dims` their number. It belongs to one block graph."""

    graph: TBGraph
    place: int

    @property
    def step(self) -> BlockStep:
        return self.graph.data.steps[self.place]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.step.shape

    @property
    def num_dims(self) -> int:
        return len(self.shape)

    @property
    def guid(self) -> int:
        return self.place

    def dim(self, i: int) -> int:
        return size(self.shape, i)


class TBGraph:
    """A block graph: what one block of the grid does. Made by `new_threadblock_graph`."""

    def __init__(self, data: Threadblock) -> None:
        self.data = data
        self.dtensors: list[DTensor] = []  # what its inputs read, each once

    # ---- inputs and outputs
    def new_input(
        self, dtensor: DTensor, input_map: Sequence[int], forloop_dim: int, store_in_dmem: bool = False
    ) -> STensor:
        """An input iterator. `input_map`: the dim of `dtensor` that grid x, y and z cut, -1 where every block reads the same;
        `forloop_dim`: the dim that the for-loop cuts, or -1. `store_in_dmem` is accepted: tiles are where Triton puts them."""
        if not isinstance(dtensor, DTensor):
            raise mistake(f"an input of {shown(dtensor)}", "give a tensor of the kernel graph")
        own, loop = self._map("input_map", input_map, dtensor.shape), self._loop(forloop_dim, dtensor.shape)
        tile = self._cut(dtensor.shape, own, loop)
        if dtensor not in self.dtensors:
            self.dtensors.append(dtensor)
        return self._add("input", (), tile, input=self.dtensors.index(dtensor), map=own, loop=loop)

    def new_output(
        self, stensor: STensor, output_map: Sequence[int], forloop_dim: int = -1, epilogue: str | None = None
    ) -> None:
        """An output saver: the blocks' tiles side by side, along the dim that `output_map` names for grid x, y and z (-1: the
        grid has one block there), and along `forloop_dim` the iterations' if it is not -1."""
        x = self._own(stensor)[0]
        if epilogue is not None:
            raise mistake(
                f"an output with the epilogue {epilogue!r}", "it joins several GPUs, which kernels here do not"
            )
        own = self._map("output_map", output_map, x.shape)
        loop = self._loop(forloop_dim, x.shape)
        for entry, n, axis in zip(own, self.data.grid, "xyz", strict=True):
            if n > 1 and entry < 0:
                raise mistake(
                    f"output_map {own} leaves out grid {axis}: its {n} blocks would write the same elements",
                    f"name the dim of the output along which the blocks of grid {axis} lie",
                )
        if x.after == (loop >= 0) and self.data.forloop_range > 1:
            raise mistake(
                "an output of what has no accumulator"
                if loop < 0
                else "an output in the loop of an accumulator's result",
                "put forloop_accum between the loop's tiles and the output",
            )
        full = list(x.shape)
        for entry, n in zip(own, self.data.grid, strict=True):
            if entry >= 0:
                full[entry] *= n
        if loop >= 0:
            full[loop] *= self.data.forloop_range
        self._add("output", (stensor.place,), x.shape, after=x.after, map=own, loop=loop, full=tuple(full))

    # ---- operators
    def matmul(self, A: STensor, B: STensor) -> STensor:
        """A (..., m, k) by B (..., k, n), batch dims equal."""
        a, b = self._same_side("matmul", A, B)
        if len(a) != len(b) or len(a) < 2 or a[:-2] != b[:-2] or a[-1] != b[-2]:
            raise mistake(f"matmul of {a} by {b}", "tiles meet as the maps cut them: look at the inputs' maps")
        return self._add("matmul", (A.place, B.place), (*a[:-1], b[-1]), A.step.after)

    def exp(self, A: STensor) -> STensor:
        return self._unary("exp", A)

    def silu(self, A: STensor) -> STensor:
        return self._unary("silu", A)

    def gelu(self, A: STensor) -> STensor:
        return self._unary("gelu", A)

    def relu(self, A: STensor) -> STensor:
        return self._unary("relu", A)

    def sqrt(self, A: STensor) -> STensor:
        return self._unary("sqrt", A)

    def rsqrt(self, A: STensor) -> STensor:
        return self._unary("rsqrt", A)

    def square(self, A: STensor) -> STensor:
        return self._unary("square", A)

    def clamp(self, A: STensor, min_val: float, max_val: float) -> STensor:
        return self._unary("clamp", A, **limits(min_val, max_val))

    def mul_scalar(self, A: STensor, scalar: float) -> STensor:
        return self._unary("mul_scalar", A, scalar=finite("scalar", scalar))

    def add(self, A: STensor, B: STensor) -> STensor:
        return self._binary("add", A, B)

    def sub(self, A: STensor, B: STensor) -> STensor:
        return self._binary("sub", A, B)

    def mul(self, A: STensor, B: STensor) -> STensor:
        return self._binary("mul", A, B)

    def div(self, A: STensor, B: STensor) -> STensor:
        return self._binary("div", A, B)

    def pow(self, A: STensor, B: STensor) -> STensor:
        return self._binary("pow", A, B)

    def reduction(self, A: STensor, dim: int) -> STensor:
        """The sum over a dim, which stays with size 1."""
        return self._add("reduction", (A.place,), self._one(A, dim), A.step.after, dim=dim % A.num_dims)

    def reduction_to_dimx(self, A: STensor, dim: int) -> STensor:
        """The sum over every `reduction_dimx`-th element of a dim, which stays with that size."""
        self._one(A, dim)
        return self._add("reduction_to_dimx", (A.place,), self._folded(A, dim), A.step.after, dim=dim % A.num_dims)

    def reduction_max(self, A: STensor, dim: int) -> tuple[STensor, STensor]:
        """The maximum over a dim and over the iterations so far, and how far it was below that before this iteration."""
        x = self._own(A)[0]
        shape = self._one(A, dim)
        if x.after:
            raise mistake("reduction_max after an accumulator", "take it before: it runs over the iterations")
        top = self._add("reduction_max", (A.place,), shape, dim=dim % A.num_dims)
        return top, self._add("max_change", (top.place,), shape)

    def rms_norm(self, A: STensor) -> STensor:
        """A over the root of its mean square along the last dim; no weight, no epsilon."""
        return self._unary("rms_norm", A)

    def concat(self, A: STensor, B: STensor, dim: int) -> STensor:
        """Both along a dim."""
        a, b = self._same_side("concat", A, B)
        self._one(A, dim)
        d = dim % len(a)
        if len(a) != len(b) or any(m != n for i, (m, n) in enumerate(zip(a, b, strict=True)) if i != d):
            raise mistake(f"concat of {a} and {b} along dim {dim}")
        shape = tuple(m + n if i == d else m for i, (m, n) in enumerate(zip(a, b, strict=True)))
        return self._add("concat", (A.place, B.place), shape, A.step.after, dim=d)

    # ---- accumulators
    def forloop_accum(self, A: STensor, acc: str | None = None) -> STensor:
        """The sum over the for-loop. `acc`: None, "sum" (of the last dim too), "mean" and "rms" (over the last dim and the
        loop), "sum_todimx" (the last dim stays with the size reduction_dimx), "max" (the maximum over the loop)."""
        if acc not in PLAIN:
            raise mistake(f"forloop_accum with acc={acc!r}", f"one of {', '.join(map(repr, PLAIN))}")
        return self._accumulate(acc or "none", A)

    def forloop_accum_rescale(self, A: STensor, B: STensor, acc: str | None = None) -> STensor:
        """As forloop_accum, but in each iteration what was summed is multiplied by B before A is added."""
        if acc not in RESCALED:
            raise mistake(f"forloop_accum_rescale with acc={acc!r}", f"one of {', '.join(map(repr, RESCALED))}")
        return self._accumulate("rescale_sum" if acc == "sum" else "rescale", A, B)

    def forloop_accum_max(self, A: STensor) -> STensor:
        """The maximum over the loop: of reduction_max's result what it is after the last iteration."""
        return self._accumulate("max", A)

    def _accumulate(self, name: str, A: STensor, *more: STensor) -> STensor:
        for t in (A, *more):
            if self._own(t)[0].after:
                raise mistake("an accumulator of an accumulator's result", "accumulate what the loop makes")
        if not A.shape:
            raise mistake("an accumulator of a tile without dims")
        form = ACCUMULATORS[name]
        shape = A.shape
        if form.fold == "sum":
            shape = (*shape[:-1], 1)
        elif form.fold == "todimx":
            shape = self._folded(A, -1)
        if more and not fits(more[0].shape, shape):
            raise mistake(f"an accumulator of {shape} multiplied by {more[0].shape}")
        return self._add("accumulate", (A.place, *(t.place for t in more)), shape, True, acc=name)

    # ---- inside
    def _unary(self, op: str, A: STensor, **attrs: Attr) -> STensor:
        x = self._own(A)[0]
        return self._add(op, (A.place,), x.shape, x.after, **attrs)

    def _binary(self, op: str, A: STensor, B: STensor) -> STensor:
        a, b = self._same_side(op, A, B)
        if len(a) != len(b) or any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
            raise mistake(f"{op} of {a} and {b}", "tiles meet as the maps cut them: look at the inputs' maps")
        return self._add(op, (A.place, B.place), tuple(map(max, a, b)), A.step.after)

    def _same_side(self, op: str, A: STensor, B: STensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
        a, b = self._own(A, B)
        if a.after != b.after:
            raise mistake(f"{op} of a tile of the loop and of an accumulator's result", "accumulate both, or neither")
        return a.shape, b.shape

    def _one(self, A: STensor, dim: int) -> tuple[int, ...]:
        shape = self._own(A)[0].shape
        if not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
            raise mistake(f"dim {dim!r} of a tile of {shape}")
        return tuple(1 if i == dim % len(shape) else n for i, n in enumerate(shape))

    def _folded(self, A: STensor, dim: int) -> tuple[int, ...]:
        shape, to = A.shape, self.data.dimx
        d = dim % len(shape)
        if shape[d] % to:
            raise mistake(f"a dim of {shape[d]} reduced to {to}", "give a reduction_dimx that divides it")
        return tuple(to if i == d else n for i, n in enumerate(shape))

    def _own(self, *tensors: STensor) -> list[BlockStep]:
        for t in tensors:
            if not isinstance(t, STensor):
                raise mistake(f"{shown(t)} is no tile", "operators of a block take what new_input and operators give")
            if t.graph is not self:
                raise mistake("a tile of another block graph", "make tiles with this graph's new_input and operators")
        return [t.step for t in tensors]

    def _map(self, what: str, given: Sequence[int], shape: tuple[int, ...]) -> Three:
        own = whole_numbers(what, given)
        if len(own) != 3 or any(not -1 <= d < len(shape) for d in own):
            raise mistake(f"{what} {own} for {shape}", f"three dims below {len(shape)}, -1 for none")
        x, y, z = (d if n > 1 else -1 for d, n in zip(own, self.data.grid, strict=True))
        cut = [d for d in (x, y, z) if d >= 0]
        if len(set(cut)) != len(cut):
            raise mistake(f"{what} {own}: two grid dims cut one dim", "cut it by one grid dim of their product")
        return x, y, z

    def _loop(self, dim: int, shape: tuple[int, ...]) -> int:
        if not isinstance(dim, int) or not -1 <= dim < len(shape):
            raise mistake(f"forloop_dim {dim!r} for {shape}", f"a dim below {len(shape)}, -1 for none")
        return dim if self.data.forloop_range > 1 else -1

    def _cut(self, shape: tuple[int, ...], own: Three, loop: int) -> tuple[int, ...]:
        tile = list(shape)
        cuts = [(d, n, f"grid {a}") for d, n, a in zip(own, self.data.grid, "xyz", strict=True) if d >= 0]
        if loop >= 0:
            cuts.append((loop, self.data.forloop_range, "the for-loop"))
        for d, n, what in cuts:
            if tile[d] % n:
                raise mistake(
                    f"dim {d} of {shape} does not divide: {what} cuts {tile[d]} into {n}",
                    "give a grid and a range that divide the sizes",
                )
            tile[d] //= n
        return tuple(tile)

    def _add(
        self, op: str, args: tuple[int, ...], shape: tuple[int, ...], after: bool = False, **attrs: Attr
    ) -> STensor:
        self._own(*(STensor(self, a) for a in args))
        self.data.steps.append(BlockStep(op, args, shape, after, tuple(sorted(attrs.items())), caller()))
        return STensor(self, len(self.data.steps) - 1)


def fits(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    """Does `small` broadcast to `large`?"""
    return len(small) == len(large) and all(m in (1, n) for m, n in zip(small, large, strict=True))


def new_threadblock_graph(
    grid_dim: Sequence[int], block_dim: Sequence[int], forloop_range: int, reduction_dimx: int
) -> TBGraph:
    """An empty block graph: `grid_dim` blocks (x, y, z), `block_dim` threads, a for-loop of `forloop_range` iterations.
    `reduction_dimx` is the size to which `sum_todimx` reduces. Raises GraphMistake."""
    grid, block = _three("grid_dim", grid_dim, MAX_GRID), _three("block_dim", block_dim, MAX_BLOCK)
    if prod(block) % WARP or prod(block) > MAX_THREADS or prod(block) // WARP not in FOUR_WARPS:
        raise mistake(f"block_dim {tuple(block_dim)}: {prod(block)} threads", "a block has 32, 64, 128, ... or 1024")
    for name, n in (("forloop_range", forloop_range), ("reduction_dimx", reduction_dimx)):
        if not isinstance(n, int) or not 1 <= n <= MOST_RANGE:
            raise mistake(f"{name} {n!r}", f"a number from 1 to {MOST_RANGE}")
    return TBGraph(Threadblock(grid, block, forloop_range, reduction_dimx))


def _three(name: str, given: Sequence[int], most: Three) -> Three:
    values = whole_numbers(name, given)
    if len(values) != 3 or any(not 1 <= n <= m for n, m in zip(values, most, strict=False)):
        raise mistake(f"{name} {values}", f"three numbers from 1 to {most}")
    x, y, z = values
    return x, y, z


def attached(inputs: Sequence[DTensor], bgraph: TBGraph) -> list[tuple[tuple[int, ...], dtype]]:
    """Shape and dtype of each tensor that a kernel of `bgraph` on `inputs` writes. Raises GraphMistake where the inputs are
    not those of the block graph."""
    if not isinstance(bgraph, TBGraph):
        raise mistake("customized takes a list of tensors and a threadblock graph")
    if set(inputs) != set(bgraph.dtensors):
        raise mistake(
            f"customized with {len(set(inputs))} inputs that are not the {len(bgraph.dtensors)} that its block graph reads",
            "give the tensors for which new_input was called",
        )
    if not inputs or not bgraph.data.outputs:
        raise mistake("a block graph without an input or an output", "call new_input and new_output")
    return [(s.attr("full"), inputs[0].dtype) for s in bgraph.data.outputs]
