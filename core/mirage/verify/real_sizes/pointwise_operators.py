"""Triton's functions element by element, its constants, and what changes a block's shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mirage.operators.block_operators import BLOCK
from mirage.verify.real_sizes.operator_table import (
    OPERATORS,
    Context,
    binary,
    meet,
    named_dtype,
    negative,
    operator,
    truth,
)
from mirage.verify.real_sizes.tile_values import BITS, Array, NamedDtype, Pointer, PointerType, Tile, aligned


# ---- programs and constants
@operator()
def program_id(k: Context, axis: object) -> Tile:
    return Tile(k.ids[k.number(axis)], "int32")


@operator()
def num_programs(k: Context, axis: object) -> Tile:
    return Tile(np.asarray([k.grid[k.number(axis)]], np.int32), "int32")


@operator()
def arange(k: Context, start: object, end: object) -> Tile:
    a, b = k.number(start), k.number(end)
    k.block_shape(b - a)
    return Tile(np.arange(a, b, dtype=np.int32)[None], "int32")


@operator()
def full(k: Context, shape: object, value: object, dtype: object) -> Tile:
    t = k.tile(value)
    name = named_dtype(k, dtype)
    data = k.precision.rounded(t.data, name)
    shape = k.block_shape(shape)
    return Tile(np.broadcast_to(data.reshape(data.shape[0], *(1,) * len(shape)), (data.shape[0], *shape)), name)


@operator()
def zeros(k: Context, shape: object, dtype: object) -> Tile:
    return full(k, shape, 0, dtype)


@operator()
def zeros_like(k: Context, input: object) -> Tile:
    t = k.tile(input)
    return full(k, t.block, 0, NamedDtype(t.dtype))


# ---- element by element
def pointwise(name: str, value: Callable[[Array], Array], dtypes: Sequence[str] = ("fp32", "fp64")) -> None:
    def op(k: Context, x: object) -> Tile:
        t = k.tile(x)
        if t.dtype not in dtypes:
            raise k.wrong(f"tl.{name} takes {' or '.join(dtypes)}, not {t.dtype}")
        return replace(k.precision.tile(value(t.data), t.dtype), rounded=t.rounded)

    OPERATORS[name] = op


def by_table(name: str) -> Callable[[Array], Array]:
    """An operator's own value in float64."""
    entry = BLOCK[name]
    assert entry.float64 is not None
    value = entry.float64
    return lambda x: np.asarray(value(x.astype(np.float64)))


Value = Callable[[Array], Array]
FLOAT_FUNCTIONS: dict[str, Value] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "cos": np.cos, "sin": np.sin, "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt, "floor": np.floor, "ceil": np.ceil, "erf": by_table("erf"), "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
DEVICE_FUNCTIONS: dict[str, Value] = {
    "tanh": np.tanh, "log1p": np.log1p, "expm1": np.expm1, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "atan": np.arctan,
    "log10": np.log10, "cbrt": np.cbrt, "trunc": np.trunc, "rint": np.rint, "fast_expf": np.exp, "asin": np.arcsin,
    "acos": np.arccos, "fast_logf": np.log, "nearbyint": np.rint,
}  # fmt: skip
for _name, _value in FLOAT_FUNCTIONS.items():
    pointwise(_name, _value)
for _name, _value in DEVICE_FUNCTIONS.items():
    pointwise(f"libdevice.{_name}", _value)
for _name in ("exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "floor", "ceil", "erf", "rsqrt"):
    OPERATORS[f"libdevice.{_name}"] = OPERATORS[_name]


@operator("libdevice.pow")
def pow_(k: Context, x: object, y: object) -> Tile:
    a, b, dtype = meet(k, x, y)
    return replace(k.precision.tile(np.power(a, b), dtype), rounded=_rounded(x, y))


@operator("libdevice.div_rn", "div_rn", "fdiv", "libdevice.fdiv")
def fdiv(k: Context, x: object, y: object, ieee_rounding: object = False) -> object:
    return binary(k, "truediv", x, y)


@operator("abs", "libdevice.abs", "libdevice.fabs")
def abs_(k: Context, x: object) -> Tile:
    t = k.tile(x)
    return replace(t, data=np.abs(t.data))


@operator("fma", "libdevice.fma")
def fma(k: Context, x: object, y: object, z: object) -> object:
    return binary(k, "add", binary(k, "mul", x, y), z)


@operator()
def sigmoid(k: Context, x: object) -> object:
    return binary(k, "truediv", 1, binary(k, "add", 1, OPERATORS["exp"](k, negative(k, x))))


@operator("maximum", "libdevice.max")
def maximum(k: Context, x: object, y: object, propagate_nan: object = None) -> Tile:
    return larger(k, np.maximum if propagates(propagate_nan) else np.fmax, x, y)


@operator("minimum", "libdevice.min")
def minimum(k: Context, x: object, y: object, propagate_nan: object = None) -> Tile:
    return larger(k, np.minimum if propagates(propagate_nan) else np.fmin, x, y)


def larger(k: Context, choice: Callable[[Array, Array], Array], x: object, y: object) -> Tile:
    """The larger, or the smaller, of two numbers."""
    a, b, dtype = meet(k, x, y)
    return replace(k.precision.tile(choice(a, b), dtype), rounded=_rounded(x, y))


def _rounded(*of: object) -> int:
    """The line that a result of these inherits."""
    return max((t.rounded for t in of if isinstance(t, Tile)), default=0)


def propagates(how: object) -> bool:
    return how == "PropagateNan.ALL"


@operator()
def clamp(k: Context, x: object, min: object, max: object, propagate_nan: object = None) -> Tile:
    return minimum(k, maximum(k, x, min, propagate_nan), max, propagate_nan)


@operator()
def where(k: Context, condition: object, x: object, y: object) -> object:
    c = truth(k, condition)
    if isinstance(x, Pointer) or isinstance(y, Pointer):
        raise k.unknown("a pointer is chosen by a condition")
    a, b, dtype = meet(k, x, y)
    flags, a = aligned(c.data, a)
    flags, b = aligned(flags, b)
    a, b = aligned(a, b)
    return Tile(np.where(flags, a, b), dtype, rounded=_rounded(x, y, c))


@operator("cast", "to")
def cast(
    k: Context, input: object, dtype: object, fp_downcast_rounding: object = None, bitcast: object = False
) -> object:
    if bitcast or fp_downcast_rounding not in (None, "rtne"):
        raise k.unknown("a cast of bits, or one that rounds otherwise than to nearest")
    if isinstance(input, Pointer):
        if isinstance(dtype, PointerType) and dtype.element_ty.name == input.region.dtype:
            return input
        raise k.unknown("a pointer is cast")
    t = k.tile(input)
    name = named_dtype(k, dtype)
    if name not in BITS:
        raise k.unknown(f"the dtype {name}")
    short = name in ("fp16", "bf16") and t.dtype in ("fp32", "fp64")
    return replace(k.precision.tile(t.data, name), rounded=k.line if short else t.rounded)


@operator("cdiv")
def cdiv(k: Context, x: object, div: object) -> object:
    if isinstance(x, int) and isinstance(div, int):
        return -(-x // div)
    less = binary(k, "sub", div, 1) if isinstance(div, Tile) else k.number(div) - 1
    return binary(k, "floordiv", binary(k, "add", x, less), div)


@operator("add", "sub", "mul")
def named_arithmetic(k: Context, x: object, y: object, sanitize_overflow: object = True) -> object:
    raise k.unknown("arithmetic by a function")


@operator("max_contiguous", "max_constancy")
def hint(k: Context, input: object, values: object) -> object:
    return input


@operator()
def multiple_of(k: Context, input: object, values: object) -> object:
    """The compiler believes it of the first element of each block, and reads as wide as that allows."""
    if isinstance(input, Tile) and isinstance(values, int) and values > 1:
        first = input.data.reshape(input.data.shape[0], -1)[:, 0]
        if k.active is not None and k.active.shape == first.shape:
            first = first[k.active]
        if (first.astype(np.int64) % values).any():
            raise k.unknown(f"a hint that is not true: a multiple of {values}")
    return input


@operator()
def assume(k: Context, cond: object) -> None:
    if not bool(k.tile(cond).data.all()):
        raise k.unknown("a hint that is not true: what the kernel assumes")


@operator("static_print", "device_print")
def nothing(k: Context, *args: object, **kwargs: object) -> None:
    return None


@operator("static_assert", "device_assert")
def asserted(k: Context, cond: object, msg: object = "", mask: object = None) -> None:
    holds = bool(k.tile(cond).data.all())
    if not holds:
        raise k.wrong("an assertion of the kernel fails")


@operator()
def debug_barrier(k: Context) -> None:
    if k.active is not None and not k.active.all():
        raise k.unknown("a barrier that some programs pass and others do not")
    k.accesses.barrier(k.regions)


@operator()
def swizzle2d(k: Context, i: object, j: object, size_i: object, size_j: object, size_g: object) -> object:
    ij = binary(k, "add", binary(k, "mul", i, size_j), j)
    wide = binary(k, "mul", size_g, k.tile(size_j))
    group = binary(k, "floordiv", ij, wide)
    off = binary(k, "mul", group, size_g)
    rows = minimum(k, binary(k, "sub", size_i, off), size_g)
    ij = binary(k, "mod", ij, wide)
    return binary(k, "add", off, binary(k, "mod", ij, rows)), binary(k, "floordiv", ij, rows)


# ---- shapes
@operator("reshape", "view")
def reshape(k: Context, input: object, *shape: object, can_reorder: object = False) -> Tile:
    if can_reorder:
        raise k.unknown("a reshape that may reorder")
    t = k.tile(input)
    lengths = k.block_shape(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    if math.prod(lengths) != math.prod(t.block):
        raise k.wrong(f"a block {list(t.block)} is no {list(lengths)}")
    return replace(t, data=t.data.reshape(t.data.shape[0], *lengths))


@operator()
def ravel(k: Context, x: object) -> Tile:
    return reshape(k, x, math.prod(k.tile(x).block))


@operator()
def expand_dims(k: Context, input: object, axis: object) -> object:
    t = input if isinstance(input, Pointer) else k.tile(input)
    data = t.data
    for a in sorted(k.numbers(axis)):
        data = np.expand_dims(data, a + 1 if a >= 0 else data.ndim + 1 + a)
    return replace(t, data=data)


@operator("trans", "permute")
def trans(k: Context, input: object, *dims: object) -> Tile:
    t = k.tile(input)
    order = k.numbers(dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims)
    rank = len(t.block)
    order = order or (*range(rank - 2), rank - 1, rank - 2)
    if sorted(order) != list(range(rank)):
        raise k.wrong(f"{list(order)} is no order of {rank} dims")
    return replace(t, data=np.transpose(t.data, (0, *(d + 1 for d in order))))


@operator()
def broadcast_to(k: Context, input: object, *shape: object) -> object:
    t = input if isinstance(input, Pointer) else k.tile(input)
    lengths = k.block_shape(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    data = t.data
    if data.ndim == 1:
        data = data.reshape(-1, *(1,) * len(lengths))
    if len(data.shape) - 1 != len(lengths) or any(a not in (1, b) for a, b in zip(data.shape[1:], lengths)):
        raise k.wrong(f"a block {list(t.block)} does not broadcast to {list(lengths)}")
    return replace(t, data=np.broadcast_to(data, (data.shape[0], *lengths)))


@operator()
def broadcast(k: Context, input: object, other: object) -> object:
    a, b = k.tile(input), k.tile(other)
    x, y = aligned(a.data, b.data)
    block = np.broadcast_shapes(x.shape[1:], y.shape[1:])
    return tuple(replace(t, data=np.broadcast_to(d, (d.shape[0], *block))) for t, d in ((a, x), (b, y)))


@operator()
def join(k: Context, a: object, b: object) -> Tile:
    x, y, dtype = meet(k, a, b)
    x, y = np.broadcast_arrays(x, y)
    return Tile(np.stack((x, y), axis=-1), dtype, rounded=_rounded(a, b))


@operator()
def interleave(k: Context, a: object, b: object) -> Tile:
    t = join(k, a, b)
    return replace(t, data=t.data.reshape(*t.data.shape[:-2], -1))


@operator()
def split(k: Context, a: object) -> object:
    t = k.tile(a)
    if not t.block or t.block[-1] != 2:
        raise k.wrong("tl.split of a block whose last length is not 2")
    return replace(t, data=t.data[..., 0]), replace(t, data=t.data[..., 1])


@operator()
def flip(k: Context, x: object, dim: object = None) -> Tile:
    t = k.tile(x)
    return replace(t, data=np.flip(t.data, 1 + (len(t.block) - 1 if dim is None else k.number(dim) % len(t.block))))


@operator()
def gather(k: Context, src: object, index: object, axis: object) -> Tile:
    t, i = k.tile(src), k.tile(index)
    along = k.number(axis) % len(t.block) + 1
    rows = max(t.data.shape[0], i.data.shape[0])
    at = np.broadcast_to(i.data, (rows, *i.block)).astype(np.int64)
    if (at < 0).any() or (at >= t.data.shape[along]).any():
        raise k.wrong("tl.gather beyond its block")
    return replace(t, data=np.take_along_axis(np.broadcast_to(t.data, (rows, *t.block)), at, along))
