"""The operator table. Everything that knows operators reads it; adding an operator is adding an entry.

`OPERATORS`: the operators of tensor programs by name. `BLOCK`: the operators of block graphs by name. `ATEN`: the
PyTorch overloads that become operators of tensor programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from mirage.operators import type_rules
from mirage.operators.block_operators import BLOCK, field_methods
from mirage.operators.call_functions import CALL_FUNCTIONS
from mirage.operators.composite import COMPOSITE
from mirage.operators.contraction import CONTRACTION
from mirage.operators.entry import BlockOperator, Form, Infer, Operator
from mirage.operators.losses import LOSSES
from mirage.operators.movement import SHAPE
from mirage.operators.pointwise import BINARY_ONLY, POINTWISE
from mirage.operators.reduction import REDUCTION
from mirage.operators.selection import SELECTION

Entry = TypeVar("Entry")
OPERATORS: dict[str, Operator] = {}
ATEN: dict[str, tuple[Operator, Form]] = {}
_ARGUMENTS = ("self", "other")


def _type_rule(entry: BlockOperator) -> Infer:
    if entry.flag:
        return type_rules.flag
    if entry.most == 1:
        return type_rules.same if entry.integral else type_rules.floating
    return type_rules.pointwise


def of_block(entry: BlockOperator) -> Operator:
    """The operator of tensor programs that an operator of block graphs with ATen overloads is."""
    only = BINARY_ONLY if entry.most > 1 else {}
    forms = {f"aten.{name}": Form(_ARGUMENTS[: entry.most], only=only) for name in entry.aten}
    return Operator(
        entry.name, "pointwise", entry.summary, entry.least, entry.most, _type_rule(entry),
        value=lambda t, xs, a: entry.as_term(t, *xs), torch=forms, call=entry.torch, hazards=entry.hazards
    )  # fmt: skip


def register(entry: Operator | BlockOperator) -> None:
    """Adds an operator; from then on it traces, lowers, verifies and emits. ValueError if its name is taken, but by a
    function that stays a call: such a one gives way."""
    if isinstance(entry, BlockOperator):
        if entry.name in BLOCK:
            raise ValueError(f"there is a block operator {entry.name!r} already")
        if "sqrt" in field_methods(entry) and entry.term is None:
            raise TypeError(
                f"{entry.name!r} has a root in its field value: state its term, so that points are drawn for it"
            )
        if entry.aten:
            register(of_block(entry))
        BLOCK[entry.name] = entry
        return
    if entry.name in OPERATORS and OPERATORS[entry.name].family != "call":
        raise ValueError(f"there is an operator {entry.name!r} already")
    taken = [k for k in entry.torch if k in ATEN]
    if taken:
        raise ValueError(f"{taken[0]} becomes {ATEN[taken[0]][0].name!r} already")
    OPERATORS[entry.name] = entry
    ATEN.update({k: (entry, form) for k, form in entry.torch.items()})


@contextmanager
def temporary(*entries: Operator | BlockOperator) -> Iterator[None]:
    """Within it the table of this process has these entries too, or in the place of those of the same names."""
    kept = dict(OPERATORS), dict(ATEN), dict(BLOCK)
    try:
        for entry in entries:
            _forget(entry)
            register(entry)
        yield
    finally:
        _restore(OPERATORS, kept[0])
        _restore(ATEN, kept[1])
        _restore(BLOCK, kept[2])


def _restore(table: dict[str, Entry], old: dict[str, Entry]) -> None:
    table.clear()
    table.update(old)


def _forget(entry: Operator | BlockOperator) -> None:
    block = BLOCK.pop(entry.name, None) if isinstance(entry, BlockOperator) else None
    if isinstance(entry, Operator) or (block is not None and block.aten):
        old = OPERATORS.pop(entry.name, None)
        for name in old.torch if old is not None else ():
            ATEN.pop(name, None)


for _block in BLOCK.values():
    if _block.aten:
        register(of_block(_block))
for _entry in (*CONTRACTION, *REDUCTION, *POINTWISE, *SHAPE, *SELECTION, *COMPOSITE, *LOSSES, *CALL_FUNCTIONS):
    register(_entry)

__all__ = ["ATEN", "BLOCK", "OPERATORS", "field_methods", "register", "temporary"]
