"""Bounds on rounding errors: never exceeded by the text that the µGraph describes, and by texts that round elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from workloads.hand import small
from workloads.hand_modules import emitted, program_of
from workloads.traced import trace

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.ir.program import Program
from mirage.mugraph.grammar import MuGraph
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.load_function import load
from mirage.program.lower import lower
from mirage.results.details import RegimeBound, RoundingDetails
from mirage.results.verdict import Evidence
from mirage.search.engine import Bounds as Limits
from mirage.search.engine import Problem, Search
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.floats.opinion import Record, RegimeRun, float_opinion
from mirage.verify.floats.regimes import REGIMES, round_to
from mirage.verify.rounding.bounds import ErrorBounds, contract, final, join, rounded, split
from mirage.verify.rounding.mugraph_bound import NotBounded, mugraph_bound
from mirage.verify.rounding.opinion import TIMES_WRITTEN, far_beyond, rounding_opinion
from mirage.verify.rounding.written_bound import written_bound
from mirage.verify.semantics.execute import evaluate_mugraph
from mirage.verify.semantics.float64 import Floats

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
NAMES = sorted(small())


RunTask = Callable[[str, dict[str, object]], dict[str, Any]]


def judged(e: EmittedModule, program: Program, run: RunTask) -> tuple[Evidence, Evidence]:
    """What the float opinion says, and the rounding opinion of what it ran."""
    record = Record()
    floats = float_opinion(e, run, record=record, regimes=REGIMES[:4])
    return floats, rounding_opinion(record, [x.tensor for x in e.targets], program, free_shift=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_emitted_text_keeps_its_bound(name: str, run: RunTask) -> None:
    case = small()[name]
    floats, found = judged(emitted(case), program_of(case.mugraph), run)
    assert floats.word == "TESTED" and found.word == "TESTED", (floats.summary, found.summary)
    assert isinstance(found.details, RoundingDetails) and not found.details.unbounded
    rows = found.details.regimes
    assert rows and all(r.reached <= 1 for r in rows) and any(r.bound is not None for r in rows)
    assert "error <= " in found.summary and "measured" in found.summary


SUM, TILE = "row_sum * rescale + row_sum_tile", "tl.sum(weights_masked"
HIDDEN = {
    "accumulator": (f"row_sum = {SUM}\n", f"row_sum = ({SUM}).to(tl.float16).to(tl.float32)\n"),
    "partial sums": (f"{TILE}, axis=1)", f"{TILE}.to(tl.float16), axis=1).to(tl.float32)"),
    "value": ("weights_2 = tl.exp(shifted_2)", "weights_2 = tl.exp(shifted_2).to(tl.float16).to(tl.float32)"),
    "coarser value": ("weights_2 = tl.exp(shifted_2)", "weights_2 = tl.exp(shifted_2).to(tl.bfloat16).to(tl.float32)"),
    "operand": (" = x - row_max_finite[:, None]", " = (x - row_max_finite[:, None]).to(tl.bfloat16).to(tl.float32)"),
}
SOFTMAX = HEAD + "def f(x):\n    return torch.softmax(x, -1)\n"


@cache
def softmax() -> tuple[Program, EmittedModule]:
    program = trace(SOFTMAX, "f", [("x", (4, 96), "fp16")])
    posed, graph = searched(program)
    module = emit_module(program, graph, SOFTMAX, function="f", header={})
    return program, EmittedModule(posed.t, posed.outputs, graph, module, ["x"], SOFTMAX, "f")


@pytest.mark.parametrize("name", HIDDEN)
def test_a_text_that_rounds_where_its_mugraph_does_not_is_refused(name: str, run: RunTask) -> None:
    """The float opinion accepts each of them: what it allows is a multiple of the error of the dtype."""
    program, e = softmax()
    old, new = HIDDEN[name]
    assert e.module.count(old) == 1
    floats, found = judged(replace(e, module=e.module.replace(old, new)), program, run)
    assert floats.word == "TESTED", floats.summary
    assert found.word == "REJECTED" and "off by" in found.summary and found.counterexample is not None
    assert judged(e, program, run)[1].word == "TESTED"


def searched(program: Program) -> tuple[Problem, MuGraph]:
    posed = problem(program, lower(program))
    search = Search(posed, lambda g: estimate(g, DEVICES["sm_90"]), bounds=Limits(keep=2, tilings=2))
    list(search.run())
    return posed, search.best[0].mugraph


MOMENTS = "def f(x):\n    return (x * x).mean(-1) - x.mean(-1) * x.mean(-1)\n"
CENTRED = "def f(x):\n    return (x - x.mean(-1, keepdim=True)).square().mean(-1)\n"


def found_for(text: str, inputs: Mapping[str, np.ndarray], dtype: str) -> tuple[Program, RegimeRun, Record, str]:
    """A kernel that the search has for a function, as if it had been run on the inputs in exact arithmetic."""
    program = trace(HEAD + text, "f", [(n, x.shape, dtype) for n, x in inputs.items()])
    posed, graph = searched(program)
    (name,) = (x.tensor for x in posed.outputs)
    exact = evaluate_mugraph(graph, {n: x[None] for n, x in inputs.items()}, Floats()).outputs[name][0]
    given = {n: (dtype, x) for n, x in inputs.items()}
    run = RegimeRun(REGIMES[0], given, (exact,), (exact,))
    return program, run, Record(graph, graph, [run]), name


def test_the_variance_by_moments_is_refused_for_the_centred_one_and_the_centred_one_is_not() -> None:
    x = round_to(1000 + np.random.default_rng(1).standard_normal((3, 64)), "fp32")
    centred, _, own, name = found_for(CENTRED, {"x": x}, "fp32")
    assert rounding_opinion(own, [name], centred, False).word == "TESTED"
    _, _, other, name = found_for(MOMENTS, {"x": x}, "fp32")
    refused = rounding_opinion(other, [name], centred, False)
    assert refused.word == "REJECTED" and "as written" in refused.summary


def test_a_result_that_is_one_number_has_a_bound() -> None:
    x = round_to(np.random.default_rng(2).standard_normal((4, 64)), "fp32")
    program, _, record, name = found_for("def f(x):\n    return x.mean()\n", {"x": x}, "fp32")
    found = rounding_opinion(record, [name], program, False)
    assert found.word == "TESTED", found.summary
    far = replace(record.runs[0], got=tuple(g + 1.0 for g in record.runs[0].got))
    assert rounding_opinion(replace(record, runs=[far]), [name], program, False).word == "REJECTED"


def test_no_ratio_is_asked_where_the_function_has_no_sure_digit() -> None:
    row = RegimeBound("normal", 0, 1.0, 1.0, bound=0.5, written=1e-4)
    assert far_beyond(row) and far_beyond(replace(row, bound=None))
    assert not far_beyond(replace(row, written=0.5 / TIMES_WRITTEN)) and not far_beyond(
        replace(row, written=0.2, bound=9.0)
    )
    assert not far_beyond(replace(row, written=None))


FUNCTIONS = {
    "softmax": "def f(x, w):\n    return torch.softmax(x @ w, -1)\n",
    "norm": "def f(x, w):\n    return F.layer_norm(x, (24,)) @ w\n",
    "gelu": "def f(x, w):\n    return F.gelu(x) @ w + (x * x).sum(-1, keepdim=True)\n",
    "moves": "def f(x, w):\n    return torch.cat([x.abs().amax(-1, keepdim=True), (x @ w).clamp(-1, 2)], -1)\n",
}


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_function_as_written_keeps_its_bound(name: str, dtype: str) -> None:
    kinds = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    text = HEAD + FUNCTIONS[name]
    program = trace(text, "f", [("x", (7, 24), dtype), ("w", (24, 5), dtype)])
    rng = np.random.default_rng(4)
    for _ in range(20):
        xs = [round_to(rng.standard_normal(s), dtype) for s in ((7, 24), (24, 5))]
        (found,) = written_bound(program, xs)
        value, bound = final(found)
        with torch.no_grad():
            user = load(text, "f")
            eager = user(*(torch.from_numpy(x).to(kinds[dtype]) for x in xs)).double().numpy()
            double = user(*(torch.from_numpy(x) for x in xs)).numpy()
        assert np.allclose(value, double, rtol=1e-9, atol=1e-12)
        assert (np.abs(eager - double) <= bound).all()
        assert (bound <= 1000 * max(np.abs(eager - double).max(), 1e-12)).any()


def test_a_program_that_names_sizes_has_no_bound_at_others() -> None:
    program = trace(HEAD + "def f(x):\n    return x.reshape(4, 3, 2).sum(0)\n", "f", [("x", (24,), "fp32")])
    assert len(written_bound(program, [np.ones(24)])) == 1
    with pytest.raises(NotBounded):
        written_bound(program, [np.ones(20)])


def test_an_unknown_operator_has_no_bound() -> None:
    case = small()["rmsnorm_linear"]
    with pytest.raises(NotBounded):
        mugraph_bound(case.mugraph, case.mugraph, {"X": np.ones((1, 1))})


def test_sums_keep_their_bound_in_any_order_and_no_smaller_one() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((50, 200)).astype(np.float32)
    value, bound = final(ErrorBounds().sum(x.astype(float)[None], 2))
    forwards = np.add.accumulate(x, axis=1, dtype=np.float32)[:, -1]
    off = np.abs(forwards.astype(float) - value)
    assert (off <= bound).all() and (off > 1e-4 * bound).any()
    grown = np.full((1, 1, 4097), 1.0)
    grown[0, 0, 0] = 2.0**24  # each one is lost
    value, bound = final(ErrorBounds().sum(grown, 2))
    assert value - np.add.accumulate(grown[0], axis=1, dtype=np.float32)[:, -1] == 4096 and bound >= 4096


def test_a_product_of_exact_operands_is_off_by_its_accumulation_alone() -> None:
    rng = np.random.default_rng(6)
    x, y = (round_to(rng.standard_normal(s), "fp16") for s in ((8, 64), (64, 8)))
    zeros = [join(v, np.zeros(v.shape)) for v in (x, y)]
    plain = split(contract("mk,kn->mn", *zeros, True))[1]
    narrowed = split(contract("mk,kn->mn", rounded(join(x, 1e-7 * np.abs(x)), "fp16"), zeros[1], True))[1]
    assert (plain > 0).all() and (narrowed > 3 * plain).all()
    got = (x.astype(np.float32) @ y.astype(np.float32)).astype(float)
    assert (np.abs(got - x @ y) <= plain).all()
