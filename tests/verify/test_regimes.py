"""The regimes of inputs in each dtype: what is right passes them, what loses precision or range does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mutants.bases import module_of
from mutants.facts import NAIVE, regime, source_of
from workloads.hand import small
from workloads.hand_targets import targets

from mirage.verify.emitted_module import EmittedModule
from mirage.verify.floats.error_limits import Compared, judge
from mirage.verify.floats.launch_sizes import contraction, first_contraction
from mirage.verify.floats.opinion import float_opinion
from mirage.verify.floats.regimes import LARGEST, REGIMES, SMALLEST, round_to
from mirage.verify.floats.worker import decode, packed, rounding

Run = Callable[[str, dict[str, Any]], dict[str, Any]]


def attention(run: Run, dtype: str, part: str, naive: bool) -> Any:
    c = small()["attention_split"]
    tensors = tuple(replace(x, dtype=dtype) if x.dtype == "fp16" else x for x in c.mugraph.tensors)
    graph = replace(c.mugraph, tensors=tensors)
    t, outputs = targets(graph)
    module = module_of(graph)
    assert NAIVE[0] in module
    names = [i.name for i in graph.inputs]
    return float_opinion(
        EmittedModule(t, outputs, graph, module.replace(*NAIVE) if naive else module, names, source_of(c), c.name),
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
        assert judge(Compared(np.array(got), want, None, want, "fp16"), 16, True)[1] == bad
    far = np.array([60000.0, 1.0])
    assert judge(Compared(np.array([np.inf, 1.0]), far, None, far, "fp16"), 16, True)[1] == (0,)
    noisy = np.array([1000.0, -1.0])  # however large the function's own error
    assert judge(Compared(np.array([np.inf, -1.0]), noisy, 3 * noisy, noisy, "fp16"), 16, True)[1] == (0,)


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
        assert judge(Compared(np.array([got, 30000.0]), want, eager, want, "fp16"), 16, True)[1] == bad, (own, got)
    assert judge(Compared(np.array([30000.0, np.inf]), want, eager, want, "fp16"), 16, True)[1] == (1,)  # not beside it


def test_rounding_without_range() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0 + 2.0**-13, 70000.0, 3.0, float("inf")], dtype=torch.float64)
    got = rounding(lambda v: v * v, [2.0**-11])(x)
    assert got[0] == 1.0 and got[1] > 65504 and got[2] == 9.0 and got[3].isinf()
    assert abs(float(got[1]) / 70000.0**2 - 1) < 2.0**-11


ONE_ROW = """import torch


def attention(q, k, v, g):
    q = torch.nn.functional.rms_norm(q, (16,), g, 1e-6)
    return torch.softmax(q @ k.T, -1) @ v
"""


def rounded(run: Run, text: str, dtype: str, scale: float) -> float:
    """How far the outputs are from one another with other roundings, at most."""
    rng = np.random.default_rng(3)
    values = [round_to(scale * rng.standard_normal(s), "bf16") for s in ((1, 16), (64, 16), (64, 8), (16,))]
    payload = {"module": "", "text": text, "function": "attention", "sizes": {}, "tiles": {}, "roundings": 8}
    (found,) = run("float", payload | {"inputs": [[packed(dtype, v) for v in values]]})["runs"]
    runs = [decode(one[0]) for one in found["rounded"]]
    assert len({x.tobytes() for x in runs}) == 8
    return float(np.std(runs, axis=0).max())


def test_the_functions_error_with_other_roundings(run: Run) -> None:
    """Off by as much as the dtypes' roundings make it: where the function itself goes on in float32, by those of float32."""
    off = {dtype: rounded(run, ONE_ROW, dtype, 1.0) for dtype in ("fp16", "bf16", "fp32")}
    assert 4 < off["bf16"] / off["fp16"] < 16 and 2**11 < off["fp16"] / off["fp32"] < 2**15
    wide = ONE_ROW.replace("    q = ", "    q, k, v, g = q.float(), k.float(), v.float(), g.float()\n    q = ")
    assert wide != ONE_ROW and rounded(run, wide, "fp16", 1.0) < 2**-10 * off["fp16"]


def test_an_error_is_judged_beside_the_functions_own_with_other_roundings() -> None:
    """One rounding may show little of what the others do. The kernel is allowed twice their average, no more."""
    want = np.array([1.0, -1.0, 1.0, 1.0])

    def off(error: float) -> np.ndarray[Any, Any]:
        return np.asarray(want + np.array([0.0, 0.0, error, 0.0]))

    def judged(kernel: float, *others: float) -> tuple[int, ...] | None:
        return judge(Compared(off(kernel), want, off(0.01), want, "fp16", others=[off(x) for x in others]), 16, False)[
            1
        ]

    assert judged(0.03) == (2,)
    assert judged(0.03, 0.02, 0.01, 0.03) is None
    assert judged(0.05, 0.02, 0.01, 0.03) == (2,)
    assert judged(0.03, 0.001, 0.001, 0.04) == (2,)  # one that is far off is not the average
    assert judged(0.03, 0.001, 0.001, np.nan) == (2,)
    assert judged(0.015, 0.001) is None  # never less than before
    assert judged(np.nan, 0.5) == (2,) and judged(np.inf, 0.5) == (2,)
