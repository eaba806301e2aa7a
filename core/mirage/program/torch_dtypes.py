"""Our dtype names and PyTorch's dtypes."""

from __future__ import annotations

from typing import Any

from mirage.errors import UnsupportedOperands
from mirage.ir.dtypes import TORCH_NAMES, dtype_of


def to_torch(dtype: str) -> Any:
    """The torch.dtype of a short name."""
    import torch

    return getattr(torch, TORCH_NAMES[dtype])


def from_torch(dtype: Any) -> str:
    """The short name of a torch.dtype. Raises UnsupportedOperands."""
    found = dtype_of(str(dtype))
    if found is None:
        raise UnsupportedOperands(f"dtype {str(dtype).removeprefix('torch.')} is not covered")
    return found
