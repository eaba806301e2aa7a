"""The operator table. Everything that knows operators reads it; adding an operator is adding an entry.

`OPERATORS`: the operators of tensor programs by name. `BLOCK`: the operators of block graphs by name. `ATEN`: the
PyTorch overloads that become them.
"""

from __future__ import annotations

from mirage.operators.block_operators import BLOCK
from mirage.operators.block_operators import register as register_block
from mirage.operators.composite import COMPOSITE
from mirage.operators.contraction import CONTRACTION
from mirage.operators.entry import BlockOperator, Form, Operator
from mirage.operators.movement import SHAPE
from mirage.operators.pointwise import POINTWISE
from mirage.operators.reduction import REDUCTION

OPERATORS: dict[str, Operator] = {}
ATEN: dict[str, tuple[Operator, Form]] = {}


def register(entry: Operator | BlockOperator) -> None:
    """Adds an operator; from then on it traces, lowers, verifies and emits. ValueError if its name is taken."""
    if isinstance(entry, BlockOperator):
        register_block(entry)
        return
    if entry.name in OPERATORS:
        raise ValueError(f"there is an operator {entry.name!r} already")
    taken = [k for k in entry.torch if k in ATEN]
    if taken:
        raise ValueError(f"{taken[0]} becomes {ATEN[taken[0]][0].name!r} already")
    OPERATORS[entry.name] = entry
    ATEN.update({k: (entry, form) for k, form in entry.torch.items()})


for _entry in (*CONTRACTION, *REDUCTION, *POINTWISE, *SHAPE, *COMPOSITE):
    register(_entry)

__all__ = ["ATEN", "BLOCK", "OPERATORS", "register"]
