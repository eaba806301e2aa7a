"""The calls that PyTorch recorded of a function, read into the builder as operators of the table or calls of PyTorch's own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeGuard

from mirage.errors import InPlaceEdit, SideEffect, UnknownOperator, UnsupportedOperands, UnsupportedOutput
from mirage.ir.dtypes import DTYPES, EIGHT_BIT
from mirage.ir.opaque_calls import RESULT
from mirage.ir.program import Attr
from mirage.ir.tensor_spec import TensorType
from mirage.operators.entry import DtypeError, Form, OperandsError, ShapeError
from mirage.operators.table import ATEN, OPERATORS
from mirage.operators.type_rules import is_float, promote
from mirage.program import recorded_calls
from mirage.program.builder import Builder
from mirage.program.local_names import name_of
from mirage.program.torch_dtypes import from_torch
from mirage.program.trace_errors import explain

if TYPE_CHECKING:
    import torch

NodeIds = int | list[int]  # of a call's result, or of its several results
CONVERSION = "aten._to_copy.default"  # to another dtype: a tensor of its own
_COPIES = ("aten.clone.default", CONVERSION, "aten.lift_fresh_copy.default")
_IGNORED = ("aten._assert_tensor_metadata.default", "aten.sym_size.int")


def writes(module: torch.fx.GraphModule) -> bool:
    """Does a call of it write to a tensor?"""
    schemas = (getattr(n.target, "_schema", None) for n in module.graph.nodes if n.op == "call_function")
    return any(
        a.alias_info is not None and a.alias_info.is_write for s in schemas if s is not None for a in s.arguments
    )


class PartWritten(Exception):
    """A part of a tensor is changed in place, or a tensor that a view shows: the calls are to be recorded without writes."""


class RecordedCalls:
    """The recorded module, read in order. `line_of`: a line of the text as one of the user's file; `own`: the dtypes in which
    the function computes, to which a cast is no precision event."""

    def __init__(
        self, b: Builder, module: torch.fx.GraphModule, line_of: Callable[[int | None], int | None], own: set[str]
    ) -> None:
        self.b, self.module, self.line_of, self.own = b, module, line_of, own
        self.values: dict[torch.fx.Node, NodeIds] = {}
        self.roots: dict[torch.fx.Node, torch.fx.Node] = {}  # -> the node whose memory it shares
        self.same: dict[
            torch.fx.Node, torch.fx.Node
        ] = {}  # result of an in-place edit -> the node of the edited tensor
        self.viewed: set[torch.fx.Node] = set()

    def read(self) -> list[int]:
        inputs = iter(range(len(self.b.inputs)))
        outputs: list[int] = []
        for node in self.module.graph.nodes:
            self.b.line = self.line_of(node.meta.get("mirage_line"))
            if node.op == "placeholder":
                self.values[node] = next(inputs)
            elif node.op == "get_attr":
                self.values[node] = self._constant(node)
            elif node.op == "output":
                outputs = [self._one(a) for a in node.args[0]]
            elif node.target is operator.getitem:
                self._item(node)
            elif not hasattr(node.target, "_schema"):
                _mode(node, self.b.line)
            elif str(node.target) not in _IGNORED:
                self._call(node)
            if isinstance(made := self.values.get(node), int):
                self.b.called(made, name_of(node))
        return outputs

    def _one(self, node: torch.fx.Node) -> int:
        value = self.values[self.same.get(node, node)]
        if not isinstance(value, int):
            raise UnsupportedOutput("a list of tensors is returned whole", line=self.b.line)
        return value

    def _constant(self, node: torch.fx.Node) -> int:
        value = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not hasattr(value, "numel") or value.numel() != 1 or value.device.type == "meta":
            raise UnsupportedOperands("a tensor made from data inside the function", line=self.b.line)
        x = self.b.const(value.item())
        return x if value.dim() == 0 else self.b.op("expand", x, shape=tuple(value.shape))

    def _item(self, node: torch.fx.Node) -> None:
        source, index = node.args
        self.roots[node] = self._root(source)
        whole = self.values.get(source)
        if isinstance(whole, list) and index < len(whole):
            self.values[node] = whole[index]
        elif node.users:  # the table means the first results, such as a maximum; its place is PyTorch's to tell
            bound = _bind(source.target._schema, source.args, source.kwargs)
            several = self._kept(str(source.target), bound, source)
            assert isinstance(several, list)
            self.values[node] = several[index]

    def _value_of(self, node: torch.fx.Node) -> NodeIds | None:
        return self.values.get(self.same.get(node, node))

    def _root(self, node: torch.fx.Node) -> torch.fx.Node:
        return self.roots.get(node, node)

    def _call(self, node: torch.fx.Node) -> None:
        name, schema = str(node.target), node.target._schema
        bound = _bind(schema, node.args, node.kwargs)
        writes = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if writes and name not in ATEN:
            self._in_place(node, name, bound, writes)
            return
        made = self.values[node] = self._apply(name, bound, node)
        views = [] if name in CASTS else [bound[a.name] for a in schema.arguments if a.alias_info is not None]
        if (
            isinstance(made, list) and name in ATEN
        ):  # pieces or spreads of their operands, whether the schema says so or not
            self.viewed |= {self._root(self.same.get(n, n)) for n in node.all_input_nodes}
        same = [] if name in _COPIES else [n for n in node.all_input_nodes if self._value_of(n) == made]
        for source in [v for v in views if _is_node(v)] + same:
            self.roots[node] = self._root(self.same.get(source, source))
            self.viewed.add(self.roots[node])

    def _in_place(self, node: torch.fx.Node, name: str, bound: dict[str, object], writes: list[str]) -> None:
        """x.op_(...) on a tensor of the function's own is x = x.op(...) from there on, where nothing else sees x."""
        edited: torch.fx.Node = bound[writes[0]]
        target = self.same.get(edited, edited)
        root = self._root(target)
        if root.op == "placeholder":
            raise InPlaceEdit(f"`{self.b.inputs[self._one(root)].name}` is changed in place", line=self.b.line)
        if root is not target or root in self.viewed:
            raise PartWritten
        old = self._one(target)
        new = self._replaced(name, bound, node, old)
        have, want = self.b.type(new), self.b.type(old)
        new = new if have.dtype == want.dtype else self._cast(new, want.dtype)
        if have.shape != want.shape:
            raise UnsupportedOperands("an in-place edit changes the shape", line=self.b.line)
        self.values[target] = new
        self.same[node] = self.roots[node] = target

    def _replaced(self, name: str, bound: dict[str, object], node: torch.fx.Node, old: int) -> int:
        packet, _, overload = name.rpartition(".")
        if packet in ("aten.copy_", "aten.fill_", "aten.zero_"):
            source = {"aten.copy_": "src", "aten.fill_": "value"}.get(packet)
            value = self._operand(bound[source]) if source else self.b.const(0.0)
            spread = self.b.op("expand", value, shape=self.b.type(old).shape)
            return self._cast(spread, self.b.type(old).dtype)
        made = self._apply(f"{packet.removesuffix('_')}.{overload}", bound, node)
        assert isinstance(made, int)
        return made

    def _operand(self, value: object) -> int:
        return self._one(value) if _is_node(value) else self.b.op("const", value=value)

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
        event |= dtype in EIGHT_BIT and not is_float(have)
        if narrower and not event:
            self.b.notes.append(f"line {self.b.line}: computed with more precision than the rounding to {dtype} there")
        if have in ("int32", "int64") and dtype in ("fp16", "bf16"):
            self.b.notes.append(f"line {self.b.line}: integers are not rounded to {dtype} there, but to float32")
        return self.b.op("cast", x, dtype=dtype, **({"event": True} if event else {}))

    def _apply(self, name: str, bound: dict[str, object], node: torch.fx.Node) -> NodeIds:
        """The operator that a call becomes. Its type must be PyTorch's own."""
        want = node.meta.get("val")
        if name in CASTS:
            return self._to(bound, want, node)
        found = ATEN.get(name)
        if found is None or not self._covers(found[1], bound):
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

    def _kept(self, name: str, bound: dict[str, object], node: torch.fx.Node) -> NodeIds:
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

        def tensor(value: object) -> str | None:
            if not _is_node(value):
                return None
            x = self._one(value)
            args.extend([x] if x not in args else [])
            return f"%{args.index(x)}"

        given = {k: recorded_calls.plain(name, v, tensor, self.b.line) for k, v in bound.items()}
        attrs, types = recorded_calls.attributes(name, given), [self.b.type(x) for x in args]
        want = self._given(name, attrs, types, node)
        several = isinstance(want, (tuple, list))
        made = [
            self._result(
                name, args, recorded_calls.with_sizes(name, attrs, types, i if several else None), i, value, several
            )
            for i, value in enumerate(want if several else [want])
        ]
        return made if several else made[0]

    def _given(
        self, name: str, attrs: dict[str, Attr], types: list[TensorType], node: torch.fx.Node
    ) -> torch.Tensor | list[torch.Tensor]:
        """What the call gives. Raises UnsupportedOperands where PyTorch recorded another shape than that: what the trace did with
        it is not what the function does."""
        want: torch.Tensor | list[torch.Tensor] = node.meta["val"]
        made = recorded_calls.results(name, attrs, types, [t.shape for t in types])
        if made is None or isinstance(want, (tuple, list)) or tuple(want.shape) == tuple(made[0].shape):
            return want
        raise UnsupportedOperands(
            f"`{name}` gives {list(made[0].shape)} where PyTorch's trace has {list(want.shape)}", line=self.b.line,
            next_step="write it with other operators",
        )  # fmt: skip

    def _result(
        self, name: str, args: list[int], attrs: dict[str, Attr], i: int, value: torch.Tensor, several: bool
    ) -> int:
        which: dict[str, Attr] = {RESULT: i} if several else {}
        try:
            own = TensorType(tuple(value.shape), from_torch(value.dtype))
        except UnsupportedOperands as error:
            error.line = self.b.line
            raise
        return self.b.call(name, *args, type=own, attrs={**attrs, **which})

    def _covers(self, form: Form, bound: dict[str, object]) -> bool:
        if form.when is None:
            return True
        return form.when(_Numbers(self.b), {k: self._value(v) for k, v in bound.items()})

    def _formed(self, op: str, form: Form, bound: dict[str, object]) -> NodeIds:
        values = {k: self._value(v) for k, v in bound.items()}
        if form.build is not None:
            made: NodeIds = form.build(_Numbers(self.b), values)
            return made
        for k, allowed in form.only.items():
            if k in values and values[k] not in allowed:
                raise OperandsError(f"`{op}` is not covered with {k}={values[k]!r}")
        args = [_operand(self.b, values[k]) for k in form.args if values.get(k) is not None]
        attrs = {k: values[v] for k, v in form.attrs.items() if v in values}
        return self.b.op(op, *promoted(self.b, op, args), **attrs)

    def _value(self, given: object) -> object:
        import torch

        if _is_node(given):
            return _Id(self._one(given))
        if isinstance(given, (list, tuple)):
            return [self._value(g) for g in given]
        return from_torch(given) if isinstance(given, torch.dtype) else given

    def _to(self, bound: dict[str, object], want: torch.Tensor, node: torch.fx.Node) -> NodeIds:
        """The operand in another dtype. What drops the fraction of a float stays PyTorch's own call, but for
        eight bits with which nothing is computed: kernels make these."""
        operand = bound.get("self", bound.get("input"))
        x, dtype = self._one(operand), from_torch(want.dtype)
        dropped = is_float(self.b.type(x).dtype) and not is_float(dtype) and dtype != "bool"
        if dropped and dtype == "int8" and _given_or_cast(node):
            return self.b.op("cast", x, dtype=dtype, event=True)
        if dropped:
            return self._kept(CONVERSION, {"self": operand, "dtype": want.dtype}, node)
        return self._cast(x, dtype)

    def _typed(self, made: NodeIds, want: object, name: str) -> NodeIds:
        """The results with PyTorch's own types. Raises UnsupportedOperands where the table says another shape."""
        if isinstance(made, int):
            return self._typed_one(made, want, name)
        wanted = list(want) if isinstance(want, (list, tuple)) else [None] * len(made)
        return [self._typed_one(m, w, name) for m, w in zip(made, wanted, strict=False)]

    def _typed_one(self, made: int, want: object, name: str) -> int:
        import torch

        if not isinstance(want, torch.Tensor):
            return int(made)
        have, dtype = self.b.type(made), from_torch(want.dtype)
        if have.shape != tuple(want.shape):
            raise UnsupportedOperands(
                f"`{name}` gives {list(want.shape)}, the table says {list(have.shape)}", line=self.b.line
            )
        return int(made) if have.dtype == dtype else self._adopt(int(made), dtype)

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

    def op(self, op: str, *args: object, **attrs: object) -> int:
        return _Id(self._b.op(op, *promoted(self._b, op, [_operand(self._b, a) for a in args]), **attrs))

    def const(self, value: float | int | bool) -> int:
        return _Id(self._b.const(value))

    def type(self, x: int) -> TensorType:
        return self._b.type(x)


def _operand(b: Builder, value: object) -> int:
    """A tensor's node, or that of a number."""
    return int(value) if isinstance(value, _Id) else b.op("const", value=value)


def promoted(b: Builder, op: str, args: list[int]) -> list[int]:
    """The operands of a pointwise operator as PyTorch takes them: integers of data beside floats are rounded to the floats' dtype,
    where that does not hold them all (2049 compared with half is 2048)."""
    entry = OPERATORS.get(op)
    if entry is None or entry.family != "pointwise":
        return args
    first = int(op == "where")  # its condition is no number
    dtype = promote([b.type(x) for x in args[first:]] or [b.type(x) for x in args])
    if not is_float(dtype):
        return args
    return [b.op("cast", x, dtype=dtype) if i >= first and _inexact(b, x, dtype) else x for i, x in enumerate(args)]


def _inexact(b: Builder, x: int, dtype: str) -> bool:
    """Whether these are integers of data that the floating dtype may have to round."""
    have = b.type(x)
    whole = not is_float(have.dtype) and have.dtype != "bool" and have.shape
    return bool(whole and DTYPES[dtype].significand < 8 * DTYPES[have.dtype].bytes - 1 and _of_data(b, x))


def _of_data(b: Builder, x: int) -> bool:
    """Whether an input is among what makes a value: the sizes bound the others, such as those of `arange`."""
    todo, inputs = [x], len(b.inputs)
    while todo:
        y = todo.pop()
        if y < inputs:
            return True
        todo += b.nodes[y - inputs].args
    return False


CASTS = {
    "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other", CONVERSION,
    "aten.type_as.default", "aten.float.default", "aten.half.default", "prims.convert_element_type.default",
}  # fmt: skip


def _given_or_cast(node: torch.fx.Node) -> bool:
    """Whether the function only returns what a node gives, or casts it to floats: other integers wrap around."""
    return all(
        u.op == "output" or (str(u.target) in CASTS and u.meta["val"].dtype.is_floating_point) for u in node.users
    )


def _mode(node: torch.fx.Node, line: int | None) -> None:
    """What a `with` records of PyTorch's modes. That of gradients changes no value, and only autocast that is off comes here:
    that is what a kernel is made for. Raises SideEffect for any other."""
    name = str(getattr(node.target, "__name__", node.target))
    if name not in ("_set_grad_enabled", "_enter_autocast", "_exit_autocast"):
        raise SideEffect(f"the function computes under a mode of PyTorch: `{name}`", line=line)


def _is_node(value: object) -> TypeGuard[torch.fx.Node]:
    import torch

    return isinstance(value, torch.fx.Node)


def _bind(schema: torch.FunctionSchema, args: Iterable[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    """The call's arguments by name, defaults filled in."""
    listed = list(args)
    bound: dict[str, object] = {}
    for i, a in enumerate(schema.arguments):
        if i < len(listed):
            bound[a.name] = listed[i]
        elif a.name in kwargs:
            bound[a.name] = kwargs[a.name]
        elif a.has_default_value():
            bound[a.name] = a.default_value
    return bound
