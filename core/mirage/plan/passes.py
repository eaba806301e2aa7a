"""The plan's passes as a table: name -> function from µGraph to an equal µGraph that runs better."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from mirage.devices.table import DEVICES, Device
from mirage.mugraph.capacity import Limits, room
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.plan.block_order import block_order
from mirage.plan.copied_tiles import copied_tiles
from mirage.plan.dim_order import layout
from mirage.plan.memory_plan import memory_plan
from mirage.plan.operand_scaling import operand_scaling
from mirage.plan.operator_order import operator_order
from mirage.plan.thread_fusion import thread_fusion

Pass = Callable[[MuGraph, Limits], MuGraph]


def everywhere(apply: Callable[[MuGraph], MuGraph]) -> Pass:
    """A pass that does the same for every device."""
    return lambda mugraph, limits: apply(mugraph)


# In this order: scaling moves single factors; fusion shortens the list that is then ordered; stages are chosen last.
PASSES: dict[str, Pass] = {
    "operand_scaling": everywhere(operand_scaling),
    "thread_fusion": everywhere(thread_fusion),
    "operator_order": operator_order,
    "layout": everywhere(layout),
    "block_order": block_order,
    "copied_tiles": copied_tiles,
    "memory_plan": memory_plan,
}


def plan(mugraph: MuGraph, dev: Device = DEVICES["sm_90"], without: Iterable[str] = ()) -> MuGraph:
    """The µGraph after every pass for a device but those named in `without` and those after which it would not fit.
    Raises KeyError for a name that is no pass."""
    skipped, limits = set(without), Limits.of(dev)
    unknown = skipped - set(PASSES)
    if unknown:
        raise KeyError(f"no such pass: {', '.join(sorted(unknown))}; there are {', '.join(PASSES)}")
    for name, apply in PASSES.items():
        if name not in skipped:
            changed = apply(mugraph, limits)
            mugraph = changed if fits(changed, limits) or not fits(mugraph, limits) else mugraph
    return mugraph


def fits(mugraph: MuGraph, limits: Limits) -> bool:
    """Whether every block has the shared memory that it needs with one stage, the fewest that `memory_plan` gives."""
    one = (replace(k, stages=1) if isinstance(k, CustomKernel) else k for k in mugraph.kernels)
    return room(replace(mugraph, kernels=tuple(one)), limits)
