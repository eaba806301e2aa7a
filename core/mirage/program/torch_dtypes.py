"""Our dtype names and PyTorch's dtypes."""

from __future__ import annotations

from typing import Any

from mirage.errors import UnsupportedOperands
from mirage.ir.program import TORCH_NAMES

_OURS = {v: k for k, v in TORCH_NAMES.items()}


def to_torch(dtype: str) -> Any:
    """The torch.dtype of a short name."""
    import torch

    return getattr(torch, TORCH_NAMES[dtype])


def from_torch(dtype: Any) -> str:
    """The short name of a torch.dtype. Raises UnsupportedOperands."""
    name = str(dtype).removeprefix("torch.")
    if name not in _OURS:
        raise UnsupportedOperands(f"dtype {name} is not covered")
    return _OURS[name]
