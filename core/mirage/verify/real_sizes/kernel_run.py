"""Evaluates the text of a kernel for many programs of its grid at once.

Where programs part (a branch or a loop whose bound depends on the program) both ways are followed, and what each program does is
masked by whether it goes that way, as lanes of a warp are.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mirage.verify.real_sizes import (
    accumulators,
    memory_operators,  # noqa: F401  entries of the table
    reduction_operators,  # noqa: F401  entries of the table
)
from mirage.verify.real_sizes.module_text import ModuleText, depends_on_data, reads_data
from mirage.verify.real_sizes.operator_table import OPERATORS, Context, binary, inverted, negative, truth
from mirage.verify.real_sizes.pointwise_operators import expand_dims
from mirage.verify.real_sizes.tensor_descriptors import Descriptor, HostDescriptor, base_tensor, given
from mirage.verify.real_sizes.tile_values import (
    Array,
    BlockPointer,
    NamedDtype,
    Pointer,
    PointerType,
    Tile,
    Unknown,
    Wrong,
    merged,
    promoted,
)

OPERATION = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "shr", ast.Eq: "eq", ast.NotEq: "ne",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
PLAIN: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b, ast.BitXor: lambda a, b: a ^ b, ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b, ast.Pow: lambda a, b: a**b, ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b, ast.Lt: lambda a, b: a < b, ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b, ast.Is: lambda a, b: a is b, ast.IsNot: lambda a, b: a is not b,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
LANGUAGE, LIBDEVICE = "triton.language.", ("triton.language.extra.libdevice.", "triton.language.extra.cuda.libdevice.")
DTYPES = {
    "float64": "fp64", "float32": "fp32", "bfloat16": "bf16", "float16": "fp16",
    **{n: n for n in ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
}  # fmt: skip
TENSOR_METHODS = {
    "to", "sum", "max", "min", "argmax", "argmin", "reshape", "view", "trans", "permute", "expand_dims", "broadcast_to", "abs",
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid", "softmax", "cumsum", "cumprod", "ravel", "cos", "sin", "floor",
    "ceil", "erf", "split", "flip", "cast", "advance", "reduce", "associative_scan", "gather", "store", "atomic_add", "xor_sum",
}  # fmt: skip
BUILTINS: dict[str, Callable[..., object]] = {
    "len": len,
    "float": float,
    "int": int,
    "bool": bool,
    "tuple": tuple,
    "str": str,
}
MOST_STEPS = 100_000  # of one loop


class Helper:
    """A helper function of the text that is handed to `tl.reduce`."""

    def __init__(self, run: BatchRun, name: str) -> None:
        self.run, self.name = run, name

    def __call__(self, *args: object) -> object:
        return self.run.helper(self.name, args, {})


class BatchRun:
    """One batch of a launch's programs. `until`: the processor time at which the run is given up."""

    def __init__(self, text: ModuleText, context: Context, until: float) -> None:
        self.text, self.k, self.until = text, context, until
        self.env: dict[str, object] = {}
        self.loops = 0
        self.depth = 0
        self.results: list[tuple[Array | None, object]] = []
        self.data: set[str] = set()  # names that depend on memory

    def start(self, name: str, arguments: Mapping[str, object]) -> None:
        self.env = dict(arguments)
        self.data = depends_on_data(self.text.jitted[name])
        with np.errstate(all="ignore"):
            self.block(self.text.jitted[name].body)

    # ---- statements
    def block(self, body: Sequence[ast.stmt]) -> None:
        for s in body:
            if self.k.active is not None and not self.k.active.any():
                return
            self.k.line = s.lineno
            if time.process_time() > self.until:
                raise Unknown("the launch takes too long to be followed", s.lineno)
            self.statement(s)

    def statement(self, s: ast.stmt) -> None:
        match s:
            case ast.Assign(targets=targets, value=value):
                made = self.value(value)
                for t in targets:
                    self.assign(t, made)
                    self.carried(t, value, made)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, self.value(value))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                made = self.binary(op, self.name(name), self.value(value))
                self.assign(target, made)
                if self.loops and isinstance(op, (ast.Add, ast.Sub)):
                    accumulators.of_loop(self.k.precision, self.k.line, name, made)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self.value(value)
            case ast.If():
                self.branch(s)
            case ast.For():
                self.loop(s)
            case ast.While():
                self.while_loop(s)
            case ast.Return():
                self.leave(None if s.value is None else self.value(s.value))
            case ast.Assert(test=test):
                OPERATORS["static_assert"](self.k, self.value(test))
            case _:
                raise Unknown(f"`{ast.unparse(s).splitlines()[0][:60]}` in a kernel", s.lineno)

    def carried(self, target: ast.expr, value: ast.expr, made: object) -> None:
        """Note `x = x + ...` and `x = tl.dot(..., x)` in a loop."""
        if not isinstance(target, ast.Name) or not self.loops:
            return
        nodes = list(ast.walk(value))
        sums = any(isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Add, ast.Sub)) for n in nodes)
        sums |= any(isinstance(n, ast.Call) and ast.unparse(n.func).endswith("dot") for n in nodes)
        if sums and any(isinstance(n, ast.Name) and n.id == target.id for n in nodes):
            accumulators.of_loop(self.k.precision, self.k.line, target.id, made)

    def assign(self, target: ast.expr, value: object) -> None:
        match target:
            case ast.Name(id=name):
                try:
                    self.env[name] = merged(self.k.active, value, self.env.get(name))
                except Unknown as e:
                    raise self.k.unknown(f"{name}: {e.what}") from None
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = tuple(value) if isinstance(value, (tuple, list)) else ()
                if len(values) != len(parts):
                    raise self.k.unknown(f"`{ast.unparse(target)}` is bound to something else")
                for p, v in zip(parts, values):
                    self.assign(p, v)
            case _:
                raise self.k.unknown(f"`{ast.unparse(target)}` is set")

    def leave(self, value: object) -> None:
        self.results.append((self.k.active, value))
        everyone = np.zeros(self.k.accesses.programs.size, bool)
        self.k.active = everyone if self.k.active is None else self.k.active & False

    # ---- control flow
    def flags(self, x: object) -> bool | Array:
        """A condition: the same for all programs, or a flag for each."""
        if not isinstance(x, Tile):
            if isinstance(x, (Pointer, BlockPointer)):
                raise self.k.unknown("a condition is a pointer")
            return bool(x)
        t = truth(self.k, x)
        if t.block and t.data.size != t.data.shape[0]:
            raise self.k.wrong("a condition of control flow is a block")
        data = t.data.reshape(-1)
        live = data if self.k.active is None or data.size == 1 else data[self.k.active]
        if live.size and (live == live[0]).all():
            return bool(live[0])
        return np.asarray(data)

    def condition(self, test: ast.expr) -> bool | Array:
        """A branch's condition; where it depends on memory, its outcomes are noted."""
        x = self.value(test)
        c = self.flags(x)
        if isinstance(x, Tile) and (self.depth > 0 or reads_data(test, self.data)):
            seen = self.k.precision.outcomes.setdefault(test.lineno, set())
            seen |= {c} if isinstance(c, bool) else {True, False}
        return c

    def branch(self, s: ast.If) -> None:
        c = self.condition(s.test)
        if isinstance(c, bool):
            self.block(s.body if c else s.orelse)
            return
        before = self.k.active
        held = [c if before is None else before & c, ~c if before is None else before & ~c]
        after = []
        for active, body in zip(held, (s.body, s.orelse), strict=True):
            self.k.active = active
            self.block(body)
            after.append(self.k.active)
        left = after[0] | after[1]
        self.k.active = before if (left.all() if before is None else (left == before).all()) else left

    def loop(self, s: ast.For) -> None:
        if s.orelse or not isinstance(s.target, ast.Name):
            raise self.k.unknown("a loop of another kind")
        kind, bounds = self.range_of(s.iter)
        if kind == "static" or all(isinstance(b, int) for b in bounds):
            steps: Iterable[int] = range(*(self.k.number(b) for b in bounds))
            self.settle(s.body, kind)
            self.loops += 1
            before = dict(self.env)
            for i in steps:
                self.env[s.target.id] = i if kind == "static" else self.k.precision.constant(i)
                self.block(s.body)
                if kind != "static":
                    self.same_types(before)
            self.loops -= 1
            return
        self.settle(s.body, kind)
        start, stop, step = (self.k.tile(b) for b in ((0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]))
        if any(t.block or t.floating for t in (start, stop, step)) or (step.data == 0).any():
            raise self.k.wrong("a loop's bounds are no integers, or its step is zero")
        a, b, c = (t.data.astype(np.int64) for t in (start, stop, step))
        trips = np.maximum(0, -((a - b) // c))
        dtype = promoted(promoted(start.dtype, stop.dtype, (False, False), False), step.dtype, (False, False), False)
        self.repeated(s, trips, lambda n: self.k.precision.tile(a + n * c, dtype))

    def repeated(self, s: ast.For, trips: Array, index: Callable[[int], Tile]) -> None:
        before, names = self.k.active, dict(self.env)
        live = trips if before is None or trips.size == 1 else trips[before]
        most, same = int(live.max(initial=0)), bool((live == live[:1]).all())
        if most > MOST_STEPS:
            raise self.k.unknown(f"a loop of {most} steps")
        self.loops += 1
        assert isinstance(s.target, ast.Name)
        for n in range(most):
            if not same:
                going = trips > n
                now = going if before is None else before & going
                self.k.active = now
            self.env[s.target.id] = index(n)
            entered = self.k.active
            self.block(s.body)
            if self.k.active is not entered:
                raise self.k.unknown("a return in a loop")
            self.same_types(names)
        self.loops -= 1
        self.k.active = before

    def same_types(self, before: Mapping[str, object]) -> None:
        """What a loop carries keeps its dtype and its block, or Triton refuses the kernel."""
        for name, old in before.items():
            new = self.env[name]
            if new is old or not (isinstance(old, Tile) and isinstance(new, Tile)):
                continue
            if (new.dtype, new.block) != (old.dtype, old.block):
                was, becomes = f"{old.dtype}{list(old.block)}", f"{new.dtype}{list(new.block)}"
                raise self.k.wrong(f"{name} is {was} before a loop and {becomes} in it, which Triton refuses")

    def range_of(self, node: ast.expr) -> tuple[str, tuple[object, ...]]:
        if isinstance(node, ast.Call):
            path = self.text.path(node.func)
            if path in ("range", LANGUAGE + "range", LANGUAGE + "static_range"):
                return ("static" if path.endswith("static_range") else "range"), tuple(self.value(a) for a in node.args)
        raise self.k.unknown(f"a loop over `{ast.unparse(node)}`")

    def settle(self, body: Sequence[ast.stmt], kind: str) -> None:
        """Numbers that a loop changes are tensors within it."""
        if kind == "static":
            return
        for s in body:
            for n in ast.walk(s):
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                    held = self.env.get(n.id)
                    if isinstance(held, (bool, int, float)):
                        self.env[n.id] = self.k.precision.constant(held)

    def while_loop(self, s: ast.While) -> None:
        before = self.k.active
        self.settle(s.body, "range")
        names = dict(self.env)
        self.loops += 1
        for _ in range(MOST_STEPS):
            c = self.flags(self.value(s.test))
            if isinstance(c, bool):
                if not c:
                    break
            else:
                self.k.active = c if self.k.active is None else self.k.active & c
            entered = self.k.active
            self.block(s.body)
            if self.k.active is not entered:
                raise self.k.unknown("a return in a loop")
            self.same_types(names)
        else:
            raise self.k.unknown("a loop does not end")
        self.loops -= 1
        self.k.active = before

    # ---- expressions
    def value(self, e: ast.expr) -> object:
        match e:
            case ast.Constant(value=v):
                return v
            case ast.Name(id=name):
                return self.name(name)
            case ast.BinOp(left=a, op=op, right=b):
                return self.binary(op, self.value(a), self.value(b))
            case ast.UnaryOp(op=op, operand=x):
                return self.unary(op, self.value(x))
            case ast.Compare(left=a, ops=[op], comparators=[b]):
                return self.binary(op, self.value(a), self.value(b))
            case ast.BoolOp(op=op, values=values):
                return self.logical(op, values)
            case ast.IfExp(test=test, body=a, orelse=b):
                return self.chosen(test, a, b)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(p) for p in parts)
            case ast.Attribute():
                return self.attribute(e)
            case ast.Subscript(value=x, slice=at):
                return self.subscript(self.value(x), at)
            case ast.Call():
                return self.call(e)
            case ast.JoinedStr():
                return ""
        raise self.k.unknown(f"`{ast.unparse(e)[:60]}`")

    def name(self, name: str) -> object:
        if name in self.env:
            return self.env[name]
        if name in self.text.constants:
            return self.text.constants[name]
        if name in self.text.jitted:
            return Helper(self, name)
        if name in ("True", "False", "None"):
            return {"True": True, "False": False, "None": None}[name]
        path = self.text.imported.get(name)
        if path is not None and path.startswith(LANGUAGE) and path.removeprefix(LANGUAGE) in DTYPES:
            return NamedDtype(DTYPES[path.removeprefix(LANGUAGE)])
        raise self.k.unknown(f"the name {name}, which is not bound here")

    def binary(self, op: ast.operator | ast.cmpop, a: object, b: object) -> object:
        tensors = (Tile, Pointer, BlockPointer)
        if isinstance(op, (ast.Is, ast.IsNot)) or not (isinstance(a, tensors) or isinstance(b, tensors)):
            try:
                return PLAIN[type(op)](a, b)
            except (TypeError, ValueError, ZeroDivisionError, KeyError) as error:
                raise self.k.unknown(f"{type(op).__name__} of these values ({error})") from None
        if isinstance(a, BlockPointer) or isinstance(b, BlockPointer) or type(op) not in OPERATION:
            raise self.k.unknown(f"{type(op).__name__} of tiles")
        return binary(self.k, OPERATION[type(op)], a, b)

    def unary(self, op: ast.unaryop, x: object) -> object:
        if not isinstance(x, Tile):
            if isinstance(op, ast.Not):
                return not x
            if isinstance(x, (int, float)):
                return -x if isinstance(op, ast.USub) else +x if isinstance(op, ast.UAdd) else ~int(x)
            raise self.k.unknown("a sign before what is no number")
        if isinstance(op, ast.Not):
            t = truth(self.k, x)
            return Tile(~t.data, "int1")
        return (
            x if isinstance(op, ast.UAdd) else negative(self.k, x) if isinstance(op, ast.USub) else inverted(self.k, x)
        )

    def logical(self, op: ast.boolop, values: Sequence[ast.expr]) -> object:
        found: object = None
        for v in values:
            found = self.value(v) if found is None else self.both(op, found, v)
            if not isinstance(found, Tile) and bool(found) != isinstance(op, ast.And):
                return found
        return found

    def both(self, op: ast.boolop, a: object, v: ast.expr) -> object:
        b = self.value(v)
        if not isinstance(a, Tile) and not isinstance(b, Tile):
            return b
        name = "and" if isinstance(op, ast.And) else "or"
        return binary(self.k, name, truth(self.k, a), truth(self.k, b))

    def chosen(self, test: ast.expr, a: ast.expr, b: ast.expr) -> object:
        c = self.condition(test)
        if isinstance(c, bool):
            return self.value(a if c else b)
        x, y = self.value(a), self.value(b)
        return OPERATORS["where"](self.k, Tile(c, "int1"), x, y)

    def attribute(self, e: ast.Attribute) -> object:
        path = self.text.path(e)
        if path.startswith(LANGUAGE):
            name = path.removeprefix(LANGUAGE)
            if name in DTYPES:
                return NamedDtype(DTYPES[name])
            if name.startswith("PropagateNan."):
                return name
        if path in ("math.pi", "math.e", "math.inf"):
            return {"math.pi": np.pi, "math.e": np.e, "math.inf": float("inf")}[path]
        if path:
            raise self.k.unknown(f"`{path}`")
        x = self.value(e.value)
        match x, e.attr:
            case (Tile() | Pointer() | BlockPointer(), "shape"):
                return x.block
            case (Pointer(region=r), "dtype" | "type"):
                return PointerType(NamedDtype(r.dtype))
            case (Descriptor(block=b), "block_shape"):
                return b
            case (Descriptor(shape=parts), "shape") | (Descriptor(strides=parts), "strides"):
                return parts
            case (Descriptor(base=b), "dtype"):
                return NamedDtype(b.region.dtype)
            case (BlockPointer(base=b), "dtype" | "type"):
                return PointerType(NamedDtype(b.region.dtype))
            case (Tile(dtype=d), "dtype" | "type"):
                return NamedDtype(d)
            case (PointerType(element_ty=t), "element_ty" | "scalar"):
                return t
            case (NamedDtype(), "scalar" | "element_ty"):
                return x
            case (Tile(), "T"):
                return OPERATORS["trans"](self.k, x)
            case (_, "value"):
                return x
        raise self.k.unknown(f"`{ast.unparse(e)[:60]}`")

    def subscript(self, x: object, at: ast.expr) -> object:
        if isinstance(x, (tuple, list)):
            return x[self.k.number(self.value(at))]
        if not isinstance(x, (Tile, Pointer)):
            raise self.k.unknown("an index of what is no block")
        parts = at.elts if isinstance(at, ast.Tuple) else [at]
        out: object = x
        kept = 0
        for i, p in enumerate(parts):
            if isinstance(p, ast.Slice) and p.lower is p.upper is p.step is None:
                kept += 1
            elif isinstance(p, ast.Constant) and p.value is None:
                out = expand_dims(self.k, out, i)
            else:
                raise self.k.unknown("an index other than `:` and `None`")
        if kept != len(x.block):
            raise self.k.wrong(f"{len(parts)} indices of a block {list(x.block)}")
        return out

    # ---- calls
    def call(self, e: ast.Call) -> object:
        path = self.text.path(e.func)
        if any(isinstance(a, ast.Starred) for a in e.args) or any(x.arg is None for x in e.keywords):
            raise self.k.unknown("arguments with a star")
        if not path and isinstance(e.func, ast.Attribute):
            return self.method(e)
        args = [self.value(a) for a in e.args]
        kwargs = {str(x.arg): self.value(x.value) for x in e.keywords}
        self.k.line = e.lineno
        if path in self.text.jitted:
            return self.helper(path, args, kwargs)
        if path == "triton.cdiv":
            path = LANGUAGE + "cdiv"
        for prefix in LIBDEVICE:
            if path.startswith(prefix):
                return self.operator("libdevice." + path.removeprefix(prefix), args, kwargs)
        if path.startswith(LANGUAGE):
            name = path.removeprefix(LANGUAGE).removeprefix("math.").removeprefix("standard.")
            if name == "constexpr" or (name == "tuple" and len(args) == 1):
                return args[0]
            return self.operator(name, args, kwargs)
        return self.plain_call(path or ast.unparse(e.func), args)

    def plain_call(self, path: str, args: Sequence[object]) -> object:
        if path in ("min", "max", "abs"):
            if any(isinstance(a, Tile) for a in args):
                name = {"min": "minimum", "max": "maximum", "abs": "abs"}[path]
                return self.operator(name, args, {})
            return {"min": min, "max": max, "abs": abs}[path](*args)  # type: ignore[operator]
        if path in BUILTINS and not any(isinstance(a, (Tile, Pointer)) for a in args):
            return BUILTINS[path](*args)
        if path.startswith("math.") and all(isinstance(a, (int, float)) for a in args):
            import math

            return getattr(math, path.removeprefix("math."))(*args)
        if path == "triton.next_power_of_2":
            return 1 << (self.k.number(args[0]) - 1).bit_length()
        raise self.k.unknown(f"a call of `{path[:60]}`")

    def operator(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        kwargs = {n: v for n, v in kwargs.items() if not n.startswith("_")}
        found = OPERATORS.get(name)
        if found is None:
            raise self.k.unknown(f"tl.{name}")
        try:
            return found(self.k, *args, **kwargs)
        except TypeError as error:
            raise self.k.unknown(f"tl.{name} with these arguments ({error})") from None

    def method(self, e: ast.Call) -> object:
        assert isinstance(e.func, ast.Attribute)
        x, name = self.value(e.func.value), e.func.attr
        args = [self.value(a) for a in e.args]
        kwargs = {str(n.arg): self.value(n.value) for n in e.keywords}
        self.k.line = e.lineno
        if isinstance(x, (NamedDtype, PointerType)):
            kinds = {"is_floating": ("fp64", "fp32", "fp16", "bf16"), "is_fp16": ("fp16",), "is_fp32": ("fp32",),
                     "is_bf16": ("bf16",), "is_fp64": ("fp64",)}  # fmt: skip
            if isinstance(x, NamedDtype) and name in kinds:
                return x.name in kinds[name]
        elif isinstance(x, Descriptor) and name in ("load", "store"):
            return self.operator(f"{name}_tensor_descriptor", [x, *args], kwargs)
        elif name in TENSOR_METHODS:
            return self.operator(name, [x, *args], kwargs)
        raise self.k.unknown(f"the method {name}")

    def helper(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """A call of another function of the text."""
        f = self.text.jitted[name]
        given = [a.arg for a in (*f.args.posonlyargs, *f.args.args)]
        if f.args.vararg or f.args.kwarg or f.args.kwonlyargs or self.depth > 8 or len(args) > len(given):
            raise self.k.unknown(f"the call of {name}")
        bound = dict(zip(given, args)) | dict(kwargs)
        for n, d in zip(reversed(given), reversed(f.args.defaults)):
            if n not in bound:
                bound[n] = self.value(d)
        if set(bound) != set(given):
            raise self.k.wrong(f"{name} is called without {', '.join(sorted(set(given) - set(bound)))}")
        outer = (self.env, self.results, self.k.active, self.loops)
        self.env, self.results, self.depth = bound, [], self.depth + 1
        try:
            self.block(f.body)
            left = self.k.active is None or bool(self.k.active.any())
            made: object = None
            for active, value in reversed(self.results):
                made = value if made is None else merged(active, value, made)
            if self.results and left and any(v is not None for _, v in self.results):
                raise self.k.unknown(f"{name} returns a value in some programs alone")
        finally:
            (self.env, self.results, self.k.active, self.loops), self.depth = outer, self.depth - 1
        return made


def argument(context: Context, value: object, regions: Callable[[object], Pointer | None], constant: bool) -> object:
    """What a kernel gets for an argument of its launch."""
    pointer = regions(base_tensor(value))
    if pointer is not None:
        return given(context, value, pointer) if isinstance(value, HostDescriptor) else pointer
    if constant or value is None or isinstance(value, (str, NamedDtype)):
        return value
    if isinstance(value, (bool, int, float)):
        return context.precision.constant(value)
    if isinstance(value, (tuple, list)):
        return tuple(argument(context, v, regions, constant) for v in value)
    raise Wrong(f"a kernel is given {type(value).__name__}")
