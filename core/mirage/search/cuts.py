"""Cut points of a program: values that can live in device memory, between the kernel that writes and those that read them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from mirage.ir.index import DimIndex
from mirage.meaning.exp_shift import substitute
from mirage.meaning.nodes import Input, Reduce
from mirage.meaning.terms import Terms
from mirage.search.kernel_pieces import Target
from mirage.search.reassociation import products
from mirage.search.tile_dims import components


@dataclass(frozen=True)
class Cut:
    """A value to materialise: its term, whether it feeds a tensor-core operand (kept in the program's dtype), and a
    number that names its tensor the same in every cut set, so that its kernels are found once. `again` are terms of the
    same value along other axes, with those axes as (in `term`, there): they read the same tensor. `score`: an exponential
    that the search shifted depends on it. `instead`: the terms of outputs that are read in another spelling, where the value
    occurs (`rewritten_cuts.py`), with the numbers of the cuts `beside` it there."""

    term: int
    operand: bool
    number: int
    again: tuple[tuple[int, tuple[tuple[str, str], ...]], ...] = ()
    score: bool = False
    instead: tuple[tuple[int, int], ...] = ()
    beside: frozenset[int] = frozenset()


def tensor_name(prefix: str, number: int) -> str:
    """The name of the tensor that keeps a cut's value."""
    return f"{prefix}{number}"


def number_of(name: str) -> int | None:
    """The cut whose value a tensor keeps, by the tensor's name: what `tensor_name` put last."""
    digits = name[len(name.rstrip("0123456789")) :]
    return int(digits) if digits else None


def cut_candidates(t: Terms, roots: list[int], shifted: Collection[int] = ()) -> list[Cut]:
    """Operands of contractions that have to be computed, and the reductions themselves, smallest terms first. `shifted`: the
    arguments of exponentials that the search shifted."""
    found: dict[int, bool] = {}
    for root in roots:
        for r in sorted(t.closure(root)):
            n = t.reduction(r)
            if r not in roots and t.dims(r):
                found.setdefault(r, False)
            if len(t.front(n.body)) > 1 and all(t.dims(f) == t.dims(n.body) for f in t.front(n.body)):
                found[n.body] = True  # made of several reductions element by element: one tensor for all of them
            for product in products(t, n.body) if n.op == "sum" else ():
                found |= dict.fromkeys(computed_operands(t, r, product), True)
    cuts = together(t, sorted(found.items(), key=lambda f: depth(t, f[0])))
    below = {y for x in shifted for y in t.walk(x)}
    return [replace(c, score=bool(below & {c.term, *(x for x, _ in c.again)})) for c in cuts]


def computed_operands(t: Terms, r: int, product: int) -> Iterator[int]:
    """The computed operands that the sum `r` contracts in one product of its body."""
    sides = operands(t, r, product)
    yield from (x for x in sides if not isinstance(t.node(x), Input) and t.dims(x))
    if sides:
        return
    factors = [f for f in t.flat("mul", (product,))[1] if t.reduction(r).axis in t.dims(f)]
    computed = [f for f in factors if t.front(f)]
    if not computed or len(computed) == len(factors) == 1:
        return
    for dims in widest(t.dims(f) for f in computed):
        # vectors along the reduced axis travel with the computed side
        term = t.mul(*(f for f in factors if t.dims(f) <= dims))
        if term != product and t.dims(term):
            yield term


def operands(t: Terms, r: int, product: int) -> tuple[int, ...]:
    """The two sides of a matrix product: what the sum `r` (and the sums that are all of its body) contracts in `product`,
    each side with the vectors that go with it; none where it is no matrix product."""
    axes = {t.reduction(r).axis}
    n = t.node(product)
    while isinstance(n, Reduce) and n.op == "sum" and not n.changes:
        axes.add(n.axis)
        product = n.body
        n = t.node(product)
    _, factors = t.flat("mul", (product,))
    free = [t.dims(f) - axes for f in factors]
    found = two_sides(free)
    if found is None:
        return ()
    batch, part = found
    sides: list[list[int]] = [[], []]
    for f, d in zip(factors, free, strict=True):
        if d - batch:
            sides[0 if d & part else 1].append(f)
    if not all(axes <= frozenset().union(*(t.dims(f) for f in s)) for s in sides):
        return ()
    plain = [len(s) == 1 and isinstance(t.node(s[0]), Input) for s in sides]
    rest = [f for f, d in zip(factors, free, strict=True) if not d - batch]
    sides[1 if plain[0] and not plain[1] else 0] += rest
    return tuple(t.mul(*s) for s in sides)


def two_sides(free: list[frozenset[str]]) -> tuple[frozenset[str], frozenset[str]] | None:
    """Of the axes of factors the fewest that both operands of a product share, and the other ones of its first operand; None
    where the factors do not fall into two operands."""
    every = frozenset[str]().union(*free)
    shared = sorted(a for a in every if sum(a in d for d in free) > 1)
    for batch in (frozenset[str](), *(frozenset({a}) for a in shared), frozenset(shared)):
        parts = components(every - batch, [d - batch for d in free])
        if len(parts) == 2:
            return batch, parts[0]
    return None


def dims_of(t: Terms, x: int, outputs: list[Target]) -> tuple[tuple[str, ...], ...]:
    """The dims of a temporary: first those of one element that all outputs begin with (a batch of one), so that a library gives an
    output of a temporary, then the `own_dims` of its value."""
    ones = min((next((i for i, d in enumerate(o.dims) if d), 0) for o in outputs), default=0)
    return (*((),) * ones, *own_dims(t, x, outputs))


def own_dims(t: Terms, x: int, outputs: list[Target]) -> tuple[tuple[str, ...], ...]:
    """Of a matrix product the dims of its operands, as a library would give it; else the axes in `axis_order`, with those together
    that a tensor of the program has as one dim."""
    n = t.node(x)
    if not isinstance(n, Reduce):  # what is made of a product element by element lies as the product does
        same = [r for r in sorted(t.front(x)) if t.dims(r) == t.dims(x) and is_product(t, r)]
        return own_dims(t, same[0], outputs) if same else flattened(t, axis_order(t, x, outputs), outputs)
    axes = axis_order(t, x, outputs)
    if n.op == "sum":
        for side in map(t.node, operands(t, x, n.body)):
            if isinstance(side, Input):
                index = [d.axes for d in side.index]
                columns = tuple(d for d in index if d and set(d) <= set(axes))
                rows = tuple((a,) for a in axes if not any(a in d for d in columns))
                if len(columns) == 1 and sum(map(len, columns)) + len(rows) == len(axes):
                    return (*rows, *columns)
    return flattened(t, axes, outputs)


def is_product(t: Terms, r: int) -> bool:
    """True if the reduction is a matrix product."""
    n = t.node(r)
    return isinstance(n, Reduce) and n.op == "sum" and bool(operands(t, r, n.body))


def depth(t: Terms, x: int) -> tuple[int, int]:
    """Orders values so that none needs a later one."""
    return len(t.closure(x)), x


def flattened(t: Terms, axes: tuple[str, ...], outputs: list[Target]) -> tuple[tuple[str, ...], ...]:
    known = {d.axes for o in outputs for n in t.reads(o.term) for d in n.index} | {d for o in outputs for d in o.dims}
    out: list[tuple[str, ...]] = []
    while axes:
        n = next((n for n in range(len(axes), 1, -1) if axes[:n] in known), 1)
        out.append(axes[:n])
        axes = axes[n:]
    return tuple(out)


def widest(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Those that are part of no other."""
    all_sets = list(dict.fromkeys(sets))
    return [s for s in all_sets if not any(s < other for other in all_sets)]


def starts(t: Terms, cuts: Sequence[Cut]) -> Iterator[tuple[Cut, ...]]:
    """Every operand of a contraction; and every matrix product too; and every reduction."""
    own = [c for c in cuts if not c.instead]
    yield tuple(c for c in own if c.operand)
    yield tuple(c for c in own if c.operand or is_product(t, c.term))
    yield tuple(own)


def descend(t: Terms, cuts: list[Cut], cost: Callable[[tuple[Cut, ...]], float]) -> Iterator[tuple[Cut, ...]]:
    """Cut sets of a large program: every operand of a contraction first, so that each part is small (where a part has no
    kernel yet, every matrix product too), then one cut fewer or one more for as long as that is better. `cost` is asked
    after a set was tried."""
    for current in starts(t, cuts):
        yield current
        if cost(current) < float("inf"):
            break
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
    """No cut first, then one, two, ... up to `most`, of those that one spelling has."""
    for n in range(min(most, len(cuts)) + 1):
        yield from filter(together_in_one, combinations(cuts, n))


def together_in_one(cuts: tuple[Cut, ...]) -> bool:
    """True if one spelling of the outputs has all of the cuts."""
    other = [c for c in cuts if c.instead]
    numbers = {c.number for c in cuts}
    return all(c.instead == other[0].instead and numbers - {c.number} <= c.beside for c in other)


def loads(t: Terms, c: Cut, outputs: list[Target], prefix: str) -> dict[int, int]:
    """For each term of a cut's value, the term that reads it from its tensor."""
    dims = dims_of(t, c.term, outputs)
    found = {}
    for term, renamed in ((c.term, ()), *c.again):
        there = dict(renamed)
        found[term] = t.input(
            tensor_name(prefix, c.number), tuple(DimIndex(tuple(there.get(a, a) for a in d)) for d in dims)
        )
    return found


def apply(t: Terms, outputs: list[Target], cuts: tuple[Cut, ...], dtype: str, prefix: str) -> list[Target]:
    """The targets of the kernels, in launch order: each cut's value, then the outputs, reading what was cut before."""
    instead = dict(pair for c in cuts for pair in c.instead)
    done: dict[int, int] = {}
    targets: list[Target] = []
    for c in sorted(cuts, key=lambda c: depth(t, c.term)):
        dims = dims_of(t, c.term, outputs)
        kept = kept_dtype(t, c, dtype)
        name = tensor_name(prefix, c.number)
        targets.append(Target(name, substitute(t, c.term, done), dims, kept, "temp"))
        done |= loads(t, c, outputs, prefix)
    for o in outputs:
        term = instead.get(o.term, o.term)
        targets.append(Target(o.tensor, substitute(t, term, done), o.dims, o.dtype, o.kind))
    return targets


def kept_dtype(t: Terms, c: Cut, dtype: str) -> str:
    """Operands of matrix products and products are kept in the program's dtype, as PyTorch keeps them; other reductions in
    float32, and scores too: a function that is written without a shift gives nothing where they are large, so that
    nothing but float32 says how far off their exponentials may be (half a unit of a float16 near 800 is a factor of 1.28)."""
    product = is_product(t, c.term)
    return dtype if c.operand or (product and not c.score) else "fp32"


def axis_order(t: Terms, x: int, outputs: list[Target]) -> tuple[str, ...]:
    """The axes of a temporary: those of the output first, in its order, so that later reads run along memory."""
    known = {a: i for i, a in enumerate(dict.fromkeys(a for o in outputs for a in o.axes))}
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
    """The axes of `x` that have another name in `y`, as (in x, in y), or None if the two are different values. Where both have the
    same axes, two of them may have changed places: one value is the other transposed."""
    old, new = sorted(t.dims(x) - t.dims(y)), sorted(t.dims(y) - t.dims(x))
    if not old and not new:
        swaps = (((a, b), (b, a)) for a, b in combinations(sorted(t.dims(x)), 2) if t.sizes[a] == t.sizes[b])
        return next((pairs for pairs in swaps if t.rename(x, dict(pairs)) == y), None)
    if len(old) != len(new) or len(old) > 4:
        return None
    for order in permutations(new):
        pairs = tuple(zip(old, order, strict=True))
        if all(t.sizes[a] == t.sizes[b] for a, b in pairs) and t.rename(x, dict(pairs)) == y:
            return pairs
    return None
