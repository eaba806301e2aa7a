"""The µGraph on one screen: kernel graph > block graph > thread graph, every node a frozen dataclass.

Tensors in device memory are indexed by named axes; inside a block, values are tiles over *tile dims*. The paper's maps
are derived, not stated twice: a load's imap is where the grid dims sit in its index, its fmap is where the loop's dim
sits, a store's omap likewise (`maps.py`). `check.py` states the validity rules. Nothing here imports torch or triton.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mirage.ir.index import DimIndex
from mirage.ir.program import Attr

Kind = Literal["input", "temp", "output"]
Role = Literal["grid", "resident", "loop", "split"]


@dataclass(frozen=True)
class DTensor:
    """A tensor in device memory, contiguous, row-major. `dims` gives each dimension as the axes that make it up; its
    size is the product of their sizes unless `rigid` (a tuple of ints or None a dim) states it: then a slice of it is
    used and its size does not follow from the axes."""

    name: str
    dtype: str
    dims: tuple[tuple[str, ...], ...]
    rigid: tuple[int | None, ...] = ()
    kind: Kind = "input"


@dataclass(frozen=True)
class TileDim:
    """A dimension of a block's tiles: one or more axes, flattened row-major, cut into tiles of `tile` (a power of two).

    grid      the blocks of the grid each take one tile; tile 1 makes a scalar (batch) dim
    resident  one tile covers the whole dim (tile >= size, the rest is masked)
    loop      a for-loop runs over ceil(size / tile) tiles; with a split dim over the same axes, over this block's share
    split     a grid dim whose blocks share the loop named `splits`: block i takes the i-th run of ceil(range/parts)
              tiles; `tile` is 1 and its size is `parts`; its own axis name is the dim's name

    Of a grid dim with a `group`, so many blocks start one after the other before the dims behind it go on: those that run side by side
    then read few tiles along this dim and few along the next. 0: its blocks start in the order of the dims.
    """

    name: str
    axes: tuple[str, ...]
    tile: int
    role: Role
    splits: str = ""
    parts: int = 1
    group: int = 0

    @property
    def group_key(self) -> str:
        """Under which name a table of tiles says the dim's group."""
        return f"{self.name}.group"


@dataclass(frozen=True)
class Load:
    """Input iterator: a tile of a device tensor; elements outside a dim or the tensor are `pad`. `by`: an address for each element, or a
    tensor descriptor, by which the device copies a whole tile at once (`descriptors.py` says of which loads it can)."""

    out: str
    tensor: str
    index: tuple[DimIndex, ...]
    dims: tuple[str, ...]
    pad: float = 0.0
    by: Literal["pointers", "descriptor"] = "pointers"


@dataclass(frozen=True)
class Compute:
    """A block operator on tiles. `op` is a block operator of the operator table; `dims` are the result's tile dims.

    Args are names of tiles; `NAME@old` is an accumulator as it was when this iteration began. Attributes by op:
    const(value: str, a Fraction "p/q", "-inf", or "~0.3" for a float that no fraction fits)
    size(axis: its size as a value)  index(axis: its global index, an integer)  mask(dim: 1 inside the dim's size, 0 in
    the padding)  sum/max(dim: reduce over that tile dim; padding is NOT masked by itself)  dot(dim: contract over it)
    lt le eq and mask give 0/1; a 0/1 factor of a mul selects (where it is 0 the product is 0, whatever the rest is).
    """

    out: str
    op: str
    args: tuple[str, ...]
    dims: tuple[str, ...]
    attrs: tuple[tuple[str, str], ...] = ()

    def attr(self, name: str) -> str:
        return dict(self.attrs)[name]


@dataclass(frozen=True)
class ThreadGraph:
    """Pointwise operators fused in registers: `out` is the last one's name; inner names are local."""

    out: str
    body: tuple[Compute, ...]
    dims: tuple[str, ...]


@dataclass(frozen=True)
class Accumulate:
    """A loop's accumulator, float32. Plain (`update` empty): out = out (+|max) arg. Carried: out = sum_j coef_j * acc_j
    + arg, (coef_j, acc_j) the update's pairs, acc_j an accumulator of this loop as it was when the iteration began
    ("" = this one): the shifted tuple.
    Before the first iteration a sum is 0, or what `start`, an accumulator of an earlier loop, is after that loop (two
    loops then feed one accumulator), and a max is -inf. `arg` is the tile's contribution, already reduced over the
    loop's dim. After its Accumulate, the accumulator's name is its running value; after the loop, its final value."""

    out: str
    op: Literal["sum", "max"]
    arg: str
    dims: tuple[str, ...]
    update: tuple[tuple[str, str], ...] = ()
    start: str = ""


@dataclass(frozen=True)
class Store:
    """Output saver: writes a tile to its place; elements outside the tensor's dims are not written. `first` names grid
    dims along which all blocks hold the same tile: only the first block of each writes it."""

    tensor: str
    tile: str
    index: tuple[DimIndex, ...]
    first: tuple[str, ...] = ()


Statement = Load | Compute | ThreadGraph | Accumulate | Store


@dataclass(frozen=True)
class Loop:
    """A for-loop over the tiles of `dim` (role loop). Statements run in order; names bound here are gone after it, but
    for accumulators."""

    dim: str
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class BlockGraph:
    """What one block does: statements and loops in order. Grid order: the order of the dims with role grid or split."""

    dims: tuple[TileDim, ...]
    body: tuple[Statement | Loop, ...]
    cluster: int = 1  # blocks of one thread-block cluster that share a program's tiles (Hopper's GPC level)

    def dim(self, name: str) -> TileDim:
        for d in self.dims:
            if d.name == name:
                return d
        raise KeyError(name)

    @property
    def grid(self) -> tuple[TileDim, ...]:
        return tuple(d for d in self.dims if d.role in ("grid", "split"))


@dataclass(frozen=True)
class CustomKernel:
    """A block graph launched over its grid. With `tail`, the last block of each split group to arrive (a counter in
    device memory says which) runs it after every block of the group has stored its partial results. `operands` of
    matrix products that are computed: rounded to the storage dtype (narrow), or kept in float32's range and read as TF32
    (wide: fp16's precision, no overflow at 65504)."""

    name: str
    block: BlockGraph
    tail: BlockGraph | None = None
    warps: int = 4
    stages: int = 3
    operands: Literal["narrow", "wide"] = "narrow"


@dataclass(frozen=True)
class LibraryKernel:
    """One PyTorch call on device tensors: `op` is an operator of the operator table."""

    name: str
    op: str
    args: tuple[str, ...]
    out: str
    attrs: tuple[tuple[str, Attr], ...] = ()


@dataclass(frozen=True)
class MuGraph:
    """A kernel graph: kernels in launch order. `axes` gives each axis its size; nothing else states a size."""

    name: str
    axes: tuple[tuple[str, int], ...]
    tensors: tuple[DTensor, ...]
    kernels: tuple[CustomKernel | LibraryKernel, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)

    def size(self, axis: str) -> int:
        return dict(self.axes)[axis]

    def tensor(self, name: str) -> DTensor:
        for t in self.tensors:
            if t.name == name:
                return t
        raise KeyError(name)

    @property
    def inputs(self) -> tuple[DTensor, ...]:
        return tuple(t for t in self.tensors if t.kind == "input")

    @property
    def outputs(self) -> tuple[DTensor, ...]:
        return tuple(t for t in self.tensors if t.kind == "output")

    def shape(self, tensor: DTensor) -> tuple[int, ...]:
        out = []
        for i, axes in enumerate(tensor.dims):
            rigid = tensor.rigid[i] if tensor.rigid else None
            n = 1
            for a in axes:
                n *= self.size(a)
            out.append(rigid if rigid is not None else n)
        return tuple(out)
