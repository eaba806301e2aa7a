"""The contents of a saved file of the original as plain data: graphs, their operators, their tensors.

Nothing of it is believed: `saved_files.py` has checked its form alone, `rebuild_saved.py` builds it again operator by operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypedDict

Three = tuple[int, int, int]


class SavedAttrs(TypedDict, total=False):
    """What a file says of an operator beyond its tensors."""

    input_map: Three
    output_map: Three
    forloop_dim: int
    source: int  # place of the kernel graph's tensor
    dim: int
    scalar: float
    min_val: float
    max_val: float
    acc: str | None
    strides: tuple[int, ...]


MAPS: tuple[Literal["input_map", "output_map"], ...] = ("input_map", "output_map")
NUMBERS: tuple[Literal["scalar", "min_val", "max_val"], ...] = ("scalar", "min_val", "max_val")


@dataclass(frozen=True)
class SavedTensor:
    """A tensor as the file states it. `dtype` is a name of `mirage_original.tensors`; inside blocks it means nothing.
    `strides`: of an input that is not row-major."""

    shape: tuple[int, ...]
    dtype: str = "float16"
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SavedOp:
    """An operator: `args` and `outs` are places in the tensors of its graph (or block). `attrs` by operator:
    input(input_map, forloop_dim, source: place of the kernel graph's tensor)  output(output_map, source)  reduction(dim)
    reduction_to_dimx(dim)  reduction_max(dim)  concat(dim)  mul_scalar(scalar)  clamp(min_val, max_val)
    forloop_accum(acc)  forloop_accum_rescale(acc). The first two are those of blocks; a kernel graph's output has strides where
    it is not row-major."""

    op: str
    args: tuple[int, ...] = ()
    outs: tuple[int, ...] = ()
    attrs: SavedAttrs = field(default_factory=lambda: SavedAttrs())
    block: SavedBlock | None = None


@dataclass(frozen=True)
class SavedBlock:
    """A threadblock graph."""

    grid: Three
    block: Three
    forloop_range: int
    reduction_dimx: int
    tensors: tuple[SavedTensor, ...]
    ops: tuple[SavedOp, ...]


@dataclass(frozen=True)
class SavedGraph:
    """A kernel graph: `notes` say what of the file was passed over because it does not change what is computed."""

    tensors: tuple[SavedTensor, ...]
    ops: tuple[SavedOp, ...]
    notes: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[int, ...]:
        """The places of the inputs."""
        return tuple(o.outs[0] for o in self.ops if o.op == "input")

    @property
    def outputs(self) -> tuple[int, ...]:
        """The places of the marked tensors, or of those that nothing reads."""
        marked = tuple(o.args[0] for o in self.ops if o.op == "output")
        read = {a for o in self.ops for a in o.args}
        free = tuple(p for o in self.ops if o.op != "input" for p in o.outs if p not in read)
        return marked or free
