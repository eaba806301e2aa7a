"""The float opinion: the emitted kernels on inputs of several regimes, their error beside the function's own.

A kernel passes a regime when its error against float64 is at most twice the eager function's own, or within a budget of
its dtype; when it is finite wherever the function as written is finite in float32, and where that overflows for want of a
shift, right by the shifted term; when two runs agree bit by bit, no guard is touched and no access is out of bounds.

An error that is too large by that is judged once more on the same inputs, beside the largest error that the function has on average
when its results are rounded otherwise: of exponentials of large scores few rows show any error, and how much of it there is
with one rounding is chance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from mirage.errors import MirageError
from mirage.ir.dtypes import DTYPES, EIGHT_BIT
from mirage.ir.fp8_formats import FORMATS
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.resized import rigid_axes, same_size, shrink
from mirage.mugraph.walk import parts
from mirage.mugraph.without_calls import calls_of, dims_of_calls
from mirage.results.details import FloatDetails, RegimeError
from mirage.results.verdict import Counterexample, Evidence, Word
from mirage.verify.field.schedule_opinion import Target, expected_outputs, term_only_sizes
from mirage.verify.field.text_opinion import launch_tiles
from mirage.verify.floats.regimes import LARGEST, REGIMES, SATURATES, UNIT, Regime, added_masks, round_to
from mirage.verify.floats.shifted_reference import Shifted, Single, instead
from mirage.verify.floats.worker import decode, packed, task
from mirage.verify.semantics.evaluate_terms import TermEvaluator
from mirage.verify.semantics.float64 import Floats

__all__ = ["float_opinion", "launch_sizes", "task"]

Array = np.ndarray[Any, np.dtype[Any]]
RunTask = Callable[[str, dict[str, Any]], dict[str, Any]]
TIMES_EAGER = 2.0
UNITS = 8.0  # of the output's dtype, and of float32 for each sqrt(K)
ROUNDINGS, NEARLY = 8, 8.0  # runs, where an error is not more than so many times what is allowed
UNITS_EIGHT = 1.25  # of an 8-bit output: half its digits are no budget
MOST_PAST = 0.5  # of an element: how far below the dtype's largest number an infinity may stand for it
INTEGERS = 4  # integers are drawn below it: they index what calls take, whose sizes are no smaller
BATCH = 2  # of a dim whose blocks take one element each


def launch_sizes(mugraph: MuGraph) -> dict[str, int]:
    """Sizes of a small launch with the µGraph's own tiles: two tiles and a tail of each tiled dim, or its real size
    where that is smaller; two of what blocks take singly; resident dims whole."""
    real = dict(mugraph.axes)
    fixed = rigid_axes(mugraph) | dims_of_calls(mugraph)[0]
    sizes = {a: n for a, n in real.items() if a in fixed}
    whole = {a for p in parts(mugraph) for d in p.graph.dims if d.role == "resident" for a in d.axes}
    for p in parts(mugraph):
        for d in p.graph.dims:
            if d.role == "split":
                sizes[d.name] = min(real[d.name], 2)
    for p in parts(mugraph):
        for d in p.graph.dims:
            if d.role not in ("grid", "loop"):
                continue
            tiles = 5 if any(s.role == "split" and s.splits == d.name for s in p.graph.dims) else 2
            want = BATCH if d.tile == 1 else tiles * d.tile + max(1, d.tile // 3)
            for a in reversed(d.axes):  # minor axes first; the major one makes up the rest
                if a in fixed or a in whole:
                    continue
                part = want if a == d.axes[0] else min(want, 3)
                sizes[a] = max(sizes.get(a, 1), min(real[a], part))
                want = -(-want // sizes[a])
    known = {t.name: t for t in mugraph.tensors}
    for k in calls_of(mugraph):
        if any(known[a].dtype.startswith("int") for a in k.args):
            for a in sizes.keys() & {a for x in k.args for d in known[x].dims for a in d}:
                sizes[a] = max(sizes[a], min(real[a], INTEGERS))
    kind = same_size(mugraph)
    largest: dict[str, int] = {}  # axes of one dimension of a tensor have one size
    for a, n in real.items():
        largest[kind[a]] = max(largest.get(kind[a], 1), sizes.get(a, n))
    return {a: largest[kind[a]] for a in real}


def sums(t: Terms, targets: Sequence[Target]) -> list[int]:
    every = {y for x in targets for y in t.walk(x.term)}
    return [y for y in sorted(every) if t.kind(y) == "red" and t.node(y)[1] == "sum"]


def contraction(t: Terms, targets: Sequence[Target], sizes: Mapping[str, int]) -> int:
    """The length of the longest sum."""
    return max((sizes.get(t.node(y)[2], 1) for y in sums(t, targets)), default=1)


def first_contraction(t: Terms, targets: Sequence[Target], sizes: Mapping[str, int]) -> int:
    """The length of the shortest sum of products of two different inputs in which nothing is summed before: of
    attention, that of the scores. The longest sum where there is none."""
    found = []
    for y in sums(t, targets):
        body = t.node(y)[3]
        inner = any(t.kind(z) == "red" for z in t.walk(body))
        if t.kind(body) == "mul" and not inner and len(t.inputs(body)) > 1:
            found.append(sizes.get(t.node(y)[2], 1))
    return min(found) if found else contraction(t, targets, sizes)


def float_opinion(
    t: Terms,
    targets: Sequence[Target],
    mugraph: MuGraph,
    module: str,
    text: str,
    function: str,
    parameters: Sequence[str],
    run_task: RunTask,
    *,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    tiles: Mapping[str, Mapping[str, int]] | None = None,
    constants: Mapping[str, Any] | None = None,
    regimes: Sequence[Regime] = REGIMES,
) -> Evidence:
    """The emitted `module` against the user's `function` of the slice `text` (without its decorator), in a worker.

    Where the function cannot run at the small sizes (it names sizes of its own), the terms in float64 stand for it and
    the budget of the dtype alone decides. `sizes`, `tiles`: of the launch, `launch_sizes` and the µGraph's if None.
    """
    start = time.perf_counter()

    def evidence(word: Word, summary: str, shown: Counterexample | None = None, unlike: bool = False) -> Evidence:
        told = FloatDetails(sizes=at_sizes, tiles=at_tiles, regimes=tuple(rows), unlike=unlike)
        return Evidence(
            link="text", opinion="float", word=word, summary=summary, seconds=time.perf_counter() - start, details=told,
            counterexample=shown,
        )  # fmt: skip

    sizes = at_sizes = dict(sizes or launch_sizes(mugraph))
    rows: list[RegimeError] = []
    at_tiles: dict[str, dict[str, int]] = {}
    try:
        graph = shrink(mugraph, sizes, tiles)
        every = dict(t.sizes) | term_only_sizes(t, targets, graph) | dict(graph.axes)
        k, products = contraction(t, targets, every), first_contraction(t, targets, every)
    except MirageError as error:
        return evidence("REJECTED", f"the kernels could not be run: {error}")
    rng = np.random.default_rng((seed, 0xF10A7))
    at_tiles = launch_tiles(graph)
    masks = added_masks(t, [x.term for x in targets]) | {i.name for i in graph.inputs if i.dtype == "bool"}
    eight = any(i.dtype in FORMATS for i in graph.inputs)
    regimes = [r for r in regimes if (r.flags is None or masks) and (eight or not r.eight_bit)]
    shifted: Shifted | None = None
    calls, unlike = calls_of(mugraph), list[str]()
    for number, regime in enumerate(regimes):  # one call each: the first that fails spares the rest
        given = _inputs(graph, parameters, regime, rng, products, masks)
        payload = {
            "module": module,
            "text": text,
            "function": function,
            "sizes": dict(graph.axes),
            "tiles": at_tiles,
            "constants": dict(constants or {}),
            "names": list(parameters),
            "inputs": [[packed(dt, v) for dt, v in given.values()]],
            "times": 1 if number else 2,  # whether a kernel is deterministic shows in one regime
        }
        try:
            (run,) = run_task("float", payload)["runs"]
        except MirageError as error:
            return evidence("REJECTED", f"{regime.name}: the kernels could not be run: {error}")
        if (
            calls and run["double"] is None
        ):  # nothing else says what a call gives; where both raise there is nothing to compare
            if run["error"]:
                unlike.append(f"{regime.name}: {run['user_error']}")
                continue
            why = f"the function raised {run['user_error']}, the kernels did not"
            return evidence("REJECTED", f"{regime.name}: {why}", unlike=True)
        if run["error"]:
            return evidence("REJECTED", f"{regime.name}: the launch raised {run['error']}")
        if not run["guards"]:
            return evidence("REJECTED", f"{regime.name}: an element beside an output was written")
        e = _evaluator(t, given, every)
        terms, short_terms = {}, {}
        if (
            run["double"] is None
        ):  # the function as written did not run at these sizes: its terms say what it is, and in float32
            terms = expected_outputs(t, targets, e)
            short_terms = expected_outputs(t, targets, TermEvaluator(t, e.inputs, Single(), every))
        for i, target in enumerate(targets):
            got, again = decode(run["outputs"][i]), decode(run["again"][i])
            if got.tobytes() != again.tobytes():
                return evidence("REJECTED", f"{regime.name}: two runs give different bits")
            known = run["double"] is not None
            want = decode(run["double"][i]) if known else terms[target.tensor][0]
            eager = decode(run["eager"][i]) if known else None
            single = decode(run["single"][i]) if known else short_terms[target.tensor][0]
            dtype = graph.tensor(target.tensor).dtype
            if got.shape != want.shape:
                return evidence("REJECTED", f"output {i} has shape {got.shape}, not {want.shape}")
            free, short = None, None
            if not np.isfinite(want).all() and not calls:
                shifted = shifted or Shifted(t, targets)
                values = shifted.values(e.inputs, every)
                if target.tensor in values:
                    exact, short = values[target.tensor].shifted, values[target.tensor].single
                    free = instead(want, values[target.tensor])
                    want, single = np.where(free, exact, want), np.where(free, exact, single)
            row, at = judge(got, want, eager, single, dtype, k, regime.wild, free, short)
            if row["far"] and known and row["error"] <= NEARLY * row["allowed"]:
                with suppress(MirageError):  # then the first judgement stands
                    (other,) = run_task("float", payload | {"roundings": ROUNDINGS})["runs"]
                    others = [decode(one[i]) for one in other["rounded"]]
                    row, at = judge(got, want, eager, single, dtype, k, regime.wild, free, short, others)
                    row["roundings"] = ROUNDINGS
            rows.append(RegimeError(regime.name, i, dtype, "eager" if known else "terms", **row))
            if at is not None:
                shown = Counterexample("float", i, at, repr(float(want[at])), repr(float(got[at])), sizes, seed)
                return evidence("REJECTED", f"{regime.name}: {row['why']}", shown)
    if not rows:
        why = f"the function could be run on no inputs: {'; '.join(unlike)}"
        return evidence("REJECTED", why, unlike=True)
    worst = max((r.error / max(r.allowed, 1e-300) for r in rows), default=0.0)
    return evidence(
        "TESTED",
        f"{len(regimes) - len(unlike)} regimes of inputs; the largest error is {worst:.2g} of what is allowed",
    )


def _inputs(
    graph: MuGraph, parameters: Sequence[str], regime: Regime, rng: np.random.Generator, k: int, masks: set[str]
) -> dict[str, tuple[str, Array]]:
    """(dtype, float64 values rounded to it) of every parameter. Flags and integers are random, but for `masks` where the
    regime has flags of its own."""
    known = {t.name: t for t in graph.inputs}
    out: dict[str, tuple[str, Array]] = {}
    floating = False
    for name in parameters:
        if name not in known:
            out[name] = ("fp32", np.zeros((1,)))
            continue
        tensor, shape = known[name], graph.shape(known[name])
        if regime.flags is not None and name in masks:
            flags = regime.flags(rng, shape)
            value = flags.astype(np.float64) if tensor.dtype == "bool" else np.where(flags, 0.0, -np.inf)
        elif tensor.dtype in UNIT:
            draw = regime.first if regime.first is not None and not floating else regime.draw
            floating = True
            value = round_to(np.asarray(draw(rng, shape, tensor.dtype, k), np.float64), tensor.dtype)
        elif tensor.dtype == "bool":
            value = rng.integers(0, 2, shape).astype(np.float64)
        else:
            value = rng.integers(0, INTEGERS, shape).astype(np.float64)
        out[name] = (tensor.dtype, np.ascontiguousarray(value))
    return out


def _evaluator(t: Terms, given: Mapping[str, tuple[str, Array]], sizes: Mapping[str, int]) -> TermEvaluator:
    arrays = {
        n: (v.astype(bool) if dt == "bool" else v if dt in UNIT else v.astype(np.int64))[None]
        for n, (dt, v) in given.items()
    }
    return TermEvaluator(t, arrays, Floats(), sizes)


def judge(
    got: Array,
    want: Array,
    eager: Array | None,
    single: Array,
    dtype: str,
    k: int,
    wild: bool,
    free: Array | None = None,
    short: Array | None = None,
    others: Sequence[Array] = (),
) -> tuple[dict[str, Any], tuple[int, ...] | None]:
    """(figures, the index of the first element that fails, or None). Errors are relative to the larger of the element
    and the output's root mean square.

    `free`: where `want` is the shifted term's; the function has no error of its own there, and what rounding to float32
    costs the shifted term (`short`) takes its place. `others`: the function's outputs with other roundings.
    """
    unit = UNIT.get(dtype, 0.0)
    top = LARGEST.get(dtype, math.inf)
    if dtype in SATURATES:
        want, single, top = np.clip(want, -top, top), np.clip(single, -top, top), math.inf
    free = np.zeros(want.shape, bool) if free is None else free
    with np.errstate(all="ignore"):
        rounded = np.where(np.abs(want) > top, np.sign(want) * np.inf, want)
        finite = np.isfinite(rounded)
        size = float(np.sqrt(np.mean(np.square(want[finite])))) if finite.any() else 0.0
        scale = np.maximum(np.abs(want), max(size, 1e-300))
        both = finite & np.isfinite(got)
        error = np.where(both, np.abs(got - want) / scale, 0.0)
        own, rounding = 0.0, 0.0
        if eager is not None:
            usable = finite & np.isfinite(eager) & ~free
            own = float(np.where(usable, np.abs(eager - want) / scale, 0.0).max(initial=0.0))
            off = [np.where(usable & np.isfinite(x), np.abs(x - want) / scale, 0.0).max(initial=0.0) for x in others]
            own = max(own, float(np.mean(off))) if off else own
        if short is not None:
            rounding = float(
                np.where(finite & free & np.isfinite(short), np.abs(short - want) / scale, 0.0).max(initial=0.0)
            )
    budget = (UNITS_EIGHT if dtype in FORMATS else UNITS) * unit + UNITS * UNIT["fp32"] * math.sqrt(k)
    if size:  # below the smallest normal number, rounding is absolute
        budget += _absolute(dtype) / size
    limits = np.where(free, max(UNITS * rounding, budget), max(TIMES_EAGER * own, budget))
    allowed = float(limits.max(initial=budget))
    figures = {
        "error": float(error.max(initial=0.0)),
        "eager": own,
        "budget": budget,
        "allowed": allowed,
        "far": False,
        "why": "",
    }
    with np.errstate(all="ignore"):  # an error that is allowed may carry an element past the dtype's largest number
        slack = np.minimum(limits, MOST_PAST)
        excused = (np.abs(want) * (1 + slack) >= top) & np.isinf(got) & (np.sign(got) == np.sign(want))
        if eager is not None:  # the function's own roundings make an infinity there, of either sign
            excused |= ~free & (np.abs(eager) >= top) & np.isinf(got) & (np.sign(got) * want + limits * scale >= top)
        infinite = np.isinf(rounded) & ~(np.abs(want) * (1 - slack) <= top)
    lost = finite & np.isfinite(single) & ~np.isfinite(got) & ~excused
    if lost.any():
        return figures | {"why": "not finite where the function is"}, _first(lost)
    if not wild:
        for what, there in (("NaN", np.isnan(want) & ~np.isnan(got)), ("infinity", infinite & np.isfinite(got))):
            if there.any():
                return figures | {"why": f"a number where the function gives {what}"}, _first(there)
    bad = error > limits
    if bad.any():
        at = tuple(int(i) for i in np.unravel_index(int((error / limits).argmax()), error.shape))
        why = f"error {float(error[at]):.3g} against {float(limits[at]):.3g} allowed (the function's own is {own:.3g})"
        return figures | {"far": True, "why": why}, at
    return figures, None


def _absolute(dtype: str) -> float:
    """A few of the smallest numbers of a dtype; of an 8-bit one, one."""
    if dtype == "fp64":  # that in which outputs are compared
        return 0.0
    return DTYPES[dtype].subnormal * (1 if dtype in EIGHT_BIT else 8)


def _first(mask: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])
