"""The regimes of inputs in each dtype: what is right passes them, what loses precision or range does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mutants.bases import module_of
from mutants.facts import NAIVE, regime, source_of
from workloads.hand import small
from workloads.hand_targets import targets

from mirage.isolate.runner import Worker
from mirage.verify.floatrun import decode, packed, rounding
from mirage.verify.floats import contraction, first_contraction, float_opinion, judge, together
from mirage.verify.regimes import LARGEST, REGIMES, SMALLEST, round_to

Run = Callable[[str, dict[str, Any]], dict[str, Any]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with Worker(env={"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}) as worker:
        yield lambda name, payload: worker.call(name, payload, timeout_s=120)


def attention(run: Run, dtype: str, part: str, naive: bool) -> Any:
    c = small()["attention_split"]
    tensors = tuple(replace(x, dtype=dtype) if x.dtype == "fp16" else x for x in c.mugraph.tensors)
    graph = replace(c.mugraph, tensors=tensors)
    t, outputs = targets(graph)
    module = module_of(graph)
    assert NAIVE[0] in module
    names = [i.name for i in graph.inputs]
    return float_opinion(
        t,
        outputs,
        graph,
        module.replace(*NAIVE) if naive else module,
        source_of(c),
        c.name,
        names,
        run,
        regimes=[regime(part)],
    )


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("naive", [False, True], ids=["shifted", "naive"])
def test_attention_at_scores_of_60000(dtype: str, naive: bool, run: Run) -> None:
    """The scores of one draw reach 60000; in float16 that is next to its largest number."""
    e = attention(run, dtype, "scores of 60000", naive)
    assert e.word == ("REJECTED" if naive else "TESTED"), (e.summary, e.counterexample)
    assert not naive or "finite" in e.summary


@pytest.mark.parametrize("part", ["far below zero", "heavy tail", "zeros", "subnormal", "mean 1000"])
def test_attention_in_the_other_regimes(part: str, run: Run) -> None:
    e = attention(run, "fp16", part, naive=False)
    assert e.word == "TESTED", (e.summary, e.counterexample)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_regimes_are_what_they_are_called(dtype: str) -> None:
    rng, k = np.random.default_rng(0), 64
    made = {r.name: round_to(r.draw(rng, (256, k), dtype, k), dtype) for r in REGIMES}
    assert all(np.isfinite(x).all() for x in made.values())
    x = made["mean 1000 x deviation"]
    assert dtype == "bf16" or 500 < abs(x.mean() / x.std()) < 2000  # bfloat16 has no such numbers
    assert not made["zeros"].any()
    small_ones = made["subnormal"]
    assert np.abs(small_ones).max() > 0 and np.median(np.abs(small_ones)) < SMALLEST[dtype]
    assert np.abs(made["heavy tail"]).max() > 8 * np.median(np.abs(made["heavy tail"]))
    a, b = (round_to(next(r for r in REGIMES if "60000" in r.name).draw(rng, (256, k), dtype, k), dtype) for _ in "ab")
    assert 60000 < np.abs(a @ b.T).max() < 150000


def test_scores_are_scaled_by_their_own_length() -> None:
    """Not by that of the keys, which is the longer sum."""
    graph = small()["attention_split"].mugraph
    t, outputs = targets(graph)
    sizes = dict(graph.axes)
    assert first_contraction(t, outputs, sizes) == sizes["d"] < sizes["t"] == contraction(t, outputs, sizes)


def test_only_an_allowed_error_may_pass_the_largest_number() -> None:
    want = np.array([65400.0, -65400.0, 1.0])
    top = LARGEST["fp16"]
    assert want[0] < top
    for got, bad in [((np.inf, -np.inf, 1.0), None), ((-np.inf, -np.inf, 1.0), (0,)), ((np.nan, -65400.0, 1.0), (0,))]:
        assert judge(np.array(got), want, None, want, "fp16", 16, True)[1] == bad
    far = np.array([60000.0, 1.0])
    assert judge(np.array([np.inf, 1.0]), far, None, far, "fp16", 16, True)[1] == (0,)
    noisy = np.array([1000.0, -1.0])  # however large the function's own error
    assert judge(np.array([np.inf, -1.0]), noisy, 3 * noisy, noisy, "fp16", 16, True)[1] == (0,)


def test_an_infinity_may_stand_where_the_function_in_its_dtype_gives_one() -> None:
    """An element that large terms leave by cancellation: the function's own roundings carry it past the largest number."""
    want = np.array([30000.0, 30000.0])
    for own, got, bad in [
        (90000.0, np.inf, None),  # allowed: 120000 either way
        (90000.0, -np.inf, None),
        (90000.0, np.nan, (0,)),
        (47000.0, -np.inf, (0,)),  # the function's own value is a number
        (66000.0, np.inf, None),
        (66000.0, -np.inf, (0,)),  # an error of 72000 reaches -42000 alone
    ]:
        eager = np.array([own, 30000.0])
        assert judge(np.array([got, 30000.0]), want, eager, want, "fp16", 16, True)[1] == bad, (own, got)
    assert judge(np.array([30000.0, np.inf]), want, eager, want, "fp16", 16, True)[1] == (1,)  # not beside it


def test_rounding_without_range() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0 + 2.0**-13, 70000.0, 3.0, float("inf")], dtype=torch.float64)
    got = rounding(lambda v: v * v, 2.0**-11)(x)
    assert got[0] == 1.0 and got[1] > 65504 and got[2] == 9.0 and got[3].isinf()
    assert abs(float(got[1]) / 70000.0**2 - 1) < 2.0**-11


def draws(*errors: tuple[float, float]) -> list[dict[str, Any]]:
    """Runs whose kernel and whose function are so far off in one of eight elements."""

    def run(kernel: float, own: float) -> dict[str, Any]:
        want = np.ones(8)
        off = {"outputs": kernel, "eager": own, "double": 0.0, "single": 0.0}
        found = {kind: [packed("fp64", np.where(np.arange(8) == 3, want + d, want))] for kind, d in off.items()}
        return {"error": "", "guards": True, **found}

    return [run(*e) for e in errors]


def judged(first: tuple[float, float], *more: tuple[float, float], **changes: Any) -> tuple[int, ...] | None:
    (run,), others = draws(first), draws(*more)
    parts = (decode(run[kind][0]) for kind in ("outputs", "double", "eager", "single"))
    row, at = judge(*parts, "fp16", 16, False)
    assert at is not None and row["why"].startswith("error")
    others[-1] |= changes
    row, at = together(row, at, others, 0, "fp16", 16, False)
    assert (row["why"] == "") == (at is None)
    return at


def test_an_error_that_one_draw_shows_is_judged_beside_those_of_more() -> None:
    """The function's own error is as large on other rows: chance. What is always larger is not, nor what is ever far off."""
    chance, even = (0.03, 0.01), [(0.001, 0.001), (0.004, 0.016), (0.02, 0.02)]
    assert judged(chance, *even) is None
    assert judged(chance, *[(3 * own, own) for own in (0.001, 0.004, 0.01, 0.014)]) == (3,)  # three times as large
    assert judged(chance, *even, (0.05, 0.001)) == (3,)
    assert judged(chance, *even, (np.nan, 0.001)) == (3,)
    assert judged(chance, *even, (np.inf, 0.001)) == (3,)
    assert judged(chance, *even, error="it raised") == (3,)
    assert judged(chance, *even, guards=False) == (3,)
