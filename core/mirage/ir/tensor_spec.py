"""Tensors without their values: a tensor's type, and a named tensor, the one description of a parameter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mirage.ir.dtypes import DTYPES


@dataclass(frozen=True)
class TensorType:
    """A tensor's shape (elements), dtype (a short name of the table of dtypes), and strides in elements (None: contiguous,
    row-major)."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None

    @property
    def numel(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n

    @property
    def bytes(self) -> int:
        return self.numel * DTYPES[self.dtype].bytes


@dataclass(frozen=True)
class TensorSpec:
    """A parameter, wherever it comes from and goes to; flat, as it is written in results. `names` are the named dimensions
    ('' where a dim has no name)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()

    @staticmethod
    def of(name: str, kind: TensorType, names: tuple[str, ...] = ()) -> TensorSpec:
        return TensorSpec(name, kind.shape, kind.dtype, kind.strides, names)

    @cached_property
    def type(self) -> TensorType:
        return TensorType(self.shape, self.dtype, self.strides)
