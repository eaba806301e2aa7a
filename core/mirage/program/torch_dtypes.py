"""Conversion between the short names of dtypes and `torch.dtype`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirage.errors import UnsupportedOperands
from mirage.ir.dtypes import TORCH_NAMES, dtype_of

if TYPE_CHECKING:
    import torch


def to_torch(dtype: str) -> torch.dtype:
    """The torch.dtype of a short name."""
    import torch

    found: torch.dtype = getattr(torch, TORCH_NAMES[dtype])
    return found


def from_torch(dtype: torch.dtype) -> str:
    """The short name of a torch.dtype. Raises UnsupportedOperands."""
    found = dtype_of(str(dtype))
    if found is None:
        raise UnsupportedOperands(f"dtype {str(dtype).removeprefix('torch.')} is not covered")
    return found
