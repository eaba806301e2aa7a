"""A node of a term as plain data: its kind and what it says, without its parts. Derivations and certificates write terms so."""

from __future__ import annotations

from typing import Any

from mirage.meaning.nodes import Apply, Const, FloatLiteral, Index, Input, Node, Reduce, Size


def node_row(node: Node) -> list[Any]:
    """What JSON can hold; a constant is a fraction as text."""
    match node:
        case Input(name, index):
            return ["in", name, [[list(d.axes), d.offset] for d in index]]
        case Const(value):
            return ["const", str(value)]
        case FloatLiteral(text):
            return ["lit", text]
        case Size(axis):
            return ["size", axis]
        case Index(axes):
            return ["index", list(axes)]
        case Apply(name):
            return ["fn", name]
        case Reduce(op, axis):
            return ["red", op, axis]
        case n:
            return [n.kind]
