"""The algebra link's field opinion: what is equal is accepted with a bound, what is not is rejected with a point."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from workloads.hand_targets import mean, read

from mirage.ir.index import DimIndex
from mirage.meaning.terms import Terms
from mirage.verify.field.algebra_opinion import field_opinion, mismatch
from mirage.verify.field.arithmetic import NAN, random_field
from mirage.verify.field.independence import independent, rank
from mirage.verify.field.sampling import Conditions, draw

Pair = Callable[[Terms], tuple[int, int]]


def scalar(t: Terms, name: str) -> int:
    return t.input(name, ())


def softmax(t: Terms, x: int, axis: str, shift: int | None) -> int:
    p = t.exp(x if shift is None else t.sub(x, shift))
    return t.mul(p, t.inv(t.sum(axis, p)))


def variance(t: Terms, form: str) -> int:
    x = read(t, "X", "mk")
    centred = t.sub(x, mean(t, "k", x))
    if form == "centred":
        return mean(t, "k", t.mul(centred, centred))
    square = t.mul(mean(t, "k", x), mean(t, "k", x))
    return t.sub(mean(t, "k", t.mul(x, x)), square if form == "powers" else mean(t, "k", x))


def gelu(t: Terms, x: int) -> int:
    half = t.mul(t.const(Fraction(1, 2)), x)
    return t.mul(half, t.add(t.const(1), t.fn("erf", t.mul(x, t.literal(0.5**0.5)))))


def silu(t: Terms, x: int) -> int:
    return t.mul(x, t.fn("sigmoid", x))


EQUAL: dict[str, Pair] = {
    "a scale by a root of 104": lambda t: (
        t.mul(t.literal(104**-0.5), t.literal(104**-0.5), scalar(t, "a")),
        t.mul(t.const(Fraction(1, 104)), scalar(t, "a")),
    ),
    "sqrt(a) sqrt(b) = sqrt(ab)": lambda t: (
        t.mul(t.sqrt(scalar(t, "a")), t.sqrt(scalar(t, "b"))),
        t.sqrt(t.mul(scalar(t, "a"), scalar(t, "b"))),
    ),
    "sqrt(a)^2 = a": lambda t: (t.mul(t.sqrt(scalar(t, "a")), t.sqrt(scalar(t, "a"))), scalar(t, "a")),
    "softmax(x) = softmax(x - max)": lambda t: (
        softmax(t, read(t, "X", "mk"), "k", None),
        softmax(t, read(t, "X", "mk"), "k", t.max("k", read(t, "X", "mk"))),
    ),
    "softmax(x) = softmax(x - c)": lambda t: (
        softmax(t, read(t, "X", "mk"), "k", None),
        softmax(t, read(t, "X", "mk"), "k", read(t, "C", "m")),
    ),
    "variance": lambda t: (variance(t, "centred"), variance(t, "powers")),
    "sigmoid as an exponential": lambda t: (
        silu(t, scalar(t, "a")),
        t.mul(scalar(t, "a"), t.inv(t.add(t.const(1), t.exp(t.neg(scalar(t, "a")))))),
    ),
    "sum order": lambda t: (
        t.sum("k", t.mul(read(t, "X", "mk"), t.sum("n", read(t, "W", "kn")))),
        t.sum("n", t.sum("k", t.mul(read(t, "X", "mk"), read(t, "W", "kn")))),
    ),
    "relu(x) - relu(-x) = x": lambda t: (
        t.sub(t.fn("maximum", scalar(t, "a"), t.const(0)), t.fn("maximum", t.neg(scalar(t, "a")), t.const(0))),
        scalar(t, "a"),
    ),
    "relu, strict or not": lambda t: (
        t.where(t.fn("lt", t.const(0), scalar(t, "a")), scalar(t, "a"), t.const(0)),
        t.where(t.fn("le", t.const(0), scalar(t, "a")), scalar(t, "a"), t.const(0)),
    ),
    "a quotient under a comparison": lambda t: (
        t.where(t.fn("lt", t.const(0), scalar(t, "a")), t.mul(scalar(t, "b"), t.inv(scalar(t, "a"))), scalar(t, "b")),
        t.where(
            t.fn("lt", t.const(0), scalar(t, "a")), t.inv(t.mul(scalar(t, "a"), t.inv(scalar(t, "b")))), scalar(t, "b")
        ),
    ),
    "a function of an exponential": lambda t: (
        t.fn("erf", t.exp(t.add(scalar(t, "a"), scalar(t, "b")))),
        t.fn("erf", t.mul(t.exp(scalar(t, "a")), t.exp(scalar(t, "b")))),
    ),
}

DIFFERENT: dict[str, Pair] = {
    "silu(x) exp(x) is not gelu(x)": lambda t: (
        t.mul(silu(t, scalar(t, "a")), t.exp(scalar(t, "a"))),
        gelu(t, scalar(t, "a")),
    ),
    "relu(x) is not x": lambda t: (t.fn("maximum", scalar(t, "a"), t.const(0)), scalar(t, "a")),
    "sqrt(a) + sqrt(b) is not sqrt(a + b)": lambda t: (
        t.add(t.sqrt(scalar(t, "a")), t.sqrt(scalar(t, "b"))),
        t.sqrt(t.add(scalar(t, "a"), scalar(t, "b"))),
    ),
    "softmax over the other axis": lambda t: (
        softmax(t, read(t, "X", "mk"), "k", None),
        softmax(t, read(t, "X", "mk"), "m", None),
    ),
    "exp(84 x) is not exp(x)": lambda t: (t.exp(t.mul(t.const(84), scalar(t, "a"))), t.exp(scalar(t, "a"))),
    "variance without the square": lambda t: (variance(t, "centred"), variance(t, "wrong")),
    "a sum divided by 4096 is no mean": lambda t: (
        mean(t, "k", read(t, "X", "mk")),
        t.mul(t.const(Fraction(1, 4096)), t.sum("k", read(t, "X", "mk"))),
    ),
    "unshifted exponential": lambda t: (
        t.exp(t.sub(read(t, "X", "mk"), t.max("k", read(t, "X", "mk")))),
        t.exp(read(t, "X", "mk")),
    ),
    "0 < a is not 0 <= a": lambda t: (
        t.where(t.fn("lt", t.const(0), scalar(t, "a")), scalar(t, "a"), scalar(t, "b")),
        t.where(t.fn("le", t.const(0), scalar(t, "a")), scalar(t, "a"), scalar(t, "b")),
    ),
    "a guarded quotient is not the bare one": lambda t: (
        t.where(t.fn("eq", t.const(0), scalar(t, "a")), t.const(1), t.inv(scalar(t, "a"))),
        t.inv(scalar(t, "a")),
    ),
    "max is not sum": lambda t: (t.max("k", read(t, "X", "mk")), t.sum("k", read(t, "X", "mk"))),
    "sign of an odd function": lambda t: (t.fn("sin", t.neg(scalar(t, "a"))), t.fn("sin", scalar(t, "a"))),
    "epsilon": lambda t: (
        t.sqrt(t.add(scalar(t, "a"), t.literal(1e-6))),
        t.sqrt(t.add(scalar(t, "a"), t.literal(1e-5))),
    ),
}


def twice(t: Terms, inner: int | None = None, outer: int | None = None, scale: int = 1) -> int:
    """softmax(scale softmax(X)), each with a shift."""
    p = softmax(t, read(t, "X", "mk"), "k", inner)
    p = t.mul(t.const(scale), p)
    return softmax(t, p, "k", t.max("k", p) if outer == -1 else outer)


NESTED: dict[str, Pair] = {
    "softmax of softmax, itself": lambda t: (twice(t), twice(t)),
    "softmax of softmax, the inner one shifted": lambda t: (twice(t), twice(t, t.max("k", read(t, "X", "mk")))),
    "softmax of softmax, the outer one shifted": lambda t: (twice(t), twice(t, outer=-1)),
    "softmax of softmax, both shifted": lambda t: (twice(t), twice(t, t.max("k", read(t, "X", "mk")), -1)),
    "softmax of softmax, any shift": lambda t: (twice(t), twice(t, read(t, "C", "m"), read(t, "D", "m"))),
    "a scaled one": lambda t: (twice(t, scale=3), twice(t, t.max("k", read(t, "X", "mk")), -1, 3)),
    "exp(softmax(x))": lambda t: (
        t.exp(softmax(t, read(t, "X", "mk"), "k", None)),
        t.exp(softmax(t, read(t, "X", "mk"), "k", t.max("k", read(t, "X", "mk")))),
    ),
    "the exponential of a sum": lambda t: (
        t.exp(t.add(silu(t, scalar(t, "a")), t.exp(scalar(t, "b")))),
        t.mul(t.exp(silu(t, scalar(t, "a"))), t.exp(t.exp(scalar(t, "b")))),
    ),
    "a softmax of silu": lambda t: (
        softmax(t, silu(t, read(t, "X", "mk")), "k", None),
        softmax(t, silu(t, read(t, "X", "mk")), "k", t.max("k", silu(t, read(t, "X", "mk")))),
    ),
}
NOT_NESTED: dict[str, Pair] = {
    "another scale inside": lambda t: (twice(t), softmax(t, softmax(t, t.mul(t.const(2), read(t, "X", "mk")), "k", None), "k", None)),
    "another scale outside": lambda t: (twice(t), twice(t, scale=2)),
    "one softmax": lambda t: (twice(t), softmax(t, read(t, "X", "mk"), "k", None)),
    "another axis outside": lambda t: (twice(t), softmax(t, softmax(t, read(t, "X", "mk"), "k", None), "m", None)),
    "a shift that differs in the row": lambda t: (twice(t), twice(t, outer=read(t, "C", "mk"))),
    "an unshifted factor": lambda t: (
        t.exp(softmax(t, read(t, "X", "mk"), "k", None)),
        t.exp(t.exp(t.sub(read(t, "X", "mk"), t.max("k", read(t, "X", "mk"))))),
    ),
    "exp(e^a e^b) is not exp(e^a) exp(e^b)": lambda t: (
        t.exp(t.exp(t.add(scalar(t, "a"), scalar(t, "b")))),
        t.mul(t.exp(t.exp(scalar(t, "a"))), t.exp(t.exp(scalar(t, "b")))),
    ),
    "exp(2 e^a) is not exp(e^2a)": lambda t: (
        t.exp(t.mul(t.const(2), t.exp(scalar(t, "a")))),
        t.exp(t.exp(t.mul(t.const(2), scalar(t, "a")))),
    ),
    "exp(a e^b) is not exp(b e^a)": lambda t: (
        t.exp(t.mul(scalar(t, "a"), t.exp(scalar(t, "b")))),
        t.exp(t.mul(scalar(t, "b"), t.exp(scalar(t, "a")))),
    ),
    "exp(e^a) is not e^a": lambda t: (t.exp(t.exp(scalar(t, "a"))), t.exp(scalar(t, "a"))),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("seed", [0, 17])
def test_nested_exponentials_are_accepted_without_a_bound(name: str, seed: int) -> None:
    t = Terms()
    a, b = NESTED[name](t)
    e = field_opinion(t, a, b, seed=seed)
    assert e.word == "TESTED", (e.summary, e.counterexample)
    assert (e.bound is None) == e.details.theorem.startswith("an exponential inside")


@pytest.mark.parametrize("name", NOT_NESTED)
@pytest.mark.parametrize("seed", [0, 17])
def test_wrong_nested_exponentials_are_rejected(name: str, seed: int) -> None:
    t = Terms()
    a, b = NOT_NESTED[name](t)
    assert field_opinion(t, a, b, seed=seed).word == "REJECTED"


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize("seed", [0, 17])
def test_equal_terms_are_accepted(name: str, seed: int) -> None:
    t = Terms()
    a, b = EQUAL[name](t)
    e = field_opinion(t, a, b, seed=seed)
    assert e.word == "TESTED", (e.summary, e.counterexample)
    assert e.bound is not None and 0 < e.bound < 1e-9, e.details


@pytest.mark.parametrize("name", DIFFERENT)
@pytest.mark.parametrize("seed", [0, 17])
def test_different_terms_are_rejected_with_a_point(name: str, seed: int) -> None:
    t = Terms()
    a, b = DIFFERENT[name](t)
    e = field_opinion(t, a, b, seed=seed)
    assert e.word == "REJECTED" and e.bound is None
    shown = e.counterexample
    assert shown is not None and shown.expected != shown.actual and shown.sizes is not None


def test_the_bound_falls_with_the_draws_and_names_its_theorem() -> None:
    t = Terms()
    x = read(t, "X", "mk")
    square = t.mul(x, x)  # no affine scores: the general theorem
    a, b = softmax(t, square, "k", None), softmax(t, square, "k", t.max("k", square))
    few, many = (field_opinion(t, a, b, draws=n) for n in (4, 64))
    assert few.bound is not None and many.bound is not None and many.bound < few.bound < 1
    assert "theorem 2" in many.details.theorem
    linear = field_opinion(t, mean(t, "k", x), mean(t, "k", x))
    assert "Schwartz-Zippel: d" in linear.details.theorem
    assert linear.bound is not None and 2.0**-128 <= linear.bound < 2.0**-64  # never 0: that would be a proof
    affine = field_opinion(t, softmax(t, x, "k", None), softmax(t, x, "k", t.max("k", x)))
    assert "independent exponentials" in affine.details.theorem


def test_a_sigmoid_that_is_written_out_counts_as_an_exponential() -> None:
    t = Terms()
    x = scalar(t, "a")
    inner = t.fn("sigmoid", x)
    written = t.inv(t.add(t.const(1), t.exp(t.neg(inner))))
    e = field_opinion(t, t.fn("sigmoid", inner), written)
    assert e.word == "TESTED" and e.bound is None, e.details  # a sigmoid of a sigmoid is nested once it is written out
    e = field_opinion(t, inner, t.inv(t.add(t.const(1), t.exp(t.neg(x)))))
    assert e.details.exponential_terms >= 4 and e.bound is not None
    assert e.details.bound_a_draw_any_exponents >= e.details.bound_a_draw


def test_large_sizes_have_a_weak_bound_and_nested_exponentials_none() -> None:
    t = Terms()
    x = read(t, "X", "mk")
    p = softmax(t, t.mul(x, x), "k", None)
    e = field_opinion(t, p, p, sizes={"m": 2, "k": 40}, draws=8)
    a_draw = e.details.bound_a_draw  # each draw catches at least one in k
    assert e.word == "TESTED" and 0.5 < a_draw**8 < 1 and e.bound is None and "no bound" in e.summary
    e = field_opinion(t, p, p, sizes={"m": 2, "k": 40}, draws=256)
    assert e.bound == a_draw**256 and e.bound < 0.5
    q = t.exp(p)
    e = field_opinion(t, q, q, sizes={"m": 2, "k": 5}, draws=8)
    assert e.word == "TESTED" and e.bound is None and "no bound" in e.summary


def test_scores_are_independent_only_where_their_rank_is_full() -> None:
    t = Terms()
    score = t.sum("d", t.mul(read(t, "Q", "qd"), read(t, "K", "td")))
    root = softmax(t, score, "t", None)
    for d, known in ((3, True), (2, False)):
        sizes = {"q": 3, "t": 4, "d": d}
        sample = draw(t, [root], sizes, 1, 2)
        # with fewer rows than columns on one side at least, an input can be chosen
        assert (independent(t, [root], sample.inputs, sizes, 1) is not None) == known
    twice = t.mul(root, t.exp(read(t, "K", "td")))  # K is in two arguments
    sample = draw(t, [twice], {"q": 3, "t": 4, "d": 3}, 1, 2)
    assert independent(t, [twice], sample.inputs, {"q": 3, "t": 4, "d": 3}, 1) is None


def test_rank() -> None:
    q = 1073741789
    assert rank(np.array([[1, 2], [2, 4]]), q) == 1
    assert rank(np.array([[0, 1, 5], [7, 0, 1]]), q) == 2
    assert rank(np.array([[1, q - 1], [q - 1, 1]]), q) == 1
    assert rank(np.zeros((2, 3), int), q) == 0


def test_roots_and_exponentials_together_have_a_bound() -> None:
    """Attention whose queries and keys are normalized: the gains are under no root, and make the scores independent."""
    t = Terms()

    def normalized(name: str, axis: str) -> int:
        x = read(t, name, axis + "d")
        scale = t.inv(t.sqrt(t.add(mean(t, "d", t.mul(x, x)), t.literal(1e-6))))
        return t.mul(x, scale, read(t, "G" + name, "d"))

    score = t.mul(t.sum("d", t.mul(normalized("Q", "q"), normalized("K", "t"))), t.literal(128**-0.5))
    p = t.exp(score)
    good = t.mul(t.sum("t", t.mul(p, read(t, "V", "te"))), t.inv(t.sum("t", p)))
    e = field_opinion(t, good, good)
    assert e.word == "TESTED" and e.bound is not None and e.bound < 2.0**-60, e.details
    assert "independent exponentials" in e.details.theorem and "a = 4^" in e.details.theorem
    wrong = t.mul(t.sum("t", t.mul(p, read(t, "V", "te"))), t.inv(t.sum("t", t.mul(p, p))))
    assert field_opinion(t, good, wrong).word == "REJECTED"
    square = t.mul(read(t, "Q", "qd"), t.inv(t.sqrt(t.sum("d", t.mul(read(t, "Q", "qd"), read(t, "Q", "qd"))))))
    p = t.exp(square)  # the roots' own input is all that the exponents have
    e = field_opinion(t, t.sum("d", p), t.sum("d", p), sizes={"q": 2, "d": 3})
    assert e.bound is not None and "sums of k exponentials" in e.details.theorem


def test_inputs_are_drawn_so_that_roots_exist() -> None:
    t = Terms()
    x, y = read(t, "X", "mk"), read(t, "Y", "nk")
    roots = [t.exp(t.mul(t.sqrt(t.sum("k", t.mul(x, x))), t.sqrt(t.add(t.sum("k", t.mul(y, y)), t.literal(1e-5)))))]
    sample = draw(t, roots, {"m": 5, "n": 7, "k": 3}, 3, 32)
    assert sample.valid.all() and sample.conditions.roots == 2


def test_roots_of_shared_inputs_are_counted_together() -> None:
    t = Terms()
    x = read(t, "X", "mk")
    row, column = t.sqrt(t.sum("k", t.mul(x, x))), t.sqrt(t.sum("m", t.mul(x, x)))
    sizes = {"m": 2, "k": 3}
    assert draw(t, [row], sizes, 1, 4).conditions == Conditions(1)
    assert draw(t, [t.mul(row, column)], sizes, 1, 4).conditions == Conditions(5, loose=5)
    again = t.sqrt(t.sum("k", t.mul(x, x, t.inv(row), read(t, "G", "k"))))
    assert draw(t, [t.mul(row, again)], sizes, 1, 4).conditions == Conditions(2)


def test_a_root_that_never_exists_is_an_uninterpreted_function() -> None:
    """-1 is no square: of sqrt(-x^2) is known only that it equals itself, whatever a root is."""
    t = Terms()
    a, b = scalar(t, "a"), scalar(t, "b")
    r = t.sqrt(t.neg(t.mul(a, a)))
    same = field_opinion(t, r, r)
    assert same.word == "TESTED" and "sqrt" in same.details.opaque
    other = t.mul(b, r)
    assert field_opinion(t, r, other).word == "REJECTED"
    product = t.mul(r, t.sqrt(t.neg(t.mul(b, b))))
    assert field_opinion(t, product, t.sqrt(t.mul(a, a, b, b))).word == "REJECTED"


def test_a_result_that_is_not_a_number_is_seen() -> None:
    """One draw with a NaN on one side alone may be chance, two are not."""
    f = random_field(1, 8)
    good = f.random((3,))
    valid = np.ones(8, bool)
    for draws, seen in ((1, False), (2, True), (8, True)):
        bad = good.copy()
        bad[:draws, 1] = NAN
        assert (mismatch(f, good, bad, valid) is not None) == seen
    wrong = good.copy()
    wrong[3, 2] = f.lift(f.const(5))[0]
    assert mismatch(f, good, wrong, valid) == (3, 2)
    valid[3] = False
    assert mismatch(f, good, wrong, valid) is None


def test_it_is_quick() -> None:
    t = Terms()
    x = t.input("X", (DimIndex(("m",)), DimIndex(("k",))))
    start = time.process_time()
    field_opinion(t, softmax(t, x, "k", None), softmax(t, x, "k", None))
    assert time.process_time() - start < 2
