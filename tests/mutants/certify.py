"""Is a mutant really wrong? Decided in float64 (modules: in the interpreter's float32), at other sizes than the
verifier's and by other code than the verifier's. Equivalent mutants are set aside, and so is what does not run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Literal

import numpy as np
from mutants.bases import Base
from workloads.evaluate import POINTWISE
from workloads.evaluate import evaluate as run_mugraph
from workloads.term_values import evaluate

from mirage.errors import MirageError
from mirage.meaning.nodes import Size
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.resized import shrink
from mirage.verify.field.sampling import shapes_of
from mirage.verify.field.schedule_opinion import term_only_sizes
from mirage.verify.field.text_opinion import launch_tiles
from mirage.verify.floats.worker import decode

Array = np.ndarray[Any, np.dtype[Any]]
Word = Literal["wrong", "equivalent", "no program"]
RunTask = Callable[[str, dict[str, Any]], dict[str, Any]]
EXACT, SINGLE = 1e-7, 2e-2  # of the largest element: float64, and float32 with TF32 products
LAUNCHES = (1, 2)  # of the base's: the opinions look at the first
FUNCTIONS: dict[str, Callable[..., Array]] = {**POINTWISE, "and": np.logical_and, "or": np.logical_or}


def inputs(shapes: dict[str, tuple[int, ...]], seed: int) -> Iterator[dict[str, Array]]:
    """Plain inputs, and tiny ones under which an epsilon shows."""
    for scale in (1.0, 1e-3):
        rng = np.random.default_rng((seed, 0xCE47))
        yield {n: scale * rng.standard_normal(s) for n, s in sorted(shapes.items())}


def lost(want: Array, got: Array) -> bool:
    """A number against NaN or infinity; two NaNs are the same."""
    return bool((np.isfinite(want) & ~np.isfinite(got)).any() or (np.isfinite(got) & np.isnan(want)).any())


def differ(want: Array, got: Array, tolerance: float) -> bool:
    """Do finite elements differ by more than rounding?"""
    if want.shape != got.shape:
        return True
    with np.errstate(all="ignore"):
        both = np.isfinite(want) & np.isfinite(got)
        size = float(np.abs(want[both]).max(initial=0.0))
        return bool((np.abs(want - got)[both] > tolerance * max(size, 1e-300)).any())


def wrong_term(t: Terms, good: int, bad: int) -> Word:
    """Two terms at sizes 3, 4, 5 and so on."""
    axes: set[str] = set()
    for x in {*t.walk(good), *t.walk(bad)}:
        n = t.node(x)
        axes |= t.dims(x) | ({n.axis} if isinstance(n, Size) else set())
    numbers = count(3)
    sizes = {a: next(numbers) for a in sorted(axes)}
    dims = tuple(sorted(t.dims(good) | t.dims(bad)))
    every = True  # an overflow at one scale of inputs is no difference in exact arithmetic; NaN at all scales is
    for given in inputs(shapes_of(t, [good, bad], sizes), 1):
        want, got = (evaluate(t, x, given, dims, FUNCTIONS, sizes) for x in (good, bad))
        if differ(want, got, EXACT):
            return "wrong"
        every = every and lost(want, got)
    return "wrong" if every else "equivalent"


def reference(base: Base, graph: MuGraph, given: dict[str, Array]) -> Array:
    """What the base's terms say of its first output at `graph`'s sizes."""
    x = base.targets[0]
    sizes = dict(base.t.sizes) | term_only_sizes(base.t, base.targets, graph) | dict(graph.axes)
    value = evaluate(base.t, x.term, given, tuple(a for d in x.dims for a in d), FUNCTIONS, sizes)
    return value.reshape([int(np.prod([sizes[a] for a in d])) for d in x.dims])


def wrong_mugraph(base: Base, mutant: MuGraph) -> Word:
    """The mutant tile by tile in float64, on two launches with tails."""
    for number in LAUNCHES:
        sizes, tiles = base.launches[number]
        good = shrink(base.mugraph, sizes, tiles)
        try:
            bad = shrink(mutant, sizes, tiles)
        except MirageError:
            return "no program"
        every = True
        for given in inputs({t.name: good.shape(t) for t in good.inputs}, number):
            try:
                got = run_mugraph(bad, *(given[t.name] for t in bad.inputs))
            except AssertionError as e:  # an element is written twice, or a tile is reduced over a dim that it has not
                return "wrong" if "twice" in str(e) else "no program"
            except (KeyError, ValueError, IndexError, StopIteration, TypeError):
                return "no program"
            want = reference(base, good, given)
            if differ(want, got, EXACT):
                return "wrong"
            every = every and lost(want, got)
        if every:
            return "wrong"
    return "equivalent"


def public(text: str) -> str:
    """The guard and the public function."""
    return text.partition("_EXPECTED = ")[2].partition("# mirage:end launcher")[0]


def handed_on(text: str) -> list[str]:
    """The arguments that the public function calls `_run` with."""
    (arguments,) = re.findall(r"return _run\((.*), fits=True\)", public(text))
    return [a.strip() for a in arguments.split(",") if a.strip()]


def wrong_module(base: Base, text: str, run_task: RunTask) -> Word:
    """The module in the interpreter with float32 tensors against the terms in float64; its `_run` gets what the public
    function hands on. A public function that hands on the same and yet reads otherwise has another guard or fallback."""
    given_on = handed_on(text)
    if given_on == handed_on(base.module) and public(text) != public(base.module):
        return "wrong"
    sizes, tiles = base.launches[LAUNCHES[0]]
    graph = shrink(base.mugraph, sizes, tiles)
    for given in inputs({t.name: graph.shape(t) for t in graph.inputs}, 1):
        packed = [
            {"type": "fp32", "shape": list(given[n].shape), "as": given[n].dtype.name, "data": given[n].tobytes()}
            for n in given_on
        ]
        payload = {
            "module": text.replace("torch.float16", "torch.float32"), "text": "", "function": "", "constants": {},
            "sizes": dict(graph.axes), "tiles": launch_tiles(graph), "inputs": [packed], "times": 1,
        }  # fmt: skip
        try:
            (run,) = run_task("float", payload)["runs"]
        except MirageError:
            return "no program"
        if run["error"]:
            return "wrong" if "outside" in run["error"] or "input was changed" in run["error"] else "no program"
        if not run["guards"]:
            return "wrong"
        out = run["outputs"][0]
        got = decode(out)
        want = reference(base, graph, given)
        if differ(want, got, SINGLE) or lost(want, got):  # here an overflow is wrong: modules compute in floats
            return "wrong"
    return "equivalent"
