"""The operators of block graphs: their value in float64 and in the field, and how a block emits them in Triton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mirage.operators import block_forms
from mirage.operators.entry import BlockOperator

Array = np.ndarray[Any, np.dtype[Any]]


def _product(*xs: Array) -> Array:
    out = np.asarray(1.0)
    for x in xs:
        out = out * x
    return out


def _sum(*xs: Array) -> Array:
    out = np.asarray(0.0)
    for x in xs:
        out = out + x
    return out


def erf(x: Array) -> Array:
    """The error function: its series near zero, a continued fraction for the rest; within 1e-14."""
    a = np.abs(np.asarray(x, np.float64))
    near = np.minimum(a, 3.0)
    term = near.copy() if near.ndim else np.asarray(near)
    total = term
    for n in range(1, 90):
        term = term * (-near * near) / n
        total = total + term / (2 * n + 1)
    far = np.maximum(a, 3.0)
    tail = np.zeros_like(far)
    for n in range(80, 0, -1):
        tail = (n / 2) / (far + tail)
    rest = 1.0 - np.exp(-far * far) / np.sqrt(np.pi) / (far + tail)
    return np.asarray(np.where(np.isnan(a), np.nan, np.sign(x) * np.where(a < 3.0, total * 2 / np.sqrt(np.pi), rest)))


def rounding(bits: int, least_exponent: int, largest: float, overflow: float) -> Callable[[Array], Array]:
    """Rounding to a float format with so many significand bits, ties to even. `least_exponent` is that of the least
    normal number (as frexp counts); what is larger than `largest` becomes `overflow`."""

    def value(x: Array) -> Array:
        _, exponent = np.frexp(x)
        step = np.ldexp(1.0, np.maximum(exponent - bits, least_exponent - bits))
        with np.errstate(invalid="ignore"):
            out = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        return np.asarray(np.where(np.abs(out) > largest, np.copysign(overflow, x), out))

    return value


def _sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _flag(f: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *xs: np.asarray(f(*xs)).astype(np.float64)


_CANCELS = "loses digits where its operands are nearly equal"
_ENTRIES = (
    BlockOperator("const", 0, 0, None, "const", "{value}", attrs=("value",), flops=0),
    BlockOperator("size", 0, 0, None, "size", "{axis}", attrs=("axis",), flops=0),
    BlockOperator("index", 0, 0, None, "index", "{axis}", attrs=("axis",), flops=0),
    BlockOperator("mask", 0, 0, None, "mask", "{dim}", attrs=("dim",), flag=True, flops=0),
    BlockOperator("add", 1, block_forms.MANY, _sum, "add", "", " + ", hazards=(_CANCELS,)),
    BlockOperator("mul", 1, block_forms.MANY, _product, "mul", "", " * "),
    BlockOperator("sub", 2, 2, np.subtract, "sub", "{0} - {1}", hazards=(_CANCELS,)),
    BlockOperator("div", 2, 2, np.divide, "div", "{0} / {1}", special=1, hazards=("divides by zero",)),
    BlockOperator("neg", 1, 1, np.negative, "neg", "-{0}"),
    BlockOperator("inv", 1, 1, lambda x: 1.0 / x, "inv", "1.0 / {0}", special=1, hazards=("divides by zero",)),
    BlockOperator("exp", 1, 1, np.exp, "exp", "tl.exp({0})", special=1, hazards=("overflows above 88.7 in float32",)),
    BlockOperator("sqrt", 1, 1, np.sqrt, "sqrt", "tl.sqrt({0})", special=1, hazards=("NaN below zero",)),
    BlockOperator("rsqrt", 1, 1, lambda x: 1.0 / np.sqrt(x), "rsqrt", "tl.rsqrt({0})", special=1,
                  hazards=("NaN below zero, infinite at zero",)),
    BlockOperator("sigmoid", 1, 1, _sigmoid, "sigmoid", "tl.sigmoid({0})", flops=3, special=2),
    BlockOperator("log", 1, 1, np.log, "oracle", "tl.log({0})", special=1, hazards=("NaN below zero, -inf at zero",)),
    BlockOperator("erf", 1, 1, erf, "oracle", "tl.erf({0})", flops=12, special=1),
    BlockOperator("tanh", 1, 1, np.tanh, "tanh", "2.0 * tl.sigmoid(2.0 * {0}) - 1.0", flops=5, special=2,
                  hazards=("absolute error 6e-8 near zero",)),
    BlockOperator("abs", 1, 1, np.abs, "abs", "tl.abs({0})"),
    BlockOperator("sin", 1, 1, np.sin, "oracle", "tl.sin({0})", special=1, hazards=("inexact for large arguments",)),
    BlockOperator("cos", 1, 1, np.cos, "oracle", "tl.cos({0})", special=1, hazards=("inexact for large arguments",)),
    BlockOperator("floor", 1, 1, np.floor, "oracle", "tl.floor({0})", hazards=("jumps at integers",)),
    BlockOperator("maximum", 2, 2, np.maximum, "maximum",
                  "tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)"),
    BlockOperator("minimum", 2, 2, np.minimum, "minimum",
                  "tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)"),
    BlockOperator("where", 3, 3, lambda c, a, b: np.where(c != 0, a, b), "where", "tl.where({0} != 0, {1}, {2})"),
    BlockOperator("lt", 2, 2, _flag(np.less), "lt", "({0} < {1}).to(tl.float32)", flag=True),
    BlockOperator("le", 2, 2, _flag(np.less_equal), "le", "({0} <= {1}).to(tl.float32)", flag=True),
    BlockOperator("eq", 2, 2, _flag(np.equal), "eq", "({0} == {1}).to(tl.float32)", flag=True),
    BlockOperator("and", 2, 2, _flag(lambda a, b: (a != 0) & (b != 0)), "and",
                  "(({0} != 0) & ({1} != 0)).to(tl.float32)", flag=True),
    BlockOperator("or", 2, 2, _flag(lambda a, b: (a != 0) | (b != 0)), "or",
                  "(({0} != 0) | ({1} != 0)).to(tl.float32)", flag=True),
    BlockOperator("not", 1, 1, _flag(lambda a: a == 0), "not", "({0} == 0).to(tl.float32)", flag=True),
    BlockOperator("finite", 1, 1, lambda x: np.where(x == -np.inf, 0.0, x), "finite",
                  "tl.where({0} == float('-inf'), 0.0, {0})"),
    BlockOperator("round_fp16", 1, 1, rounding(11, -13, 65504.0, np.inf), "oracle",
                  "{0}.to(tl.float16).to(tl.float32)"),
    BlockOperator("round_bf16", 1, 1, rounding(8, -125, 3.3895313892515355e38, np.inf), "oracle",
                  "{0}.to(tl.bfloat16).to(tl.float32)"),
    BlockOperator("round_fp8e4m3", 1, 1, rounding(4, -5, 448.0, 448.0), "oracle",
                  "{0}.to(tl.float8e4nv).to(tl.float32)", hazards=("saturates at 448; NaN in older PyTorch",)),
    BlockOperator("round_fp8e5m2", 1, 1, rounding(3, -13, 57344.0, np.inf), "oracle",
                  "{0}.to(tl.float8e5).to(tl.float32)"),
    BlockOperator("sum", 1, 1, np.sum, "sum", "tl.sum({0}, axis={dim})", attrs=("dim",), reduces=True),
    BlockOperator("max", 1, 1, np.max, "max", "tl.max({0}, axis={dim})", attrs=("dim",), reduces=True,
                  hazards=("a NaN in the tile may be dropped",)),
    BlockOperator("dot", 2, 2, np.matmul, "dot", "tl.dot({0}, {1})", attrs=("dim",), reduces=True, flops=2),
)  # fmt: skip
BLOCK: dict[str, BlockOperator] = {}


def register(entry: BlockOperator) -> None:
    """Adds a block operator; validity then knows it too."""
    BLOCK[entry.name] = entry
    if entry.name not in block_forms.BLOCK_OPS:
        block_forms.register(
            block_forms.BlockOp(entry.name, "pointwise", entry.least, entry.most, entry.attrs, flag=entry.flag)
        )


for _entry in _ENTRIES:
    register(_entry)
