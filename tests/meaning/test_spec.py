"""Every rule of well-formed terms: arenas of programs and searches keep it, and a term made past the constructors breaks it."""

from collections.abc import Callable

import pytest
from workloads.terms import WORKLOADS, problem

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import Add, Apply, Exp, FloatLiteral, Inv, Mul, Node, Reduce, Sqrt, Update
from mirage.meaning.spec import RULES, IllFormed, broken, check
from mirage.meaning.terms import Terms
from mirage.results.progress import CancelToken
from mirage.search.kernel_pieces import KernelSpace


def arena() -> tuple[Terms, int, int]:
    """An arena with two tensors over k, of which the first has the smaller id."""
    t = Terms({"k": 4, "m": 3})
    return t, *(t.input(name, (DimIndex(("k",)),)) for name in "xy")


def past(t: Terms, n: Node, key: object = None) -> int:
    """A node with the axes and reductions of its parts, made past the constructors."""
    dims = frozenset[str]().union(*map(t.dims, n.kids))
    front = frozenset[int]().union(*map(t.front, n.kids))
    if isinstance(n, Reduce):
        dims, front = dims - {n.axis}, frozenset([len(t.nodes)])
    return t.make(n, dims, front, None if key is None else (key,))


def scores(t: Terms, x: int) -> int:
    return t.where(t.fn("lt", x, t.const(0)), x, t.neg_inf())


# For each rule, nodes that break it: functions of an arena and two of its terms.
BREAKING: dict[str, tuple[Callable[[Terms, int, int], object], ...]] = {
    "parts first": (lambda t, x, y: t.make(Exp(len(t.nodes)), t.dims(x), ()),),
    "made once": (lambda t, x, y: (t.exp(x), past(t, Exp(x), "again")),),
    "own axes": (lambda t, x, y: t.make(Exp(x), (), ()), lambda t, x, y: t.make(Reduce("sum", "k", x), "k", [2])),
    "own front": (lambda t, x, y: t.make(Exp(t.max("k", x)), (), ()), lambda t, x, y: t.make(Reduce("max", "k", x), (), [])),
    "flat": (lambda t, x, y: past(t, Mul((x,))), lambda t, x, y: past(t, Add((x, t.add(x, y))))),
    "constant last": (
        lambda t, x, y: past(t, Add((t.const(2), x))),
        lambda t, x, y: past(t, Add((x, t.const(0)))),
        lambda t, x, y: past(t, Mul((x, t.const(1)))),
        lambda t, x, y: past(t, Mul((x, t.const(0)))),
    ),
    "in order": (lambda t, x, y: past(t, Mul((y, x))), lambda t, x, y: past(t, Apply("maximum", (y, x)))),
    "like terms": (
        lambda t, x, y: past(t, Add((x, x))),
        lambda t, x, y: past(t, Add((x, t.mul(t.const(3), x)))),
        lambda t, x, y: past(t, Add((t.mul(t.const(3), x), t.mul(t.const(-3), y)))),
    ),
    "masks outside": (
        lambda t, x, y: past(t, Add((y, scores(t, x)))),
        lambda t, x, y: past(t, Mul((scores(t, x), t.const(2)))),
        lambda t, x, y: past(t, Exp(scores(t, x))),
    ),
    "booleans once": (lambda t, x, y: past(t, Mul((t.fn("lt", x, y),) * 2)),),
    "carried out": (
        lambda t, x, y: past(t, Inv(t.inv(x))),
        lambda t, x, y: past(t, Inv(t.mul(x, y))),
        lambda t, x, y: past(t, Inv(t.const(3))),
        lambda t, x, y: past(t, Exp(t.neg_inf())),
        lambda t, x, y: past(t, Sqrt(t.const(1))),
        lambda t, x, y: past(t, Apply("where", (t.fn("lt", x, y), x, t.const(0)))),
    ),
    "binds": (lambda t, x, y: past(t, Reduce("sum", "m", x)),),
    "stripped": (lambda t, x, y: past(t, Reduce("sum", "k", t.mul(t.const(2), x))),),
    "updates fit": (
        lambda t, x, y: past(t, Reduce("sum", "k", x, frozenset(), (Update(t.change(t.max("k", y), "+"), None),))),
        lambda t, x, y: past(t, Reduce("sum", "k", x, frozenset(), (Update(y, x),))),
    ),
    "is float": (lambda t, x, y: past(t, FloatLiteral("much")),),
}  # fmt: skip


def test_every_rule_has_a_term_that_breaks_it() -> None:
    assert set(BREAKING) == {r.name for r in RULES}


@pytest.mark.parametrize(("name", "i"), [(name, i) for name, each in BREAKING.items() for i in range(len(each))])
def test_a_term_that_breaks_a_rule_is_found(name: str, i: int) -> None:
    t, x, y = arena()
    check(t)
    BREAKING[name][i](t, x, y)
    assert name in {rule.name for rule, _ in broken(t)}
    with pytest.raises(IllFormed):
        check(t)


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_programs_are_well_formed(name: str) -> None:
    check(problem(name).t)


@pytest.mark.parametrize("name", ["rmsnorm_linear", "grouped_query_attention", "layernorm_linear"])
def test_what_a_search_makes_is_well_formed(name: str) -> None:
    p = problem(name)
    before = len(p.t.nodes)
    space = KernelSpace(p.t, p.outputs[0], CancelToken(), limit=60)
    assert space.systems and len(p.t.nodes) > before
    check(p.t)


def test_carried_sums_are_among_them() -> None:
    p = problem("grouped_query_attention")
    KernelSpace(p.t, p.outputs[0], CancelToken(), limit=60)
    assert any(isinstance(n, Reduce) and n.updates for n in p.t.nodes)


def test_the_fixture_refuses_an_ill_formed_term(well_formed: None) -> None:
    t, x, y = arena()
    with pytest.raises(IllFormed, match="in order"):
        past(t, Mul((y, x)))
