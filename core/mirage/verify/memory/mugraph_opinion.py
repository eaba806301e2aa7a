"""The memory opinion on a µGraph: every element is written exactly once, in bounds, before it is read.

z3 proves it of the maps and masks, at the µGraph's own sizes and where its indices allow it at all sizes; a run of small
launches with tails everywhere, in which each access is counted, is the second opinion, and the only one where z3 gives
no answer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mirage.errors import MirageError
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.resized import shrink, tiny_sizes
from mirage.results.details import MemoryDetails
from mirage.results.verdict import Counterexample, Evidence, Word
from mirage.verify.memory.mugraph_accesses import accesses_of, any_size, whole_axes
from mirage.verify.memory.text_opinion import first_fault
from mirage.verify.memory.z3_proofs import WORK, AccessProver, MemoryFault, Undecided
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.evaluate_terms import ExecutionFault, evaluate_mugraph

LAUNCHES = 3
CLAIM = "every element written once, then read"


class ShapeArithmetic:
    """An arithmetic without values: where data are read and written does not depend on them. Every result is zeros of its
    shape, one stored number."""

    draws = 1

    def random(self, shape: tuple[int, ...]) -> Array:
        return np.broadcast_to(0.0, (1, *shape))

    unknown = random

    def const(self, value: object) -> Array:
        return self.random(())

    literal = pad = const

    def neg_inf(self) -> Array:
        return self.random(())

    def lift(self, x: Array) -> Array:
        return np.broadcast_to(0.0, x.shape)

    truth = lift

    def fn(self, name: str, *xs: Array) -> Array:
        return np.broadcast_to(0.0, np.broadcast_shapes(*(x.shape for x in xs)))

    def add(self, *xs: Array) -> Array:
        return self.fn("add", *xs)

    def mul(self, *xs: Array) -> Array:
        return self.fn("mul", *xs)

    def sum(self, x: Array, axis: int) -> Array:
        return np.broadcast_to(0.0, (*x.shape[:axis], *x.shape[axis + 1 :]))

    max = sum


def memory_opinion(
    mugraph: MuGraph,
    *,
    seed: int = 0,
    launches: int = LAUNCHES,
    sizes: Mapping[str, int] | None = None,
    tiles: Mapping[str, Mapping[str, int]] | None = None,
    work: int = WORK,
) -> Evidence:
    """PROVED for the µGraph's sizes (`details.scope`: "all sizes" or "these sizes"), TESTED where z3 did not answer, or
    REJECTED with the point at which it fails.

    The runs look at `launches` small launches at different sizes, at one where it is proved (or at the given one, at which
    the proof is then made too). Where data are read and written does not depend on their values, so one run of each decides
    for that launch."""
    start = time.perf_counter()

    def evidence(word: Word, text: str, told: MemoryDetails, shown: Counterexample | None = None) -> Evidence:
        bound = 0.0 if word == "PROVED" else None
        return Evidence(
            link="schedule", opinion="memory", word=word, summary=text, bound=bound, seconds=time.perf_counter() - start,
            details=told, counterexample=shown,
        )  # fmt: skip

    fault, told = _proof(mugraph if sizes is None else shrink(mugraph, sizes, tiles), work)
    if fault is not None:
        at = tuple(v for _, v in fault.at)
        shown = Counterexample("memory", 0, at, CLAIM, fault.text, dict(sizes or mugraph.axes))
        return evidence("REJECTED", fault.text, replace(told, at=dict(fault.at)), shown)
    seen: list[dict[str, int]] = []
    for i in range(launches if sizes is None and not told.proved else 1):
        try:
            at_sizes, cut = (sizes, tiles) if sizes is not None else tiny_sizes(mugraph, seed + i)
            graph = shrink(mugraph, at_sizes, cut)
            nothing = ShapeArithmetic()
            outcome = evaluate_mugraph(graph, {t.name: nothing.random(graph.shape(t)) for t in graph.inputs}, nothing)
            faults = outcome.faults
        except (ExecutionFault, MirageError) as e:
            faults = [str(e)]
            graph = mugraph
        seen.append(dict(graph.axes))
        told = replace(told, launches=tuple(seen))
        if faults:
            shown = Counterexample("memory", 0, (), CLAIM, faults[0], dict(graph.axes))
            return evidence("REJECTED", faults[0], replace(told, proved=False, faults=tuple(faults)), shown)
    said = "every element written exactly once, in bounds, before it is read"
    if not told.proved:
        why = told.unproved[0]
        return evidence("TESTED", f"not proved ({why}): tested, {said}, at {len(seen)} sizes with tails", told)
    return evidence("PROVED", f"{said}: proved for {told.scope}, and run at {len(seen)} with tails", told)


def _proof(mugraph: MuGraph, work: int) -> tuple[MemoryFault | None, MemoryDetails]:
    """The answer of z3: a fault, or None with the properties that it proved."""
    unproved: list[str] = []
    prover = AccessProver(work)
    fault = None
    try:
        fault = first_fault(prover, accesses_of(mugraph), unproved)
    except Undecided as e:
        unproved.append(str(e))
    except (KeyError, IndexError, ValueError, TypeError) as e:  # malformed: the run says in which way
        unproved.append(f"the µGraph is malformed: {type(e).__name__}: {e}")
    if fault is not None or unproved:
        return fault, MemoryDetails(questions=prover.questions, unproved=tuple(unproved))
    scope, beyond = "these sizes", ""
    try:
        if whole_axes(mugraph):
            any_size(prover, mugraph)
            scope = "all sizes"
    except (Undecided, KeyError) as e:
        beyond = str(e)
    return None, MemoryDetails(proved=True, scope=scope, beyond=beyond, questions=prover.questions)
