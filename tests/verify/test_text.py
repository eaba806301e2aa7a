"""The text link: emitted modules run in the fields and in floats, in a worker; each with one thing broken is rejected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from workloads.hand import BUILDERS, Case, at, dim, load, op, plus, small, tensor
from workloads.hand_targets import read, targets

from mirage.codegen.emit import emit_module
from mirage.ir.index import DimIndex
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import BlockGraph, CustomKernel, LibraryKernel, Loop, MuGraph, Store
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.text_opinion import text_opinion
from mirage.verify.floats.error_limits import Compared, judge
from mirage.verify.floats.launch_sizes import launch_sizes
from mirage.verify.floats.opinion import float_opinion
from mirage.verify.floats.regimes import REGIMES, round_to
from mirage.verify.output_terms import Output

CASES = small()
Run = Callable[[str, dict[str, Any]], dict[str, Any]]


def program_of(graph: MuGraph) -> Program:
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    return Program(graph.name, inputs, (), tuple(range(len(graph.outputs))))


def text_of(case: Case) -> str:
    return "\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")


def module_of(case: Case) -> str:
    return emit_module(program_of(case.mugraph), case.mugraph, text_of(case), function=case.name, header={})


def field(case: Case, module: str, run: Run, **more: Any) -> Any:
    t, outputs = targets(case.mugraph)
    names = [i.name for i in case.mugraph.inputs]
    return text_opinion(EmittedModule(t, outputs, case.mugraph, module, names), run, draws=16, **more)


def floats(case: Case, module: str, run: Run, text: str | None = None) -> Any:
    t, outputs = targets(case.mugraph)
    names = [i.name for i in case.mugraph.inputs]
    return float_opinion(EmittedModule(t, outputs, case.mugraph, module, names, text or text_of(case), case.name), run)


@pytest.mark.parametrize("name", BUILDERS)
def test_emitted_modules_are_accepted(name: str, run: Run) -> None:
    case = CASES[name]
    e = field(case, module_of(case), run)
    assert e.word == "TESTED", (e.summary, e.counterexample, e.details)
    assert e.bound is not None and e.bound < 1e-4
    e = floats(case, module_of(case), run)
    assert e.word == "TESTED", (e.summary, e.counterexample, e.details)
    assert {r.regime for r in e.details.regimes} == {
        r.name for r in REGIMES if r.flags is None and not (r.eight_bit or r.whole)
    }


ATTENTION, NORM, LAYER, MLP, CLUSTER, TAIL = (
    "attention_split",
    "rmsnorm_linear",
    "layernorm_linear",
    "gated_mlp",
    "cluster_linear",
    "attention_tail",
)
RELU = "tl.maximum(biased, 0.0, propagate_nan=tl.PropagateNan.ALL)"
MUTANTS: list[tuple[str, str, str, str]] = [
    (ATTENTION, "o is not rescaled", "o * rescale[:, None]", "o"),
    (ATTENTION, "l is not rescaled", "l = l * rescale + l_part", "l = l + l_part"),
    (ATTENTION, "no factor where splits combine", "fo = f[:, :, None] * os", "fo = os"),
    (ATTENTION, "padded keys count", "p = tl.where(in_t[None, :], ez, 0.0)", "p = ez"),
    (ATTENTION, "another scale", "qk * (0.25 *", "qk * (0.26 *"),
    (ATTENTION, "no scale", "qk * (0.25 * 1.4426950408889634)", "qk * 1.4426950408889634"),
    (ATTENTION, "scores without log2(e)", "(0.25 * 1.4426950408889634)", "0.25"),
    (ATTENTION, "a maximum in units of log2(e) is stored", "m * 0.6931471805599453, mask", "m, mask"),
    (ATTENTION, "the last tile is dropped", "min(first_t + share_t, tiles_t)", "min(first_t + share_t, tiles_t - 1)"),
    (ATTENTION, "shares overlap", "first_t = pid_s * share_t", "first_t = pid_s * (share_t - 1)"),
    (ATTENTION, "a store without a mask", "599453, mask=in_q", "599453, mask=(i_q >= 0)"),
    (ATTENTION, "heads are confused", "Q_ptr + pid_h * (Q * D)", "Q_ptr + pid_h * (Q * E)"),
    (ATTENTION, "base e", "ez = tl.exp2(z)", "ez = tl.exp(z)"),
    (ATTENTION, "base e of the factor", "decay = tl.exp2(drop)", "decay = tl.exp(drop)"),
    (TAIL, "base 2", "ez_2 = tl.exp(z_2)", "ez_2 = tl.exp2(z_2)"),
    (ATTENTION, "min for max", "m = tl.maximum(m, m_part)", "m = tl.minimum(m, m_part)"),
    (TAIL, "not the last block", "== PARTS_S - 1", "== PARTS_S - 2"),
    (NORM, "a mean over 4096", "/ K", "/ 4096"),
    (NORM, "another epsilon", "1e-06", "1e-05"),
    (NORM, "sqrt for rsqrt", "tl.rsqrt", "tl.sqrt"),
    (NORM, "every second tile", "range((K + BLOCK_K - 1) // BLOCK_K)", "range(0, (K + BLOCK_K - 1) // BLOCK_K, 2)"),
    (LAYER, "the padding is not masked", "tl.where(in_k[None, :], centred, 0.0)", "centred"),
    (MLP, "tanh for sigmoid", "tl.sigmoid(a)", "(2.0 * tl.sigmoid(2.0 * a) - 1.0)"),
    (MLP, "silu times exp", "tl.sigmoid(a)", "tl.sigmoid(a) * tl.exp(a)"),
    (CLUSTER, "no relu", RELU, "biased"),
    (CLUSTER, "another threshold", "tl.maximum(biased, 0.0", "tl.maximum(biased, 1.0"),
]


def mutated(module: str, old: str, new: str) -> str:
    head, mark, rest = module.partition("# mirage:begin kernels")
    kernels, end, tail = rest.partition("# mirage:end kernels")
    assert old in kernels, f"{old!r} is not in the kernels:\n{kernels}"
    return head + mark + kernels.replace(old, new) + end + tail


@pytest.mark.parametrize("name,what,old,new", MUTANTS, ids=[f"{m[0]}: {m[1]}" for m in MUTANTS])
def test_broken_modules_are_rejected(name: str, what: str, old: str, new: str, run: Run) -> None:
    case = CASES[name]
    e = field(case, mutated(module_of(case), old, new), run)
    assert e.word == "REJECTED", what


EQUIVALENT: list[tuple[str, str, str, str]] = [
    (ATTENTION, "exp2 by exp", "ez = tl.exp2(z)", "ez = tl.exp(z * 0.6931471805599453)"),
    (ATTENTION, "the factor by exp", "decay = tl.exp2(drop)", "decay = tl.exp(0.6931471805599453 * drop)"),
    (TAIL, "exp by exp2", "ez_2 = tl.exp(z_2)", "ez_2 = tl.exp2(z_2 * 1.4426950408889634)"),
    (NORM, "1 / sqrt", "tl.rsqrt(", "1.0 / tl.sqrt("),
    (MLP, "sigmoid written out", "tl.sigmoid(a)", "(1.0 / (1.0 + tl.exp(-a)))"),
    (CLUSTER, "where for maximum", RELU, "tl.where(biased > 0.0, biased, 0.0)"),
]


@pytest.mark.parametrize("name,what,old,new", EQUIVALENT, ids=[f"{m[0]}: {m[1]}" for m in EQUIVALENT])
def test_other_spellings_are_accepted(name: str, what: str, old: str, new: str, run: Run) -> None:
    case = CASES[name]
    e = field(case, mutated(module_of(case), old, new), run)
    assert e.word == "TESTED", (what, e.summary, e.counterexample)


@pytest.mark.parametrize("axis", ["M", "N"])
def test_launches_in_which_other_axes_are_longer_are_looked_at_too(axis: str, run: Run) -> None:
    """A loop over another axis' tiles does no harm while that axis is the longer one."""
    case = CASES[NORM]
    good = module_of(case)
    assert field(case, good, run).details.other_order is not None
    wrong = mutated(good, "range((K + BLOCK_K - 1) // BLOCK_K)", f"range(({axis} + BLOCK_K - 1) // BLOCK_K)")
    assert field(case, wrong, run).word == "REJECTED"


WHOLE = [
    (
        MLP,
        "blocks are counted wrongly where the tile divides",
        "(N + BLOCK_N - 1) // BLOCK_N",
        "(N + BLOCK_N) // BLOCK_N",
    ),
    (
        MLP,
        "a tile beyond the last, where no mask is left",
        "range((K + BLOCK_K - 1) // BLOCK_K)",
        "range((K + BLOCK_K) // BLOCK_K)",
    ),
    (MLP, "no mask where one element is left over", "(K % BLOCK_K == 0)", "(K % BLOCK_K <= 1)"),
]


@pytest.mark.parametrize("name,what,old,new", WHOLE, ids=[f"{m[0]}: {m[1]}" for m in WHOLE])
def test_launches_without_tails_are_looked_at_too(name: str, what: str, old: str, new: str, run: Run) -> None:
    """A published shape is often a multiple of its tiles: there masks are true and nothing is left over."""
    from workloads.hand import real

    case = real(name)
    good = module_of(case)
    e = field(case, good, run)
    assert e.word == "TESTED" and e.details.whole_tiles != e.details.sizes, e.summary
    assert field(case, mutated(good, old, new), run).word == "REJECTED", what


@pytest.mark.parametrize(
    "name,old,new", [(NORM, '"k": ', '"k": 1'), (TAIL, '"t": ', '"t": 1'), (TAIL, '"s": 4', '"s": 8')]
)
def test_the_numbers_of_the_default_launch_are_those_of_the_mugraph(name: str, old: str, new: str, run: Run) -> None:
    case = CASES[name]
    module = module_of(case)
    head, mark, rest = module.partition("SIZES = {")
    assert old in rest
    e = field(case, head + mark + rest.replace(old, new, 1), run)
    assert e.word == "REJECTED" and "not those of its µGraph" in e.summary, e.summary


LAUNCHER_MUTANTS: list[tuple[str, str, str, str]] = [
    (NORM, "arguments of the run are exchanged", "return _run(X, G, W", "return _run(W, G, X"),
    (MLP, "arguments of one shape are exchanged", "return _run(X, W1, W2", "return _run(X, W2, W1"),
    (MLP, "an argument twice", "return _run(X, W1, W2", "return _run(X, W1, W1"),
    (NORM, "no guard", "if _fits(X, G, W):", "if True:"),
    (NORM, "the guard never lets pass", "if _fits(X, G, W):", "if not _fits(X, G, W):"),
    (NORM, "the guard forgets a tensor", "if _fits(X, G, W):", "if _fits(X, G):"),
    (NORM, "the guard forgets dtypes", "tuple(given) == _EXPECTED", "[s for s, _ in given] == [s for s, _ in _EXPECTED]"),
    (NORM, "the guard forgets shapes", "tuple(given) == _EXPECTED", "[d for _, d in given] == [d for _, d in _EXPECTED]"),
    (NORM, "the guard asks for no device", "here = t.is_cpu", "here = True"),
    (NORM, "the guard forgets strides", "not t.is_contiguous() or ", ""),
    (NORM, "the guard forgets gradients", " or (grad and t.requires_grad)", ""),
    (NORM, "the guard forgets devices", " or t.device != device", ""),
    (NORM, "made for another shape", "((75,), torch.float16)", "((76,), torch.float16)"),
    (NORM, "made for another dtype", "((75,), torch.float16)", "((75,), torch.float32)"),
    (NORM, "the original gets them in another order", "_original_rmsnorm_linear(X, G, W)", "_original_rmsnorm_linear(W, G, X)"),
    (NORM, "another signature", "def rmsnorm_linear(X, G, W)", "def rmsnorm_linear(X, W, G)"),
]  # fmt: skip


@pytest.mark.parametrize("name,what,old,new", LAUNCHER_MUTANTS, ids=[f"{m[0]}: {m[1]}" for m in LAUNCHER_MUTANTS])
def test_broken_launchers_are_rejected(name: str, what: str, old: str, new: str, run: Run) -> None:
    case = CASES[name]
    head, mark, body = module_of(case).partition("# mirage:begin launcher")
    launcher, end, tail = body.partition("# mirage:end launcher")
    assert launcher.count(old) == 1, launcher
    e = field(case, head + mark + launcher.replace(old, new) + end + tail, run)
    assert e.word == "REJECTED", what


def test_outputs_in_another_order_are_rejected(run: Run) -> None:
    """The two factors of the gated product stored too, in the graph's order."""
    case = CASES[MLP]
    (kernel,) = case.mugraph.kernels
    assert isinstance(kernel, CustomKernel)
    stores = tuple(Store(n.upper(), n, (DimIndex(("m",)), DimIndex(("n",)))) for n in ("a", "b"))
    block = replace(kernel.block, body=(*(s for s in kernel.block.body if not isinstance(s, Store)), *stores))
    (old,) = case.mugraph.outputs
    inputs = tuple(t for t in case.mugraph.tensors if t.kind == "input")
    tensors = (*inputs, replace(old, name="A"), replace(old, name="B"))
    graph = replace(case.mugraph, tensors=tensors, kernels=(replace(kernel, block=block),))
    t = Terms(dict(graph.axes))
    factor = {n: t.sum("k", t.mul(read(t, "X", "mk"), read(t, w, "kn"))) for n, w in (("A", "W1"), ("B", "W2"))}
    outputs = [Output(n, x, (("m",), ("n",))) for n, x in factor.items()]
    good = emit_module(program_of(graph), graph, text_of(case), function=case.name, header={})

    def word(module: str) -> str:
        return str(text_opinion(EmittedModule(t, outputs, graph, module, ["X", "W1", "W2"]), run, draws=8).word)

    assert good.count("return A, B") == 1
    assert word(good) == "TESTED"
    assert word(good.replace("return A, B", "return B, A")) == "REJECTED"
    assert word(good.replace("return A, B", "return A")) == "REJECTED"
    assert word(good.replace("return A, B", "return A, A")) == "REJECTED"


def test_faults_say_what_happened(run: Run) -> None:
    case = CASES[MLP]
    module = module_of(case)
    outside = mutated(module, "mask=in_m[:, None] & in_n[None, :]", "mask=(i_m[:, None] >= 0) & (i_n[None, :] >= 0)")
    assert "outside" in field(case, outside, run).summary
    assert "outside" in floats(case, outside, run).summary.lower()
    branch = mutated(
        module, "gate = tl.sigmoid(a)", "gate = a\n    if tl.sum(tl.sum(a, axis=0), axis=0) > 0.0:\n        gate = -a"
    )
    assert "control flow" in field(case, branch, run).summary


def test_a_kernel_that_does_not_write_is_rejected_in_both(run: Run) -> None:
    case = CASES[MLP]
    module = module_of(case)
    head, tail = module.rsplit("mask=in_m[:, None] & in_n[None, :]", 1)
    silent = head + "mask=in_m[:, None] & (i_n[None, :] < 1)" + tail
    assert field(case, silent, run).word == "REJECTED"
    assert floats(case, silent, run).word == "REJECTED"


FLOAT_MUTANTS = [
    (
        ATTENTION,
        "a shift that is never below zero",
        "m = tl.maximum(m, m_part)",
        "m = tl.maximum(tl.maximum(m, m_part), 0.0)",
    ),
    (
        ATTENTION,
        "no shift",
        'shift = tl.where(m == float("-inf"), 0.0, m)',
        'shift = tl.where(m == float("-inf"), 0.0, 0.0 * m)',
    ),
    (NORM, "half precision sums", "ss_wide += x2", "ss_wide = (ss_wide + x2).to(tl.float16).to(tl.float32)"),
    (
        MLP,
        "rounded to 8 bits",
        "gate = tl.sigmoid(a)",
        "gate = (tl.sigmoid(a) * 256).to(tl.int32).to(tl.float32) / 256",
    ),
]


@pytest.mark.parametrize("name,what,old,new", FLOAT_MUTANTS, ids=[f"{m[0]}: {m[1]}" for m in FLOAT_MUTANTS])
def test_what_only_floats_see_is_rejected(name: str, what: str, old: str, new: str, run: Run) -> None:
    case = CASES[name]
    assert floats(case, mutated(module_of(case), old, new), run).word == "REJECTED", what


def test_powers_for_a_variance_fall_at_a_large_mean() -> None:
    """E[x^2] - E[x]^2 in float32, judged as the float opinion judges a kernel."""
    rng = np.random.default_rng(0)
    regime = next(r for r in REGIMES if "mean" in r.name)
    x = round_to(regime.draw(rng, (16, 512), "fp16", 512), "fp16")
    want = x.var(-1)
    f = x.astype(np.float32)
    centred = np.square(f - f.mean(-1, keepdims=True)).mean(-1)
    powers = np.square(f).mean(-1, dtype=np.float32) - np.square(f.mean(-1, dtype=np.float32))
    assert judge(Compared(centred.astype(float), want, None, want, "fp32"), 512, False)[1] is None
    assert judge(Compared(powers.astype(float), want, None, want, "fp32"), 512, False)[1] is not None


def test_judging() -> None:
    want = np.array([1.0, -2.0, 70000.0, np.nan])
    good = np.array([1.0, -2.0, np.inf, np.nan])
    assert judge(Compared(good, want, None, want, "fp16"), 16, False)[1] is None
    assert judge(Compared(np.array([1.0, -2.1, np.inf, np.nan]), want, None, want, "fp16"), 16, False)[1] == (1,)
    assert judge(Compared(np.array([np.nan, -2.0, np.inf, np.nan]), want, None, want, "fp16"), 16, False)[1] == (0,)
    assert judge(Compared(np.array([1.0, -2.0, np.inf, 0.0]), want, None, want, "fp16"), 16, False)[1] == (3,)
    assert judge(Compared(np.array([1.0, -2.0, np.inf, 0.0]), want, None, want, "fp16"), 16, True)[1] is None
    # the function's own error is the measure
    eager = np.array([1.1, -2.0, np.inf, np.nan])
    assert judge(Compared(np.array([1.15, -2.0, np.inf, np.nan]), want, eager, want, "fp16"), 16, False)[1] is None


@pytest.mark.parametrize("name", BUILDERS)
def test_small_launches_have_the_real_tiles(name: str) -> None:
    from workloads.hand import real

    graph = real(name).mugraph
    sizes = launch_sizes(graph)
    for k in graph.kernels:
        for d in k.block.dims:  # type: ignore[union-attr]
            n = int(np.prod([sizes[a] for a in d.axes])) if d.role != "split" else 1
            if d.role in ("grid", "loop") and d.tile > 1:
                whole = int(np.prod([graph.size(a) for a in d.axes]))
                assert n == whole or (n > 2 * d.tile and n % d.tile), (d, n)


def test_axes_of_one_dimension_have_one_size_in_a_small_launch() -> None:
    """Rows of queries and rows of keys are rows of the same tensor."""
    block = BlockGraph(
        (dim("m", 16, "grid"), dim("n", 64, "loop")),
        (
            Loop("n", (
                load("x", "X", "m"), load("y", "X", "n"), op("xy", "mul", "x y", "m n"),
                op("p", "sum", "xy", "m", dim="n"), plus("s", "p", "m"),
            )),
            Store("O", "s", at("m")),
        ),
    )  # fmt: skip
    graph = MuGraph("both", (("m", 512), ("n", 512)), (tensor("X", "m"), tensor("O", "m", "output")),
                    (CustomKernel("fused", block),))  # fmt: skip
    assert launch_sizes(graph) == {"m": 149, "n": 149}


def test_a_small_launch_cuts_dims_that_library_kernels_alone_have() -> None:
    """A weight of whose columns no kernel of ours reads anything: at its real size a run would hold the whole of it."""
    block = BlockGraph(
        (dim("m", 8, "grid"), dim("k", 4096, "resident")),
        (load("x", "X", "m k"), op("y", "mul", "x x", "m k"), Store("Y", "y", at("m", "k"))),
    )
    tensors = (tensor("X", "m k"), tensor("W", "k n"), tensor("Y", "m k", "temp"), tensor("O", "m n", "output"))
    product = LibraryKernel("product", "matmul", ("Y", "W"), "O")
    graph = MuGraph(
        "weighed", (("m", 2048), ("k", 4096), ("n", 4096)), tensors, (CustomKernel("square", block), product)
    )
    sizes = launch_sizes(graph)
    assert sizes["k"] == 4096 and sizes["n"] == 7 and sizes["m"] < 64


def test_the_public_function_is_what_runs_in_floats(run: Run) -> None:
    """Its guard is tried, and what it hands on is what the kernels get."""
    case = CASES[NORM]
    module = module_of(case)
    assert floats(case, module, run).word == "TESTED"
    for old, new, why in (
        ("if _fits(X, G, W):", "if True:", "the guard takes"),
        ("if _fits(X, G, W):", "if not _fits(X, G, W):", "turns the tensors down"),
        (
            "return _original_rmsnorm_linear(X, G, W)",
            "return _original_rmsnorm_linear(W, G, X)",
            "the original gets another",
        ),
    ):
        assert old in module
        e = floats(case, module.replace(old, new), run)
        assert e.word == "REJECTED" and why in e.summary, e.summary


def test_bfloat16_kernels_are_judged_by_bfloat16(run: Run) -> None:
    case = CASES[CLUSTER]
    tensors = tuple(replace(t, dtype="bf16") for t in case.mugraph.tensors)
    case = replace(case, mugraph=replace(case.mugraph, tensors=tensors))
    module = module_of(case)
    e = floats(case, module, run)
    assert e.word == "TESTED", (e.summary, e.details)
    assert floats(case, mutated(module, "tl.maximum(biased, 0.0", "tl.maximum(biased, 1.0"), run).word == "REJECTED"
