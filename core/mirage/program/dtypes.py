"""Our dtype names and PyTorch's dtypes."""

from __future__ import annotations

from typing import Any

from mirage.errors import UnsupportedOperands

TORCH_NAMES = {
    "fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp8e4m3": "float8_e4m3fn",
    "fp8e5m2": "float8_e5m2", "int64": "int64", "int32": "int32", "int8": "int8", "bool": "bool",
}  # fmt: skip
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
