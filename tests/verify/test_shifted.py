"""A function written without a shift: a kernel must be right where it overflows, and NaN where its value is no number."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mutants.bases import module_of
from mutants.facts import regime
from workloads.hand import small
from workloads.hand_targets import read

from mirage.meaning.terms import Terms
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.floats.error_limits import Compared, judge
from mirage.verify.floats.opinion import float_opinion
from mirage.verify.floats.shifted_reference import Shifted, Single, Values, instead
from mirage.verify.output_terms import Output
from mirage.verify.semantics.evaluate_terms import TermEvaluator
from mirage.verify.semantics.float64 import Floats

Run = Callable[[str, dict[str, Any]], dict[str, Any]]
SOURCE = """import torch

def attention_split(Q, K, V):
    E = torch.exp(torch.matmul(Q, K.transpose(-1, -2)) * 0.25)
    return torch.matmul(E / E.sum(-1, keepdim=True), V)
"""
# Wrong only where a score is too large for the function as written, and finite there.
CUT = ("score = qk * (0.25 * 1.4426950408889634)", "score = tl.minimum(qk * 0.25, 700.0) * 1.4426950408889634")


def written(t: Terms) -> int:
    """Attention as exp, sum and division."""
    score = t.mul(t.const(Fraction(1, 4)), t.sum("d", t.mul(read(t, "Q", "hqd"), read(t, "K", "htd"))))
    p = t.exp(score)
    return t.mul(t.sum("t", t.mul(p, read(t, "V", "hte"))), t.inv(t.sum("t", p)))


def opinion(run: Run, part: str, change: tuple[str, str] = ("", "")) -> Any:
    graph = small()["attention_split"].mugraph
    t = Terms(dict(graph.axes))
    (o,) = graph.outputs
    module = module_of(graph)
    assert change[0] in module
    names = [i.name for i in graph.inputs]
    return float_opinion(
        EmittedModule(
            t, [Output(o.name, written(t), o.dims)], graph, module.replace(*change), names, SOURCE, graph.name
        ),
        run,
        regimes=[regime(part)],
    )


@pytest.mark.parametrize("part", ["normal", "times 10", "scores of 60000", "heavy tail", "far below zero", "zeros"])
def test_a_shifted_kernel_for_a_function_without_a_shift(part: str, run: Run) -> None:
    e = opinion(run, part)
    assert e.word == "TESTED", (e.summary, e.counterexample)


def test_a_finite_wrong_number_there_is_refused(run: Run) -> None:
    assert opinion(run, "normal", CUT).word == "TESTED"
    e = opinion(run, "scores of 60000", CUT)
    assert e.word == "REJECTED" and "error" in e.summary, e.summary


def test_nan_there_is_refused(run: Run) -> None:
    e = opinion(
        run,
        "scores of 60000",
        ("out = o / l[:, None]", "out = tl.where(m[:, None] > 709, float('nan'), o / l[:, None])"),
    )
    assert e.word == "REJECTED" and "not finite" in e.summary, e.summary


def values(scores: list[float], root: Callable[[Terms], int]) -> Any:
    """(the function as written, the shifted term and the others) on one row of scores; None where there is no shift."""
    t = Terms({"k": len(scores)})
    x = Output("o", root(t), ())
    inputs = {"S": np.array([scores]), "V": np.array([[3.0, 7.0][: len(scores)]])}
    want = TermEvaluator(t, inputs, Floats(), {"k": len(scores)}).of(x.term)[0]
    return np.array(want), Shifted(t, [x]).values(inputs, {"k": len(scores)}).get("o")


def weighted(t: Terms) -> int:
    p = t.exp(read(t, "S", "k"))
    return t.mul(t.sum("k", t.mul(p, read(t, "V", "k"))), t.inv(t.sum("k", p)))


def test_the_shifted_term_stands_for_an_overflow_alone() -> None:
    want, found = values([800.0, 799.0], weighted)
    assert np.isnan(want) and instead(want, found) and abs(found.shifted - (7 + 3 * np.e) / (1 + np.e)) < 1e-9
    for scores in ([-np.inf, -np.inf], [np.inf, 1.0], [np.nan, 1.0]):
        want, found = values(scores, weighted)
        assert np.isnan(want) and not instead(want, found), (scores, found)
    want, found = values([1.0, 2.0], weighted)
    assert not instead(want, found)


def test_an_exponential_that_is_an_output_keeps_its_infinity() -> None:
    want, found = values([800.0], lambda t: t.sum("k", t.exp(read(t, "S", "k"))))
    assert np.isinf(want) and found is None
    for got, fails in ((np.inf, False), (3.0, True), (-np.inf, False)):
        row, at = judge(
            Compared(np.array([got, 1.0]), np.array([want, 1.0]), None, np.array([want, 1.0]), "fp16"), 1, False
        )
        assert (at is not None) == fails, (got, row)


def test_a_term_that_is_not_the_function_stands_for_nothing() -> None:
    nan = np.full(3, np.nan)
    for want, shifted, stands in (
        ((1.0, np.nan, np.nan), (1.0, 5.0, np.nan), [False, True, False]),
        ((1.0, np.nan, np.nan), (2.0, 5.0, np.nan), [False, False, False]),
    ):
        found = Values(nan, np.array(shifted), np.array(shifted))
        assert instead(np.array(want), found).tolist() == stands
    masked = Values(np.zeros(3), np.zeros(3), np.zeros(3))  # a term is 0 where a mask leaves nothing
    assert not instead(nan, masked).any()


def test_what_is_allowed_there_is_not_the_functions_own_error_elsewhere() -> None:
    """An eager function that is far off where it is a number says nothing of where it is none."""
    want = np.array([1.0, 1.0])
    free = np.array([False, True])
    eager = np.array([1.3, np.nan])
    for got, at in (((1.2, 1.0), None), ((1.0, 1.2), (1,))):
        assert judge(Compared(np.array(got), want, eager, want, "fp16", free, want), 16, True)[1] == at


def test_a_sum_in_float32_is_rounded_at_each_step() -> None:
    x = np.array([[2.0**24, 1.0, 1.0, 1.0]])
    assert Single().sum(x, 1) == [2.0**24] and Floats().sum(x, 1) == [2.0**24 + 3]
    large = np.full((1, 3), 3e38)
    assert np.isinf(Single().sum(large, 1)).all()
    assert Single().sum(np.zeros((1, 0)), 1) == [0.0]
    assert Single().sum(np.array([[1, 2]]), 1).dtype == np.int64
