"""The plan's passes as a table: name -> function from µGraph to an equal µGraph that runs better."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mirage.mugraph.grammar import MuGraph
from mirage.plan.dim_order import layout
from mirage.plan.memory_plan import memory_plan
from mirage.plan.operand_scaling import operand_scaling
from mirage.plan.operator_order import operator_order
from mirage.plan.thread_fusion import thread_fusion

Pass = Callable[[MuGraph], MuGraph]

# In this order: scaling moves single factors; fusion shortens the list that is then ordered; stages are chosen last.
PASSES: dict[str, Pass] = {
    "operand_scaling": operand_scaling,
    "thread_fusion": thread_fusion,
    "operator_order": operator_order,
    "layout": layout,
    "memory_plan": memory_plan,
}


def plan(mugraph: MuGraph, without: Iterable[str] = ()) -> MuGraph:
    """The µGraph after every pass but those named in `without`. Raises KeyError for a name that is no pass."""
    skipped = set(without)
    unknown = skipped - set(PASSES)
    if unknown:
        raise KeyError(f"no such pass: {', '.join(sorted(unknown))}; there are {', '.join(PASSES)}")
    for name, apply in PASSES.items():
        if name not in skipped:
            mugraph = apply(mugraph)
    return mugraph
