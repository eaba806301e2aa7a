"""The algebra link's field opinion: two terms evaluated at the same random points of prime fields."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np

from mirage.meaning.nodes import Index, Input, Size
from mirage.meaning.terms import Terms
from mirage.results.details import FieldDetails
from mirage.results.verdict import SAYS_NOTHING, Counterexample, Evidence, Word
from mirage.verify.field.arithmetic import Field, is_special
from mirage.verify.field.error_bound import Bound, bound_of
from mirage.verify.field.expression_size import ExpressionCounts
from mirage.verify.field.independence import independent, widened
from mirage.verify.field.sampling import Sample, draw, is_exponential
from mirage.verify.label_ranges import Kind
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.evaluate_terms import ExecutionFault, Hook, TermEvaluator, evaluate_terms

DRAWS = 64
FEWEST_DRAWS, MOST_DRAWS = 16, 256
# What is drawn anew in each draw where no kernel runs that takes addresses from integers; and where one does.
EACH_DRAW = {"bool": "flags", "int": "integers"}
FLAGS_EACH_DRAW = {"bool": "flags"}
GOAL = 2.0**-64
# Sigmoid as an oracle first, then as 1 / (1 + exp(-x)). A narrowing cast is never the identity here; in an emitted text,
# where every tensor-core operand is narrowed, it is, and the float opinion judges it.
# A root is an uninterpreted function where no point is found at which all of them exist.
# Where an exponential is inside another, the outer one is an oracle first; then products are atoms, and it keeps its laws.
OPAQUE: tuple[tuple[str, ...], ...] = (
    ("sigmoid", "round"),
    ("sigmoid", "round", "sqrt"),
    ("round",),
    ("sigmoid", "round", "products"),
    ("round", "products"),
)
OPAQUE_IN_TEXT: tuple[tuple[str, ...], ...] = (
    ("sigmoid",),
    ("sigmoid", "sqrt"),
    (),
    ("sigmoid", "products"),
    ("products",),
)


def nested(t: Terms, roots: Iterable[int]) -> bool:
    """True if an exponential is inside another."""
    outer = [x for r in roots for x in t.walk(r) if is_exponential(t, x)]
    return any(is_exponential(t, y) for x in outer for k in t.kids(x) for y in t.walk(k))


def variants(t: Terms, roots: Iterable[int], every: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The ways to read a program that may tell something about these terms, in order: the first that accepts decides."""
    deep = nested(t, roots)
    return [v for v in every if deep or "products" not in v]


def algebra_sizes(t: Terms, roots: list[int], fixed: Mapping[str, int] | None = None) -> dict[str, int]:
    """Tiny distinct sizes, the smallest for the longest axes: those are the reduced ones, and the bound falls with the
    number of exponential terms. `fixed` axes keep their sizes."""
    axes: set[str] = set()
    for r in roots:
        for x in t.walk(r):
            n = t.node(x)
            axes |= t.dims(x)
            if isinstance(n, Size):
                axes.add(n.axis)
            if isinstance(n, Index):
                axes |= set(n.axes)
    sizes = dict(fixed or {})
    free = (n for n in count(2) if n not in sizes.values())
    for a in sorted(axes - set(sizes), key=lambda a: (t.sizes.get(a, 0), a), reverse=True):
        sizes[a] = next(free)
    return sizes


def offset_axes(t: Terms, roots: list[int]) -> set[str]:
    """Axes of dimensions that are indexed with an offset: their sizes are tied to numbers in the program."""
    rigid: set[tuple[str, int]] = set()
    used: dict[tuple[str, int], set[str]] = {}
    for r in roots:
        for x in t.walk(r):
            n = t.node(x)
            if isinstance(n, Input):
                for i, d in enumerate(n.index):
                    used.setdefault((n.name, i), set()).update(d.axes)
                    if d.offset:
                        rigid.add((n.name, i))
    return set().union(set(), *(used[k] for k in rigid))


def free_choice(field: Field) -> Hook:
    """A hook that puts an independent random value in each maximum's place."""

    def hook(value: Array) -> Array:
        return field.random(value.shape[1:])

    return hook


def independent_of_maxima(t: Terms, roots: list[int], sample: Sample, sizes: Mapping[str, int]) -> bool:
    """True if the values are the same with any value in the place of each maximum."""
    if not any(t.is_maximum(x) for r in roots for x in t.walk(r)):
        return True
    a = evaluate_terms(t, roots, sample.inputs, sample.field, sizes)
    b = evaluate_terms(t, roots, sample.inputs, sample.field, sizes, free_choice(sample.field))
    alike = (np.asarray(sample.field.same(x, y)) for x, y in zip(a, b, strict=True))
    return all(bool(s.all() if len(s) == 1 else s[sample.generic].all()) for s in alike)  # a number has one draw


def counts_of(
    t: Terms,
    roots: list[int],
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int],
    free: bool,
    opaque: Iterable[str] = ("sigmoid",),
) -> tuple[ExpressionCounts, list[Array]]:
    """The figures of the terms at these sizes; `free`: maxima are free values."""
    counts = ExpressionCounts(opaque)
    blank = {n: counts.random(x.shape[1:]) if x.dtype == np.uint64 else x[:1] for n, x in inputs.items()}
    hook = (lambda value: counts.random(value.shape[1:])) if free else None
    e = TermEvaluator(t, blank, counts, sizes, hook)
    return counts, [e.full(r, e.order(r)) for r in roots]


def term_bound(
    t: Terms, roots: list[int], sample: Sample, sizes: Mapping[str, int], targets: list[int] | None = None
) -> Bound:
    """The bound of the theorem that applies to programs of this size, at these sizes. The scores are those of `targets`
    (all of `roots` if None)."""
    free = independent_of_maxima(t, roots, sample, sizes)
    counts, outputs = counts_of(t, roots, sample.inputs, sizes, free, sample.field.opaque)
    known = counts.exps and free
    scores = None
    if known:
        opaque = sample.field.opaque
        scores = independent(t, targets or roots, sample.inputs, sizes, sample.field.seed, "sigmoid" in opaque)
    bound = bound_of(counts, outputs, sample.field, sample.conditions, scores=scores)
    own = "each draw's own"
    said = [f"the {what}, {own if anew else 'the same in all draws'}" for what, anew in exact_inputs(sample).items()]
    return replace(bound, theorem=f"{bound.theorem}; given {' and '.join(said)}") if said else bound


def exact_inputs(sample: Sample) -> dict[str, bool]:
    """Which of "flags" and "integers" are inputs, for whose drawn values alone bounds hold, and whether each draw has its own."""
    found = {
        "flags": [x for x in sample.inputs.values() if x.dtype == bool],
        "integers": [x for x in sample.inputs.values() if x.dtype not in (np.uint64, bool)],
    }
    return {what: all(len(x) > 1 for x in values) for what, values in found.items() if values}


def mismatch(
    field: Field, expected: Array, actual: Array, valid: Array, ties: Array | None = None
) -> tuple[int, ...] | None:
    """(draw, *index) of the first element that differs in a valid draw. A single draw in which one side alone is NaN or
    infinite may be a chance division by zero (one in 10^6 runs); two such draws are not. In the draws `ties`, whose
    inputs are small integers, divisions by zero are common: there nothing is asked where `expected` is not finite."""
    same = np.broadcast_to(field.same(expected, actual), np.broadcast_shapes(expected.shape, actual.shape))
    bad = ~same & valid.reshape(-1, *(1,) * (same.ndim - 1))
    if not bad.any():
        return None
    odd = bad & (
        np.broadcast_to(is_special(field.lift(expected)), bad.shape)
        | np.broadcast_to(is_special(field.lift(actual)), bad.shape)
    )
    if ties is not None:
        here = np.broadcast_to(ties.reshape(-1, *(1,) * (same.ndim - 1)), bad.shape)
        hidden = here & np.broadcast_to(is_special(field.lift(expected)), bad.shape)
        bad, odd = bad & ~hidden, odd & ~here
    chance = int(odd.reshape(odd.shape[0], -1).any(axis=1).sum()) == 1 and int(valid.sum()) > 1
    sure = bad & ~odd if chance else bad
    if not sure.any():
        return None
    return tuple(int(i) for i in np.argwhere(sure)[0])


def counterexample(
    field: Field, output: int, at: tuple[int, ...], expected: Array, actual: Array, sizes: Mapping[str, int]
) -> Counterexample:
    shape = np.broadcast_shapes(expected.shape, actual.shape)
    values = [np.broadcast_to(field.lift(x), shape)[at] for x in (expected, actual)]
    return Counterexample(
        "field", output, tuple(at[1:]), field.show(values[0]), field.show(values[1]), dict(sizes), field.seed
    )


def summary_of(bound: Bound, draws: int) -> tuple[float | None, str]:
    total = bound.after(draws)
    said = f"bound {total:.1e}" if total is not None else f"no bound below {SAYS_NOTHING:g} holds"
    return total, f"equal at {draws} random points; {said}"


def details_of(bound: Bound, sample: Sample, sizes: Mapping[str, int], draws: int) -> FieldDetails:
    f = sample.field
    return FieldDetails(
        draws=draws,
        discarded=int((~sample.valid).sum()),
        p=f.p,
        q=f.q,
        sizes=dict(sizes),
        given=tuple(exact_inputs(sample)),
        degree=bound.degree,
        exponential_terms=bound.terms,
        roots=sample.conditions.roots,
        signs=sample.conditions.signs,
        bound_a_draw=bound.a_draw,
        bound_a_draw_any_exponents=bound.general,
        theorem=bound.theorem,
        opaque=tuple(sorted(f.opaque)),
    )


def draws_for(bound: Bound, goal: float = GOAL) -> int:
    """The number of draws that brings the bound under `goal`, within reason."""
    a = bound.a_draw
    if a is None or a >= 1:
        return DRAWS
    return max(FEWEST_DRAWS, min(MOST_DRAWS, math.ceil(math.log(goal) / math.log(max(a, 1e-300)))))


def field_opinion(
    t: Terms,
    a: int,
    b: int,
    *,
    draws: int | None = None,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Evidence:
    """Compares `a` and `b` at random points. TESTED with the bound that holds, or REJECTED with a counterexample.

    draws: as many as the bound of 2^-64 asks for (at most 256) unless given; sizes: of all axes, else tiny ones;
    shapes: of inputs, else the smallest that hold every index.
    """
    start = time.perf_counter()
    roots = [a, b]
    if sizes is None:
        tied = offset_axes(t, roots)
        sizes = algebra_sizes(t, roots, {x: t.sizes[x] for x in tied if x in t.sizes})
        sizes = widened(t, [a], sizes, frozenset(tied))
    kinds = {**dict.fromkeys(t.bool_inputs, "bool"), **(kinds or {})}
    kinds = {n: EACH_DRAW.get(kind, kind) if isinstance(kind, str) else kind for n, kind in kinds.items()}
    verdict: Evidence | None = None
    for opaque in variants(t, roots, OPAQUE):
        sample_at = partial(draw, t, roots, sizes, shapes=shapes, kinds=kinds, opaque=opaque)
        verdict = _opinion(t, a, b, sample_at, draws, seed, sizes, start)
        if verdict.word != "REJECTED":
            return verdict
    assert verdict is not None
    return verdict


def _opinion(
    t: Terms,
    a: int,
    b: int,
    sample_at: Callable[[int, int], Sample],
    draws: int | None,
    seed: int,
    sizes: Mapping[str, int],
    start: float,
) -> Evidence:
    """`sample_at(seed, draws)`: inputs at which the two are compared."""

    def evidence(
        word: Word, text: str, info: FieldDetails | None = None, shown: Counterexample | None = None,
        bound: float | None = None,
    ) -> Evidence:  # fmt: skip
        return Evidence(
            link="algebra", opinion="field", word=word, summary=text, bound=bound, seconds=time.perf_counter() - start,
            details=info, counterexample=shown,
        )  # fmt: skip

    roots = [a, b]
    dims = tuple(sorted(t.dims(a) | t.dims(b)))
    try:
        trial = sample_at(seed, 4)
        bound = term_bound(t, roots, trial, sizes, [a])
        sample = sample_at(seed + 1, draws or draws_for(bound))
        x, y = evaluate_terms(t, [(a, dims), (b, dims)], sample.inputs, sample.field, sizes)
    except ExecutionFault as e:
        return evidence("REJECTED", f"cannot be evaluated: {e}")
    at = mismatch(sample.field, x, y, sample.valid, sample.ties)
    good = int(sample.generic.sum())
    info = details_of(bound, sample, sizes, good)
    if at is not None:
        shown = counterexample(sample.field, 0, at, x, y, sizes)
        return evidence("REJECTED", "the two differ at a random point", info, shown)
    if good == 0:
        return evidence("REJECTED", "no point was found at which every root has a square", info)
    total, text = summary_of(bound, good)
    return evidence("TESTED", text, info, bound=total)
