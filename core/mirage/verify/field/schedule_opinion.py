"""The schedule link's field opinion: a µGraph run on its own schedule, at tiny sizes with tails, against the terms."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from mirage.errors import MirageError
from mirage.meaning.nodes import Input
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import Accumulate, MuGraph
from mirage.mugraph.resized import rigid_axes, shrink, tiny_sizes
from mirage.mugraph.walk import parts, sites
from mirage.results.details import FieldDetails
from mirage.results.verdict import Counterexample, Evidence
from mirage.verify.field import algebra_opinion
from mirage.verify.field.arithmetic import OPAQUE
from mirage.verify.field.error_bound import Bound
from mirage.verify.field.independence import widened
from mirage.verify.field.sampling import Sample, draw
from mirage.verify.output_terms import OutputTerm
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.evaluate_terms import ExecutionFault, TermEvaluator, evaluate_mugraph

DRAWS = 64
Launch = tuple[Mapping[str, int], Mapping[str, Mapping[str, int]] | None]  # sizes, and tiles or the µGraph's own
KINDS = {"bool": "bool", "int64": "int", "int32": "int", "int8": "int"}


@dataclass
class Small:
    """A µGraph at tiny sizes with random inputs and the outputs that its targets say; shared by schedule and text."""

    graph: MuGraph
    sizes: dict[str, int]
    sample: Sample
    expected: dict[str, Array]
    bound: Bound
    free: bool  # the outputs do not depend on the maxima


def expected_outputs(t: Terms, targets: Sequence[OutputTerm], e: TermEvaluator) -> dict[str, Array]:
    """The targets' values in the shape of their tensors, by name."""
    out = {}
    for x in targets:
        axes = tuple(a for dim in x.dims for a in dim)
        value = e.full(x.term, axes)
        shape = []
        for dim in x.dims:
            n = 1
            for a in dim:
                n *= e.sizes[a]
            shape.append(n)
        out[x.tensor] = value.reshape(value.shape[0], *shape)
    return out


def small_case(
    t: Terms,
    targets: Sequence[OutputTerm],
    mugraph: MuGraph,
    *,
    draws: int,
    seed: int,
    opaque: Sequence[str] = OPAQUE,
    launch: Launch | None = None,
    each_draw: Mapping[str, str] = MappingProxyType({}),
) -> Small:
    """The µGraph shrunk to tiny sizes with tails (or the given ones), inputs at `draws` random points, and what the
    targets are there. Axes of the terms alone take the sizes that the µGraph's inputs have. `each_draw`: which of flags
    and integers are drawn anew in each draw, as in EACH_DRAW; of the others all draws have the same."""
    if launch is None:
        tiny, tiles = tiny_sizes(mugraph, seed)
        wide = widened(t, [x.term for x in targets], dict(t.sizes) | tiny, unchangeable(mugraph))
        launch = {a: wide[a] for a, _ in mugraph.axes}, tiles
    graph = shrink(mugraph, *launch)
    every = dict(t.sizes) | term_only_sizes(t, targets, graph) | dict(graph.axes)
    roots = [x.term for x in targets]
    kinds = {i.name: KINDS[i.dtype] for i in graph.inputs if i.dtype in KINDS}
    kinds = {name: each_draw.get(kind, kind) for name, kind in kinds.items()}
    shapes = {i.name: graph.shape(i) for i in graph.inputs}
    sample = draw(t, roots, every, seed, draws, shapes=shapes, kinds=kinds, opaque=opaque)
    e = TermEvaluator(t, sample.inputs, sample.field, every)
    expected = expected_outputs(t, targets, e)
    free = algebra_opinion.independent_of_maxima(t, roots, sample, every)
    return Small(graph, dict(graph.axes), sample, expected, algebra_opinion.term_bound(t, roots, sample, every), free)


def unchangeable(mugraph: MuGraph) -> frozenset[str]:
    """Axes whose tiny sizes are tied to more than a tail: rigid ones, and those that a split shares out."""
    split = {
        a
        for p in parts(mugraph)
        for s in p.graph.dims
        if s.role == "split"
        for a in (s.name, *p.graph.dim(s.splits).axes)
    }
    return rigid_axes(mugraph) | split


def term_only_sizes(t: Terms, targets: Sequence[OutputTerm], graph: MuGraph) -> dict[str, int]:
    """Sizes of axes that the terms have and the µGraph has not (it may have renamed or merged them): read off the
    dimensions of the inputs that they index alone."""
    shapes = {i.name: graph.shape(i) for i in graph.inputs}
    own = dict(graph.axes)
    found: dict[str, int] = {}
    for x in targets:
        for y in t.walk(x.term):
            n = t.node(y)
            if isinstance(n, Input) and n.name in shapes:
                for d, size in zip(n.index, shapes[n.name], strict=True):
                    if len(d.axes) == 1 and d.axes[0] not in own and not d.offset:
                        found[d.axes[0]] = size
    return found


def schedule_opinion(
    t: Terms,
    targets: Sequence[OutputTerm],
    mugraph: MuGraph,
    draws: int = DRAWS,
    seed: int = 0,
    *,
    sizes: Mapping[str, int] | None = None,
    tiles: Mapping[str, Mapping[str, int]] | None = None,
) -> Evidence:
    """Runs the µGraph block by block and tile by tile, and compares with the targets' values. TESTED with a bound, or REJECTED.

    sizes, tiles: of the launch that is looked at (see `mugraph.shrink`); tiny ones with a tail for everything if None.
    """
    start = time.perf_counter()
    evidence: Evidence | None = None
    for opaque in algebra_opinion.variants(t, [x.term for x in targets], algebra_opinion.OPAQUE):
        small = partial(
            small_case,
            t,
            targets,
            mugraph,
            draws=draws,
            seed=seed,
            opaque=opaque,
            launch=None if sizes is None else (sizes, tiles),
            each_draw=algebra_opinion.EACH_DRAW,
        )
        evidence = _opinion(targets, mugraph, small, start)
        if evidence.word != "REJECTED":
            return evidence
    assert evidence is not None
    return evidence


def compare(small: Small, outputs: Mapping[str, Array]) -> Counterexample | None:
    """The first counterexample of an output against its target, if any."""
    for i, (name, want) in enumerate(small.expected.items()):
        got = outputs[name]
        at = algebra_opinion.mismatch(small.sample.field, want, got, small.sample.valid, small.sample.ties)
        if at is not None:
            return algebra_opinion.counterexample(small.sample.field, i, at, want, got, small.sizes)
    return None


def _opinion(
    targets: Sequence[OutputTerm], mugraph: MuGraph, small_case_of: Callable[[], Small], start: float
) -> Evidence:
    def rejected(text: str, info: FieldDetails | None = None, shown: Counterexample | None = None) -> Evidence:
        return Evidence(
            link="schedule", opinion="field", word="REJECTED", summary=text, seconds=time.perf_counter() - start,
            details=info, counterexample=shown,
        )  # fmt: skip

    try:
        small = small_case_of()
        outcome = evaluate_mugraph(small.graph, small.sample.inputs, small.sample.field)
    except (ExecutionFault, MirageError) as e:
        return rejected(f"the µGraph cannot be evaluated: {e}")
    good = int(small.sample.generic.sum())
    info = algebra_opinion.details_of(small.bound, small.sample, small.sizes, good)
    if outcome.faults:
        return rejected(outcome.faults[0], replace(info, faults=tuple(outcome.faults)))
    if missing := [x.tensor for x in targets if x.tensor not in outcome.outputs]:
        return rejected(f"output {missing[0]} is never written", info)
    if good == 0:
        return rejected("no point was found at which every root has a square", info)
    shown = compare(small, outcome.outputs)
    if shown is not None:
        return rejected("the µGraph differs from its program at a random point", info, shown)
    if small.free and has_running_maximum(mugraph):
        again = evaluate_mugraph(small.graph, small.sample.inputs, small.sample.field, free_shift=True)
        shown = compare(small, again.outputs)
        info = replace(info, independent_of_shift=shown is None)
        if shown is not None:
            return rejected("the result depends on the running maximum that shifts it", info, shown)
    total, text = algebra_opinion.summary_of(small.bound, good)
    return Evidence(
        link="schedule", opinion="field", word="TESTED", summary=text, bound=total, seconds=time.perf_counter() - start,
        details=info,
    )  # fmt: skip


def has_running_maximum(mugraph: MuGraph) -> bool:
    """True if a loop carries a maximum."""
    return any(
        isinstance(s.statement, Accumulate) and s.statement.op == "max" for p in parts(mugraph) for s in sites(p)
    )
