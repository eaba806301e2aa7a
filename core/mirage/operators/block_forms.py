"""The form of each block operator: how many arguments, which attributes, how its result's dims follow.

Only the form that validity needs; values, costs and Triton text are the operator table's, which calls `register`
for a block operator that it adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Form = Literal["pointwise", "leaf", "reduce", "dot"]


@dataclass(frozen=True)
class BlockOp:
    """`least`..`most` arguments; `attrs` are the names of the attributes that it must carry; `flag`: gives 0/1."""

    name: str
    form: Form
    least: int
    most: int
    attrs: tuple[str, ...] = ()
    flag: bool = False


MANY = 1 << 10

BLOCK_OPS: dict[str, BlockOp] = {
    o.name: o
    for o in (
        BlockOp("const", "leaf", 0, 0, ("value",)),
        BlockOp("size", "leaf", 0, 0, ("axis",)),
        BlockOp("index", "leaf", 0, 0, ("axis",)),
        BlockOp("mask", "leaf", 0, 0, ("dim",), flag=True),
        BlockOp("add", "pointwise", 1, MANY),
        BlockOp("mul", "pointwise", 1, MANY),
        BlockOp("sub", "pointwise", 2, 2),
        BlockOp("div", "pointwise", 2, 2),
        *(
            BlockOp(name, "pointwise", 1, 1)
            for name in ("neg", "inv", "exp", "sqrt", "rsqrt", "sigmoid", "log", "erf", "tanh", "abs", "sin", "cos")
        ),
        BlockOp("finite", "pointwise", 1, 1),
        BlockOp("maximum", "pointwise", 2, 2),
        BlockOp("minimum", "pointwise", 2, 2),
        BlockOp("where", "pointwise", 3, 3),
        *(BlockOp(name, "pointwise", 2, 2, flag=True) for name in ("lt", "le", "eq", "and", "or")),
        BlockOp("not", "pointwise", 1, 1, flag=True),
        BlockOp("sum", "reduce", 1, 1, ("dim",)),
        BlockOp("max", "reduce", 1, 1, ("dim",)),
        BlockOp("dot", "dot", 2, 2, ("dim",)),
    )
}


def register(op: BlockOp) -> None:
    """Makes a block operator known to validity; the operator table calls it for the operators that it adds."""
    BLOCK_OPS[op.name] = op
