"""Functions traced at inputs that are written as rows (name, shape, dtype, and perhaps the names of the dims)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program import trace as tracing

Row = tuple[str, Sequence[int], str] | tuple[str, Sequence[int], str, Sequence[str]]


def spec(name: str, shape: Sequence[int], dtype: str, names: Sequence[str] = ()) -> TensorSpec:
    return TensorSpec(name, tuple(shape), dtype, None, tuple(names))


def trace(text: str, function: str, rows: Sequence[Row], *constants: Any, **more: Any) -> Program:
    return tracing.trace(text, function, [spec(*row) for row in rows], *constants, **more)


def trace_generic(text: str, function: str, rows: Sequence[Row], *constants: Any, **more: Any) -> Program:
    return tracing.trace_generic(text, function, [spec(*row) for row in rows], *constants, **more)
