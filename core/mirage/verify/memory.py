"""The memory opinion: on a launch with tails everywhere, every element is written exactly once and before it is read."""

from __future__ import annotations

import time
from collections.abc import Mapping

from mirage.errors import MirageError
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.shrink import shrink, tiny_sizes
from mirage.verify.counts import Counts
from mirage.verify.evaluate import Fault, evaluate_mugraph
from mirage.verify.verdict import Counterexample, Evidence

LAUNCHES = 3


def memory_opinion(
    mugraph: MuGraph,
    *,
    seed: int = 0,
    launches: int = LAUNCHES,
    sizes: Mapping[str, int] | None = None,
    tiles: Mapping[str, Mapping[str, int]] | None = None,
) -> Evidence:
    """Looks at `launches` small launches at different sizes (or at the given one). Where data are read and written does
    not depend on their values, so one run of each decides for that launch."""
    start = time.perf_counter()
    seen: list[dict[str, int]] = []
    for i in range(launches if sizes is None else 1):
        try:
            at, cut = (sizes, tiles) if sizes is not None else tiny_sizes(mugraph, seed + i)
            graph = shrink(mugraph, at, cut)
            counts = Counts()
            outcome = evaluate_mugraph(graph, {t.name: counts.random(graph.shape(t)) for t in graph.inputs}, counts)
            faults = outcome.faults
        except (Fault, MirageError) as e:
            faults = [str(e)]
            graph = mugraph
        seen.append(dict(graph.axes))
        if faults:
            shown = Counterexample(
                "memory", 0, (), "every element written once, then read", faults[0], dict(graph.axes)
            )
            return Evidence(
                "memory",
                "REJECTED",
                None,
                time.perf_counter() - start,
                faults[0],
                {"faults": faults, "sizes": seen},
                shown,
            )
    text = f"every element written exactly once, in bounds, before it is read, at {len(seen)} sizes with tails"
    return Evidence("memory", "TESTED", None, time.perf_counter() - start, text, {"sizes": seen})
