"""Interval analysis: the input bound that it names is safe, and is not far from the largest that is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from workloads.hand_targets import MEANING, mean, read

from mirage.meaning.nodes import Input
from mirage.meaning.terms import Terms
from mirage.verify.ranges.intervals import safe_bound
from mirage.verify.semantics.evaluate_terms import evaluate_terms
from mirage.verify.semantics.float64 import Floats


def test_a_square_sum_overflows_where_it_should() -> None:
    t = Terms({"m": 4, "k": 16})
    x = read(t, "X", "mk")
    r = t.sum("k", t.mul(x, x))
    bound, why = safe_bound(t, [(r, "fp16")], t.sizes)
    assert bound == pytest.approx(math.sqrt(65504 / 16), rel=1e-3) and bound < math.sqrt(65504 / 16)
    assert "fp16" in why
    wide, _ = safe_bound(t, [(r, "fp32")], t.sizes)
    assert wide == pytest.approx(math.sqrt(3.4028e38 / 16), rel=1e-3)


def test_an_exponential_is_safe_only_with_its_shift() -> None:
    t = Terms({"m": 4, "k": 16})
    x = read(t, "X", "mk")
    plain = t.exp(x)
    shifted = t.exp(t.sub(x, t.max("k", x)))
    low, _ = safe_bound(t, [(plain, "fp32")], t.sizes)
    high, _ = safe_bound(t, [(shifted, "fp32")], t.sizes)
    assert low == pytest.approx(88.7, rel=1e-3) and high is not None and high >= 2.0**120
    assert math.exp(low) < 3.4028e38 < math.exp(1.001 * low)
    other = t.exp(t.sub(x, t.max("k", t.mul(t.const(2), x))))
    assert safe_bound(t, [(other, "fp32")], t.sizes)[0] == pytest.approx(88.7 / 3, rel=1e-3)


@pytest.mark.parametrize("name", sorted(MEANING))
def test_the_bound_is_safe(name: str) -> None:
    t = Terms(dict.fromkeys("mknhqtde", 5))
    r = MEANING[name](t)
    bound, _ = safe_bound(t, [(r, "fp16")], t.sizes)
    if bound is None:
        assert name in ("rmsnorm_linear", "layernorm_linear")  # 1 / sqrt(variance + eps) is 1000 at most, and large
        return
    shapes = {n.name: len(n.index) for n in map(t.node, t.walk(r)) if isinstance(n, Input)}
    for sign in (1.0, -1.0):
        inputs = {n: np.full((1, *(5,) * rank), sign * bound) for n, rank in shapes.items()}
        (value,) = evaluate_terms(t, [r], inputs, Floats())
        assert np.abs(value).max() <= 65504


def test_a_division_by_what_may_be_zero_has_no_bound() -> None:
    t = Terms({"m": 4, "k": 16})
    x = read(t, "X", "mk")
    assert safe_bound(t, [(t.inv(mean(t, "k", x)), "fp32")], t.sizes)[0] is None
    good, why = safe_bound(t, [(mean(t, "k", x), "fp16")], t.sizes)
    assert good == pytest.approx(65504, rel=1e-3) and "fp16" in why
