"""`check(mugraph)`: the validity rules as a table. The first one broken is reported, with its name and place."""

from __future__ import annotations

from collections.abc import Callable

from mirage.devices.table import device
from mirage.errors import InvalidMugraph
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.rules import capacity, cover, declarations, loops, padding, partial_results, scope
from mirage.mugraph.rules.breach import Breach, Limits

__all__ = ["RULES", "SM_90", "Limits", "broken_rule", "check"]

Rule = Callable[[MuGraph, Limits], None]

SM_90 = Limits.of(device("sm_90"))

# In this order: a rule may take for granted what the rules before it hold.
RULES: dict[str, Rule] = {
    "names": declarations.names,
    "tensors": declarations.tensors,
    "dims": declarations.dims,
    "groups": declarations.groups,
    "splits": declarations.splits,
    "tails": declarations.tails,
    "library": declarations.library,
    "scope": scope.scope,
    "tiles": scope.tiles,
    "descriptors": declarations.descriptors,
    "loops": loops.loop_dims,
    "accumulators": loops.accumulators,
    "partials": partial_results.partials,
    "savers": loops.savers,
    "once": cover.once,
    "cover": cover.cover,
    "order": cover.order,
    "group": cover.group,
    "padding": padding.padding,
    "capacity": capacity.capacity,
}


def broken_rule(mugraph: MuGraph, limits: Limits = SM_90) -> tuple[str, Breach] | None:
    """The first rule that the µGraph breaks, with how; None if it is valid."""
    for name, rule in RULES.items():
        try:
            rule(mugraph, limits)
        except Breach as b:
            return name, b
    return None


def check(mugraph: MuGraph, limits: Limits = SM_90) -> None:
    """Raises InvalidMugraph, naming the kernel, the statement and the rule, unless the µGraph is valid."""
    broken = broken_rule(mugraph, limits)
    if broken is None:
        return
    rule, b = broken
    place = f"{mugraph.name}.{b.where}" if b.where else mugraph.name
    statement = f" `{b.statement}`:" if b.statement else ""
    message = f"{place}:{statement} {b.message} (rule {rule})"
    raise InvalidMugraph(message, next_step=f"see rule {rule} in `mirage docs mugraph`")
