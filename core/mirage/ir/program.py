"""The tensor program: what a function computes, as a list of operators of the operator table in order.

Plain data: it serializes to JSON, and its `key` is the identity that the
cache, the daemon and the verdict speak of. Shapes are tuples of positive ints; dtypes are the short names of `ir.dtypes`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from mirage.ir.dtypes import DTYPES

Attr = int | float | bool | str | None | tuple[Any, ...]


@dataclass(frozen=True)
class TensorType:
    """A tensor's shape (elements), dtype, and strides in elements (None: contiguous, row-major)."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None

    @property
    def numel(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n

    @property
    def bytes(self) -> int:
        return self.numel * DTYPES[self.dtype].bytes


@dataclass(frozen=True)
class Input:
    """A parameter of the function. `names` are the named dimensions of its annotation ('' where a dim has no name)."""

    name: str
    type: TensorType
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """One operator application. `args` are ids: inputs are 0..len(inputs)-1, nodes follow in order. `line` is the
    1-based source line."""

    op: str
    args: tuple[int, ...]
    attrs: tuple[tuple[str, Attr], ...]
    type: TensorType
    line: int | None = None

    def attr(self, name: str, default: Any = None) -> Any:
        return dict(self.attrs).get(name, default)


@dataclass(frozen=True)
class Program:
    """`outputs` are ids. `returns_tuple` tells `return x` from `return (x,)`. `generic` are the named dimensions for
    which a second trace at another size gave the same operators (the condition of "all sizes")."""

    name: str
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    returns_tuple: bool = False
    generic: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    def type_of(self, i: int) -> TensorType:
        return self.inputs[i].type if i < len(self.inputs) else self.nodes[i - len(self.inputs)].type

    @property
    def key(self) -> str:
        """SHA-256 of everything that decides the answer; names, source lines and notes are left out."""
        data = self.to_dict()
        for part in data["inputs"]:
            del part["name"], part["names"]
        for node in data["nodes"]:
            del node["line"]
        del data["name"], data["notes"], data["generic"]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        def ty(t: TensorType) -> dict[str, Any]:
            return {"shape": list(t.shape), "dtype": t.dtype, "strides": None if t.strides is None else list(t.strides)}

        return {
            "name": self.name,
            "inputs": [{"name": i.name, "type": ty(i.type), "names": list(i.names)} for i in self.inputs],
            "nodes": [
                {
                    "op": n.op,
                    "args": list(n.args),
                    "attrs": {k: v for k, v in n.attrs},
                    "type": ty(n.type),
                    "line": n.line,
                }
                for n in self.nodes
            ],
            "outputs": list(self.outputs),
            "returns_tuple": self.returns_tuple,
            "generic": list(self.generic),
            "notes": list(self.notes),
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Program:
        def ty(t: dict[str, Any]) -> TensorType:
            return TensorType(tuple(t["shape"]), t["dtype"], None if t["strides"] is None else tuple(t["strides"]))

        def freeze(v: Any) -> Any:
            return tuple(freeze(x) for x in v) if isinstance(v, (list, tuple)) else v

        return Program(
            data["name"],
            tuple(Input(i["name"], ty(i["type"]), tuple(i["names"])) for i in data["inputs"]),
            tuple(
                Node(
                    n["op"],
                    tuple(n["args"]),
                    tuple(sorted((k, freeze(v)) for k, v in n["attrs"].items())),
                    ty(n["type"]),
                    n["line"],
                )
                for n in data["nodes"]
            ),
            tuple(data["outputs"]),
            bool(data["returns_tuple"]),
            tuple(data["generic"]),
            tuple(data["notes"]),
        )
