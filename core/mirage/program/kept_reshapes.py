"""Reshapes that cut across dims, which have no named axes: they stay PyTorch's own calls, and what is around them has its meaning."""

from __future__ import annotations

import math
from collections.abc import Collection

from mirage.errors import UnsupportedReshape
from mirage.ir.program import Operation, Program
from mirage.ir.tensor_spec import TensorType
from mirage.program import recorded_calls
from mirage.program.builder import Builder
from mirage.program.lower import Lowered, lower

RESHAPE = "aten._reshape_copy.default"


def lowerable(program: Program) -> tuple[Program, Lowered]:
    """The program and its meaning. Where it has none, reshapes become calls: all of them, then each is an operator again if the
    rest still has a meaning. Raises UnsupportedReshape where there is none even so."""
    try:
        return program, lower(program)
    except UnsupportedReshape as error:
        refused = error
    first = len(program.inputs)
    kept = {x for x, node in enumerate(program.nodes, first) if node.op == "reshape" and _moves(program, node)}
    try:
        found = _lowered(program, kept)
    except UnsupportedReshape:
        raise refused from None
    for x in sorted(kept):
        try:
            found = _lowered(program, kept - {x})
        except UnsupportedReshape:
            continue
        kept.remove(x)
    return found


def _moves(program: Program, node: Operation) -> bool:
    """Whether dims are joined or split: those of size one have no axes."""
    before, after = program.type_of(node.args[0]).shape, node.type.shape
    return [n for n in before if n > 1] != [n for n in after if n > 1]


def _lowered(program: Program, kept: Collection[int]) -> tuple[Program, Lowered]:
    made = _with_calls(program, kept)
    return made, lower(made)


def _with_calls(program: Program, kept: Collection[int]) -> Program:
    """The program with these of its reshapes as calls."""
    b = Builder(program.name)
    for i in program.inputs:
        b.input(i.name, i.type.shape, i.type.dtype, i.names)
    place = list(range(len(program.inputs)))
    for x, node in enumerate(program.nodes, len(program.inputs)):
        b.line = node.line
        args = [place[a] for a in node.args]
        place.append(_reshaped(b, args[0], node.type.shape) if x in kept else b.copied(node, args))
    for x in program.outputs:
        b.output(place[x])
    b.notes += program.notes
    return b.program(returns_tuple=program.returns_tuple)


def _reshaped(b: Builder, x: int, shape: tuple[int, ...]) -> int:
    """The call for a reshape. The dims in front that stay as they are become one, whose size the call does not say."""
    own = b.type(x)
    same = next((i for i, (m, n) in enumerate(zip(own.shape, shape, strict=False)) if m != n), len(shape))
    lead = math.prod(shape[:same])
    given = b.op("reshape", x, shape=(lead, *own.shape[same:]))
    whole = TensorType((lead, *shape[same:]), own.dtype)
    attrs = recorded_calls.attributes(RESHAPE, {"self": "%0", "size": (-1, *shape[same:])})
    attrs = recorded_calls.with_sizes(RESHAPE, attrs, [b.type(given)], None)
    return b.op("reshape", b.call(RESHAPE, given, type=whole, attrs=attrs), shape=shape)
