"""Emitted modules against float64, in the interpreter: every size has tails, so padding and masks are at work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from emission_cases import EXTRA, original_of, program_of
from workloads import hand
from workloads.hand import Case
from workloads.layouts import shuffled

from mirage.codegen.emit import emit_module, split_parts
from mirage.mugraph.parse import parse

CASES: dict[str, Case] = {**hand.small(), **{n: f() for n, f in EXTRA.items()}}
BOUND = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 1e-5}
SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}


def in_dtype(case: Case, dtype: str) -> Case:
    """The case with its fp16 tensors in another dtype."""
    tensors = tuple(replace(t, dtype=SHORT[dtype] if t.dtype == "fp16" else t.dtype) for t in case.mugraph.tensors)
    return replace(case, mugraph=replace(case.mugraph, tensors=tensors))


def module_of(case: Case, **more) -> str:
    return emit_module(program_of(case.mugraph, **more), case.mugraph, original_of(case), function=case.name, header={})


def rounded(arrays, dtype: str):
    import torch

    return [torch.tensor(a).to(getattr(torch, dtype)).double().numpy() for a in arrays]


def error(answer, want) -> float:
    assert "error" not in answer, answer["error"]
    assert answer["out"][0].shape == want.shape
    return float(np.abs(answer["out"][0] - want).max() / np.abs(want).max())


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("name", CASES)
def test_kernels_give_what_the_function_means(name, dtype, interpret):
    case = in_dtype(CASES[name], dtype)
    arrays = rounded(case.inputs(), dtype)
    answer = interpret(module_of(case), arrays, dtype)
    assert error(answer, case.reference(*arrays)) < BOUND[dtype]
    assert answer["dtype"] == [f"torch.{dtype}"]


@pytest.mark.parametrize("name", CASES)
def test_tiles_may_lie_in_any_order(name, interpret):
    case = CASES[name]
    arrays = rounded(case.inputs(), "float16")
    texts = {module_of(replace(case, mugraph=shuffled(case.mugraph, seed))) for seed in range(4)}
    for text in texts:
        assert error(interpret(text, arrays), case.reference(*arrays)) < BOUND["float16"]


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_reference_is_far_away(name, interpret):
    case = CASES[name]
    arrays = list(case.inputs())
    answer = interpret(module_of(case), arrays)
    arrays[-1] = arrays[-1] + 0.5
    assert error(answer, case.reference(*arrays)) > 4 * BOUND["float16"]


def test_the_same_text_serves_other_sizes_and_tiles(interpret):
    case = hand.rmsnorm_linear()
    other = hand.rmsnorm_linear(m=33, k=50, n=70, tm=32, tk=16, tn=32)
    arrays = other.inputs()
    parts, wanted = split_parts(module_of(case)), split_parts(module_of(other))
    assert parts["kernels"] == wanted["kernels"]
    assert parts["launcher"].partition("torch.empty")[2].partition("_EXPECTED")[0] in wanted["launcher"]
    answer = interpret(module_of(other), arrays)
    assert error(answer, other.reference(*arrays)) < BOUND["float16"]


@pytest.mark.parametrize("parts, t", [(1, 40), (4, 89), (7, 33)])
def test_parts_without_a_tile_add_nothing(parts, t, interpret):
    # 33 keys in tiles of 16 are 3 tiles: four of seven parts have none.
    for build in (hand.attention_split, hand.attention_tail):
        case = build(parts=parts, t=t)
        arrays = case.inputs()
        assert error(interpret(module_of(case), arrays), case.reference(*arrays)) < BOUND["float16"]


def test_scores_that_overflow_without_a_shift_stay_finite(interpret):
    case = hand.attention_split()
    arrays = list(case.inputs())
    arrays[0] = arrays[0] * 200
    answer = interpret(module_of(case), rounded(arrays, "float16"))
    assert np.isfinite(answer["out"][0]).all()
    assert error(answer, case.reference(*rounded(arrays, "float16"))) < BOUND["float16"]


def test_a_one_tuple_stays_a_tuple(interpret):
    case = CASES["row_sums"]
    assert interpret(module_of(case, returns_tuple=True), case.inputs())["tuple"]
    assert not interpret(module_of(case), case.inputs())["tuple"]


def test_a_tile_without_its_mask_is_wrong(interpret):
    case = hand.layernorm_linear()
    text = module_of(case)
    assert "tl.where(in_k" in text
    arrays = [a + 3.0 for a in case.inputs()]
    assert error(interpret(text, arrays), case.reference(*arrays)) < BOUND["float16"]
    broken = text.replace("d = tl.where(in_k[None, :], centred, 0.0)", "d = centred")
    assert broken != text
    assert error(interpret(broken, arrays), case.reference(*arrays)) > BOUND["float16"]


def test_an_access_outside_every_tensor_raises(interpret):
    case = hand.gated_mlp()
    text = module_of(case)
    assert "error" not in interpret(text, case.inputs())
    far = text.replace("W1_ptr + i_k", "W1_ptr + 99999999 + i_k")
    assert "OutOfBounds" in interpret(far, case.inputs())["error"]


def test_a_vector_product_is_reduced_once_after_its_loop():
    text = module_of(CASES["one_row"])
    inside = text[text.index("for tile_k") : text.index("y = tl.sum(")]
    assert "tl.sum" not in inside and "y_wide += " in inside
    wide = CASES["one_row"].mugraph
    block = wide.kernels[0].block
    dims = tuple(replace(d, tile=2048) if d.name == "k" else d for d in block.dims)
    large = replace(wide, kernels=(replace(wide.kernels[0], block=replace(block, dims=dims)),))
    text = module_of(replace(CASES["one_row"], mugraph=large))
    assert "part = tl.sum(" in text  # 16,384 elements are too many registers for four warps


KEPT = """
def _counters(count, device, kept={}):
    if count not in kept:
        kept[count] = torch.zeros(count, dtype=torch.int32, device=device)
    return kept[count]


def _fits("""


def test_the_last_block_sets_its_counter_back(interpret):
    case = hand.attention_tail()
    text = module_of(case).replace("def _fits(", KEPT.lstrip(), 1)
    assert "def _counters(count, device, kept" in text
    run_twice = text.replace("def _run(", "def _once(").replace(
        "_EXPECTED = (", "def _run(*a, **k):\n    _once(*a, **k)\n    return _once(*a, **k)\n\n\n_EXPECTED = (", 1
    )
    assert error(interpret(run_twice, case.inputs()), case.reference(*case.inputs())) < BOUND["float16"]
    stale = run_twice.replace("tl.store(counters_ptr + group, 0)", "pass")
    assert stale != run_twice
    left = interpret(stale, case.inputs())
    assert not error(left, case.reference(*case.inputs())) < BOUND["float16"]


SHARED = """\
mugraph shared
axes k=75 m=19 n=37
input X fp16 [m, k]
input W fp16 [k, n]
output O fp16 [m, n]
kernel main warps 4 stages 3:
  block cluster 1:
    dim m (m) grid tile 16
    dim n (n) grid tile 16
    dim k (k) loop tile 32
    for k:
      x[m, k] = load X[m, k]
      w[k, n] = load W[k, n]
      y[m, n] = dot(x, w; dim=k)
      acc[m, n] += y
      s[m] = sum(x; dim=k)
      total[m] += s
    out[m, n] = mul(acc, total)
    store O[m, n] = out
"""


@pytest.mark.parametrize("shared", [True, False])
def test_a_product_whose_operand_is_read_otherwise_is_waited_for(shared, interpret):
    """Triton 3.6 begins to load the tile after the next over an operand that a warp group's product still reads."""
    text = (
        SHARED
        if shared
        else SHARED.replace("sum(x; dim=k)", "sum(x_2; dim=k)").replace(
            "      y[m", "      x_2[m, k] = load X[m, k]\n      y[m"
        )
    )
    case = Case(
        "shared",
        parse(text),
        lambda x, w: (x @ w) * x.sum(1, keepdims=True),
        "def shared(X, W):\n    return (X @ W) * X.sum(1)[:, None]\n",
    )
    module = module_of(case)
    assert ("+ 0.0" in module) == shared
    arrays = [a / 8 for a in rounded(case.inputs(), "float16")]
    assert error(interpret(module, arrays), case.reference(*arrays)) < BOUND["float16"]
