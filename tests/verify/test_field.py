"""The field's laws, and that nothing more holds than they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirage.verify.field.arithmetic import NAN, NEG_INF, Field, first, is_special, random_field, second
from mirage.verify.field.primes import is_prime, random_pair

SEEDS = st.integers(0, 200)


def three(seed: int) -> tuple[Field, np.ndarray, np.ndarray, np.ndarray]:
    f = random_field(seed, 4)
    return f, f.random((3,)), f.random((3,)), f.random((3,))


def all_same(f: Field, a: np.ndarray, b: np.ndarray) -> bool:
    return bool(f.same(a, b).all())


def test_primes_are_a_safe_pair() -> None:
    seen = set()
    for seed in range(30):
        p, q = random_pair(seed)
        assert p == 2 * q + 1 and is_prime(p) and is_prime(q)
        assert 2**30 <= q < 2**31 and q % 4 == 3 and p < 2**32
        seen.add(q)
    assert len(seen) > 25


def test_is_prime_against_a_sieve() -> None:
    sieve = [n for n in range(2, 2000) if all(n % d for d in range(2, int(n**0.5) + 1))]
    assert [n for n in range(2000) if is_prime(n)] == sieve
    assert not is_prime(3215031751)  # a strong pseudoprime to 2, 3, 5 and 7


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_ring_laws(seed: int) -> None:
    f, a, b, c = three(seed)
    assert all_same(f, f.add(a, f.add(b, c)), f.add(f.add(c, a), b))
    assert all_same(f, f.mul(a, f.add(b, c)), f.add(f.mul(a, b), f.mul(a, c)))
    assert all_same(f, f.mul(a, f.inv(a)), f.const(1))
    assert all_same(f, f.sub(a, a), f.const(0))
    assert all_same(f, f.div(f.mul(a, b), b), a)
    assert not all_same(f, f.sub(a, b), f.sub(b, a))


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_laws_of_exp_and_roots(seed: int) -> None:
    f, a, b, _ = three(seed)
    assert all_same(f, f.exp(f.add(a, b)), f.mul(f.exp(a), f.exp(b)))
    assert all_same(f, f.exp(f.neg(a)), f.inv(f.exp(a)))
    assert not all_same(f, f.exp(f.mul(a, b)), f.mul(f.exp(a), f.exp(b)))
    assert all_same(f, f.mul(f.sqrt(a), f.sqrt(b)), f.sqrt(f.mul(a, b)))
    assert all_same(f, f.sqrt(f.mul(a, a)), f.abs(a))
    assert not all_same(f, f.sqrt(f.add(a, b)), f.add(f.sqrt(a), f.sqrt(b)))
    assert all_same(f, f.exp2(f.mul(a, f.literal(1.4426950408889634))), f.exp(a))
    assert not all_same(f, f.exp2(a), f.exp(a))


def test_the_order_of_omega_is_q() -> None:
    f = random_field(5, 8)
    for w in f.omega.tolist():
        assert w != 1 and pow(w, f.q, f.p) == 1


def test_nested_exponentials_do_not_collapse() -> None:
    """exp(exp(a) exp(b)) is a function of its argument, and exp(exp(a)) exp(exp(b)) is another value."""
    f, a, b, _ = three(1)
    ea, eb = f.exp(a), f.exp(b)
    assert not all_same(f, f.exp(f.mul(ea, eb)), f.mul(f.exp(ea), f.exp(eb)))
    assert all_same(f, f.exp(f.mul(ea, eb)), f.exp(f.exp(f.add(a, b))))


def test_roots_that_do_not_exist_are_reported() -> None:
    f = random_field(3, 64)
    a = f.random(())
    f.sqrt(f.mul(a, a))
    assert not f.negative_roots.all()
    squares = f.const(49)
    f.negative_roots[:] = False
    f.sqrt(squares)
    assert not f.negative_roots.any()
    f.sqrt(f.const(-1))
    assert f.negative_roots.all()


@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_order_is_total_odd_and_that_of_integers(seed: int) -> None:
    f, a, b, c = three(seed)
    assert all_same(f, f.maximum(a, f.maximum(b, c)), f.maximum(f.maximum(c, b), a))
    assert all_same(f, f.minimum(a, b), f.neg(f.maximum(f.neg(a), f.neg(b))))
    assert (f.lt(a, b) == ~f.le(b, a)).all()
    x, y = f.lift(np.array([[-3, 2, 7]])), f.lift(np.array([[2, 2, -9]]))
    assert f.lt(x, y).tolist() == [[True, False, False]]
    assert (f.le(f.neg_inf(), a)).all()
    assert (f.maximum(f.neg_inf(), a) == a).all()
    assert f.le(f.const(0), f.exp(a)).all()


def test_max_commutes_with_nothing_that_it_should_not() -> None:
    f, a, b, _ = three(9)
    assert not all_same(f, f.maximum(f.mul(a, b), a), f.mul(a, f.maximum(b, f.const(1))))
    assert not all_same(f, f.maximum(a, f.const(0)), a)


def test_infinities_are_those_of_floats() -> None:
    f = random_field(2, 4)
    a, low = f.random((2,)), f.neg_inf()
    assert (f.add(low, a) == NEG_INF).all()
    assert (f.sub(low, low) == NAN).all()
    assert (f.exp(low) == 0).all()
    assert (f.mul(f.const(0), f.lift(low)) == NAN).all()
    assert (f.mul(np.array([False]), low) == 0).all()
    assert (first(f.finite(low)) == 0).all()
    assert is_special(f.inv(f.const(0))).all() and (f.div(f.const(0), f.const(0)) == NAN).all()
    assert (f.sum(np.stack([a[:, 0], np.full(4, NEG_INF)], 1), 1) == NEG_INF).all()


SQUARES = {
    1e-6: Fraction(1, 10**12),
    1 / 4096: Fraction(1, 4096**2),
    0.1: Fraction(1, 100),
    -2.5: Fraction(25, 4),
    3.0: Fraction(9),
    128**-0.5: Fraction(1, 128),
    2**0.5: Fraction(2),
    -(24**-0.5): Fraction(1, 24),
    0.044715: Fraction(44715**2, 10**12),
}


@pytest.mark.parametrize("value", SQUARES)
def test_literals_are_what_they_stand_for(value: float) -> None:
    f = random_field(4, 1)
    assert all_same(f, f.mul(f.literal(value), f.literal(value)), f.const(SQUARES[value]))
    assert not all_same(f, f.literal(value), f.literal(-value))


PRODUCTS: tuple[tuple[float, tuple[float, ...]], ...] = (
    ((2 / np.pi) ** 0.5 * 2, ((2 / np.pi) ** 0.5, 2.0)),
    ((2 / np.pi) ** 0.5 * 0.044715, ((2 / np.pi) ** 0.5, 0.044715)),
    (128**-0.5 * 1.4426950408889634, (128**-0.5, 1.4426950408889634)),
    (0.25 * 1.4426950408889634, (0.25, 1.4426950408889634)),
    (2.0**0.5, (6**0.5, 3**-0.5)),
    (1 / np.pi, (np.pi**-0.5, np.pi**-0.5)),
    (1.0, (0.6931471805599453, 1.4426950408889634)),
)
NEAR: tuple[tuple[float, float], ...] = (
    (128**-0.5, 0.0884),
    (128**-0.5, 0.08838834),
    (128**-0.5, 0.088388348),
    (128**-0.5, 0.0883883477),
    (1e-6, 1.0000001e-6),
    (1e-6, 1e-5),
    (1 / 3, 0.333333333),
    (1 / 4096, 0.000244140),
    (2.0**0.5, 1.41421356),
    (1.4426950408889634, 1.442695),
    ((2 / np.pi) ** 0.5, 0.7978845608),
    (np.pi, 3.14159265),
    (0.044715, 0.0447150001),
    (0.7310585786300049, 0.73105857863),
)


@pytest.mark.parametrize("value,factors", PRODUCTS)
def test_literals_that_are_products(value: float, factors: tuple[float, ...]) -> None:
    f = random_field(4, 1)
    assert all_same(f, f.literal(value), f.mul(*(f.literal(x) for x in factors)))
    assert not all_same(f, f.literal(value), f.mul(*(f.literal(x) for x in factors), f.literal(factors[0])))


@pytest.mark.parametrize("a,b", NEAR)
def test_literals_that_are_near_are_told_apart(a: float, b: float) -> None:
    for seed in (4, 5):
        f = random_field(seed, 1)
        assert not all_same(f, f.literal(a), f.literal(b))
        assert all_same(f, f.literal(a), f.literal(float(repr(a))))


def test_a_root_that_a_field_lacks_is_a_constant_of_its_own() -> None:
    """Of 13 and -13 exactly one is a square modulo p: the root of the other must not stand for sqrt(13)."""
    found = {False: 0, True: 0}
    for seed in range(12):
        f = random_field(seed, 1)
        x = f.literal(13**-0.5)
        same = all_same(f, f.mul(x, x), f.const(Fraction(1, 13)))
        assert same == (not f.lacks_root) and not all_same(f, f.mul(x, x), f.const(Fraction(-1, 13)))
        found[same] += 1
    assert min(found.values()) > 0


def test_an_odd_literal_equals_itself_alone() -> None:
    f = random_field(4, 1)
    assert all_same(f, f.literal(0.7310585786300049), f.literal(0.7310585786300049))
    assert not all_same(f, f.literal(0.7310585786300049), f.literal(0.731058578630005))


def test_sigmoid_both_ways() -> None:
    opaque, open_ = random_field(1, 4), Field(1, 4, opaque=())
    for f in (opaque, open_):
        x = f.random((3,))
        assert all_same(f, f.fn("tanh", x), f.sub(f.mul(f.const(2), f.sigmoid(f.mul(f.const(2), x))), f.const(1)))
    x = open_.random((3,))
    direct = open_.inv(open_.add(open_.const(1), open_.exp(open_.neg(x))))
    assert all_same(open_, open_.sigmoid(x), direct)
    assert not all_same(opaque, opaque.sigmoid(x), opaque.inv(opaque.add(opaque.const(1), opaque.exp(opaque.neg(x)))))


def test_sum_is_exact_where_uint64_would_overflow() -> None:
    f = random_field(7, 1)
    x = np.full((1, 1 << 16), f.encode_pair(f.p - 1, f.q - 1))
    total = f.sum(x, 1)
    assert int(first(total)[0]) == (-(1 << 16)) % f.p and int(second(total)[0]) == (-(1 << 16)) % f.q
