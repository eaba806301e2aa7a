"""Where a program may be cut into kernels: values that can live in device memory, so that a later kernel reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DimIndex
from mirage.search.kernels import Target
from mirage.search.shift import substitute


@dataclass(frozen=True)
class Cut:
    """A value to materialise: its term, whether it feeds a tensor-core operand (kept in the program's dtype), and a
    number that names its tensor the same in every cut set, so that its kernels are found once. `again` are terms of the
    same value along other axes, with those axes as (in `term`, there): they read the same tensor."""

    term: int
    operand: bool
    number: int
    again: tuple[tuple[int, tuple[tuple[str, str], ...]], ...] = ()


def cut_candidates(t: Terms, roots: list[int]) -> list[Cut]:
    """Operands of contractions that read reductions, and the reductions themselves, smallest terms first."""
    found: dict[int, bool] = {}
    for root in roots:
        for r in sorted(t.closure(root)):
            _, op, axis, body, *_ = t.node(r)
            if r not in roots and t.dims(r):
                found.setdefault(r, False)
            if op != "sum":
                continue
            for product in t.kids(body) if t.kind(body) == "add" else (body,):
                factors = [f for f in t.flat("mul", (product,))[1] if axis in t.dims(f)]
                computed = [f for f in factors if t.front(f)]
                if not computed or len(computed) == len(factors) == 1:
                    continue
                for dims in widest(t.dims(f) for f in computed):
                    # vectors along the reduced axis travel with the computed side
                    term = t.mul(*(f for f in factors if t.dims(f) <= dims))
                    if term != product and t.dims(term):
                        found[term] = True
    return together(t, sorted(found.items()))


def widest(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Those that are part of no other."""
    all_sets = list(dict.fromkeys(sets))
    return [s for s in all_sets if not any(s < other for other in all_sets)]


def descend(cuts: list[Cut], cost: Callable[[tuple[Cut, ...]], float]) -> Iterator[tuple[Cut, ...]]:
    """Cut sets of a large program: every operand of a contraction first, so that each part is small, then one cut fewer
    or one more for as long as that is better. `cost` is asked after a set was tried."""
    current = tuple(c for c in cuts if c.operand)
    yield current
    seen, best, better = {current}, cost(current), True
    while better:
        better = False
        for c in cuts:
            following = tuple(x for x in cuts if (x in current) != (x == c))
            if following in seen:
                continue
            seen.add(following)
            yield following
            if cost(following) < best:
                current, best, better = following, cost(following), True


def cut_sets(cuts: list[Cut], most: int) -> Iterator[tuple[Cut, ...]]:
    """No cut first, then one, two, ... up to `most`."""
    for n in range(min(most, len(cuts)) + 1):
        yield from combinations(cuts, n)


def loads(t: Terms, c: Cut, outputs: list[Target], prefix: str) -> dict[int, int]:
    """For each term of a cut's value, the term that reads it from its tensor."""
    axes = axis_order(t, c.term, outputs)
    found = {}
    for term, renamed in ((c.term, ()), *c.again):
        there = dict(renamed)
        found[term] = t.input(f"{prefix}{c.number}", tuple(DimIndex((there.get(a, a),)) for a in axes))
    return found


def apply(t: Terms, outputs: list[Target], cuts: tuple[Cut, ...], dtype: str, prefix: str) -> list[Target]:
    """The targets of the kernels, in launch order: each cut's value, then the outputs, reading what was cut before."""
    done: dict[int, int] = {}
    targets: list[Target] = []
    for c in sorted(cuts, key=lambda c: c.term):
        axes = axis_order(t, c.term, outputs)
        kept = dtype if c.operand else "fp32"
        name = f"{prefix}{c.number}"
        targets.append(Target(name, substitute(t, c.term, done), tuple((a,) for a in axes), kept, "temp"))
        done |= loads(t, c, outputs, prefix)
    for o in outputs:
        targets.append(Target(o.tensor, substitute(t, o.term, done), o.dims, o.dtype, o.kind))
    return targets


def axis_order(t: Terms, x: int, outputs: list[Target]) -> tuple[str, ...]:
    """The axes of a temporary: those of the output first, in its order, so that later reads run along memory."""
    known = {a: i for i, a in enumerate(a for o in outputs for a in o.axes)}
    return tuple(sorted(t.dims(x), key=lambda a: (known.get(a, len(known)), a)))


def together(t: Terms, found: list[tuple[int, bool]]) -> list[Cut]:
    """A cut for each value: terms that are equal up to the names of free axes of equal size are one (what is read along the
    rows of queries, say, and again along those of keys)."""
    cuts: list[Cut] = []
    for term, operand in found:
        for i, c in enumerate(cuts):
            pairs = renaming(t, c.term, term) if c.operand == operand else None
            if pairs is not None:
                cuts[i] = replace(c, again=(*c.again, (term, pairs)))
                break
        else:
            cuts.append(Cut(term, operand, len(cuts)))
    return cuts


def renaming(t: Terms, x: int, y: int) -> tuple[tuple[str, str], ...] | None:
    """The axes of `x` that have another name in `y`, as (in x, in y), or None if the two are different values."""
    old, new = sorted(t.dims(x) - t.dims(y)), sorted(t.dims(y) - t.dims(x))
    if len(old) != len(new) or not 0 < len(old) <= 4:
        return None
    for order in permutations(new):
        pairs = tuple(zip(old, order, strict=True))
        if all(t.sizes[a] == t.sizes[b] for a, b in pairs) and t.rename(x, dict(pairs)) == y:
            return pairs
    return None
