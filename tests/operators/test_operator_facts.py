"""Each fact of each entry against numbers: where an entry says more than its values in float64 bear out, a check fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from mirage.ir.index import DimIndex
from mirage.meaning.terms import Terms
from mirage.operators import intervals, padding, signs
from mirage.operators.block_operators import everywhere, where_first
from mirage.operators.entry import ORACLE, BlockOperator
from mirage.operators.intervals import Interval
from mirage.operators.padding import State
from mirage.operators.table import BLOCK, temporary
from mirage.verify.field.arithmetic import Field
from mirage.verify.semantics.evaluate_terms import evaluate_terms
from mirage.verify.semantics.float64 import Floats

POINTWISE = [e.name for e in BLOCK.values() if e.form == "pointwise"]
GRID = np.array([-60.0, -7.5, -2.0, -1.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 1.0, 2.0, 7.5, 60.0])
POINTS = 4000
ENDS = [Interval(a, b) for a in (-60.0, -2.0, -1 / 3, 0.0, 0.5, 2.0) for b in (-0.2, 0.0, 1 / 3, 2.0, 60.0) if a <= b]
MEMBERS: dict[State, tuple[float, ...]] = {
    "zero": (0.0,), "one": (1.0,), "nonzero": (2.0, -3.0, 0.25), "lowest": (-np.inf,),
    "finite": (0.0, 1.0, -2.0, 5.0, 1e30), "huge": (0.0, 1.0, -4.0, 1e30, np.inf, -np.inf),
    "any": (0.0, 1.0, -4.0, np.inf, -np.inf, np.nan), "data": (0.5, 1.0, 2.0),
}  # fmt: skip


def arity(entry: BlockOperator) -> int:
    return 2 if entry.most > 3 else entry.most


def value(entry: BlockOperator, *xs: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(entry.float64(*xs), np.float64)  # type: ignore[misc]


def samples(entry: BlockOperator) -> list[np.ndarray]:
    """Points of the grid, in every combination, and random ones."""
    n = arity(entry)
    rng = np.random.default_rng(1)
    rows = [
        np.array(list(product(GRID, repeat=n))).T,
        rng.standard_normal((n, POINTS)) * np.exp(rng.standard_normal((n, POINTS))),
    ]
    return list(np.concatenate(rows, axis=1))


def inside(entry: BlockOperator, xs: list[np.ndarray]) -> np.ndarray:
    """Where the entry says that it is defined."""
    if entry.domain is None:
        return np.isfinite(value(entry, *xs))
    t = Terms({"i": len(xs[0])})
    args = [t.input(f"x{k}", (DimIndex(("i",)),)) for k in range(len(xs))]
    inputs = {f"x{k}": x[None] for k, x in enumerate(xs)}
    out = np.ones(len(xs[0]), bool)
    for wanted, term in entry.domain(t, *args):
        (found,) = evaluate_terms(t, [(term, ("i",))], inputs, Floats(), {"i": len(xs[0])})
        out &= np.isin(np.sign(found[0]), sorted(wanted))
    return out


def domain_holds(entry: BlockOperator) -> bool:
    """Inside its domain it has a value, and outside of it none (an infinity, or NaN)."""
    xs = samples(entry)
    return entry.domain is None or bool((np.isfinite(value(entry, *xs)) == inside(entry, xs)).all())


def sign_holds(entry: BlockOperator) -> bool:
    xs = samples(entry)
    keep = inside(entry, xs)
    got = np.sign(value(entry, *xs))[keep]
    kinds = [np.sign(x[keep]) for x in xs]
    every = [frozenset(s) for s in ((-1,), (0,), (1,), (0, 1), (-1, 1), (-1, 0, 1))]
    for given in product(every, repeat=len(xs)):
        here = np.logical_and.reduce([np.isin(k, sorted(g)) for k, g in zip(kinds, given, strict=True)])
        if not np.isin(got[here], sorted(entry.signs(*given))).all():
            return False
    return True


def interval_holds(entry: BlockOperator) -> bool:
    """Every value at points of an interval lies in the interval that the rule gives."""
    rng = np.random.default_rng(2)
    for given in product(ENDS, repeat=arity(entry)):
        xs = [np.concatenate([[g.low, g.high], rng.uniform(g.low, g.high, 40)]) for g in given]
        keep = inside(entry, xs)
        if not keep.any():
            continue
        got, bounds = value(entry, *xs)[keep], entry.interval(*given)
        slack = 1e-12 * (1 + np.abs(got))
        if not ((got >= bounds.low - slack) & (got <= bounds.high + slack)).all():
            return False
    return True


def belongs(x: float, state: State) -> bool:
    finite = bool(np.isfinite(x))
    holds = {
        "zero": x == 0, "one": x == 1, "nonzero": finite and x != 0, "lowest": x == -np.inf, "finite": finite,
        "huge": not np.isnan(x), "any": True, "data": True,
    }  # fmt: skip
    return holds[state]


def padding_holds(entry: BlockOperator) -> bool:
    """The state that the rule gives holds of every value at members of the arguments' states. A finite sum of large numbers
    may overflow: states speak of real numbers."""
    for given in product(MEMBERS, repeat=arity(entry)):
        out = entry.padding(*given)
        for xs in product(*(MEMBERS[g] for g in given)):
            if not belongs(float(value(entry, *map(np.float64, xs))), out):
                return False
    return True


def derivative_holds(entry: BlockOperator) -> bool:
    """The stated terms against central differences."""
    if entry.derivative is None:
        return True
    n = arity(entry)
    rng = np.random.default_rng(3)
    xs = list(
        rng.uniform(0.3, 1.7, (n, 200)) * (1 if entry.domain is not everywhere else rng.choice([-1, 1], (n, 200)))
    )
    t = Terms({"i": 200})
    args = [t.input(f"x{k}", (DimIndex(("i",)),)) for k in range(n)]
    inputs = {f"x{k}": x[None] for k, x in enumerate(xs)}
    for k, term in enumerate(entry.derivative(t, *args)):
        (said,) = evaluate_terms(t, [(term, ("i",))], inputs, Floats(), {"i": 200})
        h = 1e-6
        up, down = ([x + s * h if j == k else x for j, x in enumerate(xs)] for s in (1, -1))
        slope = (value(entry, *up) - value(entry, *down)) / (2 * h)
        if not np.allclose(np.broadcast_to(said.astype(np.float64), (1, 200))[0], slope, rtol=1e-5, atol=1e-7):
            return False
    return True


def scaling_holds(entry: BlockOperator) -> bool:
    xs = samples(entry)
    for c in (0.125, 3.0, 1.4426950408889634):
        got, plain = value(entry, *(c * x for x in xs)), value(entry, *xs)
        wanted = {"homogeneous": c * plain, "invariant": plain, "": got}[entry.scaling]
        if not np.allclose(got, wanted, rtol=1e-12, atol=1e-12, equal_nan=True):
            return False
    return True


def partial_holds(entry: BlockOperator) -> bool:
    """What is made of partial sums, added up, is what is made of the sum; likewise of maxima."""
    rng = np.random.default_rng(4)
    n = arity(entry)
    joined: dict[str, Callable[..., np.ndarray]] = {"sum": np.add, "max": np.maximum}
    for kind, how in entry.partial.items():
        join = joined[kind]
        places = {"all": [range(n)], "one": [[k] for k in range(n)], "first": [[0]]}[how]
        for partial in places:
            first, second = rng.uniform(0.5, 2, (2, n, 100)) * rng.choice([-1, 1], (2, n, 100))
            second = np.array([second[k] if k in partial else first[k] for k in range(n)])
            whole = [join(first[k], second[k]) if k in partial else first[k] for k in range(n)]
            if not np.allclose(value(entry, *whole), join(value(entry, *first), value(entry, *second))):
                return False
    return True


def commutes_holds(entry: BlockOperator) -> bool:
    xs = samples(entry)
    return not entry.commutes or bool(np.allclose(value(entry, *xs), value(entry, *xs[::-1]), equal_nan=True))


def field_holds(entry: BlockOperator) -> bool:
    """The composition in the field is the function: as Floats read it, it gives the float64 value."""
    if entry.field == ORACLE or isinstance(entry.field, str):
        return True
    xs = [x[inside(entry, samples(entry))] for x in samples(entry)]
    with np.errstate(all="ignore"):
        got = np.asarray(entry.field(_Reals(), *xs), np.float64)
    return bool(np.allclose(got, value(entry, *xs), rtol=1e-9, atol=1e-12))


class _Reals(Floats):
    def __getattr__(self, name: str) -> Callable[..., np.ndarray]:
        return lambda *xs: self.fn(name, *xs)


def flag_holds(entry: BlockOperator) -> bool:
    """A flag is 0 or 1 in float64 and in the field, an integer operator keeps integers."""
    xs = samples(entry)
    if entry.flag and not np.isin(value(entry, *xs), (0, 1)).all():
        return False
    f = Field(5, 2)
    if entry.flag and f.fn(entry.name, *[f.random((6,)) for _ in xs]).dtype != bool:
        return False
    whole = value(entry, *np.round(xs))
    return not entry.integral or np.array_equal(whole, np.round(whole), equal_nan=True)


CHECKS = {
    "domain": domain_holds, "signs": sign_holds, "interval": interval_holds, "padding": padding_holds,
    "derivative": derivative_holds, "scaling": scaling_holds, "partial": partial_holds, "commutes": commutes_holds,
    "field": field_holds, "flag": flag_holds,
}  # fmt: skip


@pytest.mark.parametrize("fact", CHECKS)
@pytest.mark.parametrize("name", POINTWISE)
def test_facts_hold(name: str, fact: str) -> None:
    assert CHECKS[fact](BLOCK[name])


WRONG: list[tuple[str, str, dict[str, object]]] = [
    ("domain", "log", {"domain": everywhere}), ("domain", "tanh", {"domain": where_first(signs.POSITIVE)}),
    ("domain", "sqrt", {"domain": where_first(signs.POSITIVE)}),
    ("signs", "sin", {"signs": signs.same}), ("signs", "floor", {"signs": signs.same}),
    ("signs", "sub", {"signs": signs.total}), ("signs", "abs", {"signs": signs.always(signs.POSITIVE)}),
    ("interval", "exp", {"interval": intervals.always(0.0, 100.0)}), ("interval", "floor", {"interval": intervals.same}),
    ("interval", "round_fp16", {"interval": intervals.same}), ("interval", "maximum", {"interval": intervals.smallest}),
    ("padding", "cos", {"padding": padding.by_state("finite", zero="zero")}),
    ("padding", "exp", {"padding": padding.by_state("finite", zero="one")}),
    ("padding", "mul", {"padding": lambda a, b: "huge" if a == b == "huge" else padding.mul(a, b)}),  # 0 * inf
    ("padding", "round_fp8e4m3", {"padding": BLOCK["round_fp16"].padding}),  # it has no -inf
    ("padding", "sin", {"padding": padding.by_state("finite", zero="zero")}),  # NaN at an infinity
    ("derivative", "tanh", {"derivative": lambda t, x: (t.sub(t.const(1), t.fn("tanh", x)),)}),
    ("derivative", "div", {"derivative": lambda t, x, y: (t.inv(y), t.mul(x, t.inv(y), t.inv(y)))}),
    ("scaling", "exp", {"scaling": "homogeneous"}), ("scaling", "abs", {"scaling": "invariant"}),
    ("partial", "mul", {"partial": {"sum": "all"}}), ("partial", "exp", {"partial": {"sum": "all"}}),
    ("partial", "div", {"partial": {"sum": "one"}}), ("partial", "neg", {"partial": {"max": "all"}}),
    ("commutes", "sub", {"commutes": True}),
    ("field", "tanh", {"field": lambda f, x: f.sub(f.mul(f.const(2), f.sigmoid(x)), f.const(1))}),
    ("flag", "abs", {"flag": True}), ("flag", "exp", {"integral": True}),
]  # fmt: skip


@pytest.mark.parametrize("fact,name,wrong", WRONG, ids=[f"{f} {n} {i}" for i, (f, n, _) in enumerate(WRONG)])
def test_a_wrong_fact_is_noticed(fact: str, name: str, wrong: dict[str, object]) -> None:
    entry = replace(BLOCK[name], **wrong)  # type: ignore[arg-type]
    with temporary(entry):
        assert not CHECKS[fact](entry)


def test_an_entry_that_states_nothing_claims_nothing() -> None:
    bare = BlockOperator("bare", 1, 1, np.sin)
    assert all(check(bare) for check in CHECKS.values())
    assert bare.signs(signs.POSITIVE) == signs.ANY and bare.interval(Interval(0, 0)) == intervals.WHOLE
    assert bare.padding("zero") == "any" and bare.domain is None and not bare.partial and not bare.scaling
    assert bare.field == ORACLE and not bare.flag and not bare.commutes and not bare.integral
