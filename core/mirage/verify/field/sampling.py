"""Random inputs in the field at which every square root of the program has a square under it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mirage.meaning.nodes import Apply, FloatLiteral, Input, Sqrt
from mirage.meaning.terms import Terms
from mirage.operators import block_operators
from mirage.verify.field.arithmetic import OPAQUE, Field, first, random_field
from mirage.verify.label_ranges import Kind, Labels
from mirage.verify.semantics.arrays import Array, Indices
from mirage.verify.semantics.evaluate_terms import TermEvaluator, grid_index

ROUNDS = 60  # of redrawing what lies under a root; each round halves what is left
FIELDS = 40
COMPARISONS = ("lt", "le", "eq")


@dataclass(frozen=True)
class Conditions:
    """The cost of points at which square roots exist. `roots`: the most roots that are tied together by the inputs
    redrawn for them; `loose`: how many of these are redrawn each by itself, not all together; `signs`: products of
    radicands that are squares of something whose sign is free (of sqrt(x^2), x's)."""

    roots: int = 0
    loose: int = 0
    signs: int = 0

    @property
    def factor(self) -> float:
        """By how much the chance of a zero grows: 2^n for the norm's degree, 2^n for the condition; where roots are
        redrawn one by one, the point is one of ROUNDS^loose that are uniform without the condition, instead."""
        if self.loose:
            return float(2.0 ** min(self.roots, 500) * float(ROUNDS) ** min(self.loose, 100))
        return float(4.0 ** min(self.roots, 500))

    @property
    def text(self) -> str:
        return f"2^{self.roots} {ROUNDS}^{self.loose}" if self.loose else f"4^{self.roots}" if self.roots else "1"


@dataclass
class Sample:
    """`inputs` by name (draws, *shape); `valid` (draws,): every root has a square under it; `conditions`: what it cost.
    `ties` (draws,): inputs are small integers there, so that operands of comparisons are equal; no bound counts those
    draws."""

    field: Field
    inputs: dict[str, Array]
    valid: Array
    conditions: Conditions
    ties: Array

    @property
    def generic(self) -> Array:
        """The valid draws at uniformly random points, which bounds count."""
        return np.asarray(self.valid & ~self.ties)


def root_nodes(t: Terms, roots: Iterable[int]) -> list[tuple[int, bool]]:
    """The square roots below `roots`, inner ones first, each with whether an exponential lies above it."""
    below: set[int] = set()
    everything: set[int] = set()
    for r in roots:
        for x in t.walk(r):
            everything.add(x)
            if is_exponential(t, x):
                below |= set(t.walk(x)) - {x}
    return [(x, x in below) for x in sorted(everything) if is_root(t, x)]


def is_root(t: Terms, x: int) -> bool:
    return isinstance(t.node(x), Sqrt)


def is_exponential(t: Terms, x: int) -> bool:
    return block_operators.is_exponential(t.operator(x))


def input_node(t: Terms, x: int) -> Input:
    """The node of a term that is known to be an input."""
    n = t.node(x)
    assert isinstance(n, Input)
    return n


def shapes_of(t: Terms, roots: Iterable[int], sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The smallest shape of each input that holds every index at these sizes."""
    shapes: dict[str, tuple[int, ...]] = {}
    for r in roots:
        for x in t.walk(r):
            n = t.node(x)
            if not isinstance(n, Input):
                continue
            need = []
            for d in n.index:
                total = 1
                for a in d.axes:
                    total *= sizes[a]
                need.append(total + d.offset)
            old = shapes.get(n.name, (0,) * len(need))
            shapes[n.name] = tuple(max(a, b) for a, b in zip(old, need, strict=True))
    return shapes


def fresh(field: Field, shape: tuple[int, ...], kind: Kind) -> Array:
    """Random values of one input: "bool", "int" (the same in all draws: kernels take addresses from them), "flags", "integers"
    (drawn anew in each draw), labels, or "field"."""
    full = (1, *shape)
    if isinstance(kind, Labels):
        return kind.drawn(field.rng, (field.draws, *shape))
    if kind == "flags":
        return _flags(field, shape)
    if kind == "integers":
        return np.asarray(field.rng.integers(-8, 9, (field.draws, *shape)))
    if kind == "bool":
        return np.asarray(field.rng.integers(0, 2, full).astype(bool) | one_a_line(shape))
    if kind == "int":
        return np.asarray(field.rng.integers(-8, 9, full))
    return field.random(shape)


def _flags(field: Field, shape: tuple[int, ...]) -> Array:
    """Flags for each draw. In a row of them any one may be the one that is true for sure."""
    flags = field.rng.integers(0, 2, (field.draws, *shape)).astype(bool)
    if len(shape) != 1:
        return np.asarray(flags | one_a_line(shape))
    return np.asarray(flags | (np.arange(shape[0]) == field.rng.integers(0, shape[0], (field.draws, 1))))


def one_a_line(shape: tuple[int, ...]) -> Array:
    """True at least once in each line along an axis, and on the diagonal of the last two, so that causal rows have one
    too: where a mask leaves nothing of a row, 0 / 0 stands in a program and 0 in its terms, in which masks select. The
    float opinion looks at such rows."""
    long = [i for i, n in enumerate(shape) if n > 1]
    if not long:
        return np.ones(shape, bool)
    place = np.indices(shape)
    step = sum((-1) ** j * place[i] for j, i in enumerate(reversed(long)))
    diagonal = place[-1] == place[-2] if len(shape) > 1 else False
    return np.asarray((step % min(shape[i] for i in long) == 0) | diagonal)


def tied(field: Field, value: Array, kind: Kind, ties: Array) -> Array:
    """`value` with integers from -1 to 2 in the draws `ties`: x < y and x <= y differ at equal operands alone, which
    uniformly random points never have."""
    if kind != "field" or not ties.any():
        return value
    low = field.lift(np.asarray(field.rng.integers(-1, 3, value.shape)))
    return np.where(ties.reshape(-1, *(1,) * (value.ndim - 1)), low, value)


def compares(t: Terms, roots: Iterable[int]) -> bool:
    """True if the program compares values that depend on inputs."""
    nodes = (t.node(x) for r in roots for x in t.walk(r))
    return any(isinstance(n, Apply) and n.name in COMPARISONS and any(t.inputs(k) for k in n.args) for n in nodes)


def draw(
    t: Terms,
    roots: list[int],
    sizes: Mapping[str, int],
    seed: int,
    draws: int,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    opaque: Iterable[str] = OPAQUE,
) -> Sample:
    """A field and inputs for it. `shapes` of inputs that the terms do not fix; `kinds` of inputs that are not
    real, as `fresh` draws them."""
    known = {**shapes_of(t, roots, sizes), **(shapes or {})}
    kinds = {**{n: "bool" for n in t.bool_inputs}, **(kinds or {})}
    nodes = [] if "sqrt" in opaque else root_nodes(t, roots)
    field = random_field(seed, draws, opaque)
    for attempt in range(1, FIELDS):
        if _constants_are_squares(t, nodes, sizes, field) and _literals_have_roots(t, roots, field):
            break
        field = random_field(seed + 7919 * attempt, draws, opaque)
    ties = np.arange(draws) >= draws - (max(1, draws // 4) if compares(t, roots) and draws > 1 else 0)
    inputs, bad = conditioned(t, nodes, sizes, field, known, kinds, ties)
    tied_roots, loose = shared_roots(t, nodes, sizes, kinds)
    signs = free_signs(t, nodes, sizes, known, kinds, seed) if nodes else 0
    return Sample(field, inputs, ~bad, Conditions(tied_roots, loose, signs), ties)


def conditioned(
    t: Terms,
    nodes: list[tuple[int, bool]],
    sizes: Mapping[str, int],
    field: Field,
    known: Mapping[str, tuple[int, ...]],
    kinds: Mapping[str, Kind],
    ties: Array,
) -> tuple[dict[str, Array], Array]:
    """Inputs at which the roots `nodes` exist, and the draws in which some do not."""
    draws = field.draws
    inputs = {
        n: tied(field, fresh(field, s, kinds.get(n, "field")), kinds.get(n, "field"), ties) for n, s in known.items()
    }
    bad: Array = np.zeros(draws, bool)
    for _ in range(ROUNDS):
        evaluator = TermEvaluator(t, inputs, field, sizes)
        redo: dict[str, Array] = {}
        bad[:] = False
        for x, both in nodes:
            argument = t.kids(x)[0]
            value = field.lift(evaluator.of(argument))
            wrong = field.not_square(value, both)
            if wrong.any():
                bad |= np.broadcast_to(wrong.reshape(wrong.shape[0], -1).any(axis=1), (draws,))
                _mark(t, argument, wrong, evaluator, redo)
        if not redo:
            break
        for name, mask in redo.items():
            kind = kinds.get(name, "field")
            again = tied(field, fresh(field, known[name], kind), kind, ties)
            inputs[name] = np.where(mask, again, inputs[name])
    return inputs, bad


SIGN_DRAWS, SIGN_ELEMENTS = 128, 48


def free_signs(
    t: Terms,
    nodes: list[tuple[int, bool]],
    sizes: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
    kinds: Mapping[str, Kind],
    seed: int,
) -> int:
    """The number of independent products of radicands that are squares up to a constant: the principal roots then multiply to
    +-Q, and which sign it is a draw decides. Such a product's quadratic character is the same at all points, so that the
    characters at random points are dependent vectors over GF(2). Radicands of one depth are looked at together, at
    points where the roots below them exist; those with a constant ratio are one."""
    depth: dict[int, int] = {}
    for x, _ in nodes:
        a = t.kids(x)[0]
        below = set(t.walk(a))
        depth[a] = 1 + max((depth[t.kids(y)[0]] for y, _ in nodes if y in below), default=-1)
    field = random_field(seed + 104729, SIGN_DRAWS)
    total = 0
    for level in sorted(set(depth.values())):
        terms = [a for a, n in depth.items() if n == level and t.inputs(a)]
        inner = root_nodes(t, terms)
        inputs, bad = conditioned(t, inner, sizes, field, shapes, kinds, np.zeros(SIGN_DRAWS, bool))
        e = TermEvaluator(t, inputs, field, sizes)
        vectors: dict[bytes, int] = {}
        for a in terms:
            value = field.lift(e.full(a, e.order(a)))
            value = np.broadcast_to(value, (SIGN_DRAWS, *value.shape[1:])).reshape(SIGN_DRAWS, -1)[~bad]
            for column in value.T[:SIGN_ELEMENTS]:
                ratio = first(field.div(column, column[:1]))
                vectors[ratio.tobytes()] = _bits(field.is_positive(column))
        total += len(vectors) + 1 - _gf2_rank([*vectors.values(), _bits(~bad[~bad])])
    return total


def _bits(flags: Array) -> int:
    return int.from_bytes(np.packbits(flags).tobytes(), "big")


def _gf2_rank(rows: list[int]) -> int:
    basis: dict[int, int] = {}  # by leading bit
    for row in rows:
        while row and row.bit_length() in basis:
            row ^= basis[row.bit_length()]
        if row:
            basis[row.bit_length()] = row
    return len(basis)


def _literals_have_roots(t: Terms, roots: list[int], field: Field) -> bool:
    nodes = (t.node(x) for r in roots for x in t.walk(r))
    for text in {n.text for n in nodes if isinstance(n, FloatLiteral)}:
        field.literal(float(text))
    return not field.lacks_root


def _constants_are_squares(t: Terms, nodes: list[tuple[int, bool]], sizes: Mapping[str, int], field: Field) -> bool:
    evaluator = TermEvaluator(t, {}, field, sizes)
    for x, both in nodes:
        argument = t.kids(x)[0]
        if not t.inputs(argument) and field.not_square(field.lift(evaluator.of(argument)), both).any():
            return False
    return True


def chosen_input(t: Terms, argument: int, kinds: Mapping[str, Kind]) -> int | None:
    """The input term that is redrawn where a root of `argument` does not exist: the one that varies along most of the
    argument's axes, so that the fewest right elements change with the wrong ones."""
    best: int | None = None
    own = t.dims(argument)
    for x in sorted(t.walk(argument)):
        n = t.node(x)
        if not isinstance(n, Input) or kinds.get(n.name, "field") != "field":
            continue
        if best is None or len(t.dims(x) & own) > len(t.dims(best) & own):
            best = x
    return best


def shared_roots(
    t: Terms, nodes: list[tuple[int, bool]], sizes: Mapping[str, int], kinds: Mapping[str, Kind]
) -> tuple[int, int]:
    """The most roots whose arguments are tied together by inputs that were redrawn for them, and how many of them are
    not redrawn all at once. Rows that are normalized each by itself count once: their inputs are disjoint, and their
    conditions independent."""
    groups: list[tuple[set[str], list[tuple[int, int]]]] = []  # (redrawn names, (argument, weight) of each node)
    for x, both in nodes:
        argument = t.kids(x)[0]
        chosen = chosen_input(t, argument, kinds)
        if chosen is None:
            continue
        names, members = {input_node(t, chosen).name}, [(argument, 2 if both else 1)]
        apart = []
        for other, more in groups:
            below = set().union(*(t.inputs(a) for a, _ in [*members, *more]))
            if (names | other) & below and (
                names & set().union(*(t.inputs(a) for a, _ in more))
                or (other & set().union(*(t.inputs(a) for a, _ in members)))
            ):
                names, members = names | other, [*members, *more]
            else:
                apart.append((other, more))
        groups = [*apart, (names, members)]
    worst, loose = 0, 0
    for names, members in groups:
        common = set.intersection(*(set(t.dims(a)) for a, _ in members))
        common &= _aligned_axes(t, names, [a for a, _ in members])
        total = elements = 0
        for a, weight in members:
            n = 1
            for axis in t.dims(a) - common:
                n *= sizes[axis]
            total, elements = total + n * weight, elements + n
        worst = max(worst, total)
        if elements > 1 and not (len(names) == 1 and all(t.dims(a) <= common for a, _ in members)):
            loose = max(loose, elements)
    return worst, loose


def _aligned_axes(t: Terms, names: set[str], terms: list[int]) -> set[str]:
    """The axes that stand alone at one and the same place in every reading of the inputs `names` below `terms`."""
    places: dict[str, dict[str, set[int]]] = {n: {} for n in names}
    readings: dict[str, int] = dict.fromkeys(names, 0)
    seen = {y for x in terms for y in t.walk(x)}
    for y in sorted(seen):
        n = t.node(y)
        if isinstance(n, Input) and n.name in names:
            readings[n.name] += 1
            for i, d in enumerate(n.index):
                if len(d.axes) == 1 and not d.offset:
                    places[n.name].setdefault(d.axes[0], set()).add(y * 64 + i)
    out: set[str] | None = None
    for name, axes in places.items():
        good = {a for a, p in axes.items() if len(p) == readings[name] and len({v % 64 for v in p}) == 1}
        out = good if out is None else out & good
    return out or set()


def _mark(t: Terms, argument: int, wrong: Array, evaluator: TermEvaluator, redo: dict[str, Array]) -> None:
    """Marks the elements of the chosen input on which the wrong elements depend. A part of a concatenation is read outside its bounds
    too, where no element of it stands."""
    dims = evaluator.order(argument)
    kinds = {n: "field" if v.dtype == np.uint64 else "exact" for n, v in evaluator.inputs.items()}
    best = chosen_input(t, argument, kinds)
    if best is None:
        return
    name, index = input_node(t, best).name, input_node(t, best).index
    own = evaluator.order(best)
    wrong = np.broadcast_to(wrong, (evaluator.inputs[name].shape[0], *wrong.shape[1:]))
    gone = tuple(1 + i for i, d in enumerate(dims) if d not in own)
    hit = wrong.any(axis=gone) if gone else wrong
    lengths = iter(hit.shape[1:])
    hit = hit.reshape(hit.shape[0], *(next(lengths) if d in dims else 1 for d in own))
    hit = np.broadcast_to(hit, (hit.shape[0], *(evaluator.sizes[d] for d in own)))
    mask = redo.setdefault(name, np.zeros(evaluator.inputs[name].shape, bool))
    where: tuple[Indices, ...] = tuple(
        np.broadcast_to(grid_index(d.axes, own, evaluator.sizes) + d.offset, hit.shape[1:]) for d in index
    )
    if not where:  # a number: no index has a place
        mask |= hit
        return
    inside = np.ones(hit.shape[1:], bool)
    for w, n in zip(where, mask.shape[1:], strict=True):
        inside &= (w >= 0) & (w < n)
    np.logical_or.at(np.moveaxis(mask, 0, -1), tuple(w[inside] for w in where), np.moveaxis(hit, 0, -1)[inside])
