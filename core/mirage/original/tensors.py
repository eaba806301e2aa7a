"""Tensors and dtypes as the original names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirage.original.graph import KNGraph


@dataclass(frozen=True)
class dtype:
    """A tensor's element type: `mirage.float16` and its kin. `short` is its name in this project."""

    name: str
    short: str

    def is_fp16(self) -> bool:
        return self.short == "fp16"

    def is_bf16(self) -> bool:
        return self.short == "bf16"

    def is_fp32(self) -> bool:
        return self.short == "fp32"

    def __repr__(self) -> str:
        return f"mirage.{self.name}"


float16 = dtype("float16", "fp16")
bfloat16 = dtype("bfloat16", "bf16")
float32 = dtype("float32", "fp32")
float64 = dtype("float64", "fp64")
float8_e4m3 = dtype("float8_e4m3", "fp8e4m3")
float8 = float8_e4m3
int8 = dtype("int8", "int8")
int32 = dtype("int32", "int32")
int64 = dtype("int64", "int64")


@dataclass(frozen=True, eq=False)
class DTensor:
    """A tensor of a kernel graph: `dim(i)` is a size, `num_dims` their number. It belongs to one graph."""

    graph: KNGraph
    place: int
    shape: tuple[int, ...]
    dtype: dtype

    @property
    def num_dims(self) -> int:
        return len(self.shape)

    @property
    def guid(self) -> int:
        return self.place

    def dim(self, i: int) -> int:
        return self.shape[i]
