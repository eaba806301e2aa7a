"""From the text of a slice to a tensor program. This executes the user's function: only a worker may call it.

`make_fx(pre_dispatch=True)` on meta tensors records the PyTorch calls at the level the user wrote them; the operator
table says what each becomes. Nothing is computed: a function that needs a tensor's value is told so.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as dc_replace
from typing import Any

from mirage.errors import InPlaceEdit, MirageError, TraceFailed, UnknownOperator, UnsupportedOperands, UnsupportedOutput
from mirage.ir.dtypes import DTYPES, EIGHT_BIT, FLOATING, TORCH_NAMES
from mirage.ir.program import Program, TensorType
from mirage.ir.torch_calls import RESULT, is_call
from mirage.operators.entry import DtypeError, Form, OperandsError, ShapeError
from mirage.operators.table import ATEN, OPERATORS
from mirage.operators.type_rules import is_float
from mirage.program import load_function, recorded_calls
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.program.torch_dtypes import from_torch, to_torch
from mirage.program.trace_errors import explain

Given = tuple[Any, ...]  # (name, shape, dtype) and perhaps the names of its dims
_COPIES = ("aten.clone.default", "aten._to_copy.default", "aten.lift_fresh_copy.default")
FAR = 256  # a branch on a size is far from the sizes of the annotations
_IGNORED = ("aten._assert_tensor_metadata.default", "aten.sym_size.int")


def trace(
    text: str, function: str, inputs: Sequence[Given], constants: Mapping[str, Any] | None = None,
    *, path: str | None = None, lines: Mapping[int, int] | None = None, line_offset: int = 0,
) -> Program:  # fmt: skip
    """The program that `function` computes for inputs of these shapes.

    `constants` gives parameters that are not tensors. A line of the text is `lines[line]`, else line + `line_offset`,
    in the user's file `path`. Raises the errors of the MIR2xx family, with the line.
    """
    place = _Place(path, lines or {}, line_offset)
    try:
        return _Tracer(place).run(text, function, inputs, dict(constants or {}))
    except BaseException as error:
        mended = explain(error)
        if mended is None:
            raise
        raise place.put(mended, error) from error


def trace_generic(
    text: str, function: str, inputs: Sequence[Given], constants: Mapping[str, Any] | None = None, **where: Any
) -> Program:
    """`trace`, and again with each named dim at another size, and with all of these at once: `generic` lists the names
    for which the meaning stays the same term. A name for which it does not is noted: the function is specialised to that
    size. UnsupportedReshape is raised too, since the program is lowered for that."""
    first = trace(text, function, inputs, constants, **where)
    meaning = _meaning(first, where.get("path"))
    generic, notes = [], list(first.notes)
    for name in sorted({n for given in inputs if len(given) > 3 for n in given[3] if n and not n.isdigit()}):
        try:
            other = trace(text, function, [_resized(given, name) for given in inputs], constants, **where)
            same = _meaning(other, None) == meaning
        except MirageError as error:
            notes.append(f"specialised to this size of `{name}`: at another size {error.message}")
            continue
        if same:
            generic.append(name)
        else:
            notes.append(f"specialised to this size of `{name}`: at another size the function computes something else")
    for scales in _growths(len(generic)):
        grown = inputs
        for name, scale in zip(generic, scales, strict=True):
            grown = [_resized(given, name, scale) for given in grown]
        try:
            same = _meaning(trace(text, function, grown, constants, **where), None) == meaning
        except MirageError:
            same = False
        if not same:
            notes.append("specialised to these sizes: at others together the function computes something else")
            generic = []
            break
    return dc_replace(first, generic=tuple(generic), notes=tuple(notes))


def _growths(names: int) -> list[list[int]]:
    """How much the sizes grow when several do: all by different factors, the one half far, the other half far."""
    half = (names + 1) // 2
    far = [[FAR] * half + [1] * (names - half), [1] * half + [FAR] * (names - half)]
    return [[3 + 2 * i for i in range(names)], *far[: min(names, 2)]] if names else []


def _meaning(program: Program, path: str | None) -> Any:
    """The terms, which name sizes and do not state them: equal for two sizes if the function is the same at both."""
    try:
        lowered = lower(program)
    except MirageError as error:
        error.path = error.path or path
        raise
    nodes = [n.key for n in lowered.terms.nodes]
    return nodes, lowered.outputs, lowered.tensors, lowered.made, lowered.calls


def _resized(given: Given, name: str, scale: int = 2) -> Given:
    if len(given) < 4 or name not in given[3]:
        return given
    shape = tuple(scale * n if label == name else n for n, label in zip(given[1], given[3], strict=True))
    return (given[0], shape, given[2], given[3])


class _Place:
    """Lines of the text as lines of the user's file."""

    def __init__(self, path: str | None, lines: Mapping[int, int], offset: int) -> None:
        self.path, self._lines, self._offset = path, lines, offset

    def line(self, line: int | None) -> int | None:
        return None if line is None else self._lines.get(line, line + self._offset)

    def put(self, mended: Any, error: BaseException) -> Any:
        """The error with its path and line; a line that it has already is the user's own."""
        if mended.line is None:
            mended.line = self.line(load_function.line_of(error))
        mended.path = mended.path or self.path
        return mended


class _Tracer:
    def __init__(self, place: _Place) -> None:
        self.place = place

    def run(self, text: str, function: str, inputs: Sequence[Given], constants: dict[str, Any]) -> Program:
        import torch

        user = load_function.load(text, function)
        names = [str(given[0]) for given in inputs]
        b = Builder(function)
        for given in inputs:
            b.input(str(given[0]), tuple(given[1]), str(given[2]), tuple(given[3]) if len(given) > 3 else ())
        metas = [torch.empty(i.type.shape, dtype=to_torch(i.type.dtype), device="meta") for i in b.inputs]
        returned: list[Any] = []

        def call(*tensors: Any) -> Any:
            value = user(**_arguments(user, dict(zip(names, tensors, strict=True)), constants))
            listed = list(value) if isinstance(value, (tuple, list)) else [value]
            if not listed or not all(isinstance(v, torch.Tensor) for v in listed):
                kinds = ", ".join(type(v).__name__ for v in listed) or "nothing"
                raise UnsupportedOutput(f"`{function}` returns {kinds}", line=self.place.line(_first_line(user)))
            returned.append(isinstance(value, (tuple, list)))
            return listed

        module = load_function.record(call, metas)
        reader = _Reader(b, module, self.place, _floats(inputs))
        for x in reader.read():
            b.output(x)
        program = b.program(returns_tuple=returned[-1])
        _refuse_integers(program)
        _refuse_eight_bit(program)
        return program


def _first_line(user: Callable[..., Any]) -> int | None:
    code = getattr(inspect.unwrap(user), "__code__", None)
    return None if code is None else int(code.co_firstlineno)


def _arguments(user: Callable[..., Any], tensors: dict[str, Any], constants: dict[str, Any]) -> dict[str, Any]:
    """What the function is called with; parameters with defaults may be missing."""
    known = inspect.signature(user).parameters
    missing = [
        n for n, p in known.items()
        if p.default is p.empty and n not in tensors and n not in constants
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]  # fmt: skip
    unknown = [n for n in tensors if n not in known]
    if missing or unknown:
        word = f"gives no `{missing[0]}`" if missing else f"gives `{unknown[0]}`, which it does not take"
        raise TraceFailed(f"the description of the inputs {word}", next_step="describe each parameter once")
    return {**{k: v for k, v in constants.items() if k in known}, **tensors}


def _refuse_integers(program: Program) -> None:
    """Integer inputs are data to index with, which named axes do not express. Unused ones are none of our business."""
    whole = {i for i, x in enumerate(program.inputs) if x.type.dtype != "bool" and not is_float(x.type.dtype)}
    first = len(program.inputs)
    for node in program.nodes:
        if is_call(node.op):
            continue
        for a in node.args:
            if a in whole:
                raise UnsupportedOperands(f"`{program.inputs[a].name}` is a tensor of integers", line=node.line)
            if a >= first and is_call(program.nodes[a - first].op) and not _computed_with(program.type_of(a)):
                made = program.nodes[a - first]
                raise UnsupportedOperands(
                    f"`{made.op}` gives {made.type.dtype}, which `{node.op}` takes", line=node.line
                )
    for x in program.outputs:
        if x in whole:
            raise UnsupportedOperands(f"`{program.inputs[x].name}` is a tensor of integers")


def _refuse_eight_bit(program: Program) -> None:
    """8-bit floats are stored, moved and cast; PyTorch computes nothing in them. The instructions that round to them saturate:
    what is too large for float8_e5m2 is infinite in PyTorch, and for float8_e4m3fn it is NaN in older ones."""
    for node in program.nodes:
        types = {program.type_of(a).dtype for a in node.args}
        stored = sorted(types.intersection(EIGHT_BIT))
        if stored and node.op != "cast" and not is_call(node.op) and not _moves(node.op, types):
            raise UnsupportedOperands(
                f"`{node.op}` computes in {TORCH_NAMES[stored[0]]}, which PyTorch does not", line=node.line,
                next_step="cast it first, with .to(torch.float16)",
            )  # fmt: skip
        if node.op == "cast" and node.type.dtype in EIGHT_BIT and types != {node.type.dtype}:
            _refuse_overflow(f"rounds to {TORCH_NAMES[node.type.dtype]}", node.type.dtype, node.line)
    for x in program.outputs:
        if program.type_of(x).dtype == "fp8e5m2":
            _refuse_overflow("returns float8_e5m2", "fp8e5m2", None)


def _moves(op: str, types: set[str]) -> bool:
    return OPERATORS[op].family == "shape" and len(types) == 1


def _refuse_overflow(does: str, dtype: str, line: int | None) -> None:
    """Raises where this PyTorch's conversion does not saturate."""
    far = _too_large(dtype)
    if not math.isfinite(far):
        raise UnsupportedOperands(
            f"the function {does}: kernels saturate where this PyTorch gives {far}", line=line,
            next_step="cast to it outside of the function",
        )  # fmt: skip


def _too_large(dtype: str) -> float:
    """What PyTorch makes of a number that is too large for an 8-bit float."""
    import torch

    return float(torch.tensor(1e9).to(to_torch(dtype)).float())


def _computed_with(made: TensorType) -> bool:
    return made.dtype == "bool" or is_float(made.dtype)


def _floats(inputs: Sequence[Given]) -> set[str]:
    """The floating dtypes that the inputs have and the function computes in: a cast to one of them is not a precision
    event."""
    known = {str(given[2]) for given in inputs}
    return {d for d in known if d in FLOATING and d not in EIGHT_BIT}


class _Reader:
    """Reads the recorded calls into the builder."""

    def __init__(self, b: Builder, module: Any, place: _Place, own: set[str]) -> None:
        self.b, self.module, self.place, self.own = b, module, place, own
        self.values: dict[Any, Any] = {}  # recorded node -> node id, or several
        self.roots: dict[Any, Any] = {}  # recorded node -> the node whose memory it shares
        self.same: dict[Any, Any] = {}  # result of an in-place edit -> the node of the edited tensor
        self.viewed: set[Any] = set()

    def read(self) -> list[int]:
        inputs = iter(range(len(self.b.inputs)))
        outputs: list[int] = []
        for node in self.module.graph.nodes:
            self.b.line = self.place.line(node.meta.get("mirage_line"))
            if node.op == "placeholder":
                self.values[node] = next(inputs)
            elif node.op == "get_attr":
                self.values[node] = self._constant(node)
            elif node.op == "output":
                outputs = [self._one(a) for a in node.args[0]]
            elif node.target is operator.getitem:
                self._item(node)
            elif str(node.target) not in _IGNORED:
                self._call(node)
        return outputs

    def _one(self, node: Any) -> int:
        value = self.values[self.same.get(node, node)]
        if not isinstance(value, int):
            raise UnsupportedOutput("a list of tensors is returned whole", line=self.b.line)
        return value

    def _constant(self, node: Any) -> int:
        value = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not hasattr(value, "numel") or value.numel() != 1 or value.device.type == "meta":
            raise UnsupportedOperands("a tensor made from data inside the function", line=self.b.line)
        x = self.b.const(value.item())
        return x if value.dim() == 0 else self.b.op("expand", x, shape=tuple(value.shape))

    def _item(self, node: Any) -> None:
        source, index = node.args
        self.roots[node] = self._root(source)
        whole = self.values.get(source)
        if isinstance(whole, list) and index < len(whole):
            self.values[node] = whole[index]
        elif node.users:  # the table means the first results, such as a maximum; its place is PyTorch's to tell
            bound = _bind(source.target._schema, source.args, source.kwargs)
            self.values[node] = self._kept(str(source.target), bound, source)[index]

    def _value_of(self, node: Any) -> Any:
        return self.values.get(self.same.get(node, node))

    def _root(self, node: Any) -> Any:
        return self.roots.get(node, node)

    def _call(self, node: Any) -> None:
        name, schema = str(node.target), node.target._schema
        bound = _bind(schema, node.args, node.kwargs)
        writes = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if writes and name not in ATEN:
            self._in_place(node, name, bound, writes)
            return
        made = self.values[node] = self._apply(name, bound, node)
        views = [] if name in _CASTS else [bound[a.name] for a in schema.arguments if a.alias_info is not None]
        same = [] if name in _COPIES else [n for n in node.all_input_nodes if self._value_of(n) == made]
        for source in [v for v in views if _is_node(v)] + same:
            self.roots[node] = self._root(self.same.get(source, source))
            self.viewed.add(self.roots[node])

    def _in_place(self, node: Any, name: str, bound: dict[str, Any], writes: list[str]) -> None:
        """x.op_(...) on a tensor of the function's own is x = x.op(...) from there on, where nothing else sees x."""
        target = self.same.get(bound[writes[0]], bound[writes[0]])
        root = self._root(target)
        if root.op == "placeholder":
            raise InPlaceEdit(f"`{self.b.inputs[self.values[root]].name}` is changed in place", line=self.b.line)
        if root is not target or root in self.viewed:
            raise UnsupportedOperands(
                "a part of a tensor is changed in place", line=self.b.line,
                next_step="build the new tensor with torch.where or torch.cat",
            )  # fmt: skip
        old = self._one(target)
        new = self._replaced(name, bound, node, old)
        have, want = self.b.type(new), self.b.type(old)
        new = new if have.dtype == want.dtype else self._cast(new, want.dtype)
        if have.shape != want.shape:
            raise UnsupportedOperands("an in-place edit changes the shape", line=self.b.line)
        self.values[target] = new
        self.same[node] = self.roots[node] = target

    def _replaced(self, name: str, bound: dict[str, Any], node: Any, old: int) -> int:
        packet, _, overload = name.rpartition(".")
        if packet in ("aten.copy_", "aten.fill_", "aten.zero_"):
            source = {"aten.copy_": "src", "aten.fill_": "value"}.get(packet)
            value = self._operand(bound[source]) if source else self.b.const(0.0)
            spread = self.b.op("expand", value, shape=self.b.type(old).shape)
            return self._cast(spread, self.b.type(old).dtype)
        made = self._apply(f"{packet.removesuffix('_')}.{overload}", bound, node)
        return int(made)

    def _operand(self, value: Any) -> int:
        return self._one(value) if _is_node(value) else self.b.const(value)

    def _cast(self, x: int, dtype: str) -> int:
        have = self.b.type(x).dtype
        if have == dtype:
            return x
        narrower = (
            is_float(have)
            and is_float(dtype)
            and (
                DTYPES[dtype].bytes < DTYPES[have].bytes or {have, dtype} in ({"fp16", "bf16"}, {"fp8e4m3", "fp8e5m2"})
            )
        )
        event = narrower and dtype != "fp32" and dtype not in self.own  # kernels compute in fp32
        if narrower and not event:
            self.b.notes.append(f"line {self.b.line}: computed with more precision than the rounding to {dtype} there")
        return self.b.op("cast", x, dtype=dtype, **({"event": True} if event else {}))

    def _apply(self, name: str, bound: dict[str, Any], node: Any) -> Any:
        """The operator that a call becomes. Its type must be PyTorch's own."""
        want = node.meta.get("val")
        if name in _CASTS:
            return self._to(bound, want)
        found = ATEN.get(name)
        if found is None:
            return self._kept(recorded_calls.functional(name), bound, node)
        entry, form = found
        try:
            made = self._formed(entry.name, form, bound)
        except ShapeError as error:
            raise explain(error) or error from error
        except (OperandsError, DtypeError) as error:
            mended = explain(error)
            assert mended is not None
            mended.line = self.b.line
            raise mended from error
        return self._typed(made, want, name)

    def _kept(self, name: str, bound: dict[str, Any], node: Any) -> Any:
        """A call without a meaning here stays PyTorch's own. Raises UnknownOperator where it is no function of its tensors."""
        refused = recorded_calls.refusal(name, self.b.line)
        if refused is not None:
            raise refused
        if not node.all_input_nodes:
            raise UnknownOperator(
                f"`{name}` is not in the operator table, and it takes no tensor", line=self.b.line,
                next_step="pass what it makes as an input",
            )  # fmt: skip
        args: list[int] = []

        def tensor(value: Any) -> str | None:
            if not _is_node(value):
                return None
            x = self._one(value)
            args.extend([x] if x not in args else [])
            return f"%{args.index(x)}"

        given = {k: recorded_calls.plain(name, v, tensor, self.b.line) for k, v in bound.items()}
        want = node.meta["val"]
        attrs, types = recorded_calls.attributes(name, given), [self.b.type(x) for x in args]
        several = isinstance(want, (tuple, list))
        made = [
            self._result(
                name, args, recorded_calls.with_sizes(name, attrs, types, i if several else None), i, value, several
            )
            for i, value in enumerate(want if several else [want])
        ]
        return made if several else made[0]

    def _result(self, name: str, args: list[int], attrs: dict[str, Any], i: int, value: Any, several: bool) -> int:
        which = {RESULT: i} if several else {}
        try:
            own = TensorType(tuple(value.shape), from_torch(value.dtype))
        except UnsupportedOperands as error:
            error.line = self.b.line
            raise
        return self.b.call(name, *args, type=own, attrs={**attrs, **which})

    def _formed(self, op: str, form: Form, bound: dict[str, Any]) -> Any:
        values = {k: self._value(v) for k, v in bound.items()}
        if form.build is not None:
            return form.build(_Numbers(self.b), values)
        for k, allowed in form.only.items():
            if k in values and values[k] not in allowed:
                raise OperandsError(f"`{op}` is not covered with {k}={values[k]!r}")
        args = [self._operand_of(bound[k], values[k]) for k in form.args if values.get(k) is not None]
        attrs = {k: values[v] for k, v in form.attrs.items() if v in values}
        return self.b.op(op, *args, **attrs)

    def _operand_of(self, given: Any, value: Any) -> int:
        return int(value) if _is_node(given) else self.b.const(value)

    def _value(self, given: Any) -> Any:
        import torch

        if _is_node(given):
            return _Id(self._one(given))
        if isinstance(given, (list, tuple)):
            return [self._value(g) for g in given]
        return from_torch(given) if isinstance(given, torch.dtype) else given

    def _to(self, bound: dict[str, Any], want: Any) -> int:
        x = self._one(bound.get("self", bound.get("input")))
        return self._cast(x, from_torch(want.dtype))

    def _typed(self, made: Any, want: Any, name: str) -> Any:
        if isinstance(made, list):
            wanted = list(want) if isinstance(want, (list, tuple)) else [None] * len(made)
            return [self._typed(m, w, name) for m, w in zip(made, wanted, strict=False)]
        if want is None or not hasattr(want, "dtype"):
            return int(made)
        have, dtype = self.b.type(made), from_torch(want.dtype)
        if have.shape != tuple(want.shape):
            raise UnsupportedOperands(
                f"`{name}` gives {list(want.shape)}, the table says {list(have.shape)}", line=self.b.line
            )
        if have.dtype == dtype:
            return int(made)
        return self._adopt(int(made), dtype)

    def _adopt(self, x: int, dtype: str) -> int:
        """PyTorch's own dtype for a result whose rounding the function does not ask for."""
        n = len(self.b.inputs)
        if x >= n:
            node = self.b.nodes[x - n]
            if node.op == "const" or not node.type.shape:
                return self.b.op("cast", x, dtype=dtype)
        return self._cast(x, dtype)


class _Id(int):
    """A node id among numbers: a form can tell a tensor from a number."""


class _Numbers:
    """The builder, for forms: an operand that is a number becomes a constant."""

    def __init__(self, b: Builder) -> None:
        self._b = b

    def op(self, op: str, *args: Any, **attrs: Any) -> int:
        return _Id(self._b.op(op, *[int(a) if isinstance(a, _Id) else self._b.const(a) for a in args], **attrs))

    def const(self, value: float | int | bool) -> int:
        return _Id(self._b.const(value))

    def type(self, x: int) -> TensorType:
        return self._b.type(x)


_CASTS = {
    "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other", "aten._to_copy.default",
    "aten.type_as.default", "aten.float.default", "aten.half.default", "prims.convert_element_type.default",
}  # fmt: skip


def _is_node(value: Any) -> bool:
    import torch

    return isinstance(value, torch.fx.Node)


def _bind(schema: Any, args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The call's arguments by name, defaults filled in."""
    listed = list(args)
    bound: dict[str, Any] = {}
    for i, a in enumerate(schema.arguments):
        if i < len(listed):
            bound[a.name] = listed[i]
        elif a.name in kwargs:
            bound[a.name] = kwargs[a.name]
        elif a.has_default_value():
            bound[a.name] = a.default_value
    return bound
