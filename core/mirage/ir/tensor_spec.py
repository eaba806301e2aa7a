"""A named tensor: the one description of a parameter, wherever it comes from and goes to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TensorSpec:
    """`dtype` is a short name of the table of dtypes; `strides` in elements (None: contiguous, row-major); `names` are the
    named dimensions ('' where a dim has no name)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()
