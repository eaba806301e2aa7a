"""The range opinion: the size of the inputs up to which no intermediate of the emitted kernels overflows in its dtype.

Every tile of the µGraph is an event: a float32 value that must stay below float32's largest number. Where the kernels
narrow (a store to a narrower tensor, a computed operand of a tensor core's product) the narrower dtype's largest number
is an event of its own. The bound of an event is the largest B such that inputs in [-B, B] keep it (`intervals.py`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirage.ir.dtypes import computing_dtypes
from mirage.meaning.reserved_names import rest_of
from mirage.meaning.terms import Terms
from mirage.mugraph import old_value
from mirage.mugraph.grammar import Compute, CustomKernel, Load, MuGraph, Store
from mirage.mugraph.walk import computes, parts, sites
from mirage.results.details import Cast, RangeDetails
from mirage.results.verdict import Evidence
from mirage.verify.floats.regimes import UNIT
from mirage.verify.output_terms import OutputTerm
from mirage.verify.ranges.intervals import ACCUMULATOR, LIMITS, Ranges, largest_bound, safe_bound, without_interval
from mirage.verify.semantics.denote import Denoter, NotDenoted

CLOSE = 0.99  # bounds nearer than this are the same


@dataclass(frozen=True)
class RangeEvent:
    """A value that must fit into a dtype: the term, where it arises, whether it is one of the function's outputs."""

    term: int
    dtype: str
    where: str
    output: bool = False

    @property
    def narrows(self) -> bool:
        return self.dtype != ACCUMULATOR


def events_of(t: Terms, mugraph: MuGraph) -> list[RangeEvent]:
    """The events of a µGraph's kernels, in their order. Raises NotDenoted."""
    denoter = Denoter(t, mugraph)
    try:
        denoter.run()
    except (KeyError, IndexError, TypeError, ValueError) as e:
        raise NotDenoted(f"the µGraph is malformed: {type(e).__name__}: {e}") from e
    floats = computing_dtypes((x.dtype for x in mugraph.inputs), (x.dtype for x in mugraph.outputs))
    storage = min(floats, key=LIMITS.__getitem__)
    out: list[RangeEvent] = []
    for part, run in zip(parts(mugraph), denoter.runs, strict=True):
        loaded = {s.statement.out for s in sites(part) if isinstance(s.statement, Load)}
        operand = storage if isinstance(part.kernel, CustomKernel) and part.kernel.operands == "narrow" else ACCUMULATOR
        for s in sites(part):
            for c in computes(s.statement):
                name = f"{part.where}: {c.out}"
                out += [RangeEvent(run.env[a], operand, f"{name}'s operand {a}") for a in _computed(c, loaded, operand)]
                out.append(RangeEvent(run.env[c.out], ACCUMULATOR, name))
            if isinstance(s.statement, Store):
                x = mugraph.tensor(s.statement.tensor)
                if x.dtype in LIMITS and x.dtype != ACCUMULATOR:
                    where = f"{part.where}: the store of {x.name}"
                    out.append(RangeEvent(run.env[s.statement.tile], x.dtype, where, x.kind == "output"))
    return list(dict.fromkeys(out))


def _computed(c: Compute, loaded: set[str], operand: str) -> Sequence[str]:
    """The operands of a product that are rounded to the storage dtype: those that are not read as they are."""
    if c.op != "dot" or operand == ACCUMULATOR:
        return ()
    return [a for a in c.args if a not in loaded and not old_value.is_old(a)]


def fits(
    t: Terms, events: Sequence[RangeEvent], sizes: dict[str, int], bound: float, lost: float = 0.0
) -> RangeEvent | None:
    """The first event that inputs in [-bound, bound] may pass; None if none. `lost`: how far, relatively, the roundings of
    narrowing casts before it may carry a value."""
    r = Ranges(t, bound, sizes, ACCUMULATOR)
    return next((e for e in events if not r.of(e.term).size <= LIMITS[e.dtype] * (1 - lost)), None)


def rounding(events: Sequence[RangeEvent]) -> float:
    """The relative rounding error that the casts inside the kernels add up to."""
    return sum(UNIT.get(e.dtype, 2.0**-3) for e in events if e.narrows and not e.output)


def range_opinion(t: Terms, targets: Sequence[OutputTerm], mugraph: MuGraph) -> Evidence:
    """Names the bound on the inputs under which no intermediate of the kernels overflows, the event that passes beyond it,
    and each narrowing cast's own bound (`details`). TESTED always: intervals are wider than what values do, so that past
    the bound an overflow is possible, not certain; the float opinion decides there.

    `details.narrower`: a cast or an intermediate of the kernels may overflow where the function, in float32 throughout,
    does not; `details.function` is that function's bound. The outputs' own dtype is the function's doing."""
    start = time.perf_counter()
    sizes = dict(t.sizes) | dict(mugraph.axes)
    function, _ = safe_bound(t, [(x.term, ACCUMULATOR) for x in targets], sizes, ACCUMULATOR)
    info = RangeDetails(function=function)

    def evidence(text: str) -> Evidence:
        return Evidence(
            link="text", opinion="range", word="TESTED", summary=text, seconds=time.perf_counter() - start, details=info
        )

    try:
        events = events_of(t, mugraph)
        sizes |= {a: -(-sizes[axis] // _parts(mugraph, part)) for axis, part, a in _rests(mugraph)}
    except NotDenoted as e:
        info = replace(info, beyond=f"the kernels' intermediates have no closed form: {e}")
        return evidence(summary(info, mugraph))
    lost = rounding(events)

    def bound_of(which: Sequence[RangeEvent]) -> float | None:
        return largest_bound(lambda b: fits(t, which, sizes, b, lost) is None)

    bound = bound_of(events)
    worst = fits(t, events, sizes, 2.0**-24 if bound is None else bound * 1.001, lost)
    inner = bound_of([e for e in events if not e.output])
    said = "" if worst is None else f"{worst.where} may pass {LIMITS[worst.dtype]:.6g}, {worst.dtype}'s largest number"
    unknown = sorted(without_interval(t, (e.term for e in events)))
    if worst is not None and unknown:
        said += f" (the range of {', '.join(unknown)} is not known)"
    info = RangeDetails(
        bound=bound,
        beyond=said,
        function=function,
        kernel=inner,
        narrower=(inner or 0.0) < CLOSE * (function or 0.0),
        casts=tuple(Cast(e.where, e.dtype, bound_of([e]), e.output) for e in events if e.narrows),
    )
    return evidence(summary(info, mugraph))


def summary(info: RangeDetails, mugraph: MuGraph) -> str:
    if info.bound is None:
        return f"no bound on the inputs is known to be safe: {info.beyond}"
    floats = [x.dtype for x in mugraph.inputs if x.dtype in LIMITS]
    if all(info.bound >= LIMITS[d] for d in floats):
        return "no finite input overflows anything"
    text = f"inputs up to {info.bound:.4g} overflow nothing; beyond, {info.beyond}"
    if info.narrower and info.function is not None:
        text += f" (the function in float32 is safe up to {info.function:.4g})"
    return text


def _rests(m: MuGraph) -> list[tuple[str, str, str]]:
    """(axis, the split that shares it, the axis within one share) as `denote` names them."""
    splits = [(p.graph, d) for p in parts(m) for d in p.graph.dims if d.role == "split"]
    return [(a, d.name, rest_of(a)) for graph, d in splits for a in graph.dim(d.splits).axes]


def _parts(m: MuGraph, name: str) -> int:
    return next(d.parts for p in parts(m) for d in p.graph.dims if d.role == "split" and d.name == name)
