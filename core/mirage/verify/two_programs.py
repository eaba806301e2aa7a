"""The comparison of two tensor programs: the proof's and the field's opinion, on their terms alone."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mirage.errors import SignatureMismatch, UnfixedAnswer, UnsupportedReshape
from mirage.ir.dtypes import DTYPES
from mirage.ir.program import Operation, Program
from mirage.ir.tensor_spec import TensorType
from mirage.meaning.nodes import Apply, Const, FloatLiteral, Index, Input, Size
from mirage.meaning.normal_form import Normalizer
from mirage.meaning.terms import Terms
from mirage.program.lower import Lowered, lower
from mirage.results.details import FloatDetails
from mirage.results.verdict import Concrete, Counterexample, Evidence, Verdict
from mirage.verify import label_ranges
from mirage.verify.field.algebra_opinion import algebra_sizes, field_opinion, offset_axes
from mirage.verify.floats import pair_search
from mirage.verify.label_ranges import Kind, Labels, Ranges
from mirage.verify.proof.definedness import conditions, needs, unexplained
from mirage.verify.proof.opinion import details, summary, trusted
from mirage.verify.proof.prover import Prover
from mirage.verify.proof.signs import SignAnalysis
from mirage.verify.proof.user_rules import Rules, every
from mirage.verify.proof.work_budget import WORK, WorkBudget
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.call_meanings import written_out
from mirage.verify.semantics.evaluate_terms import ExecutionFault, evaluate_terms
from mirage.verify.semantics.float64 import Floats
from mirage.verify.semantics.reshapes_met import reshapes_met, with_reshapes
from mirage.verify.size_scope import all_sizes

VALUES = (
    "compared are values, shapes and dtypes; not the strides of a result, nor whether it shares memory with an input"
)
DIFFER_IN_THE_FIELD = (
    "not shown equal: they differ in the field, whose order and opaque functions are not those of numbers, "
    "and agree in float64 at random points"
)
UNORDERED = "no bound: the field's order says nothing of thresholds"
FIELD_ALONE = "no float inputs that were tried show it: the difference shows in the field alone"
AT_LENGTHS = "with the lengths of axes as numbers, so for these sizes alone"
NOT_MET = "the two decide by different thresholds, and no run met both outcomes of each comparison"
BOTH_TAKE = "compared on indices that both take, beyond which one raises an error where the other has a value"
ORDERING = {"lt", "le", "eq", "maximum", "minimum", "floor", "quotient"}
MOST_ELEMENTS = 1 << 22  # of all axes together, for a run in float64 at the real sizes
MOST_POINTS = 1 << 15  # of one term, for a run in the field at the real sizes
SIGNED_DRAWS = 64  # of inputs of both signs


def check_signatures(a: Program, b: Program) -> None:
    """Same inputs (shapes and dtypes, in order; names may differ) and same outputs, or SignatureMismatch."""
    for what, left, right in (
        ("inputs", [i.type for i in a.inputs], [i.type for i in b.inputs]),
        ("outputs", [a.type_of(o) for o in a.outputs], [b.type_of(o) for o in b.outputs]),
    ):
        mine, other = [(t.shape, t.dtype) for t in left], [(t.shape, t.dtype) for t in right]
        if mine != other:
            raise SignatureMismatch(f"{a.name} and {b.name} have different {what}: {mine} and {other}")


def joined(a: Program, b: Program) -> Program:
    """Both programs over the inputs of `a`, outputs of `a` first. A comparison of each pair of outputs makes their dims
    the same axes; lowered together, a dim is cut in the same places in both, and one size is one axis in both where
    either says so."""
    first, more = len(a.inputs), len(a.nodes)
    moved = [replace(n, args=tuple(x if x < first else x + more for x in n.args)) for n in b.nodes]
    theirs = [x if x < first else x + more for x in b.outputs]
    nodes = [*a.nodes, *moved]
    meets = []
    for x, y in zip(a.outputs, theirs, strict=True):
        meets.append(first + len(nodes))
        nodes.append(Operation("eq", (x, y), (), TensorType(a.type_of(x).shape, "bool")))
    return replace(a, nodes=tuple(nodes), outputs=(*a.outputs, *theirs, *meets), returns_tuple=True)


def small_sizes(lowered: Lowered, roots: list[int]) -> dict[str, int]:
    """Tiny sizes of all axes. Axes that stand for the same whole dim of an input are as long as each other, and those
    of dims that are read at an offset keep their sizes."""
    t = lowered.terms
    fixed = {x: t.sizes[x] for x in offset_axes(t, roots) if x in t.sizes}
    sizes = algebra_sizes(t, roots, fixed)
    same: dict[str, str] = {}

    def representative(axis: str) -> str:
        while same.get(axis, axis) != axis:
            axis = same[axis]
        return axis

    seen: dict[tuple[str, int, int], str] = {}
    for x in {y for r in roots for y in t.walk(r)}:
        n = t.node(x)
        if isinstance(n, Input):
            for i, d in enumerate(n.index):
                for j, axis in enumerate(d.axes):
                    other = seen.setdefault((n.name, i, len(d.axes) - j), axis)
                    if not d.offset and t.sizes[other] == t.sizes[axis]:
                        one, two = sorted((representative(axis), representative(other)))
                        same[two] = one
    groups: dict[str, list[str]] = {}
    for axis in sizes:
        groups.setdefault(representative(axis), []).append(axis)
    for axes in groups.values():
        kept = [fixed[a] for a in axes if a in fixed]
        length = kept[0] if kept else min(sizes[a] for a in axes)
        sizes |= dict.fromkeys(axes, length)
    return sizes


def input_shapes(lowered: Lowered, sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The inputs' shapes at these sizes; dims that are read at an offset keep theirs."""
    every = dict(lowered.terms.sizes) | sizes
    shapes = {}
    for x in (*lowered.tensors, *lowered.given):
        fixed = x.rigid or (None,) * len(x.dims)
        shape = []
        for axes, n in zip(x.dims, fixed, strict=True):
            total = 1
            for a in axes:
                total *= every[a]
            shape.append(total if n is None else n)
        shapes[x.name] = tuple(shape)
    return shapes


def read_shapes(lowered: Lowered, sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The same of the inputs that some term reads. The axes of the others are in no term and so have no small size: drawing one as it
    is took minutes where it is large."""
    t = lowered.terms
    roots = [x for x, _ in lowered.outputs] + [m.term for m in lowered.made]
    read = {n.name for r in roots for x in t.walk(r) if isinstance(n := t.node(x), Input)}
    return {name: shape for name, shape in input_shapes(lowered, sizes).items() if name in read}


def points(kinds: Mapping[str, Kind], shapes: dict[str, tuple[int, ...]], draws: int) -> dict[str, Array]:
    """Random inputs, all draws at once."""
    rng = np.random.default_rng(0)
    inputs: dict[str, Array] = {}
    for name, shape in shapes.items():
        full, kind = (draws, *shape), kinds.get(name)
        inputs[name] = (
            kind.drawn(rng, full) if isinstance(kind, Labels) else
            rng.standard_normal(full) if kind is None else
            rng.integers(0, 2, full).astype(bool) if kind == "bool" else rng.integers(-8, 9, full)
        )  # fmt: skip
    return inputs


def agree_in_floats(
    lowered: Lowered,
    x: int,
    y: int,
    kinds: Mapping[str, Kind],
    sizes: dict[str, int],
    shapes: dict[str, tuple[int, ...]],
) -> bool:
    """True if two terms agree at a few random points in float64. No evidence for a verdict: it words a rejection."""
    inputs = points(kinds, shapes, 4)
    dims = tuple(sorted(lowered.terms.dims(x) | lowered.terms.dims(y)))
    try:
        a, b = evaluate_terms(lowered.terms, [(x, dims), (y, dims)], inputs, Floats(), sizes)
    except ExecutionFault:
        return False
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)) and bool(np.isfinite(a).any())


def proved(t: Terms, pairs: Sequence[tuple[int, int]], rules: Rules | None = None, work: int = WORK) -> Evidence | None:
    """The proof's opinion on pairs of terms: equal, and defined at the same points; None if no proof was found."""
    start = time.monotonic()
    prover = Prover(t, rules=every(rules), work=work)
    proofs = []
    for x, y in pairs:
        proof = prover.equal(x, y, both=True)
        if proof is None:
            return None
        proofs.append(proof)
    return Evidence(
        link="algebra", opinion="proof", word="PROVED", bound=0.0, seconds=time.monotonic() - start,
        summary=summary(proofs), details=details(proofs, rules),
    )  # fmt: skip


def at_these_sizes(
    lowered: Lowered, pairs: Sequence[tuple[int, int]], kinds: Mapping[str, Kind], rules: Rules | None, agreed: bool
) -> Evidence | None:
    """The proof's opinion with the lengths of axes put in as numbers: a sum over 64 elements divided by 64 is a mean. The
    two must also agree in float64 at these sizes, as they do where that is `agreed`; where it would take long, nothing
    is said."""
    t = lowered.terms
    if not any(isinstance(t.node(y), Size) for pair in pairs for x in pair for y in t.walk(x)):
        return None
    shapes = read_shapes(lowered, {})
    if not agreed:
        if math.prod(t.sizes.values()) > MOST_ELEMENTS:
            return None
        if not all(agree_in_floats(lowered, x, y, kinds, {}, shapes) for x, y in pairs):
            return None
    memo: dict[int, int] = {}
    return proved(t, [(with_sizes(t, x, memo), with_sizes(t, y, memo)) for x, y in pairs], rules)


def with_sizes(t: Terms, x: int, memo: dict[int, int]) -> int:
    """`x` with the length of each axis as a number."""
    if x not in memo:
        n = t.node(x)
        if isinstance(n, Size):
            memo[x] = t.const(t.sizes[n.axis])
        else:
            memo[x] = t.rebuild(x, tuple(with_sizes(t, k, memo) for k in n.kids)) if n.kids else x
    return memo[x]


def unseen(t: Terms, roots: Sequence[int]) -> list[str]:
    """Where what cancelled while the terms were made is defined, as far as the terms do not say it: x + log(y) - log(y)
    is x only where y > 0."""
    signs, normal = SignAnalysis(t), Normalizer(t)
    wanted = [c for x in sorted(t.dropped) for c in conditions(t, x, signs)]
    given = [conditions(t, x, signs) for x in roots]
    return sorted({c.show(t) for g in given for c in unexplained(normal, wanted, g)})


def apart(
    lowered: Lowered, pairs: Sequence[tuple[int, int]], kinds: Mapping[str, Kind], sizes: dict[str, int],
    shapes: dict[str, tuple[int, ...]],
) -> list[Evidence]:  # fmt: skip
    """REJECTED if one of two terms has a value at points where the other has none: sqrt(a) sqrt(b) for sqrt(ab). The
    field cannot see it, since its roots are asked to exist."""
    start = time.monotonic()
    t = lowered.terms
    roots = [x for pair in pairs for x in pair]
    if not any(t.kind(y) != "inv" and needs(t, y) for r in roots for y in t.walk(r)):
        return []  # what is divided by is not zero at random points
    inputs = points(kinds, shapes, SIGNED_DRAWS)
    for output, (x, y) in enumerate(pairs):
        dims = tuple(sorted(t.dims(x) | t.dims(y)))
        try:
            with np.errstate(all="ignore"):
                a, b = evaluate_terms(t, [(x, dims), (y, dims)], inputs, Floats(), sizes)
        except ExecutionFault:
            continue
        a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
        bad = (np.isnan(a) & np.isfinite(b)) | (np.isnan(b) & np.isfinite(a))
        if bad.reshape(len(bad), -1).any(axis=1).sum() < 2:  # one point may be rounding
            continue
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        shown = Counterexample("float", output, at[1:], str(float(a[at])), str(float(b[at])), dict(sizes))
        text = "one of the two has no value where the other has one (a root or logarithm of a negative number)"
        found = Evidence(
            link="algebra", opinion="float", word="REJECTED", summary=text, output=output,
            seconds=time.monotonic() - start, details=FloatDetails(sizes=dict(sizes), draw=at[0]), counterexample=shown,
        )  # fmt: skip
        return [found]
    return []


def lowered_together(a: Program, b: Program) -> Lowered:
    """Both programs' terms in one arena."""
    check_signatures(a, b)
    try:
        return lower(joined(a, b))
    except UnsupportedReshape as error:
        text = f"{a.name} and {b.name} cut a dimension in ways that do not meet: {error.message}"
        raise UnsupportedReshape(text, line=error.line, next_step="write both with the same reshapes") from error


def widest(t: Terms, roots: Sequence[int], sizes: Mapping[str, int]) -> int:
    """How many places the largest term has where axes have these sizes, and else their own."""
    return max(math.prod(sizes.get(a, t.sizes[a]) for a in t.dims(y)) for r in roots for y in t.walk(r))


def real_where_compared(t: Terms, roots: Sequence[int], sizes: dict[str, int]) -> dict[str, int]:
    """The real sizes of all axes, where the field runs at these; else those of the axes whose index meets a number, and of what
    reads the same dims of inputs, beside the small `sizes` of the others; these alone where that is too large too."""
    real = set[str]().union(*(t.axes(y) for r in roots for y in predicates(t, r)[1]))
    dims: dict[tuple[str, int], set[str]] = {}
    for n in (n for r in roots for n in t.reads(r)):
        for i, d in enumerate(n.index):
            dims.setdefault((n.name, i), set()).update(d.axes)
    met = [axes for axes in dims.values() if axes & real]
    while met:
        real = real.union(*met)
        met = [axes for axes in dims.values() if axes & real and not axes <= real]
    mixed = {**sizes, **{a: t.sizes[a] for a in real}}
    tried = (dict(t.sizes), mixed) if real else (dict(t.sizes),)
    return next((x for x in tried if widest(t, roots, x) <= MOST_POINTS), sizes)


def by_the_field(
    lowered: Lowered, pairs: Sequence[tuple[int, int]], kinds: Mapping[str, Kind], sizes: dict[str, int],
    shapes: dict[str, tuple[int, ...]], agreed: bool,
) -> Iterator[tuple[Evidence, bool]]:  # fmt: skip
    """The field's opinion on each output, and whether floats contradict its rejection: where they do so on directed inputs
    at the real sizes (`agreed`), the terms with the lengths of axes put in as numbers are asked, at the real sizes where
    these are small, so that each constant that is compared with an index has its effect. If they differ too, nothing is
    decided."""
    t, memo = lowered.terms, dict[int, int]()
    calls = ", ".join(sorted({c.op for c in lowered.calls}))
    for output, (x, y) in enumerate(pairs):
        e = field_opinion(lowered.terms, x, y, kinds=kinds, sizes=sizes, shapes=shapes).of_output(output)
        if e.word == "REJECTED" and agreed:
            one, two = with_sizes(t, x, memo), with_sizes(t, y, memo)
            at = real_where_compared(t, (one, two), sizes)
            of = shapes if at is sizes else read_shapes(lowered, at)
            if at is not sizes or (one, two) != (x, y):
                here = field_opinion(t, one, two, kinds=kinds, sizes=at, shapes=of).of_output(output)
                e = replace(here, summary=f"{here.summary}; {AT_LENGTHS}") if here.word == "TESTED" else e
        if e.word == "REJECTED" and agreed:
            after = rewritten_in_the_field(t, x, y, kinds, sizes, shapes)
            e = e if after is None else after.of_output(output)
        contradicted = e.word == "REJECTED" and (agreed or agree_in_floats(lowered, x, y, kinds, sizes, shapes))
        if contradicted:
            e = replace(e, word="UNDECIDED" if agreed else e.word, summary=DIFFER_IN_THE_FIELD)
        if e.word == "UNDECIDED" and e.counterexample is not None:
            e = replace(e, counterexample=replace(e.counterexample, concrete=Concrete(note=FIELD_ALONE)))
        if e.word == "REJECTED" and calls:
            why = f"{calls} may be any function of its arguments, and each call is its own"
            e = replace(e, word="UNDECIDED", summary=f"not shown equal: {why}")
        yield e, contradicted


def rewritten_in_the_field(
    t: Terms, x: int, y: int, kinds: Mapping[str, Kind], sizes: dict[str, int], shapes: dict[str, tuple[int, ...]]
) -> Evidence | None:
    """The field's opinion on the terms as the laws rewrite them, in which a logarithm that meets an exponential is gone:
    these have the values of the terms, and the field knows fewer laws of functions than the table of laws. None where it
    accepts none of them."""
    prover = Prover(t)
    for a, b, used in prover.rewritten(x, y, WorkBudget()):
        if not used or not prover.alike_defined((x, a), (y, b), (x, y)):
            continue
        e = field_opinion(t, a, b, kinds=kinds, sizes=sizes, shapes=shapes)
        if e.word == "TESTED":
            return replace(e, summary=f"{e.summary}; of the terms after {', '.join(used)}")
    return None


def predicates(t: Terms, root: int) -> tuple[set[int], set[int]]:
    """What decides by order with a number other than zero in it: (of values, of indices alone)."""
    values, positions = set[int](), set[int]()
    for x in t.walk(root):
        n = t.node(x)
        if not isinstance(n, Apply) or n.name not in ORDERING:
            continue
        inside = [t.node(y) for k in t.kids(x) for y in t.walk(k)]
        if any(isinstance(k, FloatLiteral) or (isinstance(k, Const) and k.value != 0) for k in inside):
            (values if any(isinstance(k, Input) for k in inside) else positions).add(x)
    return values, positions


def judged_by_order(
    t: Terms, pairs: Sequence[tuple[int, int]], evidence: Sequence[Evidence], floats: pair_search.Opinion
) -> list[Evidence]:
    """The evidence, where no proof is at hand and the two decide by different thresholds. The field's order says nothing of
    numbers, so its bound does not count; and where the directed search did not meet both outcomes of each comparison,
    nothing shows that the thresholds are the same."""
    out = list(evidence)
    for output, (x, y) in enumerate(pairs):
        (values, positions), (more, places) = predicates(t, x), predicates(t, y)
        if values == more and (positions == places or floats.evidence is not None):
            continue
        out = [replace(e, bound=None, summary=f"{e.summary}; {UNORDERED}") if e.output == output else e for e in out]
        if floats.evidence is None or (floats.evidence.word == "TESTED" and not floats.met):
            out.append(Evidence(link="algebra", opinion="float", word="UNDECIDED", summary=NOT_MET, output=output))
    return out


def check_assumptions(a: Program, b: Program) -> None:
    """Raises UnfixedAnswer where one of them is another program for tensors of another kind: that one was not compared."""
    for program in (a, b):
        for assumed in program.rests_on:
            raise UnfixedAnswer(
                f"what {program.name} computes depends on the {assumed.kind} of {assumed.subject}, and only one answer "
                "could be compared",
                line=assumed.line,
                next_step="compare functions that do not ask, one for each answer",
            )  # fmt: skip


def _computed_in(a: Program, b: Program) -> dict[str, None]:
    """What is assumed of the dtypes of computed tensors, in order and once."""
    return dict.fromkeys(x.words for p in (a, b) for x in p.assumptions if x.kind == "dtype")


def _kinds(lowered: Lowered, ranges: Ranges, sizes: Mapping[str, int]) -> dict[str, Kind]:
    """What the tensors hold that hold no floats: "bool", "int", or labels of places that there are at these sizes."""
    tensors = (*lowered.tensors, *lowered.given)
    kinds: dict[str, Kind] = {
        x.name: "bool" if x.dtype == "bool" else "int" for x in tensors if not DTYPES[x.dtype].floating
    }
    for name, labels in ranges.items():
        kinds[name] = replace(labels, below=fewest_places(lowered.terms, name, labels.below, sizes))
    return kinds


def fewest_places(t: Terms, name: str, places: int, sizes: Mapping[str, int]) -> int:
    """The length at these sizes of the shortest of the dims of so many `places` that an input's labels are compared with."""
    found = [places]
    for n in t.nodes:
        if (
            isinstance(n, Apply)
            and n.name == "eq"
            and any(isinstance(k, Input) and k.name == name for k in map(t.node, n.args))
        ):
            for k in map(t.node, n.args):
                if isinstance(k, Index) and math.prod(t.sizes[a] for a in k.axes) == places:
                    found.append(math.prod(sizes.get(a, t.sizes[a]) for a in k.axes))
    return min(found)


def searched(a: Program, b: Program, overflow: bool, ranges: Ranges) -> tuple[Program, Program, pair_search.Opinion]:
    """Both with their calls written out, and the directed search on them. What is true over the reals alone is no law where their
    roundings were not compared on every kind of inputs: such calls stay then."""
    a, b = reshapes_met(a), reshapes_met(b)
    whole = written_out(a, roundings=True), written_out(b, roundings=True)
    floats = in_floats(*whole, overflow, ranges)
    rest = written_out(a), written_out(b)
    if floats.rounded or rest == whole:
        return *whole, floats
    return *rest, in_floats(*rest, overflow, ranges)


def in_floats(a: Program, b: Program, overflow: bool, ranges: Ranges) -> pair_search.Opinion:
    """The directed search, for which every reshape has a value."""
    return pair_search.search(with_reshapes(a), with_reshapes(b), overflow, ranges)


def compare(a: Program, b: Program, rules: Rules | None = None, overflow: bool = True) -> Verdict:
    """The verdict on "the two programs compute the same", on the algebra link alone; with `overflow` as functions
    of real numbers, one of which may overflow where the other does not. Raises SignatureMismatch,
    UnsupportedReshape where their reshapes cut a dim in ways that do not meet, and UnfixedAnswer."""
    check_assumptions(a, b)
    check_signatures(a, b)
    both = label_ranges.where_both_take(a, b)
    a, b, floats = searched(both.a, both.b, overflow, both.ranges)
    lowered = lowered_together(a, b)
    t, n = lowered.terms, len(a.outputs)
    pairs = list(zip([x for x, _ in lowered.outputs[:n]], [y for y, _ in lowered.outputs[n : 2 * n]], strict=True))
    roots = [x for pair in pairs for x in pair]
    sizes = small_sizes(lowered, roots)
    kinds = _kinds(lowered, both.ranges, sizes)
    shapes = read_shapes(lowered, sizes)
    assumed = (*_computed_in(a, b), *(f"{BOTH_TAKE}: {x}" for x in both.only), VALUES)
    lost = unseen(t, roots)
    proof = proved(t, pairs, rules) if not lost else None
    if proof is None and not lost:
        here = at_these_sizes(lowered, pairs, kinds, rules, floats.agreed)
        if here is not None:
            lengths = ", ".join(f"{axis} = {length}" for axis, length in sorted(t.sizes.items()))
            notes = (*trusted([here]), *floats.notes, *assumed, f"equal with {lengths}; not shown for other sizes")
            return Verdict(
                (here, *floats.all), n, "these sizes", notes, floats.finite, floats.upto, (*both.only, *floats.only)
            )
    evidence: list[Evidence] = [] if proof is None else [proof]
    notes = trusted(evidence)
    for e, contradicted in by_the_field(lowered, pairs, kinds, sizes, shapes, floats.agreed):
        if contradicted and proof is not None:
            notes += ("the field is no judge here: its order and opaque functions are not those of numbers",)
        else:
            evidence.append(e)
    evidence += apart(lowered, pairs, kinds, sizes, shapes)
    evidence = [*(judged_by_order(t, pairs, evidence, floats) if proof is None else evidence), *floats.all]
    notes += floats.notes
    notes += tuple(f"no proof: what is taken away or multiplied by 0 is defined only where {c}" for c in lost)
    scope, reasons = all_sizes([a, b], t, roots)
    if both.at_these_sizes or any(AT_LENGTHS in e.summary for e in evidence):
        scope = "these sizes"
    return Verdict(
        tuple(evidence), n, scope, (*notes, *assumed, *reasons), floats.finite, floats.upto, (*both.only, *floats.only)
    )
