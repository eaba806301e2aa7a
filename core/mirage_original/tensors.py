"""Tensors and dtypes as the original names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirage.ir.dtypes import TORCH_NAMES
from mirage_original.mistakes import mistake

if TYPE_CHECKING:
    from mirage_original.graph_builder import KNGraph


@dataclass(frozen=True)
class dtype:
    """A tensor's element type: `mirage.float16` and its kin. `short` is its name in this project."""

    name: str
    short: str

    @staticmethod
    def of(short: str) -> dtype:
        """The original names dtypes as torch does, but for the `fn` of float8_e4m3fn."""
        return dtype(TORCH_NAMES[short].removesuffix("fn"), short)

    def is_fp16(self) -> bool:
        return self.short == "fp16"

    def is_bf16(self) -> bool:
        return self.short == "bf16"

    def is_fp32(self) -> bool:
        return self.short == "fp32"

    def __repr__(self) -> str:
        return f"mirage.{self.name}"


float16, bfloat16, float32, float64 = (dtype.of(short) for short in ("fp16", "bf16", "fp32", "fp64"))
float8 = float8_e4m3 = dtype.of("fp8e4m3")
int8, int32, int64 = (dtype.of(short) for short in ("int8", "int32", "int64"))
GRAPH_DTYPES = {d.short: d for d in (float16, bfloat16, float32, float64, float8, int8, int32, int64)}


def size(shape: tuple[int, ...], i: int) -> int:
    """The size of a dim. Raises GraphMistake where there is none."""
    if not isinstance(i, int) or not -len(shape) <= i < len(shape):
        raise mistake(f"dim {i!r} of {shape}")
    return shape[i]


@dataclass(frozen=True, eq=False)
class DTensor:
    """A tensor of a kernel graph: `dim(i)` is a size, `num_dims` their number. It belongs to one graph. `order`: its dims as
    they lie in memory, major first, of an input that is not row-major."""

    graph: KNGraph
    place: int
    shape: tuple[int, ...]
    dtype: dtype
    order: tuple[int, ...] = ()

    @property
    def stored(self) -> tuple[int, ...]:
        """Its shape as it lies in memory."""
        return tuple(self.shape[d] for d in self.order) if self.order else self.shape

    @property
    def num_dims(self) -> int:
        return len(self.shape)

    @property
    def guid(self) -> int:
        return self.place

    def dim(self, i: int) -> int:
        return size(self.shape, i)


def storage_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dims as they lie in memory, major first: () for row-major, None where there are gaps or overlaps."""
    if len(strides) != len(shape):
        return None
    order = sorted(range(len(shape)), key=lambda d: (-strides[d] if shape[d] > 1 else 0, d))
    wide = [d for d in order if shape[d] > 1]
    step = 1
    for d in reversed(wide):
        if strides[d] != step:
            return None
        step *= shape[d]
    rest = iter(wide)
    full = tuple(next(rest) if shape[d] > 1 else d for d in range(len(shape)))
    return () if full == tuple(range(len(shape))) else full


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that takes a stored tensor back."""
    return tuple(order.index(d) for d in range(len(order)))
