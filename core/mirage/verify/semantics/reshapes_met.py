"""Reshapes that cut across dims, met: what is computed element by element between two of them is computed before both.

A reshape that cuts across dims has no named axes and stays a call of which nothing is known. It moves no element out of its order, so
f(reshape(x)) is reshape(f(x)) for every f that works element by element, and a reshape of a reshape is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirage.errors import UnsupportedReshape
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Operation, Program
from mirage.ir.tensor_spec import TensorType
from mirage.operators.table import OPERATORS
from mirage.program.builder import Builder
from mirage.program.kept_reshapes import RESHAPE, lowerable

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Viewed:
    """The elements of a value, in their order, in this shape."""

    of: int
    shape: Shape


def reshapes_met(p: Program) -> Program:
    """The program with no more reshapes between its operators than it needs; as it is where none of them is a call."""
    if not any(n.op == RESHAPE for n in p.nodes):
        return p
    try:
        return lowerable(_met(p))[0]
    except UnsupportedReshape:
        return p


def with_reshapes(p: Program) -> Program:
    """The program with such calls as the operators that they are, which have values and no axes."""
    if not any(n.op == RESHAPE for n in p.nodes):
        return p
    nodes = (replace(n, op="reshape", attrs=(("shape", n.type.shape),)) if n.op == RESHAPE else n for n in p.nodes)
    return replace(p, nodes=tuple(nodes))


def _met(p: Program) -> Program:
    b = Builder(p.name)
    for i in p.inputs:
        b.input(i.name, i.type.shape, i.type.dtype, i.names)
    place = [Viewed(x, i.type.shape) for x, i in enumerate(p.inputs)]
    for node in p.nodes:
        b.line = node.line
        args = [place[x] for x in node.args]
        if node.op in ("reshape", RESHAPE):
            place.append(Viewed(args[0].of, node.type.shape))
            continue
        before = _shape_before(b, node, args)
        given = [_made(b, x) for x in args] if before is None else [x.of for x in args]
        kind = node.type if before is None else TensorType(before, node.type.dtype)
        place.append(Viewed(b.copied(replace(node, type=kind), given), node.type.shape))
    for x in p.outputs:
        b.output(_made(b, place[x]))
    made = b.program(returns_tuple=p.returns_tuple)
    return replace(p, nodes=made.nodes, outputs=made.outputs)


def _made(b: Builder, x: Viewed) -> int:
    return x.of if b.type(x.of).shape == x.shape else b.op("reshape", x.of, shape=x.shape)


def _shape_before(b: Builder, node: Operation, args: Sequence[Viewed]) -> Shape | None:
    """The one shape that all arguments had before they were reshaped alike, where the operator works element by element."""
    if is_call(node.op) or OPERATORS[node.op].value is None:
        return None
    wide = [x for x in args if x.shape or b.type(x.of).shape]
    before = {b.type(x.of).shape for x in wide}
    if len(before) != 1 or any(x.shape != node.type.shape for x in wide):
        return None
    return before.pop()
