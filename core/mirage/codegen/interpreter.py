"""Triton's CPU interpreter with exact short floats, TF32 and bounds checks, to run emitted modules in.

The interpreter of Triton 3.6 to 3.9 computes bfloat16 and 8-bit floats wrongly, ignores that a float32 tl.dot is TF32
unless it says otherwise, and reads and writes wherever a pointer points. `float_interpreter()` mends the three while it
is entered: values of the short formats live in float32 arrays and are rounded to nearest even after each operator, and an
access outside the tensors of the launch raises. `TRITON_INTERPRET=1` must be set before anything imports triton: use a process of its own.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mirage.codegen.interpreter_cache import lighten
from mirage.codegen.interpreter_descriptors import patch_descriptors
from mirage.errors import MissingPackage
from mirage.ir.dtypes import DTYPES, EIGHT_BIT
from mirage.ir.fp8_formats import FORMATS

if TYPE_CHECKING:
    import triton.language as tl
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle, _LangPatchScope

OLDEST, NEWEST = (3, 6), (3, 9)
ROUNDED = ("binary_op", "ternary_op", "unary_op", "create_fma", "create_rsqrt")
F32 = NDArray[np.float32]
Bits = NDArray[np.uint8] | NDArray[np.uint16]
_serial = count()


class OutOfBounds(Exception):
    """A kernel read or wrote outside every tensor that it was launched with."""


class Patches:
    """Attributes replaced for a while."""

    def __init__(self) -> None:
        self.saved: list[tuple[object, str, object]] = []

    def set(self, owner: object, name: str, value: object) -> None:
        """Replaces an attribute."""
        self.saved.append((owner, name, owner.__dict__.get(name, getattr(owner, name))))
        setattr(owner, name, value)

    def restore(self) -> None:
        for owner, name, value in reversed(self.saved):
            setattr(owner, name, value)
        self.saved.clear()


def round_bf16(x: F32) -> F32:
    """float32 rounded to the nearest bfloat16, ties to even, still as float32."""
    x = np.ascontiguousarray(x, dtype=np.float32)
    bits = x.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(x), x, rounded)


def round_tf32(x: F32) -> F32:
    """float32 rounded to the 10-bit mantissa that tensor cores read as TF32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = ((bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), rounded, x)


def bf16_bits(x: F32) -> NDArray[np.uint16]:
    return (round_bf16(x).view(np.uint32) >> 16).astype(np.uint16)


def from_bits(bits: NDArray[np.uint16]) -> F32:
    return (bits.astype(np.uint32) << 16).view(np.float32)


@dataclass(frozen=True)
class Short:
    """A float type that numpy has not: its values are float32 arrays here. `code` gives the bits that they become in
    memory, `value` what bits are worth, `rounded` the nearest values of the type."""

    memory: np.dtype[np.uint8] | np.dtype[np.uint16]
    code: Callable[[F32], Bits]
    value: Callable[[Bits], F32]
    rounded: Callable[[F32], F32]


def _eight(name: str) -> Short:
    """Casts saturate; what lies in memory or in a tile keeps its infinities."""
    kind = FORMATS[name]

    def code(x: F32) -> Bits:
        return kind.code(x, saturate=False)

    def value(bits: Bits) -> F32:
        return np.asarray(kind.values[bits.view(np.uint8)])

    return Short(np.dtype(np.uint8), code, value, kind.rounded)


SHORT = {  # by Triton's names
    DTYPES["bf16"].triton: Short(
        np.dtype(np.uint16), bf16_bits, lambda bits: from_bits(bits.view(np.uint16)), round_bf16
    ),
    **{DTYPES[name].triton: _eight(name) for name in EIGHT_BIT},
}


def check_version() -> None:
    """Raises MissingPackage for a Triton whose interpreter these patches do not know."""
    import triton

    version = tuple(int(x) for x in triton.__version__.split(".")[:2])
    if not OLDEST <= version <= NEWEST:
        raise MissingPackage(
            f"Triton {triton.__version__}: its interpreter is not known here",
            next_step=f"install triton>={OLDEST[0]}.{OLDEST[1]},<{NEWEST[0]}.{NEWEST[1] + 1}",
        )


def interpreting() -> bool:
    """Whether the triton of this process was imported for the interpreter."""
    import triton
    import triton.language as tl

    return not isinstance(tl.sigmoid, triton.JITFunction)


@contextmanager
def float_interpreter(*, bounds: bool = True, tf32: bool = True) -> Iterator[None]:
    """Within it, interpreted kernels compute bfloat16 and 8-bit floats as a GPU does, and (with `bounds`) an access outside the tensors
    of their launch raises OutOfBounds (inside Triton's InterpreterError)."""
    check_version()
    import triton.runtime.interpreter as interpreter

    patches = Patches()
    try:
        table = _Bounds(patches, interpreter) if bounds else None
        lighten(patches)
        patch_descriptors(patches)
        _patch_scalars(patches, interpreter)
        _patch_types(patches, interpreter)
        _patch_memory(patches, interpreter, table)
        _patch_casts(patches, interpreter)
        _patch_arithmetic(patches, interpreter, tf32)
        with np.errstate(all="ignore"):
            yield
    finally:
        patches.restore()


@runtime_checkable
class InMemory(Protocol):
    """An argument of a launch with an address range: a tensor, not a number."""

    def data_ptr(self) -> int: ...

    def numel(self) -> int: ...

    def element_size(self) -> int: ...


class _Bounds:
    """The tensors of the launch that runs, as address ranges."""

    def __init__(self, patches: Patches, interpreter: ModuleType) -> None:
        self.low = self.high = np.zeros(0, np.uint64)
        executor = interpreter.GridExecutor
        inner = executor._init_args_hst

        def arguments(this: object, args: object, kwargs: object) -> tuple[list[object], dict[str, object]]:
            result: tuple[list[object], dict[str, object]] = inner(this, args, kwargs)
            self.know([*result[0], *result[1].values()])
            return result

        patches.set(executor, "_init_args_hst", arguments)

    def know(self, values: list[object]) -> None:
        # A tensor descriptor of the host stands for the tensor that it describes.
        tensors = [v for v in (getattr(v, "base", v) for v in values) if isinstance(v, InMemory)]
        ranges = sorted((v.data_ptr(), v.data_ptr() + v.numel() * v.element_size()) for v in tensors)
        self.low = np.array([r[0] for r in ranges], np.uint64)
        self.high = np.array([r[1] for r in ranges], np.uint64)

    def check(self, pointers: NDArray[np.uint64], mask: NDArray[np.bool_], size: int, verb: str) -> None:
        live = pointers[np.broadcast_to(mask, pointers.shape)]
        if not live.size:
            return
        first, end = live.min(), live.max() + np.uint64(size)
        if any(low <= first and end <= high for low, high in zip(self.low, self.high, strict=True)):
            return  # all in one tensor, as nearly always
        at = np.searchsorted(self.low, live, side="right")
        inside = at > 0
        last = np.maximum(at, 1) - 1
        inside &= live + np.uint64(size) <= self.high[last] if self.high.size else False
        if not inside.all():
            raise OutOfBounds(f"{int((~inside).sum())} elements {verb} outside every tensor of the launch")


def _short(dtype: tl.dtype) -> Short | None:
    return SHORT.get(getattr(dtype, "scalar", dtype).name)


def _patch_scalars(patches: Patches, interpreter: ModuleType) -> None:
    """Scalars as loop bounds: numpy 2.4 no longer makes a Python number of an array of one element by itself."""
    inner = interpreter._patch_lang_tensor

    def tensors(tensor: type[tl.tensor], scope: _LangPatchScope) -> None:
        inner(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    patches.set(interpreter, "_patch_lang_tensor", tensors)


def _patch_types(patches: Patches, interpreter: ModuleType) -> None:
    """Data of the short formats are float32 arrays."""
    import triton.language as tl

    inner = interpreter._get_np_dtype
    sizes = interpreter._validate_np_data_size
    known: dict[str, np.dtype[np.generic]] = {}

    def numpy_dtype(dtype: tl.dtype) -> np.dtype[np.generic]:
        element = dtype.element_ty if isinstance(dtype, tl.block_type) else dtype
        found = known.get(element.name)
        if found is None:
            found = known[element.name] = np.dtype(np.float32) if element.name in SHORT else inner(dtype)
        return found

    def fits(array: NDArray[np.generic], dtype: tl.dtype) -> bool:
        if not isinstance(dtype, tl.pointer_type) and dtype.name in SHORT and array.dtype == np.float32:
            return True
        return bool(sizes(array, dtype))

    patches.set(interpreter, "_get_np_dtype", numpy_dtype)
    patches.set(interpreter, "_validate_np_data_size", fits)
    builder, handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
    exact = lambda self, value: handle(round_bf16(np.array([value], np.float32)), tl.bfloat16)  # noqa: E731
    if hasattr(builder, "get_bf16"):
        patches.set(builder, "get_bf16", exact)
    else:
        builder.get_bf16 = exact


def _patch_memory(patches: Patches, interpreter: ModuleType, table: _Bounds | None) -> None:

    builder, handle, raw = interpreter.InterpreterBuilder, interpreter.TensorHandle, interpreter._interpreter
    inner_load, inner_store = builder.create_masked_load, builder.create_masked_store
    inner_rmw, inner_cas = builder.create_atomic_rmw, builder.create_atomic_cas

    def check(pointers: TensorHandle, mask: NDArray[np.bool_], verb: str) -> None:
        if table is not None:
            size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
            table.check(pointers.data, mask, size, verb)

    def load(
        self: InterpreterBuilder,
        pointers: TensorHandle,
        mask: TensorHandle,
        other: TensorHandle | None,
        *more: object,
        **named: object,
    ) -> TensorHandle:
        check(pointers, mask.data, "read")
        dtype = pointers.get_element_ty()
        short = _short(dtype)
        if short is None:
            return inner_load(self, pointers, mask, other, *more, **named)
        empty = np.zeros(pointers.data.shape, short.memory)
        data = short.value(raw.load(pointers.data, mask.data, empty, short.memory))
        if other is not None:
            data = np.where(mask.data, data, other.data.astype(np.float32))
        return handle(data, dtype)

    def store(
        self: InterpreterBuilder, pointers: TensorHandle, value: TensorHandle, mask: TensorHandle, *more: object
    ) -> object:
        check(pointers, mask.data, "written")
        short = _short(pointers.get_element_ty())
        if short is not None:
            return raw.store(pointers.data, short.code(value.data), mask.data)
        return inner_store(self, pointers, value, mask, *more)

    def rmw(
        self: InterpreterBuilder,
        op: object,
        pointers: TensorHandle,
        value: TensorHandle,
        mask: TensorHandle,
        *more: object,
    ) -> TensorHandle:
        if _short(value.dtype) is not None:
            raise TypeError(f"an atomic update of {value.dtype}: emitted kernels update int32 counters alone")
        check(pointers, mask.data, "updated")
        return inner_rmw(self, op, pointers, value, mask, *more)

    def cas(self: InterpreterBuilder, pointers: TensorHandle, *more: object) -> TensorHandle:
        check(pointers, np.ones(pointers.data.shape, bool), "updated")
        return inner_cas(self, pointers, *more)

    patches.set(builder, "create_masked_load", load)
    patches.set(builder, "create_masked_store", store)
    patches.set(builder, "create_atomic_rmw", rmw)
    patches.set(builder, "create_atomic_cas", cas)


def _patch_casts(patches: Patches, interpreter: ModuleType) -> None:
    builder, handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
    numpy_dtype = interpreter._get_np_dtype  # the patched one
    inner_cast, inner_float, inner_bits = builder.cast_impl, builder.create_fp_to_fp, builder.create_bitcast

    def cast(self: InterpreterBuilder, source: TensorHandle, target: tl.dtype) -> TensorHandle:
        short = _short(target)
        if short is None and _short(source.dtype) is None:
            return inner_cast(self, source, target)
        data = source.data.astype(np.float32)
        return handle(data.astype(numpy_dtype(target)) if short is None else short.rounded(data), target.scalar)

    def float_cast(self: InterpreterBuilder, source: TensorHandle, target: tl.dtype, mode: object) -> TensorHandle:
        if _short(source.dtype) is not None or _short(target) is not None:
            return cast(self, source, target)
        if min(source.dtype.scalar.primitive_bitwidth, target.scalar.primitive_bitwidth) >= 16:
            return handle(source.data.astype(numpy_dtype(target)), target.scalar)
        return inner_float(self, source, target, mode)

    def bits(self: InterpreterBuilder, source: TensorHandle, target: tl.dtype) -> TensorHandle:
        before, after = _short(source.dtype), _short(target)
        if before is None and after is None:
            return inner_bits(self, source, target)
        data = source.data if before is None else before.code(source.data)
        return handle(data.view(numpy_dtype(target)) if after is None else after.value(data), target.scalar)

    patches.set(builder, "cast_impl", cast)
    patches.set(builder, "create_fp_to_fp", float_cast)
    patches.set(builder, "create_bitcast", bits)


def _patch_arithmetic(patches: Patches, interpreter: ModuleType, tf32: bool) -> None:
    import triton.language as tl

    builder, handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
    inner_abs, inner_dot = builder.create_fabs, builder.create_dot

    def rounded(name: str) -> None:
        inner = getattr(builder, name)

        def operator(self: InterpreterBuilder, *args: object) -> TensorHandle:
            result = inner(self, *args)
            short = _short(result.dtype)
            return result if short is None else handle(short.rounded(result.data), result.dtype)

        patches.set(builder, name, operator)

    for name in ROUNDED:
        rounded(name)

    def absolute(self: InterpreterBuilder, x: TensorHandle) -> TensorHandle:
        return handle(np.abs(x.data), x.dtype.scalar) if _short(x.dtype) else inner_abs(self, x)

    def dot(
        self: InterpreterBuilder, a: TensorHandle, b: TensorHandle, acc: TensorHandle, precision: object, *more: object
    ) -> TensorHandle:
        element = a.dtype.scalar
        if element.name.startswith("fp8") or b.dtype.scalar.name.startswith("fp8"):
            raise TypeError("a product of 8-bit floats: a GPU adds it up with fewer bits than float32 has")
        if element in (tl.float16, tl.bfloat16, tl.float32) and acc.data.dtype == np.float32:
            x, y = a.data.astype(np.float32), b.data.astype(np.float32)
            name = str(precision).lower()
            if tf32 and element == tl.float32 and "tf32" in name and "x3" not in name:
                x, y = round_tf32(x), round_tf32(y)
            return handle(np.matmul(x, y) + acc.data, acc.dtype.scalar)
        return inner_dot(self, a, b, acc, precision, *more)

    patches.set(builder, "create_fabs", absolute)
    patches.set(builder, "create_dot", dot)


def load_module(text: str, *, interpret: bool = True) -> ModuleType:
    """The emitted module `text`, imported from a file of its own (which lives as long as the module does).

    With `interpret` its kernels run in the interpreter: the variable is set here if triton is not imported yet; if it
    was imported for a GPU, MissingPackage says to use another process. Without, the kernels are compiled ones. What the
    variable says by now is not asked: the kernels must be of the kind that triton's own functions are.
    """
    if interpret and "triton" not in sys.modules:
        os.environ["TRITON_INTERPRET"] = "1"
    if interpret != interpreting():
        wanted = "1" if interpret else "0"
        raise MissingPackage(
            f"triton is already imported with TRITON_INTERPRET other than {wanted}",
            next_step=f"load the module in a fresh process with TRITON_INTERPRET={wanted}",
        )
    folder = tempfile.TemporaryDirectory(prefix="mirage-module-")
    name = f"mirage_emitted_{os.getpid()}_{next(_serial)}"
    path = Path(folder.name) / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    from triton import knobs

    with knobs.runtime.scope():  # it restores the variable
        knobs.runtime.interpret = interpret
        if interpret:
            importlib.import_module(
                "triton.experimental.gluon"
            )  # else the first launch does, and it reads the variable
        spec.loader.exec_module(module)
    module.__dict__["_folder"] = folder
    return module
