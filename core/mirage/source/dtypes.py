"""The names of dtypes: jaxtyping's classes, torch's attributes and the short names, all to the short names of
`program.ir.DTYPES`."""

from __future__ import annotations

JAXTYPING = {
    "Float64": "fp64", "Float32": "fp32", "Float16": "fp16", "BFloat16": "bf16",
    "Float8e4m3fn": "fp8e4m3", "Float8e5m2": "fp8e5m2",
    "Int64": "int64", "Int32": "int32", "Int8": "int8", "Bool": "bool",
    "Float": "fp32",  # no exact dtype: torch's default
}  # fmt: skip

# jaxtyping's classes that stand for several dtypes, or for one that no kernel handles.
INEXACT = {
    "Int", "UInt", "Integer", "Real", "Inexact", "Complex", "Num", "Shaped", "Key", "Complex64", "Complex128",
    "UInt2", "UInt4", "UInt8", "UInt16", "UInt32", "UInt64", "Int2", "Int4", "Int16",
    "Float8e4m3b11fnuz", "Float8e4m3fnuz", "Float8e5m2fnuz",
}  # fmt: skip

TORCH = {
    "float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16",
    "bfloat16": "bf16", "float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2",
    "int64": "int64", "long": "int64", "int32": "int32", "int": "int32", "int8": "int8", "bool": "bool",
}  # fmt: skip

_SHORT = {**{v: v for v in JAXTYPING.values()}, **TORCH}


def dtype_of(word: str) -> str | None:
    """The short name of a dtype written as `fp16`, `float16` or `torch.float16`; None for anything else."""
    return _SHORT.get(word.removeprefix("torch."))
