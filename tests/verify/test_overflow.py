"""The range opinion: known bounds, against runs in real floats; what narrows, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mutants.bases import base
from workloads.hand import BUILDERS, dim, load, op, small, tensor
from workloads.hand_targets import targets

from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import BlockGraph, Compute, CustomKernel, Loop, MuGraph, Store
from mirage.verify.output_terms import Output
from mirage.verify.ranges.opinion import events_of, range_opinion

CASES = small()
K = 16


def pointwise(*body: Compute, dtype: str = "fp16", inputs: str = "fp16") -> tuple[Terms, list[Output], MuGraph]:
    """One kernel that stores `o`, and what it means."""
    from mirage.verify.semantics.denote import denote

    dims = (dim("m", 1, "grid"), dim("k", K, "resident"))
    store = Store("O", "o", load("x", "X", "m k").index)
    graph = MuGraph(
        "one",
        (("m", 3), ("k", K)),
        (tensor("X", "m k", dtype=inputs), tensor("O", "m k", "output", dtype)),
        (CustomKernel("one", BlockGraph(dims, (load("x", "X", "m k"), *body, store))),),
    )
    t = Terms(dict(graph.axes))
    term, have = denote(t, graph).outputs["O"]
    return t, [Output("O", term, have)], graph


SQUARE = (op("o", "mul", "x x", "m k"),)
EXP = (op("o", "exp", "x", "m k"),)
SHIFTED = (op("top", "max", "x", "m", dim="k"), op("z", "sub", "x top", "m k"), op("o", "exp", "z", "m k"))
CUBED = (op("sq", "mul", "x x", "m k"), op("cube", "mul", "sq x", "m k"), op("o", "tanh", "cube", "m k"))
# (the kernel, its store's dtype, the bound, the same in numpy)
KNOWN: list[tuple[str, Any, str, float, Any]] = [
    ("x * x", SQUARE, "fp16", 255.9, lambda x: (x * x).astype(np.float16)),
    ("x * x", SQUARE, "fp32", 1.8445e19, lambda x: x * x),
    ("exp", EXP, "fp16", 11.09, lambda x: np.exp(x).astype(np.float16)),
    ("exp", EXP, "fp32", 88.72, lambda x: np.exp(x)),
    ("an intermediate", CUBED, "fp16", 6.98e12, lambda x: x * x * x),
]


@pytest.mark.parametrize("body,dtype,bound,run", [k[1:] for k in KNOWN], ids=[f"{k[0]} in {k[2]}" for k in KNOWN])
def test_known_bounds_are_found_and_are_where_floats_overflow(body: Any, dtype: str, bound: float, run: Any) -> None:
    e = range_opinion(*pointwise(*body, dtype=dtype, inputs="fp32"))
    found = e.details.bound
    assert e.word == "TESTED" and found == pytest.approx(bound, rel=2e-3)
    with np.errstate(over="ignore"):
        assert np.isfinite(run(np.float32([found, -found]))).all()
        assert np.isinf(run(np.float32([found * 1.002]))).any()


def test_a_shifted_exponential_has_no_bound_and_an_unshifted_one_has() -> None:
    e = range_opinion(*pointwise(*SHIFTED))
    assert e.details.bound >= 65504 and e.summary == "no finite input overflows anything"
    x = np.float16([65504, -65504]).astype(np.float32)
    assert np.isfinite(np.exp(x - x.max()).astype(np.float16)).all()
    assert range_opinion(*pointwise(*EXP)).details.bound < 12


@pytest.mark.parametrize("dtype,largest", [("fp8e4m3", 448.0), ("fp8e5m2", 57344.0), ("bf16", 3.3895e38)])
def test_narrow_stores_have_their_dtype_s_limit(dtype: str, largest: float) -> None:
    e = range_opinion(*pointwise(*SQUARE, dtype=dtype, inputs="fp32"))
    (cast,) = e.details.casts
    assert cast.dtype == dtype and cast.output
    assert cast.bound == pytest.approx(np.sqrt(largest), rel=1e-3) == e.details.bound


def attention(name: str) -> Any:
    graph = CASES[name].mugraph
    t, outputs = targets(graph)
    return t, outputs, graph


@pytest.mark.parametrize("name", ["attention_split", "attention_tail"])
def test_attention_is_a_mean_of_its_values(name: str) -> None:
    e = range_opinion(*attention(name))
    assert 65000 < e.details.bound < 65504 and not e.details.narrower


def test_a_cast_inside_a_kernel_is_an_event_and_makes_it_narrower_than_the_function() -> None:
    t, outputs, graph = attention("rmsnorm_linear")
    e = range_opinion(t, outputs, graph)
    (inner,) = [c for c in e.details.casts if not c.output]
    assert inner.where.endswith("operand xg") and inner.bound == pytest.approx(255.9, rel=1e-3)
    assert e.details.narrower and e.details.function > 1e15 and "the function in float32" in e.summary
    x = np.float32(255.9 * 1.002)  # in truth too: the operand overflows where float32 does not
    with np.errstate(over="ignore"):
        assert np.isinf((x * x).astype(np.float16)) and np.isfinite(x * x)
    wide = replace(graph, kernels=tuple(replace(k, operands="wide") for k in graph.kernels))  # type: ignore[type-var]
    far = range_opinion(t, outputs, wide)
    assert not [c for c in far.details.casts if not c.output]
    assert far.details.kernel == pytest.approx((3.4028e38 / graph.size("k")) ** (1 / 3), rel=2e-3)  # sum of x * g * w
    assert e.details.kernel < 256


def test_a_temp_that_is_stored_narrow_is_an_event() -> None:
    b = base("search/norm_mlp")
    temps = [x for x in b.mugraph.tensors if x.kind == "temp"]
    e = range_opinion(b.t, b.targets, b.mugraph)
    inside = [c for c in e.details.casts if "the store of tmp" in c.where]
    assert len(inside) == len([x for x in temps if x.dtype == "fp16"]) > 0
    wide = replace(
        b.mugraph, tensors=tuple(replace(x, dtype="fp32") if x.kind == "temp" else x for x in b.mugraph.tensors)
    )
    assert not [c for c in range_opinion(b.t, b.targets, wide).details.casts if "the store of tmp" in c.where]


@pytest.mark.parametrize("name", BUILDERS)
def test_inputs_at_the_bound_overflow_nothing(name: str) -> None:
    """Random signs at the bound's size, in float64: no output passes what the opinion says that it holds."""
    case = CASES[name]
    t, outputs, graph = attention(name)
    bound = range_opinion(t, outputs, graph).details.bound
    rng = np.random.default_rng(7)
    for _ in range(5):
        inputs = [bound * rng.choice([-1.0, 1.0], graph.shape(x)) for x in graph.inputs]
        assert np.abs(case.reference(*inputs)).max() <= 65504
    same = [np.full(graph.shape(x), bound) for x in graph.inputs]
    assert np.abs(case.reference(*same)).max() <= 65504 * (1 + 1e-9)


def test_each_tile_of_each_kernel_is_an_event() -> None:
    graph = CASES["attention_split"].mugraph
    events = events_of(Terms(dict(graph.axes)), graph)
    tiles = {s.out for k in graph.kernels for x in k.block.body  # type: ignore[union-attr]
             for s in (x.body if isinstance(x, Loop) else (x,)) if isinstance(s, Compute)}  # fmt: skip
    assert tiles <= {e.where.split(": ")[1].split("'")[0] for e in events}


def test_a_division_by_what_may_be_zero_has_no_bound() -> None:
    e = range_opinion(*pointwise(op("y", "add", "x x", "m k"), op("i", "inv", "y", "m k"), op("o", "exp", "i", "m k")))
    assert e.details.bound is None and "no bound" in e.summary and "i may pass" in e.details.beyond


def test_sums_of_squares_overflow_by_their_length() -> None:
    body = (op("sq", "mul", "x x", "m k"), op("s", "sum", "sq", "m", dim="k"), op("o", "mul", "x s", "m k"))
    e = range_opinion(*pointwise(*body))
    assert e.details.bound == pytest.approx((65504 / K) ** (1 / 3), rel=1e-3)
    inner = range_opinion(*pointwise(*body, dtype="fp32", inputs="fp32"))
    assert inner.details.bound == pytest.approx((3.4028e38 / K) ** (1 / 3), rel=2e-3)
