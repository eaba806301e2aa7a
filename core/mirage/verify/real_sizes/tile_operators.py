"""Triton's language on tiles of all programs: what each function of it gives, one function an entry of `OPERATORS`.

The values follow Triton's documentation; what a compiled kernel refuses (a range that is no power of two, an exponential of float16)
is a fault of the text here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mirage.operators.block_operators import BLOCK
from mirage.verify.real_sizes.tile_memory import Accesses, Region
from mirage.verify.real_sizes.tile_values import (
    BITS,
    Array,
    BlockPointer,
    Dtype,
    Pointer,
    PointerType,
    Precision,
    Tile,
    Unknown,
    Wrong,
    aligned,
    dtype_of_number,
    promoted,
)

Combine = Callable[..., object]  # a helper function of the text
Operator = Callable[..., object]
OPERATORS: dict[str, Operator] = {}
LONG = 16  # terms from which on a sum in a short dtype is one that loses digits


@dataclass
class Context:
    """Where an operator is evaluated: the batch of programs, the grid, the line of the text, the programs that get there."""

    precision: Precision
    accesses: Accesses
    regions: list[Region]
    ids: tuple[Array, Array, Array]
    grid: tuple[int, int, int]
    line: int = 0
    active: Array | None = None

    def wrong(self, what: str) -> Wrong:
        return Wrong(what, self.line)

    def unknown(self, what: str) -> Unknown:
        return Unknown(what, self.line)

    def tile(self, x: object) -> Tile:
        if isinstance(x, Tile):
            if x.unfixed:
                raise self.unknown(x.unfixed)
            return x
        if isinstance(x, (bool, int, float, np.bool_)):
            return self.precision.constant(x)  # type: ignore[arg-type]
        raise self.unknown(f"{type(x).__name__} stands where a number is needed")

    def number(self, x: object) -> int:
        """A number that is known when the text is compiled."""
        if isinstance(x, (bool, int)):
            return int(x)
        raise self.unknown("a number that must be known when the kernel is compiled is none")

    def numbers(self, x: object) -> tuple[int, ...]:
        return tuple(self.number(v) for v in x) if isinstance(x, (tuple, list)) else (self.number(x),)

    def block_shape(self, x: object) -> tuple[int, ...]:
        shape = self.numbers(x)
        bad = next((n for n in shape if n < 1 or n & (n - 1)), None)
        if bad is not None:
            raise self.wrong(f"a block's length is {bad}, which is no power of two")
        return shape


def operator(*names: str) -> Callable[[Operator], Operator]:
    def put(fn: Operator) -> Operator:
        for n in names or (fn.__name__.rstrip("_"),):
            OPERATORS[n] = fn
        return fn

    return put


def meet(k: Context, a: object, b: object, division: bool = False) -> tuple[Array, Array, str]:
    """Both operands in the dtype in which they meet, with blocks that broadcast."""
    x, y = k.tile(a), k.tile(b)
    weak = (not isinstance(a, Tile), not isinstance(b, Tile))
    try:
        dtype = promoted(x.dtype, y.dtype, weak, division)
    except Wrong as e:
        raise k.wrong(e.what) from None
    left, right = aligned(k.precision.rounded(x.data, dtype), k.precision.rounded(y.data, dtype))
    for m, n in zip(left.shape[1:], right.shape[1:]):
        if m != n and 1 not in (m, n):
            raise k.wrong(f"blocks {list(x.block)} and {list(y.block)} do not broadcast")
    return left, right, dtype


# ---- arithmetic of Python's operators
def truncated(x: Array, y: Array) -> Array:
    """The quotient of integers, towards zero, as C's."""
    safe = np.where(y == 0, 1, y)
    quotient = np.floor_divide(x, safe)
    return np.asarray(quotient + ((x % safe != 0) & ((x < 0) != (safe < 0))), x.dtype)


def remainder(x: Array, y: Array) -> Array:
    return np.asarray(np.fmod(x, np.where(y == 0, 1, y) if x.dtype.kind in "iu" else y), x.dtype)


def shifted_left(x: Array, y: Array) -> Array:
    return np.asarray(np.left_shift(x, np.clip(y, 0, 63)), x.dtype)


ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": truncated, "mod": remainder, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": shifted_left, "shr": np.right_shift, "truediv": np.true_divide,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def binary(k: Context, name: str, a: object, b: object) -> object:
    """`a OP b` of which at least one is a tile or a pointer."""
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return moved(k, name, a, b)
    x, y, dtype = meet(k, a, b, name in ("truediv", "floordiv", "mod"))
    if name in COMPARISONS:
        return k.precision.tile(COMPARISONS[name](x, y), "int1")
    floating = dtype in ("fp16", "bf16", "fp32", "fp64")
    if name == "truediv" and not floating:
        dtype = "fp32"
        x, y = k.precision.rounded(x, dtype), k.precision.rounded(y, dtype)
    elif name in ("and", "or", "xor", "shl", "shr", "floordiv") and floating:
        raise k.wrong(f"`{name}` of {dtype}")
    if dtype == "int1" and name in ("add", "sub", "mul", "floordiv", "mod"):
        dtype, x, y = "int32", x.astype(np.int32), y.astype(np.int32)
    return k.precision.tile(ARITHMETIC[name](x, y), dtype)


def moved(k: Context, name: str, a: object, b: object) -> object:
    """A pointer and an offset, or the comparison of a pointer with none."""
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        if name == "sub" and a.region is b.region:
            return Tile(np.subtract(*aligned(a.data, b.data)), "int64")
        raise k.unknown("two pointers meet")
    if b is None or a is None:
        return name == "ne"
    pointer, offset = (a, b) if isinstance(a, Pointer) else (b, a)
    assert isinstance(pointer, Pointer)
    t = k.tile(offset)
    if name not in ("add", "sub") or t.floating or (name == "sub" and pointer is b):
        raise k.wrong(f"`{name}` of a pointer and {t.dtype}")
    by = t.data.astype(np.int64)
    at, steps = aligned(pointer.data, -by if name == "sub" else by)
    return Pointer(pointer.region, at + steps)


def negative(k: Context, x: object) -> Tile:
    t = k.tile(x)
    return k.precision.tile(-t.data.astype(np.int32) if t.dtype == "int1" else -t.data, "int32" if t.dtype == "int1" else t.dtype)


def inverted(k: Context, x: object) -> Tile:
    t = k.tile(x)
    if t.floating:
        raise k.wrong(f"`~` of {t.dtype}")
    return k.precision.tile(np.invert(t.data), t.dtype)


def truth(k: Context, x: object) -> Tile:
    t = k.tile(x)
    return k.precision.tile(t.data != 0, "int1")


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
    return full(k, t.block, 0, Dtype(t.dtype))


def named_dtype(k: Context, dtype: object) -> str:
    if isinstance(dtype, Dtype):
        return dtype.name
    raise k.unknown("a dtype that is not known here")


# ---- element by element
def pointwise(name: str, value: Callable[[Array], Array], dtypes: Sequence[str] = ("fp32", "fp64")) -> None:
    def op(k: Context, x: object) -> Tile:
        t = k.tile(x)
        if t.dtype not in dtypes:
            raise k.wrong(f"tl.{name} takes {' or '.join(dtypes)}, not {t.dtype}")
        return k.precision.tile(value(t.data), t.dtype)

    OPERATORS[name] = op


def by_table(name: str) -> Callable[[Array], Array]:
    """An operator's own value in float64."""
    entry = BLOCK[name]
    assert entry.float64 is not None
    value = entry.float64
    return lambda x: np.asarray(value(x.astype(np.float64)))


for _name, _value in {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "cos": np.cos, "sin": np.sin, "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt, "floor": np.floor, "ceil": np.ceil, "erf": by_table("erf"), "rsqrt": lambda x: 1 / np.sqrt(x),
}.items():  # fmt: skip
    pointwise(_name, _value)
for _name, _value in {
    "tanh": np.tanh, "log1p": np.log1p, "expm1": np.expm1, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "atan": np.arctan,
    "log10": np.log10, "cbrt": np.cbrt, "trunc": np.trunc, "rint": np.rint, "fast_expf": np.exp, "asin": np.arcsin,
    "acos": np.arccos, "fast_logf": np.log, "nearbyint": np.rint,
}.items():  # fmt: skip
    pointwise(f"libdevice.{_name}", _value)
for _name in ("exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "floor", "ceil", "erf", "rsqrt"):
    OPERATORS[f"libdevice.{_name}"] = OPERATORS[_name]


@operator("libdevice.pow")
def pow_(k: Context, x: object, y: object) -> Tile:
    a, b, dtype = meet(k, x, y)
    return k.precision.tile(np.power(a, b), dtype)


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
    a, b, dtype = meet(k, x, y)
    return k.precision.tile((np.maximum if propagates(propagate_nan) else np.fmax)(a, b), dtype)


@operator("minimum", "libdevice.min")
def minimum(k: Context, x: object, y: object, propagate_nan: object = None) -> Tile:
    a, b, dtype = meet(k, x, y)
    return k.precision.tile((np.minimum if propagates(propagate_nan) else np.fmin)(a, b), dtype)


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
    return Tile(np.where(flags, a, b), dtype)


@operator("cast", "to")
def cast(k: Context, input: object, dtype: object, fp_downcast_rounding: object = None, bitcast: object = False) -> object:
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
    return k.precision.tile(t.data, name)


@operator("cdiv")
def cdiv(k: Context, x: object, div: object) -> object:
    if isinstance(x, int) and isinstance(div, int):
        return -(-x // div)
    return binary(k, "floordiv", binary(k, "add", x, binary(k, "sub", div, 1) if isinstance(div, Tile) else div - 1), div)  # type: ignore[operator]


@operator("add", "sub", "mul")
def named_arithmetic(k: Context, x: object, y: object, sanitize_overflow: object = True) -> object:
    raise k.unknown("arithmetic by a function")


@operator("multiple_of", "max_contiguous", "max_constancy")
def hint(k: Context, input: object, values: object) -> object:
    return input


@operator("assume", "static_print", "device_print")
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
    wide = binary(k, "mul", size_g, size_j) if isinstance(size_g, Tile) or isinstance(size_j, Tile) else size_g * size_j  # type: ignore[operator]
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
    return Tile(np.stack((x, y), axis=-1), dtype)


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


# ---- reductions and scans
def axis_of(k: Context, t: Tile, axis: object) -> int | tuple[int, ...]:
    if not t.block:
        raise k.unknown("a reduction of a scalar")
    if axis is None:
        return tuple(range(1, t.data.ndim))
    a = k.number(axis)
    if not -len(t.block) <= a < len(t.block):
        raise k.wrong(f"axis {a} of a block {list(t.block)}")
    return a % len(t.block) + 1


def shortened(k: Context, t: Tile, along: int | tuple[int, ...], what: str) -> None:
    """Note a sum of many terms in a dtype narrower than float32."""
    axes = along if isinstance(along, tuple) else (along,)
    if t.dtype in ("fp16", "bf16") and math.prod(t.data.shape[a] for a in axes) > LONG:
        k.precision.narrow[k.line] = f"{what} in {t.dtype}"


@operator("sum")
def sum_(k: Context, input: object, axis: object = None, keep_dims: object = False, dtype: object = None) -> Tile:
    t = k.tile(input)
    if dtype is not None:
        t = k.precision.tile(t.data, named_dtype(k, dtype))
    elif not t.floating and BITS[t.dtype] < 32:
        t = k.precision.tile(t.data, "uint32" if t.dtype.startswith("u") or t.dtype == "int1" else "int32")
    along = axis_of(k, t, axis)
    shortened(k, t, along, "tl.sum")
    data = t.data
    if t.floating and not k.precision.wide and t.dtype in ("fp16", "bf16"):
        data = data.astype(np.float32)
    return k.precision.tile(np.sum(data, axis=along, keepdims=bool(keep_dims), dtype=data.dtype), t.dtype)


def extreme(k: Context, fn: Any, index: Any, t: Tile, axis: object, both: object, keep: object) -> object:
    along = axis_of(k, t, axis)
    wide = t.dtype == "bf16" or (t.floating and BITS[t.dtype] < 32 and not both)
    if wide:
        t = k.precision.tile(t.data, "fp32")
    elif not t.floating and BITS[t.dtype] < 32 and not both:
        t = k.precision.tile(t.data, "int32")
    best = k.precision.tile(fn.reduce(t.data, axis=along, keepdims=bool(keep)), t.dtype)
    if not both:
        return best
    if isinstance(along, tuple):
        raise k.unknown("indices of a reduction over all axes")
    return best, k.precision.tile(index(t.data, axis=along, keepdims=bool(keep)), "int32")


@operator("max")
def max_(
    k: Context, input: object, axis: object = None, return_indices: object = False,
    return_indices_tie_break_left: object = True, keep_dims: object = False,
) -> object:  # fmt: skip
    if return_indices and not return_indices_tie_break_left:
        raise k.unknown("an index of one of several equal maxima")
    return extreme(k, np.fmax, np.argmax, k.tile(input), axis, return_indices, keep_dims)


@operator("min")
def min_(
    k: Context, input: object, axis: object = None, return_indices: object = False,
    return_indices_tie_break_left: object = True, keep_dims: object = False,
) -> object:  # fmt: skip
    if return_indices and not return_indices_tie_break_left:
        raise k.unknown("an index of one of several equal minima")
    return extreme(k, np.fmin, np.argmin, k.tile(input), axis, return_indices, keep_dims)


@operator()
def argmax(k: Context, input: object, axis: object, tie_break_left: object = True, keep_dims: object = False) -> object:
    return max_(k, input, axis, True, tie_break_left, keep_dims)[1]  # type: ignore[index]


@operator()
def argmin(k: Context, input: object, axis: object, tie_break_left: object = True, keep_dims: object = False) -> object:
    return min_(k, input, axis, True, tie_break_left, keep_dims)[1]  # type: ignore[index]


@operator()
def xor_sum(k: Context, input: object, axis: object = None, keep_dims: object = False) -> Tile:
    t = k.tile(input)
    return k.precision.tile(np.bitwise_xor.reduce(t.data, axis=axis_of(k, t, axis), keepdims=bool(keep_dims)), t.dtype)


@operator()
def softmax(k: Context, x: object, dim: object = None, keep_dims: object = False, ieee_rounding: object = False) -> object:
    t = k.tile(x)
    axis = 0 if dim is None else dim
    shift = binary(k, "sub", t, max_(k, t, axis, keep_dims=True))
    top = OPERATORS["exp"](k, shift)
    return binary(k, "truediv", top, sum_(k, top, axis, keep_dims=True))


def scanned(k: Context, fn: Any, input: object, axis: object, reverse: object, what: str) -> Tile:
    t = k.tile(input)
    if t.dtype == "bf16":
        t = k.precision.tile(t.data, "fp32")
    elif not t.floating and BITS[t.dtype] < 32:
        t = k.precision.tile(t.data, "int32")
    along = axis_of(k, t, 0 if axis is None else axis)
    assert isinstance(along, int)
    shortened(k, t, along, what)
    data = np.flip(t.data, along) if reverse else t.data
    out = fn.accumulate(data, axis=along, dtype=data.dtype)
    return k.precision.tile(np.flip(out, along) if reverse else out, t.dtype)


@operator()
def cumsum(k: Context, input: object, axis: object = 0, reverse: object = False, dtype: object = None) -> Tile:
    t = cast(k, input, dtype) if dtype is not None else input
    return scanned(k, np.add, t, axis, reverse, "tl.cumsum")


@operator()
def cumprod(k: Context, input: object, axis: object = 0, reverse: object = False) -> Tile:
    return scanned(k, np.multiply, input, axis, reverse, "tl.cumprod")


def taken(x: object, along: int, part: slice) -> object:
    assert isinstance(x, Tile)
    where = [slice(None)] * x.data.ndim
    where[along] = part
    return replace(x, data=x.data[tuple(where)])


def _tuple(x: object) -> tuple[object, ...]:
    return x if isinstance(x, tuple) else (x,)


@operator()
def reduce(k: Context, input: object, axis: object, combine_fn: Combine, keep_dims: object = False) -> object:
    """By halves: what is combined is taken to be associative, as Triton takes it."""
    parts = tuple(k.tile(x) for x in _tuple(input))
    if axis is None:
        parts, axis = tuple(reshape(k, p, math.prod(p.block)) for p in parts), 0
    along = axis_of(k, parts[0], axis)
    assert isinstance(along, int)
    for p in parts:
        shortened(k, p, along, "tl.reduce")
    n = parts[0].data.shape[along]
    while n > 1:
        n //= 2
        left, right = ([taken(p, along, s) for p in parts] for s in (slice(0, None, 2), slice(1, None, 2)))
        parts = tuple(k.tile(x) for x in _tuple(combine_fn(*left, *right)))
    out = tuple(p if keep_dims else replace(p, data=p.data.squeeze(along)) for p in parts)
    return out if isinstance(input, tuple) else out[0]


@operator()
def associative_scan(k: Context, input: object, axis: object, combine_fn: Combine, reverse: object = False) -> object:
    parts = tuple(k.tile(x) for x in _tuple(input))
    along = axis_of(k, parts[0], axis)
    assert isinstance(along, int)
    if reverse:
        parts = tuple(replace(p, data=np.flip(p.data, along)) for p in parts)
    for p in parts:
        shortened(k, p, along, "tl.associative_scan")
    step, n = 1, parts[0].data.shape[along]
    while step < n:
        left, right = ([taken(p, along, s) for p in parts] for s in (slice(0, n - step), slice(step, n)))
        made = [k.tile(x) for x in _tuple(combine_fn(*left, *right))]
        heads = [taken(p, along, slice(0, step)) for p in parts]
        parts = tuple(
            replace(m, data=np.concatenate([np.broadcast_to(h.data, (m.data.shape[0], *h.block)), m.data], along))  # type: ignore[attr-defined]
            for h, m in zip(heads, made, strict=True)
        )
        step *= 2
    if reverse:
        parts = tuple(replace(p, data=np.flip(p.data, along)) for p in parts)
    return parts if isinstance(input, tuple) else parts[0]


# ---- products
@operator()
def dot(
    k: Context, input: object, other: object, acc: object = None, input_precision: object = None, allow_tf32: object = None,
    max_num_imprecise_acc: object = None, out_dtype: object = None,
) -> object:  # fmt: skip
    a, b = k.tile(input), k.tile(other)
    if a.dtype != b.dtype:
        raise k.wrong(f"tl.dot of {a.dtype} and {b.dtype}, which Triton refuses")
    ranks = (len(a.block), len(b.block))
    if ranks not in ((2, 2), (3, 3)) or a.block[-1] != b.block[-2] or a.block[:-2] != b.block[:-2]:
        raise k.wrong(f"tl.dot of blocks {list(a.block)} and {list(b.block)}")
    if a.block[-1] < 16:
        raise k.wrong(f"tl.dot over {a.block[-1]} elements, of which matrix units take at least 16")
    ieee = input_precision in ("ieee", "tf32x3") or (input_precision is None and allow_tf32 is False)
    data = k.precision.product(a, b, ieee, k.line)
    dtype = ("fp64" if a.dtype == "fp64" else named_dtype(k, out_dtype) if out_dtype else "fp32") if a.floating else "int32"
    if dtype in ("fp16", "bf16"):
        k.precision.narrow[k.line] = f"tl.dot accumulates in {dtype}"
    if acc is None:
        return k.precision.tile(data, dtype)
    c = k.tile(acc)
    if c.dtype != dtype or c.block != data.shape[1:]:
        raise k.wrong(f"tl.dot adds {dtype}{list(data.shape[1:])} to {c.dtype}{list(c.block)}, which Triton refuses")
    return k.precision.tile(c.data + k.precision.rounded(data, dtype), dtype)


# ---- memory
@operator()
def make_block_ptr(
    k: Context, base: object, shape: object, strides: object, offsets: object, block_shape: object, order: object
) -> BlockPointer:
    if not isinstance(base, Pointer) or base.block:
        raise k.wrong("a block pointer's base is no scalar pointer")
    block = k.block_shape(block_shape)
    parts = [tuple(whole(k, x) for x in _tuple(tuple(v) if isinstance(v, list) else v)) for v in (shape, strides, offsets)]
    if any(len(p) != len(block) for p in parts):
        raise k.wrong("a block pointer's shape, strides, offsets and block have unlike lengths")
    return BlockPointer(base, parts[0], parts[1], parts[2], block)


def whole(k: Context, x: object) -> Tile:
    t = k.tile(x)
    if t.floating or t.block:
        raise k.wrong("a scalar of integers is needed")
    return Tile(t.data.astype(np.int64), "int64")


@operator()
def advance(k: Context, base: object, offsets: object) -> BlockPointer:
    if not isinstance(base, BlockPointer) or not isinstance(offsets, (tuple, list)) or len(offsets) != len(base.block):
        raise k.wrong("tl.advance takes a block pointer and an offset a dim")
    made = tuple(Tile(a.data + whole(k, b).data, "int64") for a, b in zip(base.offsets, offsets, strict=True))
    return replace(base, offsets=made)


def places(k: Context, p: BlockPointer, boundary_check: object) -> tuple[Pointer, Tile | None]:
    """The elements of a block pointer, and the mask of those within its shape along the dims that are checked."""
    rank, checked = len(p.block), {d % len(p.block) for d in k.numbers(boundary_check)}
    at, mask = p.base.data.reshape(-1, *(1,) * rank), None
    for d, n in enumerate(p.block):
        lanes = np.arange(n).reshape(1, *(n if i == d else 1 for i in range(rank)))
        index = p.offsets[d].data.reshape(-1, *(1,) * rank) + lanes
        at = at + index * p.strides[d].data.reshape(-1, *(1,) * rank)
        if d in checked:
            inside = (index >= 0) & (index < p.shape[d].data.reshape(-1, *(1,) * rank))
            mask = inside if mask is None else mask & inside
    return Pointer(p.base.region, at), None if mask is None else Tile(mask, "int1")


@operator()
def load(
    k: Context, pointer: object, mask: object = None, other: object = None, boundary_check: object = (),
    padding_option: object = "", cache_modifier: object = "", eviction_policy: object = "", volatile: object = False,
) -> Tile:  # fmt: skip
    if isinstance(pointer, BlockPointer):
        if mask is not None or other is not None:
            raise k.wrong("tl.load of a block pointer takes no mask")
        pointer, mask = places(k, pointer, boundary_check)
        other = {"zero": 0.0, "nan": float("nan")}.get(str(padding_option))
    if not isinstance(pointer, Pointer):
        raise k.wrong("tl.load of what is no pointer")
    if other is not None and mask is None and not isinstance(pointer, Pointer):
        raise k.wrong("tl.load with a value for masked elements, and no mask")
    flags = None if mask is None else truth(k, mask).data
    check_blocks(k, pointer, flags)
    return k.accesses.load(pointer, flags, None if other is None else k.tile(other), k.line, k.active)


@operator()
def store(
    k: Context, pointer: object, value: object, mask: object = None, boundary_check: object = (),
    cache_modifier: object = "", eviction_policy: object = "",
) -> None:  # fmt: skip
    if isinstance(pointer, BlockPointer):
        if mask is not None:
            raise k.wrong("tl.store to a block pointer takes no mask")
        pointer, mask = places(k, pointer, boundary_check)
    if not isinstance(pointer, Pointer):
        raise k.wrong("tl.store to what is no pointer")
    flags = None if mask is None else truth(k, mask).data
    check_blocks(k, pointer, flags, k.tile(value).data)
    k.accesses.store(pointer, k.tile(value), flags, k.line, k.active)


def check_blocks(k: Context, p: Pointer, *others: Array | None) -> None:
    """A pointer's block is that of the access: the rest is broadcast to it, and never the other way round."""
    for x in others:
        if x is None:
            continue
        if x.ndim > p.data.ndim or any(m not in (1, n) for m, n in zip(x.shape[1:], p.block[p.data.ndim - x.ndim :])):
            raise k.wrong(f"an access of a block {list(p.block)} has a mask or a value of {list(x.shape[1:])}")


def atomic(kind: str) -> Operator:
    def op(
        k: Context, pointer: object, val: object, mask: object = None, sem: object = None, scope: object = None
    ) -> Tile:
        if not isinstance(pointer, Pointer):
            raise k.wrong("an atomic operation on what is no pointer")
        flags = None if mask is None else truth(k, mask).data
        check_blocks(k, pointer, flags, k.tile(val).data)
        return k.accesses.atomic(kind, pointer, k.tile(val), flags, k.line, k.active)

    return op


for _kind in ("add", "max", "min", "or", "and"):
    OPERATORS[f"atomic_{_kind}"] = atomic(_kind)

__all__ = ["OPERATORS", "Context", "binary", "dtype_of_number"]
