"""The pointwise operators of the original's block graphs, in the operators of ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirage_original.block_data import BlockStep
    from mirage_original.block_statements import Emission, TileValue

Form = Callable[["Emission", "BlockStep", "list[TileValue]"], "TileValue"]


def _plain(op: str) -> Form:
    return lambda e, s, xs: e.op(op, *xs)


def _gelu(e: Emission, s: BlockStep, xs: list[TileValue]) -> TileValue:
    inner = e.op("erf", e.op("mul", xs[0], e.number(math.sqrt(0.5)), hint="v"))
    return e.op("mul", e.number(0.5), xs[0], e.op("add", e.number(1.0), inner, hint="a"), hint="gelu")


def _clamp(e: Emission, s: BlockStep, xs: list[TileValue]) -> TileValue:
    x = e.op("maximum", xs[0], e.number(s.attr("min_val")), hint="v")
    return e.op("minimum", x, e.number(s.attr("max_val")), hint="clamp")


def _pow(e: Emission, s: BlockStep, xs: list[TileValue]) -> TileValue:
    return e.op("exp", e.op("mul", xs[1], e.op("log", xs[0]), hint="v"), hint="pow")


POINTWISE: dict[str, Form] = {
    **{op: _plain(op) for op in ("exp", "sqrt", "rsqrt", "add", "sub", "mul", "div")},
    "square": lambda e, s, xs: e.op("mul", xs[0], xs[0], hint="square"),
    "silu": lambda e, s, xs: e.op("mul", xs[0], e.op("sigmoid", xs[0]), hint="silu"),
    "relu": lambda e, s, xs: e.op("maximum", xs[0], e.number(0.0), hint="relu"),
    "mul_scalar": lambda e, s, xs: e.op("mul", xs[0], e.number(s.attr("scalar")), hint="v"),
    "gelu": _gelu,
    "clamp": _clamp,
    "pow": _pow,
}
