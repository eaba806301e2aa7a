"""Sizes of the float opinion's small launch, and the lengths of a program's sums there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence, Set

from mirage.meaning.nodes import Apply, Index, Input, Mul, Reduce
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import LibraryKernel, MuGraph, TileDim
from mirage.mugraph.resized import rigid_axes, same_size
from mirage.mugraph.walk import parts
from mirage.mugraph.without_calls import calls_of, dims_of_calls
from mirage.verify.output_terms import OutputTerm

INTEGERS = 4  # integers are drawn below it: they index what calls take, whose sizes are no smaller
# What an integer may be, as far as float64 tells them apart. Quantized weights are anywhere in theirs; others count and index.
WHOLE_RANGE = {"int8": (-(1 << 7), 1 << 7), "int32": (-(1 << 31), 1 << 31), "int64": (-(1 << 53), 1 << 53)}
UNTILED = 7  # of a dim that only library kernels have
BATCH = 2  # of a dim whose blocks take one element each


def launch_sizes(mugraph: MuGraph, real_axes: Set[str] = frozenset()) -> dict[str, int]:
    """Sizes of a small launch with the µGraph's own tiles: two tiles and a tail of each tiled dim, or its real size
    where that is smaller; two of what blocks take singly; resident dims whole, and `real_axes`."""
    real = dict(mugraph.axes)
    fixed = rigid_axes(mugraph) | dims_of_calls(mugraph)[0] | (real_axes & real.keys())
    sizes = {a: n for a, n in real.items() if a in fixed}
    graphs = [p.graph for p in parts(mugraph)]
    sizes |= {d.name: min(real[d.name], 2) for g in graphs for d in g.dims if d.role == "split"}
    whole = fixed | {a for g in graphs for d in g.dims if d.role == "resident" for a in d.axes}
    for g in graphs:
        for d in g.dims:
            if d.role in ("grid", "loop"):
                shared = any(s.role == "split" and s.splits == d.name for s in g.dims)
                _tiled(d, 5 if shared else 2, whole, real, sizes)
    sizes |= {a: min(real[a], UNTILED) for a in _of_library_kernels_alone(mugraph) - whole}
    _indexed(mugraph, real, sizes)
    kind = same_size(mugraph)
    largest: dict[str, int] = {}  # axes of one dimension of a tensor have one size
    for a, n in real.items():
        largest[kind[a]] = max(largest.get(kind[a], 1), sizes.get(a, n))
    return {a: largest[kind[a]] for a in real}


def _of_library_kernels_alone(mugraph: MuGraph) -> set[str]:
    """The axes of what library kernels take and give that no kernel of ours has, such as the rows of an embedding's table or of
    a weight: at their real size a run would hold the whole of it."""
    library = [k for k in mugraph.kernels if isinstance(k, LibraryKernel)]
    seen = {a for k in library for x in (*k.args, k.out) for d in mugraph.tensor(x).dims for a in d}
    return seen - {a for p in parts(mugraph) for d in p.graph.dims for a in d.axes}


def _tiled(d: TileDim, tiles: int, whole: Set[str], real: Mapping[str, int], sizes: dict[str, int]) -> None:
    """Makes the axes of a dim so long together that it has so many tiles and a tail, where its `whole` axes leave room for one.
    These count; every other is two long at least."""
    least = BATCH if d.tile == 1 else tiles * d.tile + max(1, d.tile // 3)
    free = [a for a in d.axes if a not in whole]
    held = math.prod(real[a] for a in d.axes if a in whole)
    want = -(-least // held)
    for a in reversed(free):  # minor axes first; the major one makes up the rest
        wide = max(want, BATCH)
        part = wide if a == free[0] else min(wide, 3)
        sizes[a] = max(sizes.get(a, 1), min(real[a], part))
        want = -(-want // sizes[a])
    for a in reversed(free):  # where the major one is too short for that, the others do
        others = held * math.prod(sizes[b] for b in free if b != a)
        sizes[a] = max(sizes[a], min(real[a], -(-least // others)))
    minor = held * math.prod(sizes[a] for a in free[1:])
    if free and minor % d.tile and minor * sizes[free[0]] % d.tile == 0:
        sizes[free[0]] = min(real[free[0]], sizes[free[0]] + 1)


def _indexed(mugraph: MuGraph, real: Mapping[str, int], sizes: dict[str, int]) -> None:
    """Lengthens the dims that calls index with integers, so that every integer drawn is an index."""
    known = {t.name: t for t in mugraph.tensors}
    for k in calls_of(mugraph):
        if any(known[a].dtype.startswith("int") for a in k.args):
            for a in sizes.keys() & {a for x in k.args for d in known[x].dims for a in d}:
                sizes[a] = max(sizes[a], min(real[a], INTEGERS))


def integer_range(dtype: str, count: int = INTEGERS, *, whole: bool = False) -> tuple[int, int]:
    """From where to below what an integer input is drawn; `count`: how many indices it is compared with."""
    return WHOLE_RANGE[dtype] if whole or dtype == "int8" else (0, count)


def compared_indices(t: Terms, targets: Sequence[OutputTerm], sizes: Mapping[str, int]) -> dict[str, int]:
    """Inputs that are compared with an index, each with how many such indices there are: integers that pick an element, or
    say how many are seen. Drawn below that they reach every element, and the function as written takes them."""
    found: dict[str, int] = {}
    for x in {y for o in targets for y in t.walk(o.term)}:
        n = t.node(x)
        kids = [t.node(k) for k in n.args] if isinstance(n, Apply) and n.name in ("eq", "lt", "le") else []
        for here, other in itertools.permutations(kids, 2):
            if isinstance(here, Index) and isinstance(other, Input):
                count = math.prod(sizes[a] for a in here.axes)
                found[other.name] = min(found.get(other.name, count), count)
    return found


def sums(t: Terms, targets: Sequence[OutputTerm]) -> list[Reduce]:
    every = {y for x in targets for y in t.walk(x.term)}
    return [t.reduction(y) for y in sorted(every) if t.is_sum(y)]


def contraction(t: Terms, targets: Sequence[OutputTerm], sizes: Mapping[str, int]) -> int:
    """The length of the longest sum."""
    return max((sizes.get(n.axis, 1) for n in sums(t, targets)), default=1)


def first_contraction(t: Terms, targets: Sequence[OutputTerm], sizes: Mapping[str, int]) -> int:
    """The length of the shortest sum of products of two different inputs in which nothing is summed before: of
    attention, that of the scores. The longest sum where there is none."""
    found = []
    for n in sums(t, targets):
        product = isinstance(t.node(n.body), Mul) and len(t.inputs(n.body)) > 1
        if product and not any(isinstance(t.node(z), Reduce) for z in t.walk(n.body)):
            found.append(sizes.get(n.axis, 1))
    return min(found) if found else contraction(t, targets, sizes)
