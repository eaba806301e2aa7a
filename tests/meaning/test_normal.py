"""Identities that the normal form proves, and their false neighbours, which it must not."""

import pytest

from mirage.ir.index import DimIndex
from mirage.meaning.normal_form import Normalizer
from mirage.meaning.terms import Terms

pytestmark = pytest.mark.usefixtures("well_formed")


def tensor(t, name, *axes):
    return t.input(name, tuple(DimIndex((a,)) for a in axes))


def make():
    t = Terms({"i": 3, "j": 4, "k": 5})
    return t, tensor(t, "a", "i", "k"), tensor(t, "b", "k", "j"), tensor(t, "c", "i"), tensor(t, "d", "k")


PAIRS = {
    "factor leaves a sum": lambda t, a, b, c, d: (t.sum("k", t.mul(a, c)), t.mul(c, t.sum("k", a))),
    "sum of a sum": lambda t, a, b, c, d: (t.sum("k", t.add(a, d)), t.add(t.sum("k", a), t.sum("k", d))),
    "exp of a sum": lambda t, a, b, c, d: (t.exp(t.add(a, c)), t.mul(t.exp(a), t.exp(c))),
    "softmax does not depend on a shift": lambda t, a, b, c, d: (
        t.mul(t.exp(t.sub(a, c)), t.inv(t.sum("k", t.exp(t.sub(a, c))))),
        t.mul(t.exp(a), t.inv(t.sum("k", t.exp(a)))),
    ),
    "contractions associate": lambda t, a, b, c, d: (
        t.sum("k", t.mul(b, t.sum("i", t.mul(a, c)))),
        t.sum("i", t.mul(c, t.sum("k", t.mul(a, b)))),
    ),
    "square expands": lambda t, a, b, c, d: (
        t.mul(t.add(a, c), t.add(a, c)),
        t.add(t.mul(a, a), t.mul(t.const(2), a, c), t.mul(c, c)),
    ),
    "a common denominator": lambda t, a, b, c, d: (
        t.mul(t.add(a, c), t.inv(t.add(d, c))),
        t.add(t.mul(a, t.inv(t.add(d, c))), t.mul(c, t.inv(t.add(c, d)))),
    ),
}
FALSE = {
    "product of sums is not a sum of products": lambda t, a, b, c, d: (
        t.mul(t.sum("k", a), t.sum("k", d)),
        t.sum("k", t.mul(a, d)),
    ),
    "nested sums over one axis do not join": lambda t, a, b, c, d: (
        t.sum("i", t.mul(t.sum("k", a), t.sum("k", t.mul(a, d)))),
        t.sum("i", t.sum("k", t.mul(a, a, d))),
    ),
    "a factor along the axis does not leave": lambda t, a, b, c, d: (
        t.sum("k", t.mul(a, d)),
        t.mul(d, t.sum("k", a)),
    ),
    "exp is not linear": lambda t, a, b, c, d: (t.exp(t.mul(t.const(2), a)), t.mul(t.const(2), t.exp(a))),
    "sum of squares": lambda t, a, b, c, d: (
        t.sum("k", t.mul(a, a)),
        t.mul(t.sum("k", a), t.sum("k", a)),
    ),
    "a size is not a number": lambda t, a, b, c, d: (t.sum("k", c), t.mul(t.const(5), c)),
    "another axis": lambda t, a, b, c, d: (t.sum("k", d), t.mul(t.inv(t.size("k")), t.sum("k", d))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_proves(name):
    t, *xs = make()
    left, right = PAIRS[name](t, *xs)
    assert Normalizer(t).equal(left, right) is True


@pytest.mark.parametrize("name", FALSE)
def test_does_not_prove(name):
    t, *xs = make()
    left, right = FALSE[name](t, *xs)
    assert Normalizer(t).equal(left, right) is None
