"""Triton's CPU interpreter with its floating-point arithmetic replaced by a field's, for many draws at once.

The data of a float have one axis more, the last: the draws. Integers, addresses, masks and control flow stay as they
are, so wrong indexing, masks and loops show. A comparison of floats gives a flag a draw (`per_draw`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from mirage.codegen.interpreter import Patches, check_version
from mirage.codegen.interpreter_cache import lighten
from mirage.codegen.interpreter_descriptors import patch_descriptors
from mirage.operators.block_operators import BLOCK
from mirage.operators.entry import ORACLE
from mirage.verify.field.arithmetic import NAN, Field
from mirage.verify.field.device_memory import Memory, TextFault
from mirage.verify.field.triton_types import Handle, InterpreterScope, Method, Reduction, TritonTensor, Type
from mirage.verify.semantics.arrays import Array

Op = Callable[..., Array]


def oracle_calls() -> dict[str, str]:
    """Functions of Triton's language that are operators of the table without a value in the field but themselves."""
    texts = {e.name: re.fullmatch(r"tl\.(\w+)\(\{0\}\)", e.triton) for e in BLOCK.values() if e.field == ORACLE}
    return {found[1]: name for name, found in texts.items() if found is not None}


def trailing(fn: Op) -> Op:
    """A field method that knows the draws' axis as the first, for arrays that have it last."""

    def call(*xs: Array) -> Array:
        rank = max(x.ndim for x in xs)
        wide = [x.reshape((1,) * (rank - x.ndim) + x.shape) for x in xs]
        return np.moveaxis(fn(*(np.moveaxis(x, -1, 0) for x in wide)), 0, -1)

    return call


class Language:
    """The replacements, for one field and memory."""

    def __init__(self, memory: Memory) -> None:
        import triton.language as tl
        import triton.runtime.interpreter as interpreter

        self.memory, self.field = memory, memory.field
        self.tl, self.interpreter = tl, interpreter
        self.builder, self.handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
        self.patches = Patches()

    # ---- handles
    def is_float(self, dtype: Type) -> bool:
        return bool(dtype.scalar.is_floating())

    def has_draws(self, h: Handle) -> bool:
        return self.is_float(h.dtype) or getattr(h, "per_draw", False)

    def one_bit(self, h: Handle) -> bool:
        """Is it a flag? What the interpreter compares keeps its operands' type, and its data are flags."""
        return bool(h.dtype.scalar == self.tl.int1) or (not self.has_draws(h) and h.data.dtype == bool)

    def wide(self, h: Handle) -> Array:
        return np.asarray(h.data if self.has_draws(h) else np.asarray(h.data)[..., None])

    def lifted(self, h: Handle) -> Array:
        """The data as field values, with the draws' axis."""
        return self.field.lift(self.wide(h))

    def flag(self, data: Array, dtype: Type) -> Handle:
        h: Handle = self.handle(data, dtype)
        h.per_draw = True
        return h

    def make(self, data: Array, dtype: Type) -> Handle:
        made: Handle = self.handle(data, dtype.scalar)
        return made

    # ---- installing
    def install(self) -> None:
        set_ = self.patches.set
        lighten(self.patches)
        patch_descriptors(self.patches)
        set_(self.handle, "__post_init__", lambda h: None)
        set_(self.interpreter, "_validate_np_data_size", lambda *a: True)
        for group in (self._values, self._arithmetic, self._comparisons, self._shapes, self._memory, self._refused):
            for name, fn in group().items():
                if hasattr(self.builder, name):
                    set_(self.builder, name, fn)
                else:
                    setattr(self.builder, name, fn)
        set_(self.interpreter.ReduceOps, "apply_impl", self._reduce())
        set_(self.tl, "sigmoid", self._sigmoid)
        inner = self.interpreter._patch_lang_tensor

        def tensors(tensor: type[TritonTensor], scope: InterpreterScope) -> None:
            inner(tensor, scope)
            plain: Callable[[TritonTensor], bool] = tensor.__bool__

            def truth(this: TritonTensor) -> bool:
                if self.has_draws(this.handle):
                    if str(sys._getframe(1).f_globals.get("__name__")).startswith("triton."):
                        return True  # Triton itself asks whether an optional argument is there
                    raise TextFault("control flow depends on the values of a tensor")
                return bool(plain(this))

            scope.set_attr(tensor, "__bool__", truth)
            scope.set_attr(tensor, "__index__", lambda this: int(this.handle.data.item()))  # numpy 2.4: not by itself

        set_(self.interpreter, "_patch_lang_tensor", tensors)

    def _sigmoid(self, x: TritonTensor) -> TritonTensor:
        data = trailing(self.field.sigmoid)(x.handle.data)
        return self._tensor(self.make(data, x.dtype), x.type)

    def _tensor(self, h: Handle, ty: Type) -> TritonTensor:
        made: TritonTensor = self.tl.core.tensor(h, ty)
        return made

    def _values(self) -> dict[str, Method]:
        tl, field = self.tl, self.field

        def literal(dtype: Type) -> Method:
            def make(b: object, value: float) -> object:
                return self.handle(field.lift(field.literal(float(value))).reshape(1, 1), dtype)

            return make

        inner_null, inner_splat, inner_unsplat = (
            getattr(self.builder, n) for n in ("get_null_value", "create_splat", "create_unsplat")
        )

        def null(b: object, dtype: Type) -> object:
            if not self.is_float(dtype):
                return inner_null(b, dtype)
            return self.handle(np.zeros((1, 1), np.uint64), dtype)

        def splat(b: object, ty: Type, h: Handle) -> object:
            if not self.has_draws(h):
                return inner_splat(b, ty, h)
            return self._same(h, np.broadcast_to(h.data.reshape(-1), (*ty.shape, h.data.size)))

        def unsplat(b: object, h: Handle) -> object:
            if not self.has_draws(h):
                return inner_unsplat(b, h)
            return self._same(h, h.data.reshape(-1, h.data.shape[-1])[:1])

        types = {"get_fp16": tl.float16, "get_bf16": tl.bfloat16, "get_fp32": tl.float32, "get_fp64": tl.float64}
        return {
            **{n: literal(t) for n, t in types.items()},
            "get_null_value": null,
            "create_splat": splat,
            "create_unsplat": unsplat,
        }

    def _same(self, h: Handle, data: Array) -> Handle:
        return self.flag(data, h.dtype) if getattr(h, "per_draw", False) else self.make(data, h.dtype)

    def _arithmetic(self) -> dict[str, Method]:
        f = self.field

        def op(fn: Op) -> Method:
            return lambda b, *hs: self.make(trailing(fn)(*(h.data for h in hs)), hs[0].dtype)

        def named(name: str) -> Method:
            return op(lambda *xs: f.fn(name, *xs))

        def recast(b: object, h: Handle, ty: Type, *more: object) -> Handle:
            return self.make(h.data, ty)

        def from_int(b: object, h: Handle, ty: Type) -> Handle:
            return self.make(f.lift(self.wide(h)), ty)

        def clamp(x: Array, low: Array, high: Array) -> Array:
            return f.minimum(f.maximum(x, low), high)

        inner_abs = self.builder.create_iabs
        return {
            "create_fadd": op(f.add),
            "create_fsub": op(f.sub),
            "create_fmul": op(f.mul),
            "create_fdiv": op(f.div),
            "create_precise_divf": op(f.div),
            "create_fma": op(lambda x, y, z: f.add(f.mul(x, y), z)),
            "create_exp": op(f.exp),
            "create_exp2": op(f.exp2),
            "create_sqrt": op(lambda x: f.sqrt(x, watch=False)),
            "create_precise_sqrt": op(lambda x: f.sqrt(x, watch=False)),
            "create_rsqrt": op(lambda x: f.inv(f.sqrt(x, watch=False))),
            "create_fabs": op(f.abs),
            "create_ceil": named("ceil"),
            "create_log2": op(lambda x: f.mul(f.fn("log", x), np.full((1,), f.log2e))),
            "create_maximumf": op(f.maximum),
            "create_maxnumf": op(f.maximum),
            "create_minimumf": op(f.minimum),
            "create_minnumf": op(f.minimum),
            "create_clampf": lambda b, x, low, high, *more: op(clamp)(b, x, low, high),
            "create_iabs": inner_abs,
            "create_fp_ext": recast,
            "create_fp_trunc": recast,
            "create_fp_to_fp": recast,
            "create_si_to_fp": from_int,
            "create_ui_to_fp": from_int,
            "create_dot": lambda b, x, y, acc, *more: self._dot(x, y, acc),
            **{f"create_{call}": named(name) for call, name in oracle_calls().items()},
        }

    def _dot(self, x: Handle, y: Handle, acc: Handle) -> Handle:
        """One column of the contraction after the other: the full product of a tile would be large."""
        f = self.field
        total = acc.data
        for k in range(x.data.shape[-2]):
            total = f.add(total, f.mul(x.data[..., :, k, None, :], y.data[..., None, k, :, :]))
        return self.make(total, acc.dtype)

    def _comparisons(self) -> dict[str, Method]:
        f, builder = self.field, self.builder

        def compare(fn: Op) -> Method:
            return lambda b, x, y: self.flag(trailing(fn)(x.data, y.data), self.tl.int1)

        out: dict[str, Method] = {}
        for order in "OU":
            out |= {
                f"create_fcmp{order}LT": compare(f.lt),
                f"create_fcmp{order}LE": compare(f.le),
                f"create_fcmp{order}GT": compare(lambda x, y: f.lt(y, x)),
                f"create_fcmp{order}GE": compare(lambda x, y: f.le(y, x)),
                f"create_fcmp{order}EQ": compare(f.eq),
                f"create_fcmp{order}NE": compare(lambda x, y: ~f.eq(x, y)),
            }

        def logic(name: str, fn: Op, kind: type[bool | np.int64]) -> Method:
            inner: Method = getattr(builder, name)

            def call(b: object, x: Handle, y: Handle) -> object:
                if not (self.has_draws(x) or self.has_draws(y)):
                    return inner(b, x, y)
                if kind is bool and not (self.one_bit(x) and self.one_bit(y)):
                    raise TextFault("the bits of an integer depend on the values of a tensor")
                if kind is bool:
                    return self.flag(fn(self.wide(x).astype(kind), self.wide(y).astype(kind)), self.tl.int1)
                return self.flag(fn(self.lifted(x), self.lifted(y)), self.tl.int1)

            return call

        for name, fn in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
            out[f"create_{name}"] = logic(f"create_{name}", fn, bool)
        for name, compares in (("icmpNE", np.not_equal), ("icmpEQ", np.equal)):
            out[f"create_{name}"] = logic(f"create_{name}", compares, np.int64)

        inner_cast = builder.create_int_cast

        def int_cast(b: object, h: Handle, ty: Type, *more: object) -> object:
            return self.flag(h.data, ty.scalar) if self.has_draws(h) else inner_cast(b, h, ty, *more)

        out["create_int_cast"] = int_cast

        inner_select = builder.create_select

        def select(b: object, c: Handle, x: Handle, y: Handle) -> object:
            if not any(self.has_draws(h) for h in (c, x, y)):
                return inner_select(b, c, x, y)
            if not self.is_float(x.dtype) and x.dtype.scalar != self.tl.int1:
                raise TextFault("an integer depends on the values of a tensor")
            data = np.where(self.wide(c), self.wide(x), self.wide(y))
            return self.make(data, x.dtype) if self.is_float(x.dtype) else self.flag(data, x.dtype)

        out["create_select"] = select
        return out

    def _shapes(self) -> dict[str, Method]:
        builder = self.builder

        def shaped(name: str, fn: Op) -> Method:
            inner: Method = getattr(builder, name)

            def call(b: object, h: Handle, *args: object) -> object:
                return self._same(h, fn(h.data, *args)) if self.has_draws(h) else inner(b, h, *args)

            return call

        return {
            "create_expand_dims": shaped("create_expand_dims", lambda d, axis: np.expand_dims(d, axis)),
            "create_broadcast": shaped("create_broadcast", lambda d, shape: np.broadcast_to(d, (*shape, d.shape[-1]))),
            "create_reshape": shaped("create_reshape", lambda d, shape, *more: d.reshape(*shape, d.shape[-1])),
            "create_trans": shaped("create_trans", lambda d, perm: np.transpose(d, (*perm, d.ndim - 1))),
        }

    def _memory(self) -> dict[str, Method]:
        memory, builder = self.memory, self.builder
        inner_load, inner_store = builder.create_masked_load, builder.create_masked_store
        inner_rmw = builder.create_atomic_rmw

        def live(pointers: Handle, mask: Handle) -> Array:
            if getattr(mask, "per_draw", False):
                raise TextFault("the mask of a memory access depends on the values of a tensor")
            return np.broadcast_to(mask.data, pointers.data.shape).astype(bool)

        def flags(pointers: Handle, mask: Handle, other: Handle | None, ty: Type) -> Handle | None:
            """What is loaded from a tensor of flags that each draw has its own of."""
            found = memory.flags_at(pointers.data[live(pointers, mask)]) if memory.flags else None
            if found is None:
                return None
            out = np.zeros((*pointers.data.shape, found.shape[-1]), bool)
            if other is not None:
                out |= np.broadcast_to(np.asarray(other.data)[..., None].astype(bool), out.shape)
            out[live(pointers, mask)] = found
            return self.flag(out, ty)

        def load(b: object, pointers: Handle, mask: Handle, other: Handle | None, *more: object) -> object:
            ty = pointers.get_element_ty()
            keep = live(pointers, mask)
            made = not ty.is_floating() and memory.holds(pointers.data[keep])
            if not ty.is_floating() and not made:
                own = flags(pointers, mask, other, ty)
                return inner_load(b, pointers, mask, other, *more) if own is None else own
            shape = (*pointers.data.shape, memory.field.draws)
            out = np.full(shape, NAN) if other is None else np.broadcast_to(self.lifted(other), shape).copy()
            if keep.any():
                region, at = memory.locate(pointers.data[keep], "read")
                out[keep] = region.values[at]
            return self.flag(out, ty) if made else self.handle(out, ty)

        def store(b: object, pointers: Handle, value: Handle, mask: Handle, *more: object) -> object:
            keep = live(pointers, mask)
            ty = pointers.get_element_ty()
            if not (ty.is_floating() or ty in (self.tl.int1, self.tl.int8)):
                return inner_store(b, pointers, value, mask, *more)
            if keep.any():
                region, at = memory.locate(pointers.data[keep], "written")
                shape = (*pointers.data.shape, memory.field.draws)
                region.values[at] = np.broadcast_to(self.lifted(value), shape)[keep]
                np.add.at(region.writes, at, 1)
            return None

        def rmw(b: object, op: object, pointers: Handle, *more: object) -> object:
            if pointers.get_element_ty().is_floating():
                raise TextFault("an atomic operation on floats: its order is not fixed")
            return inner_rmw(b, op, pointers, *more)

        return {"create_masked_load": load, "create_masked_store": store, "create_atomic_rmw": rmw}

    def _refused(self) -> dict[str, Method]:
        def refuse(name: str) -> Method:
            def call(b: object, *args: object) -> object:
                raise TextFault(f"{name} has no value in the fields")

            return call

        names = (
            "create_fp_to_ui",
            "create_frem",
            "create_cat",
            "create_join",
            "create_split",
            "create_gather",
            "create_atomic_cas",
            "create_histogram",
        )
        return (
            {n: refuse(n) for n in names}
            | {"create_bitcast": self._bitcast(), "create_fp_to_si": self._whole()}
            | self._integral()
        )

    def _whole(self) -> Method:
        """A float as an integer that is stored: the same where it is whole, which the program's value says."""

        def call(b: object, h: Handle, ty: Type) -> Handle:
            if ty.scalar != self.tl.int8:
                raise TextFault("an integer wider than eight bits is made of a float")
            return self.flag(h.data, ty.scalar)

        return call

    def _integral(self) -> dict[str, Method]:
        """Arithmetic of integers, which are addresses and counts: those made of floats have none."""

        def own(name: str) -> Method:
            inner: Method = getattr(self.builder, name)

            def call(b: object, *hs: Handle) -> object:
                if any(getattr(h, "per_draw", False) and h.data.dtype == np.uint64 for h in hs):
                    raise TextFault("the arithmetic of integers depends on the values of a tensor")
                return inner(b, *hs)

            return call

        names = ("add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "shl", "ashr", "lshr")
        orders = (f"icmp{sign}{order}" for sign in "SU" for order in ("LT", "LE", "GT", "GE"))
        return {f"create_{n}": own(f"create_{n}") for n in (*names, *orders)}

    def _bitcast(self) -> Method:
        inner: Method = self.builder.create_bitcast

        def bitcast(b: object, h: Handle, ty: Type) -> object:
            if self.has_draws(h) or self.is_float(ty):
                raise TextFault("the bits of a float have no value in the fields")
            return inner(b, h, ty)

        return bitcast

    def _reduce(self) -> Method:
        inner: Callable[[Reduction, TritonTensor | tuple[TritonTensor, ...]], object] = (
            self.interpreter.ReduceOps.apply_impl
        )
        standard = self.tl.standard
        f = self.field
        kinds: dict[object, Callable[[Array, int], Array]] = {
            standard._sum_combine: f.sum,
            standard._elementwise_max: f.max,
            standard._elementwise_min: lambda x, axis: f.neg(f.max(f.neg(x), axis)),
        }

        def apply(this: Reduction, inputs: TritonTensor | tuple[TritonTensor, ...]) -> object:
            x = inputs[0] if isinstance(inputs, tuple) else inputs
            if not any(self.has_draws(i.handle) for i in (inputs if isinstance(inputs, tuple) else (inputs,))):
                return inner(this, inputs)
            fn = next((v for k, v in kinds.items() if k == this.combine_fn), None)
            if fn is None or not self.is_float(x.dtype):
                raise TextFault("a reduction other than sum, max and min has no value in the fields")
            data, axis = x.handle.data, this.axis
            shape = data.shape[:-1]
            if axis is None:
                out = fn(data.reshape(-1, data.shape[-1]), 0)
                out = out.reshape((1,) * len(shape) + out.shape) if this.keep_dims else out[None]
                ty: Type = x.dtype if not this.keep_dims else self.tl.block_type(x.dtype, [1] * len(shape))
            else:
                axis %= len(shape)
                out = fn(data, axis)
                rest = [*shape[:axis], *([1] if this.keep_dims else []), *shape[axis + 1 :]]
                out = out.reshape(*rest, out.shape[-1]) if rest else out[None]
                ty = self.tl.block_type(x.dtype, rest) if rest else x.dtype
            return self._tensor(self.make(out, x.dtype), ty)

        return apply


@contextmanager
def field_interpreter(field: Field) -> Iterator[Memory]:
    """Within it, interpreted kernels compute in `field`, on the tensors of the memory that it gives."""
    check_version()
    memory = Memory(field)
    language = Language(memory)
    try:
        language.install()
        yield memory
    finally:
        language.patches.restore()
