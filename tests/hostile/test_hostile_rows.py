"""The rows of the hostile bench: what it counts for a class, and which counts it does not let pass."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hostile.certify import shown_beyond, shown_outside
from hostile.pair import Pair

BENCH = Path(__file__).resolve().parents[2] / "benchmarks" / "hostile.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hostile_bench", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["hostile_bench"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("group", "expected", "answer", "ok"),
    [
        ("threshold", "differ", "rejected", True),
        ("threshold", "differ", "undecided", True),
        ("threshold", "differ", "refused", True),
        ("trace", "differ", "limited", True),
        ("threshold", "differ", "accepted", False),
        ("threshold", "differ", "crashed", False),
        ("equal: sums", "equal", "accepted", True),
        ("equal: sums", "equal", "rejected", False),
        ("equal: sums", "equal", "undecided", False),
        ("equal: sums", "equal", "refused", False),
        ("equal: sums", "equal", "crashed", False),
        ("infinite inputs", "differ", "accepted", False),
        ("infinite inputs", "differ", "limited", True),
        ("equal: sums, finite inputs", "equal", "rejected", False),
    ],
)
def test_one_answer_and_whether_it_passes(bench: ModuleType, group: str, expected: str, answer: str, ok: bool) -> None:
    found = [bench.Answer(group, "one", expected, answer, "", 0.5)]
    rows = bench.rows_of(found)
    assert next(r for r in rows if r["name"] == f"hostile/{group}/{answer}")["value"] == 1
    assert all(r["ok"] for r in rows) is ok


def test_one_of_forty_equal_pairs_may_stay_undecided(bench: ModuleType) -> None:
    def passes(undecided: int) -> bool:
        answers = ["undecided"] * undecided + ["accepted"] * (40 - undecided)
        return all(
            r["ok"] for r in bench.rows_of([bench.Answer("equal: sums", "one", "equal", x, "", 0.5) for x in answers])
        )

    assert passes(1) and passes(2) and not passes(3)


@pytest.mark.parametrize(
    ("witness", "upto", "beyond"),
    [
        ("x.fill_(3e38); y.fill_(3e38)", 1e18, True),
        ("x.fill_(3e38); y.fill_(3e38)", 3e38, False),
        ("x.zero_()", 1e18, False),
    ],
)
def test_a_pair_is_limited_where_its_witness_is_beyond_the_headline(witness: str, upto: float, beyond: bool) -> None:
    halves = Pair(
        "one", "finiteness", "differ", "x fp32 2 4, y fp32 2 4", "x * 0.5 + y * 0.5", "(x + y) * 0.5", witness
    )
    assert shown_beyond(halves, upto) is beyond


def test_a_pair_that_differs_within_the_limit_too_is_not_limited() -> None:
    pair = Pair(
        "one", "finiteness", "differ", "x fp32 2 4", "x.abs()", "(x.exp() * x.abs()) / x.exp()", "x.fill_(1e25)"
    )
    assert not shown_beyond(pair, 1e18)


def test_one_in_so_many_of_each_class(bench: ModuleType) -> None:
    groups = {pair.group for pair in bench.chosen("*", 1)}
    assert {pair.group for pair in bench.chosen("*", 1000)} == groups
    assert len(bench.chosen("*", 1000)) == len(groups)
    assert bench.chosen("no such class/*", 1) == []


def test_an_infinite_input_shows_the_difference_only_where_a_finite_one_does_not() -> None:
    row = ("x + y - y", "x * 1.0", "y[2, 3] = inf")
    pair = Pair("taken_away", "infinite inputs", "differ", "x fp32 8 16, y fp32 8 16", *row)
    assert shown_outside(pair)
    assert not shown_outside(
        Pair("other", "infinite inputs", "differ", pair.inputs, "x + y", "x * 1.0", "y[2, 3] = inf")
    )
    assert not shown_outside(
        Pair("finite", "infinite inputs", "differ", pair.inputs, "x + y", "x * 1.0", "y[2, 3] = 7.0")
    )
