"""The bounds against what really happens, at primes so small that every point can be looked at: no family of wrong
programs is zero more often than its bound says."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mirage.meaning.terms import Terms
from mirage.results.verdict import Evidence, Verdict
from mirage.verify.field import arithmetic as field_module
from mirage.verify.field.algebra_opinion import field_opinion
from mirage.verify.field.arithmetic import Field
from mirage.verify.field.error_bound import Bound, exponents_meet, sparse
from mirage.verify.field.sampling import Conditions, draw
from mirage.verify.semantics.evaluate_terms import evaluate_terms

Array = np.ndarray[Any, np.dtype[Any]]
PAIRS = ((23, 11), (47, 23), (167, 83))


def group(p: int, q: int) -> Array:
    """The squares modulo p: the powers of 4, one of order q first."""
    return np.array([pow(4, i, p) for i in range(q)])


@pytest.mark.parametrize("p,q", PAIRS[:2])
def test_sparse_sums_on_a_group_of_prime_order(p: int, q: int) -> None:
    """Every sum of two, three terms; of four and five, random ones. The first fifth of what the bound allows is met."""
    g = group(p, q)
    rng = np.random.default_rng(1)
    closest = 0.0
    for k in (2, 3, 4, 5):
        exponents = list(itertools.combinations(range(1, q), k - 1))
        if len(exponents) > 60:
            exponents = [exponents[i] for i in rng.choice(len(exponents), 60, replace=False)]
        every = np.array(list(itertools.product(range(1, p), repeat=k - 1))) if k < 4 else None
        for e in exponents:
            c = every if every is not None else rng.integers(1, p, (4000, k - 1))
            powers = g[np.multiply.outer(np.arange(1, q), np.array(e)) % q]  # (z, term)
            zero = (1 + powers @ c.T) % p == 0
            worst = zero.mean(axis=0).max()
            assert worst <= sparse(k, q) + 1e-12, (k, e, worst)
            closest = max(closest, worst / sparse(k, q))
    assert closest > 0.2  # the bound is not met by being idle


def wrong_exponential(rng: np.random.Generator, k: int, p: int, q: int) -> float:
    """How often sum f_i(u) omega^(g_i(v)) is zero, f_i and g_i different random polynomials of degree 2 in two
    variables: of u and v 400 random points each, of omega every element but 1."""
    monomials = lambda x, m: np.stack([np.ones_like(x[0]), x[0], x[1], x[0] * x[1] % m, x[0] ** 2 % m])  # noqa: E731
    u, v = rng.integers(0, p, (2, 400)), rng.integers(0, q, (2, 400))
    f = rng.integers(0, p, (k, 5)) * (rng.random((k, 5)) < 0.4)
    f[:, 1] = np.where(f.any(axis=1), f[:, 1], 1)
    exponents = rng.choice(q**2, k, replace=False)
    g = np.stack([exponents % q, exponents // q, *rng.integers(0, q, (3, k))], axis=1)
    a, b = f @ monomials(u, p) % p, g @ monomials(v, q) % q
    w = group(p, q)[np.arange(1, q)[:, None, None] * b % q]
    return float(((a * w).sum(axis=1) % p == 0).mean())


@pytest.mark.parametrize("p,q", PAIRS)
def test_sums_of_exponentials(p: int, q: int) -> None:
    """Ours, and the paper's theorem 2 (which says nothing at these primes: it exceeds 1)."""
    rng = np.random.default_rng(2)
    for k in (2, 3, 4, 6):
        for _ in range(20):
            measured = wrong_exponential(rng, k, p, q)
            ours = 2 / p + exponents_meet(2, k, q) + sparse(k, q)
            assert measured <= ours + 0.01
            assert measured <= 8 * 2 * k**4 / q + q ** (-1 / k**2)


def laurent(rng: np.random.Generator, n: int, radius: int, count: int) -> Array:
    """Exponent vectors of length (sum of absolute values) at most `radius`, different from each other."""
    every = [a for a in itertools.product(range(-radius, radius + 1), repeat=n) if sum(map(abs, a)) <= radius]
    return np.array([every[i] for i in rng.choice(len(every), min(count, len(every)), replace=False)])


@pytest.mark.parametrize("p,q", PAIRS)
def test_laurent_polynomials_in_independent_exponentials(p: int, q: int) -> None:
    """Zero at no more than 2R/q of the group's n-tuples, however many variables there are; products of binomials in
    one variable, y^R - c y^-R and the like, come close."""
    rng = np.random.default_rng(3)
    n = 3 if q < 50 else 2
    scores = np.stack(np.meshgrid(*[np.arange(q)] * n)).reshape(n, -1)
    g = group(p, q)
    closest = 0.0
    for radius in (1, 2, 3):
        families = [(laurent(rng, n, radius, int(rng.integers(2, 12))), None) for _ in range(25)]
        line = np.array([[j - radius, *[0] * (n - 1)] for j in range(2 * radius + 1)])
        roots = np.array([1])
        for r in rng.choice(q, 2 * radius, replace=False):  # a product of 2 R factors y - r, divided by y^R
            roots = np.convolve(roots, [1, -int(g[r])]) % p
        families.append((line, roots[::-1]))
        for exponents, given in families:
            c = rng.integers(1, p, len(exponents)) if given is None else given
            values = g[exponents @ scores % q]
            measured = float((c @ values % p == 0).mean())
            assert measured <= 2 * radius / q + 1e-12
            closest = max(closest, measured * q / (2 * radius))
    assert closest == 1.0


def test_roots_at_small_primes() -> None:
    """a(x) + b(x) sqrt(S(x)) at every point where S has a root: at most 4 d / p of them are zeros."""
    p = 83
    x, y = (v.ravel() for v in np.meshgrid(np.arange(p), np.arange(p)))
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(60):
        c = rng.integers(0, p, 8)
        s = (x * x + c[0] * y * y + c[1]) % p
        r = np.array([pow(v, (p + 1) // 4, p) for v in range(p)])[s]
        exists = r * r % p == s
        a, b = (c[2] * x + c[3] * y + c[4]) % p, (1 + c[5]) % p
        worst = max(worst, float(((a + b * r) % p == 0)[exists].mean()))
    assert 0 < worst <= Conditions(1).factor * 1 / p


SMALL = ((227, 113), (1019, 509))


def frequency(build: Any, pair: tuple[int, int], sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> float:
    """How often the real machinery finds a wrong program equal to the right one, over 4,000 draws."""
    monkeypatch.setattr(field_module, "random_pair", lambda seed: pair)
    t = Terms()
    a, b = build(t)
    s = draw(t, [a, b], sizes, 5, 4000)
    dims = tuple(sorted(t.dims(a) | t.dims(b)))
    values = evaluate_terms(t, [(a, dims), (b, dims)], s.inputs, s.field, sizes)
    same = s.field.same(*values).reshape(4000, -1)[:, 0]
    return float(same[s.generic].mean())


def magnitude(t: Terms) -> tuple[int, int]:
    x = t.input("x", ())
    return t.sqrt(t.mul(x, x)), x


def hidden_magnitude(t: Terms) -> tuple[int, int]:
    """sqrt(x^2 y) = |x| sqrt(y)."""
    x, y = t.input("x", ()), t.input("y", ())
    return t.sqrt(t.mul(x, x, y)), t.mul(x, t.sqrt(y))


@pytest.mark.parametrize("build", [magnitude, hidden_magnitude])
def test_the_sign_of_a_root_costs_a_bit(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """x passes for |x| in every second draw: a bound of d / p a draw would be wrong."""
    measured = frequency(build, SMALL[1], {}, monkeypatch)
    assert 0.4 < measured < 0.6
    monkeypatch.undo()
    t = Terms()
    a, b = build(t)
    sample = draw(t, [a, b], {}, 1, 8)
    assert sample.conditions.signs == 1
    e = field_opinion(t, a, b)
    assert e.word == "REJECTED"
    assert e.details.bound_a_draw >= measured - 0.03
    e = field_opinion(t, a, a)
    assert e.word == "TESTED" and e.bound is not None and e.bound < 1e-9


def test_plain_roots_cost_no_sign() -> None:
    t = Terms()
    from workloads.hand_targets import read

    x, y = read(t, "X", "mk"), read(t, "Y", "nk")
    norm = t.sqrt(t.add(t.sum("k", t.mul(x, x)), t.literal(1e-6)))
    other = t.sqrt(t.mul(t.const(4), t.add(t.sum("k", t.mul(x, x)), t.literal(1e-6))))
    both = t.sqrt(t.sum("n", t.mul(t.sum("k", t.mul(y, x)), t.inv(norm))))
    assert draw(t, [norm, other, both], {"m": 3, "n": 4, "k": 5}, 1, 4).conditions.signs == 0


def swapped(t: Terms) -> tuple[int, int]:
    """exp(a) + exp(b), and exp(a + b) + 1: equal where one of the two is 1."""
    a, b = t.input("a", ()), t.input("b", ())
    return t.add(t.exp(a), t.exp(b)), t.add(t.exp(t.add(a, b)), t.const(1))


def normalized(t: Terms) -> tuple[int, int]:
    """A softmax of two scores behind a root, and the one with another scale."""
    x, y, s = (t.input(n, ()) for n in ("x", "y", "s"))
    r = t.inv(t.sqrt(t.add(t.mul(s, s), t.const(1))))
    p = t.exp(t.mul(x, r))
    good = t.mul(p, t.inv(t.add(p, t.exp(t.mul(y, r)))))
    p = t.exp(t.mul(x, r, r))
    return good, t.mul(p, t.inv(t.add(p, t.exp(t.mul(y, r, r)))))


@pytest.mark.parametrize("build", [swapped, normalized])
@pytest.mark.parametrize("pair", SMALL)
def test_programs_at_small_primes(build: Any, pair: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole machinery: as often equal as the bound for its primes says, at most."""
    measured = frequency(build, pair, {}, monkeypatch)
    t = Terms()
    a, b = build(t)
    e = field_opinion(t, a, b, draws=1)
    bound = e.details.bound_a_draw
    assert bound is not None and 0 < measured <= bound + 0.01
    monkeypatch.undo()
    assert field_opinion(t, a, b).word == "REJECTED"
    assert Field(1).q > 2**30


@pytest.mark.parametrize(
    "bounds,total", [((1e-9, 0.0, 1e-9), 2e-9), ((0.3, 0.1, 0.2), None), ((1e-9, None, 0.0), None)]
)
def test_a_verdict_states_no_bound_that_says_nothing(bounds, total):
    found = zip(("algebra", "schedule", "text"), bounds, strict=False)
    evidence = [Evidence(link=x, opinion="field", word="TESTED", bound=b, summary="") for x, b in found]
    assert Verdict(tuple(evidence)).bound == total
    assert ("no bound" in Verdict(tuple(evidence)).headline) == (total is None)


def test_a_chance_near_one_is_no_bound():
    assert Bound(0.99, "", 1.0, 1.0).after(16) is None
    assert Bound(0.5, "", 1.0, 1.0).after(16) == 0.5**16
