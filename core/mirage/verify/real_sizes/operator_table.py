"""The table of Triton's functions on tiles of all programs, and the arithmetic of Python's operators on them.

The values follow Triton's documentation; what a compiled kernel refuses (a range that is no power of two, an exponential of float16)
is a fault of the text here too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from mirage.verify.real_sizes.tile_memory import Accesses, Region
from mirage.verify.real_sizes.tile_values import (
    Array,
    NamedDtype,
    Pointer,
    Precision,
    Tile,
    Unknown,
    Wrong,
    aligned,
    promoted,
)

Combine = Callable[..., object]  # a helper function of the text
Operator = Callable[..., object]
OPERATORS: dict[str, Operator] = {}
F = TypeVar("F", bound=Operator)


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


def operator(*names: str) -> Callable[[F], F]:
    """Enters a function by its names, or by its own."""

    def put(fn: F) -> F:
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


def calculated(k: Context, name: str, a: object, b: object) -> Tile:
    """`a OP b` of numbers."""
    made = binary(k, name, a, b)
    assert isinstance(made, Tile)
    return made


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
    rounded = max(t.rounded for t in (a, b) if isinstance(t, Tile))
    return replace(k.precision.tile(ARITHMETIC[name](x, y), dtype), rounded=rounded)


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
    made = k.precision.tile(
        -t.data.astype(np.int32) if t.dtype == "int1" else -t.data, "int32" if t.dtype == "int1" else t.dtype
    )
    return replace(made, rounded=t.rounded)


def inverted(k: Context, x: object) -> Tile:
    t = k.tile(x)
    if t.floating:
        raise k.wrong(f"`~` of {t.dtype}")
    return k.precision.tile(np.invert(t.data), t.dtype)


def truth(k: Context, x: object) -> Tile:
    t = k.tile(x)
    return k.precision.tile(t.data != 0, "int1")


def named_dtype(k: Context, dtype: object) -> str:
    if isinstance(dtype, NamedDtype):
        return dtype.name
    raise k.unknown("a dtype that is not known here")


def as_tuple(x: object) -> tuple[object, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)
