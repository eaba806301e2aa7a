"""The float opinion on two functions: a directed search for inputs on which their values differ, at their real sizes.

Values are compared in float64. A difference counts only where it is no rounding: both programs are run again with every
rounded result moved at random, and once more in extended precision, whose range is wider too.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mirage.ir.dtypes import FLOATING
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Program
from mirage.operators.table import OPERATORS
from mirage.program.integers import is_integer
from mirage.results.details import FloatDetails
from mirage.results.verdict import Concrete, Counterexample, Evidence
from mirage.verify.floats import cast_search, long_integers, precision_search
from mirage.verify.floats.directed_inputs import (
    DRAWS,
    EVERY_INTEGER,
    MIXED,
    NEIGHBOURS,
    UNUSUAL_INPUTS,
    Draw,
    constants,
    draw,
    takes_integers,
)
from mirage.verify.floats.range_search import Apart, RangeSearch
from mirage.verify.floats.regimes import round_to
from mirage.verify.label_ranges import EVERY_INDEX, Ranges
from mirage.verify.semantics.arrays import Array, Flags
from mirage.verify.semantics.program_values import EXTENDED, NoValue, Outcomes, ResultPrecision, run, work_done

LARGEST = 1 << 24  # elements of one tensor
PRODUCTS = 1 << 35  # of all contractions of a program
EXTENDED_PRODUCTS = 1 << 27  # of all contractions of a program that runs in extended precision
WORK = 1.5e8  # of the search for values (`work_done`), about 1.5 s; a busy machine does not cut it shorter
ROUNDS = ((1 << 12, 6), (1 << 17, 2))  # of all kinds of inputs, for tensors of so many elements at most; else one
ROOM = 1 << 14  # elements of a tensor that has room for rows of all kinds
DISTURBED = 4
RELATIVE = 1e-9  # constants are written with so many digits
NOISE = 1e-14  # of the largest value: what two orders of summation leave in float64
SPREADS = 16.0
EXACT, AS_COMPARED = ResultPrecision(), ResultPrecision(compared=round_to)
FEW = 64  # elements of inputs that are written out


@dataclass(frozen=True)
class OutputDifference:
    """A difference: at an element of an output, with both values. `overflowed`: on one side it is an infinity or NaN that
    an overflow left."""

    output: int
    index: tuple[int, ...]
    left: float
    right: float
    overflowed: bool


def kinds(x: Array) -> Array:
    """0 of a finite number, 1 of NaN, 2 and 3 of the infinities."""
    return np.asarray(np.where(np.isfinite(x), 0, np.where(np.isnan(x), 1, np.where(x > 0, 2, 3))))


def unlike(a: Array, b: Array, poles: bool) -> Flags:
    """Where two values differ by more than a constant's last digit. At a `pole` one infinity or NaN is as good as another."""
    left, right = kinds(a), kinds(b)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(a), np.abs(b))
        most = np.max(size, initial=0.0, where=np.isfinite(size))
        far = np.abs(a - b) > np.maximum(RELATIVE * size, NOISE * most)
    finite = (left == 0) & (right == 0)
    other = (left != right) & ((left == 0) | (right == 0) | (not poles))
    return np.asarray(np.where(finite, far, other), bool)


def spread(runs: Sequence[Array]) -> tuple[Array, Flags]:
    """How far the runs are from the first one, and where all of them are of its kind."""
    first = runs[0]
    most, same = np.zeros(first.shape), np.ones(first.shape, bool)
    with np.errstate(all="ignore"):
        for x in runs[1:]:
            most = np.fmax(most, np.abs(x - first))
            same &= kinds(x) == kinds(first)
    return np.asarray(np.where(np.isfinite(first), most, 0.0)), same


def outputs(
    p: Program, inputs: Sequence[Array], how: ResultPrecision, outcomes: Outcomes | None = None
) -> tuple[list[Array], set[str]]:
    values, events = run(p, inputs, how, outcomes)
    return [np.asarray(v, how.dtype) for v in values], events


def difference(
    a: Program, b: Program, inputs: Sequence[Array], extended: bool, outcomes: Outcomes, how: ResultPrecision = EXACT
) -> OutputDifference | None:
    """The first element on which the programs differ and no rounding is the reason, but for those that `how` makes. Raises NoValue."""
    (left, events), (right, more) = (outputs(p, inputs, how, outcomes) for p in (a, b))
    events |= more
    masks = [unlike(x, y, "divide" in events) for x, y in zip(left, right, strict=True)]
    if not any(m.any() for m in masks):
        return None
    every = [
        [outputs(p, inputs, replace(how, disturbance=seed))[0] for seed in range(1, DISTURBED + 1)] for p in (a, b)
    ]
    if extended and EXTENDED:
        wide = [outputs(p, inputs, replace(how, dtype=np.longdouble)) for p in (a, b)]
        events = wide[0][1] | wide[1][1]
        masks = [m & unlike(x, y, "divide" in events) for m, x, y in zip(masks, wide[0][0], wide[1][0], strict=True)]
    for i, mask in enumerate(masks):
        one, steady = spread([left[i], *(r[i] for r in every[0])])
        two, firm = spread([right[i], *(r[i] for r in every[1])])
        with np.errstate(all="ignore"):
            explained = np.abs(left[i] - right[i]) <= SPREADS * (one + two)
        both = np.isfinite(left[i]) & np.isfinite(right[i])
        mask = mask & steady & firm & ~(explained & both)
        if mask.any():
            at = tuple(int(k) for k in np.argwhere(mask)[0])
            return OutputDifference(
                i, at, float(left[i][at]), float(right[i][at]), "overflow" in events and not bool(both[at])
            )
    return None


def at_numbers(a: Program, b: Program, inputs: Sequence[Array], extended: bool) -> OutputDifference | None:
    """The first element on which they differ with numbers as the dtype has them that they are compared with, also where all else is
    rounded as PyTorch does it: x > 0.7 and x >= 0.7 at the float32 that is nearest to 0.7. Raises NoValue."""
    found = difference(a, b, inputs, extended, Outcomes(), AS_COMPARED)
    if found is None or found.overflowed:
        return None
    left, right = (run(p, inputs, replace(precision_search.OWN, compared=round_to))[0] for p in (a, b))
    x, y = float(left[found.output][found.index]), float(right[found.output][found.index])
    alike = math.isfinite(x) == math.isfinite(y) and abs(x - y) <= 0.5 * abs(found.left - found.right)
    return None if alike or x == y else found


def products(p: Program) -> float:
    """An upper bound on the multiplications of all contractions."""
    total = 0.0
    for node in p.nodes:
        if node.op in ("einsum", "matmul", "linear", "scaled_dot_product_attention"):
            shapes = [p.type_of(x).shape for x in node.args]
            inner = (
                max((s[-1] for s in shapes if s), default=1)
                if node.op != "einsum"
                else math.prod({n for s in shapes for n in s})
            )
            total += float(node.type.numel) * inner
    return total


def largest(p: Program) -> int:
    return max((p.type_of(i).numel for i in range(len(p.inputs) + len(p.nodes))), default=1)


@dataclass(frozen=True)
class Opinion:
    """What the search found: the evidence (None where the programs have no values here, or are too large), notes, and
    whether each comparison of values was met with both outcomes; `finite`: of infinite and NaN inputs nothing can be
    said, since the two differ there or were not run; `values`: in values they were found to agree before something else was
    found; `upto`: of larger inputs nothing is claimed, since one overflows there alone (None: there is no such limit); `rounded`: the
    roundings of both were compared on every kind of inputs; `only`: the inputs, in words, that all this is said of."""

    evidence: Evidence | None
    notes: tuple[str, ...] = ()
    met: bool = False
    finite: bool = True
    values: bool = False
    upto: float | None = None
    rounded: bool = False
    only: tuple[str, ...] = ()

    @property
    def agreed(self) -> bool:
        """Were they run, and no difference in values found that no rounding and no overflow explains?"""
        return self.evidence is not None and (self.evidence.word == "TESTED" or self.values)

    @property
    def all(self) -> tuple[Evidence, ...]:
        """The evidence as a row of none or one."""
        return () if self.evidence is None else (self.evidence,)


def search(a: Program, b: Program, overflow: bool = True, ranges: Ranges = EVERY_INDEX) -> Opinion:
    """Runs both programs on directed inputs, indices in their `ranges`, until they differ or the work is done that is meant for it.
    With `overflow` an infinity or NaN that an overflow leaves on one side alone is told and refuses nothing."""
    start = time.thread_time()
    if max(largest(a), largest(b)) > LARGEST or max(products(a), products(b)) > PRODUCTS:
        return not_run(a, b, "the programs are too large to be run at their sizes")
    try:
        found = _Search(a, b, start, work_done(), ranges)
        differ = found.by_roundings() or found.by_values() or found.by_numbers()
        rejected = differ or found.by_precision() or found.by_range(overflow)
    except NoValue as error:
        return not_run(a, b, f"{error} has no value without PyTorch")
    if rejected is not None:
        return Opinion(
            rejected,
            tuple(found.told.values()),
            found.outcomes.complete,
            UNUSUAL_INPUTS.name in found.told,
            differ is None,
            rounded=True,
        )
    found.by_long_integers()
    text = f"no difference in {found.ran} runs at these sizes, directed at {len(found.numbers)} constants"
    text = "; ".join((text, *found.told.values()))
    evidence = Evidence(
        link="algebra", opinion="float", word="TESTED", summary=text, seconds=time.thread_time() - start,
        details=FloatDetails(draw=found.ran),
    )  # fmt: skip
    finite = UNUSUAL_INPUTS.name in found.told or found.upto is not None
    return Opinion(
        evidence, tuple(found.told.values()), found.outcomes.complete, finite, upto=found.upto, rounded=found.rounded, only=found.only
    )  # fmt: skip


def not_run(a: Program, b: Program, why: str) -> Opinion:
    """Of programs without values. Terms know integers without end: two that do other things with integers are then not shown to be
    equal, since one may wrap around, or be rounded, where the other does not."""
    if integer_steps(a) == integer_steps(b):
        return Opinion(None, (f"float: not asked, {why}",))
    text = f"they do not compute alike with integers, which wrap around and are rounded, and {why}"
    return Opinion(Evidence(link="algebra", opinion="float", word="UNDECIDED", summary=text))


def integer_steps(p: Program) -> Counter[tuple[object, ...]]:
    """What a program does with integers that depend on its inputs, or that a call gives, but for moving them."""
    data = {n for n, i in enumerate(p.inputs) if is_integer(i.type.dtype)}
    found: Counter[tuple[object, ...]] = Counter()
    for at, node in enumerate(p.nodes, len(p.inputs)):
        data |= {at} if is_call(node.op) and is_integer(node.type.dtype) else set()
        if data.intersection(node.args):
            data |= {at} if is_integer(node.type.dtype) else set()
            if OPERATORS.get(node.op) is None or OPERATORS[node.op].family != "shape":
                dtypes = tuple(p.type_of(x).dtype for x in node.args)
                found[node.op, node.attrs, dtypes, node.type.dtype] += 1
    return found


class _Search:
    """A search under way: how many runs there were, and what is to be told of them."""

    def __init__(self, a: Program, b: Program, start: float, begun: float, ranges: Ranges) -> None:
        self.a, self.b, self.start, self.begun, self.ranges = a, b, start, begun, ranges
        self.rounded = False
        self.numbers = constants((a, b))
        self.ran = 0
        self.told: dict[str, str] = {}
        self.outcomes = Outcomes()
        self.extended = max(products(a), products(b)) <= EXTENDED_PRODUCTS
        self.upto: float | None = None
        self.only: tuple[str, ...] = ()

    def by_roundings(self) -> Evidence | None:
        """A difference in what the programs' stated roundings lose."""
        how = cast_search.coarse(self.a, self.b)
        if how is None:
            return None
        for seed, kind in enumerate(cast_search.DRAWS):
            drawn = draw(kind, self.a.inputs, self.numbers, seed, self.ranges)
            narrow = [cast_search.in_dtype(drawn, d) for d in cast_search.stated(self.a, self.b, how)]
            for inputs in (drawn, *narrow):
                found = cast_search.lossier(self.a, self.b, inputs, how)
                if found is not None:
                    why = "one of the two loses digits or range in a cast, or in a narrower dtype, that the other keeps"
                    return self.rejected(why, found, kind, seed, inputs)
        return None

    def by_precision(self) -> Evidence | None:
        """A difference in what the programs' own roundings lose."""
        for seed, regime in enumerate(precision_search.regimes(self.a, self.b)):
            if seed and self.late:
                break
            inputs = draw(regime.kind, self.a.inputs, self.numbers, seed, self.ranges)
            lost = precision_search.much_lost(self.a, self.b, inputs, regime)
            if lost is not None:
                where = (lost.output, lost.index, lost.left, lost.right)
                return replace(self.rejected(lost.why, where, regime.kind, seed, inputs), word=regime.word)
        else:
            self.rounded = True
        return None

    @property
    def late(self) -> bool:
        return work_done() - self.begun > 2 * WORK

    def by_values(self) -> Evidence | None:
        """A difference in values that no rounding explains."""
        elements = max(largest(self.a), largest(self.b))
        rounds = next((n for most, n in ROUNDS if elements <= most), 1)
        whole = [(EVERY_INTEGER, n) for n in range(1 + rounds // 2)] + [(NEIGHBOURS, 0)]
        first = [(MIXED, 0)] * (elements >= ROOM) + whole * takes_integers(self.a)
        for kind, seed in first + [(k, n) for n in range(rounds) for k in DRAWS]:
            if work_done() - self.begun > WORK and self.ran >= 2 + len(first):
                break
            inputs = draw(kind, self.a.inputs, self.numbers, seed, self.ranges)
            found = difference(self.a, self.b, inputs, self.extended, self.outcomes)
            self.ran += 1
            if found is None:
                continue
            said = f"output {found.output} at {found.index}: {found.left!r} and {found.right!r}"
            if found.overflowed:
                why = f"one of the two overflows where the other has a value ({kind.name}; {said})"
                self.told.setdefault("overflow", why)
            elif kind.beyond:
                self.told.setdefault(kind.name, f"they differ on inputs that are {kind.name} ({said})")
            else:
                undefined = math.isfinite(found.left) != math.isfinite(found.right)
                why = "one of the two has no value where the other has one" if undefined else "their values differ"
                where = (found.output, found.index, repr(found.left), repr(found.right))
                return self.rejected(why, where, kind, seed, inputs)
        return None

    def by_numbers(self) -> Evidence | None:
        """A difference at a number that a dtype of the two does not hold."""
        types = (x for p in (self.a, self.b) for x in (*(i.type for i in p.inputs), *(n.type for n in p.nodes)))
        dtypes = {t.dtype for t in types if t.dtype in FLOATING}
        if all(float(round_to(np.asarray(c), d)) == c for c in self.numbers for d in dtypes):
            return None
        floats = sum(i.type.dtype in FLOATING for i in self.a.inputs)
        for kind in (k for k in DRAWS if k.exactly):
            for seed in range(floats if kind.others is not None else 1):
                inputs = draw(kind, self.a.inputs, self.numbers, seed, self.ranges)
                found = at_numbers(self.a, self.b, inputs, self.extended)
                if found is not None:
                    where = (found.output, found.index, repr(found.left), repr(found.right))
                    return self.rejected(
                        "their values differ at a number that the dtype rounds", where, kind, seed, inputs
                    )
        return None

    def by_long_integers(self) -> None:
        """Up to which size of 64-bit integers they agree, where one of the two wraps around beyond it."""

        def differ(kind: Draw, seed: int) -> bool:
            inputs = draw(kind, self.a.inputs, self.numbers, seed, self.ranges)
            found = difference(self.a, self.b, inputs, self.extended, self.outcomes)
            self.ran += 1
            return found is not None

        bits = long_integers.agreed_below(self.a, self.ranges, differ)
        if bits is not None:
            self.only = (f"64-bit integers below 2^{bits}",)
            self.told["integers"] = (
                f"of 64-bit integers of 2^{bits} and more in size, one of the two wraps around where the other does not"
            )

    def by_range(self, allowed: bool) -> Evidence | None:
        """One program leaves the range of its own dtypes where the other does not, as exp(x) / sum(exp(x)) does where a
        softmax does not. Told alone where that is allowed, or where it takes inputs beyond all data: these are beyond the
        `upto` of what is claimed. Else it decides nothing."""
        search = RangeSearch(self.a, self.b, self.numbers, lambda: self.late, self.extended, self.ranges)
        found = search.near() or search.vanishing()
        if found is None:
            found = search.far()
            self.upto = None if found is None or allowed else search.reach()
        if found is None:
            return None
        output, index, left, right = found.where
        said = f"{found.why} (output {output} at {index}: {left}, {right})"
        if allowed:
            self.told["range"] = f"allowed to differ where one overflows: {said}"
        elif self.upto is not None:
            self.told["range"] = f"beyond inputs of {self.upto:.0e} {said}"
        else:
            return self.undecided(found)
        return None

    def undecided(self, found: Apart) -> Evidence:
        why = f"{found.why} (--overflow-may-differ allows it)"
        return replace(self.rejected(why, found.where, found.kind, found.seed, found.inputs), word="UNDECIDED")

    def rejected(
        self, why: str, where: tuple[int, tuple[int, ...], str, str], kind: Draw, seed: int, values: Sequence[Array]
    ) -> Evidence:
        output, index, left, right = where
        few = sum(x.size for x in values) <= FEW
        concrete = Concrete(
            inputs=self.a.inputs, kind=kind.name,
            seed=seed, output=output, index=index, expected=left, actual=right,
            values=tuple(np.asarray(x, np.float64).tolist() for x in values) if few else (),
        )  # fmt: skip
        shown = Counterexample("float", output, index, left, right, seed=seed, concrete=concrete)
        return Evidence(
            link="algebra", opinion="float", word="REJECTED", summary=f"{why}, on inputs drawn as {kind.name!r}",
            output=output, seconds=time.thread_time() - self.start, details=FloatDetails(draw=seed), counterexample=shown,
        )  # fmt: skip
