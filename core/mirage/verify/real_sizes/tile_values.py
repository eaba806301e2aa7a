"""Values in a kernel, for all programs of a launch at once: the first axis of every array is the programs'.

A value that is the same in all programs has length one there. Dtypes follow Triton's promotion. In wide precision every float is
a float64 and nothing is rounded, so that a difference from the function is no rounding; else each result is rounded to its dtype.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirage.codegen.interpreter import round_bf16, round_tf32

Array = NDArray[Any]

FLOATS = {"fp64": 64, "fp32": 32, "bf16": 16, "fp16": 16}
INTEGERS = {
    "int1": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
}  # fmt: skip
BITS = {"int1": 1, **FLOATS, **{n: np.dtype(t).itemsize * 8 for n, t in INTEGERS.items() if n != "int1"}}
STORED = {"fp64": np.float64, "fp32": np.float32, "bf16": np.float32, "fp16": np.float16}


class Wrong(Exception):
    """The text does what no right kernel does; `line` is where."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what, self.line = what, line


class Unknown(Exception):
    """The text cannot be judged because of what stands in `line`."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what, self.line = what, line


@dataclass(frozen=True)
class NamedDtype:
    """A dtype as the text names it: `tl.float16`, `ptr.dtype.element_ty`."""

    name: str


@dataclass(frozen=True)
class PointerType:
    """The dtype of a pointer."""

    element_ty: NamedDtype


@dataclass(frozen=True, eq=False)
class Tile:
    """Numbers: (programs or 1, *block)."""

    data: Array
    dtype: str
    unfixed: str = ""  # why the numbers differ from one run to the next
    line: int = 0
    rounded: int = 0  # the line in which a float of more digits was rounded to these

    @property
    def block(self) -> tuple[int, ...]:
        return tuple(self.data.shape[1:])

    @property
    def floating(self) -> bool:
        return self.dtype in FLOATS


@dataclass(frozen=True, eq=False)
class Pointer:
    """Places in one tensor's storage: offsets in elements, (programs or 1, *block)."""

    region: Any
    data: Array

    @property
    def block(self) -> tuple[int, ...]:
        return tuple(self.data.shape[1:])

    @property
    def dtype(self) -> str:
        return "pointer"


@dataclass(frozen=True, eq=False)
class BlockPointer:
    """What `tl.make_block_ptr` gives: shape, strides and offsets are one scalar tile a dim."""

    base: Pointer
    shape: tuple[Tile, ...]
    strides: tuple[Tile, ...]
    offsets: tuple[Tile, ...]
    block: tuple[int, ...]


@dataclass
class Precision:
    """How floats are computed: `wide` in float64 throughout, else in their dtypes. `garbage` stands for what was never written,
    `narrow` collects sums in short dtypes, `read_as_tf32` products of float32 that are TF32 on a GPU, both by line."""

    wide: bool
    garbage: float = float("nan")
    narrow: dict[int, str] = field(default_factory=dict)
    read_as_tf32: set[int] = field(default_factory=set)
    outcomes: dict[int, set[bool]] = field(default_factory=dict)  # of branches that depend on memory, by line

    def numpy(self, dtype: str) -> Any:
        if dtype in INTEGERS:
            return INTEGERS[dtype]
        return np.float64 if self.wide else STORED[dtype]

    def rounded(self, data: Array, dtype: str) -> Array:
        """The numbers in a dtype's array type, each the nearest of the dtype."""
        if dtype in INTEGERS:
            if dtype == "int1":
                return data if data.dtype == bool else data != 0
            if data.dtype.kind == "f":
                return to_integers(data, dtype)
            return data.astype(INTEGERS[dtype], copy=False)
        out = data.astype(self.numpy(dtype), copy=False)
        return round_bf16(out) if dtype == "bf16" and not self.wide else out

    def tile(self, data: Array, dtype: str) -> Tile:
        return Tile(self.rounded(np.asarray(data), dtype), dtype)

    def constant(self, value: float | int | bool) -> Tile:
        """A number of the text as Triton makes a tensor of it."""
        return self.tile(np.asarray([value]), dtype_of_number(value))

    def product(self, a: Tile, b: Tile, ieee: bool, line: int) -> Array:
        """The matrix product of tiles, as matrix units accumulate it."""
        if not a.floating:
            return np.asarray(np.matmul(a.data.astype(np.int64), b.data.astype(np.int64)))
        if self.wide:
            return np.asarray(np.matmul(a.data, b.data))
        kind: Any = np.float64 if a.dtype == "fp64" else np.float32
        x, y = a.data.astype(kind), b.data.astype(kind)
        if a.dtype == "fp32" and not ieee:
            self.read_as_tf32.add(line)
            x, y = round_tf32(x), round_tf32(y)
        return np.asarray(np.matmul(x, y))


def to_integers(data: Array, dtype: str) -> Array:
    """Truncated towards zero; what has no integer of the dtype becomes its least."""
    with np.errstate(all="ignore"):
        whole = np.trunc(data)
        info = np.iinfo(INTEGERS[dtype])
        fits = (whole >= float(info.min)) & (whole <= float(info.max))
        return np.asarray(np.where(fits, whole, 0).astype(INTEGERS[dtype]) + np.where(fits, 0, info.min))


def dtype_of_number(value: float | int | bool) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "int1"
    if isinstance(value, int):
        kinds = (("int32", -(2**31), 2**31), ("uint32", 0, 2**32), ("int64", -(2**63), 2**63))
        return next((name for name, low, high in kinds if low <= value < high), "uint64")
    return "fp32"


def kind_of(dtype: str) -> int:
    """bool, unsigned and signed integers, floats, in the order in which a number of the text gives way."""
    return 0 if dtype == "int1" else 3 if dtype in FLOATS else 1 if dtype.startswith("u") else 2


def promoted(a: str, b: str, weak: tuple[bool, bool], division: bool) -> str:
    """The dtype in which two operands meet. `weak`: which of them are numbers of the text."""
    if weak[0] != weak[1]:
        number, tensor = (a, b) if weak[0] else (b, a)
        if kind_of(number) <= kind_of(tensor):
            return "fp32" if division and tensor in ("fp16", "bf16") else tensor
    for wide in ("fp64", "fp32"):
        if wide in (a, b):
            return wide
    if "fp16" in (a, b):
        return "fp32" if division else "fp16"
    if "bf16" in (a, b):
        return "bf16" if a == b and not division else "fp32"
    if division and a.startswith("u") != b.startswith("u") and "int1" not in (a, b):
        raise Wrong(f"a division of {a} by {b}, which Triton refuses")
    return _integers(a, b)


def _integers(a: str, b: str) -> str:
    """Of unlike signs the unsigned one holds where it is at least as wide."""
    unsigned, bits = (a.startswith("u"), b.startswith("u")), (BITS[a], BITS[b])
    if unsigned[0] == unsigned[1]:
        return a if bits[0] >= bits[1] else b
    one, other = (a, b) if unsigned[0] else (b, a)
    return one if BITS[one] >= BITS[other] else other


def aligned(*xs: Array) -> list[Array]:
    """Arrays whose blocks broadcast: the programs' axis stays the first where their ranks differ."""
    rank = max(x.ndim for x in xs)
    return [x if x.ndim == rank else x.reshape(x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:]) for x in xs]


def merged(active: Array | None, new: object, old: object) -> object:
    """The value of a name after an assignment that only the `active` programs make."""
    if active is None or old is None or new is old:
        return new
    if isinstance(new, Tile) and isinstance(old, Tile):
        return _merged_tiles(active, new, old)
    if isinstance(new, Pointer) and isinstance(old, Pointer) and new.region is old.region and new.block == old.block:
        return Pointer(new.region, _chosen(active, new.data, old.data))
    if isinstance(new, BlockPointer) and isinstance(old, BlockPointer) and _same_place(new, old):
        offsets = tuple(_merged_tiles(active, a, b) for a, b in zip(new.offsets, old.offsets, strict=True))
        return BlockPointer(new.base, new.shape, new.strides, offsets, new.block)
    if isinstance(new, tuple) and isinstance(old, tuple) and len(new) == len(old):
        return tuple(merged(active, a, b) for a, b in zip(new, old, strict=True))
    if _same_number(new, old):
        return new
    raise Unknown("a name stands for unlike things in the programs of one launch")


def _same_number(new: object, old: object) -> bool:
    return isinstance(new, (int, float, str, NamedDtype)) and new == old and type(new) is type(old)


def _same_place(new: BlockPointer, old: BlockPointer) -> bool:
    """Do block pointers differ in their offsets alone?"""
    return (new.base, new.shape, new.strides, new.block) == (old.base, old.shape, old.strides, old.block)


def _merged_tiles(active: Array, new: Tile, old: Tile) -> Tile:
    if new.dtype != old.dtype or new.block != old.block:
        was, becomes = f"{old.dtype}{list(old.block)}", f"{new.dtype}{list(new.block)}"
        raise Unknown(f"a name is {was} in one branch and {becomes} in the other")
    unfixed, rounded = new.unfixed or old.unfixed, max(new.rounded, old.rounded)
    return Tile(_chosen(active, new.data, old.data), new.dtype, unfixed, new.line, rounded)


def _chosen(active: Array, new: Array, old: Array) -> Array:
    rank = max(new.ndim, old.ndim)
    return np.where(active.reshape(-1, *(1,) * (rank - 1)), new, old)
