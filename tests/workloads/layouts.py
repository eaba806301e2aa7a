"""µGraphs whose tiles and intermediate tensors lie in random orders."""

from __future__ import annotations

import random
from unittest import mock

from mirage.mugraph.grammar import MuGraph
from mirage.plan import dim_order as module
from mirage.plan.dim_order import Key, Order, Orders


def shuffled(m: MuGraph, seed: int) -> MuGraph:
    """Every tile and intermediate tensor in a random order."""
    rng = random.Random(seed)

    class Random(Orders):
        def solve(self) -> dict[Key, Order]:
            return {key: rng.choice(n.orders) for key, n in self.nodes.items()}

    with mock.patch.object(module, "Orders", Random):
        return module.layout(m)
