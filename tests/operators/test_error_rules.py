"""The rule of each operator on errors: no perturbed argument and no float32 arithmetic takes a result further than it says."""

from __future__ import annotations

import numpy as np
import pytest

from mirage.operators import error_rules
from mirage.operators.entry import BlockOperator
from mirage.operators.error_rules import ErrorRule, half_unit
from mirage.operators.table import BLOCK

POINTS = 4000
RULED = sorted(e.name for e in BLOCK.values() if e.form == "pointwise" and not e.flag and not e.rounds)
KEEPS_SIGN = ("sqrt", "rsqrt", "log")


def sampled(entry: BlockOperator, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arguments of many sizes, and how far each may be off: nothing, a little, much."""
    rng = np.random.default_rng(seed)
    n = 3 if entry.name == "add" and seed % 2 else 2 if entry.most > 3 else entry.most
    xs = [rng.standard_normal(POINTS) * np.exp(1.5 * rng.standard_normal(POINTS)) for _ in range(n)]
    if entry.name in KEEPS_SIGN:
        xs = [np.abs(x) + 1e-3 for x in xs]
    if entry.name == "where":
        xs[0] = (xs[0] > 0).astype(float)
    xs = [x.astype(np.float32).astype(float) for x in xs]
    es = [np.abs(x) * rng.choice([0.0, 1e-7, 1e-3, 0.2], POINTS) for x in xs]
    if entry.name == "where":
        es[0] = np.zeros(POINTS)
    return xs, es


def moved(x: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The number of float32 that is almost as far off as it may be."""
    there = (x + 0.9999 * e).astype(np.float32).astype(float)
    return np.where(np.abs(there - x) <= np.abs(e), there, x)


def exceeded(entry: BlockOperator, rule: ErrorRule, seed: int) -> float:
    """The share of points at which a result in float32, from arguments as far off as they may be, is off by more than the rule says."""
    assert entry.float64 is not None
    xs, es = sampled(entry, seed)
    with np.errstate(all="ignore"):
        exact = np.asarray(entry.float64(*xs), float)
        bound = rule(exact, xs, es)
        worst = np.zeros(POINTS)
        for signs in ((1, 1, 1), (-1, -1, -1), (1, -1, 1), (-1, 1, -1)):
            off = [moved(x, s * e) for x, e, s in zip(xs, es, signs)]
            computed = np.asarray(entry.float64(*off), float).astype(np.float32).astype(float)
            worst = np.maximum(worst, np.where(np.isfinite(computed), np.abs(computed - exact), np.inf))
    assert np.isfinite(bound).mean() > 0.5
    return float(np.mean(np.isfinite(bound) & (worst > bound * (1 + 1e-9))))


@pytest.mark.parametrize("name", RULED)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_error_is_larger_than_the_rule_says(name: str, seed: int) -> None:
    assert exceeded(BLOCK[name], BLOCK[name].error, seed) == 0


@pytest.mark.parametrize("name", [n for n in RULED if n not in ("where", "floor", "quotient")])
def test_a_rule_that_forgets_a_part_is_exceeded(name: str) -> None:
    entry = BLOCK[name]
    assert exceeded(entry, lambda out, xs, es: entry.error(out, xs, [0.4 * e for e in es]) * 0.9, 0) > 0.01


def test_a_comparison_is_uncertain_within_the_errors_and_nowhere_else() -> None:
    x, y, off = np.array([1.0, 1.0, 1.0]), np.array([1.1, 2.0, 1.0]), np.array([0.06, 0.06, 0.0])
    assert error_rules.comparison(x < y, (x, y), (off, off)).tolist() == [1, 0, 0]


@pytest.mark.parametrize("dtype,numpy", [("fp16", np.float16), ("fp32", np.float32)])
def test_half_a_unit_is_what_rounding_loses_at_most(dtype: str, numpy: type) -> None:
    x = np.random.default_rng(2).standard_normal(POINTS) * np.exp2(np.random.default_rng(3).integers(-30, 15, POINTS))
    lost = np.abs(x.astype(numpy).astype(float) - x)
    assert (lost <= half_unit(np.abs(x), dtype)).all()
    assert (lost > 0.9 * half_unit(np.abs(x), dtype)).any()
    assert np.isinf(half_unit(np.array([1e39]), dtype)).all() and half_unit(np.zeros(1), dtype) == 0


def test_nothing_is_known_of_an_operator_without_a_rule() -> None:
    assert np.isinf(BlockOperator("new", 1, 1, np.log2).error(np.ones(2), [np.ones(2)], [np.zeros(2)])).all()
