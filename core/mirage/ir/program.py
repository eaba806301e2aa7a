"""The tensor program: what a function computes, as a list of operators of the operator table in order.

Plain data: it serializes to JSON, and its `key` is the identity that the
cache, the daemon and the verdict speak of. Shapes are tuples of positive ints; dtypes are the short names of `ir.dtypes`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mirage.ir.json_value import Json, JsonObject, json_int, json_ints, json_object, json_objects, json_text, json_texts
from mirage.ir.tensor_spec import TensorSpec, TensorType

Attr = int | float | bool | str | None | tuple["Attr", ...]


@dataclass(frozen=True)
class Operation:
    """One operator application. `args` are ids: inputs are 0..len(inputs)-1, nodes follow in order. `line` is the
    1-based source line; `name` what the source calls the result, as the source has it."""

    op: str
    args: tuple[int, ...]
    attrs: tuple[tuple[str, Attr], ...]
    type: TensorType
    line: int | None = None
    name: str = field(default="", compare=False)

    def attr(self, name: str, default: Attr = None) -> Any:
        return dict(self.attrs).get(name, default)


ASSUMED = "assumed: "  # what a verdict's notes on its assumptions begin with
_WORDS = {
    ("contiguity", "True"): "for contiguous {}",
    ("contiguity", "False"): "for {} that is not contiguous",
    (
        "dtype",
        "as computed",
    ): "the dtype of {} is read, as it is without autocast and with float32 as the default dtype",
}


@dataclass(frozen=True)
class Assumption:
    """What the function asked while it was traced, of a tensor (`subject`) or of a named dim's size, and got for an answer.
    `kind` "size": a comparison of a size, or a rounding of what was made of it, of which the terms say nothing; "dtype": that of
    a computed tensor, which PyTorch's modes may change."""

    kind: str
    subject: str
    answer: str
    line: int | None = None

    @property
    def words(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        if self.kind == "size":
            return f"{where}{f'the size of {self.subject}' if self.subject else 'a size'} {self.answer}"
        return f"{ASSUMED}{where}{_WORDS[self.kind, self.answer].format(self.subject)}"


@dataclass(frozen=True)
class Program:
    """`outputs` are ids. `returns_tuple` tells `return x` from `return (x,)`. `generic` are the named dimensions for
    which a second trace at another size gave the same operators (the condition of "all sizes"). `assumptions`: the answers
    that the operators rest on."""

    name: str
    inputs: tuple[TensorSpec, ...]
    nodes: tuple[Operation, ...]
    outputs: tuple[int, ...]
    returns_tuple: bool = False
    generic: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    assumptions: tuple[Assumption, ...] = ()

    @property
    def rests_on(self) -> tuple[Assumption, ...]:
        """The assumptions without which it is another program at the same sizes."""
        return tuple(a for a in self.assumptions if a.kind not in ("size", "dtype"))

    def type_of(self, i: int) -> TensorType:
        return self.inputs[i].type if i < len(self.inputs) else self.nodes[i - len(self.inputs)].type

    @property
    def key(self) -> str:
        """SHA-256 of everything that decides the answer; names, source lines and notes are left out."""
        data = self.to_dict()
        data["inputs"] = [{"type": _type_form(i.type)} for i in self.inputs]
        data["nodes"] = [_node_form(n) for n in self.nodes]
        del data["name"], data["notes"], data["generic"]
        data.pop("assumptions", None)
        if self.rests_on:
            data["assumptions"] = [[a.kind, a.answer] for a in self.rests_on]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> JsonObject:
        """As JSON; a program that assumes nothing says nothing of it."""
        assumed: JsonObject = (
            {"assumptions": [_assumption_form(a) for a in self.assumptions]} if self.assumptions else {}
        )
        return {
            "name": self.name,
            "inputs": [{"name": i.name, "type": _type_form(i.type), "names": list(i.names)} for i in self.inputs],
            "nodes": [{**_node_form(n), "line": n.line, **({"name": n.name} if n.name else {})} for n in self.nodes],
            "outputs": list(self.outputs),
            "returns_tuple": self.returns_tuple,
            "generic": list(self.generic),
            "notes": list(self.notes),
            **assumed,
        }

    @staticmethod
    def from_dict(data: Mapping[str, object]) -> Program:
        """The program of the data that `to_dict` gives. Raises KeyError or TypeError for anything else."""
        return Program(
            json_text(data["name"]),
            tuple(
                TensorSpec.of(json_text(i["name"]), _read_type(i["type"]), json_texts(i["names"]))
                for i in json_objects(data["inputs"])
            ),
            tuple(_read_node(n) for n in json_objects(data["nodes"])),
            json_ints(data["outputs"]),
            bool(data["returns_tuple"]),
            json_texts(data["generic"]),
            json_texts(data["notes"]),
            tuple(_read_assumption(a) for a in json_objects(data.get("assumptions", []))),
        )


def _type_form(t: TensorType) -> JsonObject:
    return {"shape": list(t.shape), "dtype": t.dtype, "strides": None if t.strides is None else list(t.strides)}


def _node_form(n: Operation) -> JsonObject:
    return {
        "op": n.op,
        "args": list(n.args),
        "attrs": {k: _attr_form(v) for k, v in n.attrs},
        "type": _type_form(n.type),
    }


def _attr_form(value: Attr) -> Json:
    return [_attr_form(v) for v in value] if isinstance(value, tuple) else value


def _read_type(data: object) -> TensorType:
    t = json_object(data)
    strides = None if t["strides"] is None else json_ints(t["strides"])
    return TensorType(json_ints(t["shape"]), json_text(t["dtype"]), strides)


def _assumption_form(a: Assumption) -> JsonObject:
    return {"kind": a.kind, "subject": a.subject, "answer": a.answer, "line": a.line}


def _read_assumption(a: JsonObject) -> Assumption:
    line = None if a["line"] is None else json_int(a["line"])
    return Assumption(json_text(a["kind"]), json_text(a["subject"]), json_text(a["answer"]), line)


def _read_node(n: JsonObject) -> Operation:
    attrs = tuple(sorted((k, freeze(v)) for k, v in json_object(n["attrs"]).items()))
    line = None if n["line"] is None else json_int(n["line"])
    return Operation(
        json_text(n["op"]), json_ints(n["args"]), attrs, _read_type(n["type"]), line, json_text(n.get("name", ""))
    )


def freeze(value: object) -> Attr:
    """Lists as tuples, all the way down. Raises TypeError for what is no attribute."""
    if isinstance(value, (list, tuple)):
        return tuple(freeze(v) for v in value)
    if value is None or isinstance(value, (int, float, str)):
        return value
    raise TypeError(f"an attribute is a number, a text, None or a list of them, not {type(value).__name__}")
