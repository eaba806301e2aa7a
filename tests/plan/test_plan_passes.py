"""Plans keep µGraphs valid and their values; each pass does what it says, and can be switched off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from workloads.evaluate import evaluate
from workloads.hand import BUILDERS, real, small

from mirage.devices.table import device
from mirage.mugraph.capacity import usage
from mirage.mugraph.check import Limits, broken_rule, check
from mirage.mugraph.grammar import CustomKernel, Load, MuGraph, ThreadGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.mugraph.walk import each_block, parts, sites
from mirage.plan import PASSES, memory, plan
from mirage.plan.copied_tiles import other_loads
from mirage.plan.memory_plan import memory_plan

NAMES = sorted(BUILDERS)


def _threads(m: MuGraph) -> list[ThreadGraph]:
    return [s.statement for p in parts(m) for s in sites(p) if isinstance(s.statement, ThreadGraph)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("without", [(), *((p,) for p in PASSES)])
def test_plans_are_valid_and_keep_the_value(name: str, without: tuple[str, ...]) -> None:
    case = small()[name]
    planned = plan(case.mugraph, without=without)
    check(planned)
    inputs = case.inputs(seed=7)
    np.testing.assert_allclose(evaluate(planned, *inputs), case.reference(*inputs), rtol=1e-9, atol=1e-12)
    check(plan(real(name).mugraph, without=without))


@pytest.mark.parametrize("name", NAMES)
def test_planning_twice_changes_nothing(name: str) -> None:
    once = plan(real(name).mugraph)
    assert plan(once) == once


def test_switching_everything_off_changes_nothing() -> None:
    m = real("attention_split").mugraph
    assert plan(m, without=set(PASSES)) == m
    with pytest.raises(KeyError, match="no such pass: fusion"):
        plan(m, without={"fusion"})


def test_thread_fusion_joins_chains_that_are_read_once() -> None:
    fused = plan(real("attention_split").mugraph)
    bodies = {t.out: [c.out for c in t.body] for t in _threads(fused)}
    assert bodies["p"] == ["shift", "z", "ez", "p"]
    assert bodies["rescale"] == ["same", "drop", "decay", "rescale"]
    assert not _threads(plan(real("attention_split").mugraph, without={"thread_fusion"}))


def test_thread_fusion_leaves_what_is_read_twice_or_elsewhere() -> None:
    m = plan(real("attention_split").mugraph)
    names = {s.statement.out for p in parts(m) for s in sites(p) if hasattr(s.statement, "out")}
    assert "score" in names  # read by the maximum and by the exponent
    assert "scale" in names  # defined before the loop, read in it


MOVED = """mugraph moved
axes m=5 k=9
input X fp16 [m, k]
output O fp16 [m]
kernel one warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 2
    dim k (k) loop tile 4
    one[] = const(value=1)
    for k:
      x[m, k] = load X[m, k]
      part[m] = sum(x; dim=k)
      early[m] = mul(s@old, one)
      s[m] += part
      late[m] = mul(early, early)
      n[m] += part carrying one*@self
    store O[m] = n
"""


def test_thread_fusion_does_not_move_a_read_across_its_accumulator() -> None:
    m = parse(MOVED.replace("n[m] += part", "both[m] = mul(late, part)\n      n[m] += both"))
    check(m)
    chains = [[c.out for c in t.body] for t in _threads(plan(m, without={"operator_order"}))]
    assert chains == [["late", "both"]]
    x = np.random.default_rng(2).standard_normal((5, 9))
    np.testing.assert_allclose(evaluate(plan(m), x), evaluate(m, x), rtol=1e-12)


WASTEFUL = """mugraph wasteful
axes m=64 k=100 n=64
input X fp16 [m, k]
input Y fp16 [m, k]
input Z fp16 [m, k]
output O fp16 [m]
kernel one warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 16
    dim k (k) resident tile 128
    x[m, k] = load X[m, k]
    y[m, k] = load Y[m, k]
    z[m, k] = load Z[m, k]
    a[m] = sum(x; dim=k)
    b[m] = sum(y; dim=k)
    c[m] = sum(z; dim=k)
    o[m] = add(a, b, c)
    store O[m] = o
"""


def test_operator_order_shortens_live_ranges() -> None:
    m = parse(WASTEFUL)
    before, after = usage(m, next(parts(m))), usage(m, next(parts(plan(m))))
    assert before.live == 3 * 16 * 128 * 2 + 16 * 4
    assert after.live < before.live / 2
    kept = plan(m, without={"operator_order"})
    assert usage(m, next(parts(kept))).live == before.live


@pytest.mark.parametrize("name", NAMES)
def test_operator_order_never_needs_more(name: str) -> None:
    m = plan(real(name).mugraph, without={"operator_order"})
    better = plan(real(name).mugraph)
    for a, b in zip(memory(m), memory(better), strict=True):
        assert b.live <= a.live and b.shared <= a.shared


def test_loads_open_the_loop() -> None:
    text = to_text(plan(real("layernorm_linear").mugraph))
    loop = text.split("for k:")[2].strip().splitlines()
    assert [line.split("= ")[1].split()[0] for line in loop[:4]] == ["load"] * 4


def test_memory_reports_the_pipelined_buffers() -> None:
    m = real("gated_mlp").mugraph
    (p,) = memory(m)
    assert {(b.tile, b.bytes, b.copies) for b in p.buffers} == {
        ("x", 16 * 128 * 2, 2),
        ("w1", 128 * 32 * 2, 2),
        ("w2", 128 * 32 * 2, 2),
    }
    assert p.shared == 2 * sum(b.bytes for b in p.buffers)
    assert p.accumulators == 2 * 16 * 32 * 4 and p.where == "fused"


# Bytes of shared memory that Triton 3.6 takes for sm_90 at the real shapes.
MEASURED = {
    "rmsnorm_linear": (24832,),
    "gated_mlp": (40960,),
    "layernorm_linear": (28672,),
    "attention_split": (57344, 16384),
    "attention_tail": (40960,),
    "cluster_linear": (73728,),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_of_shared_memory_bounds_what_the_compiler_takes(name: str) -> None:
    estimates = [p.shared for p in memory(plan(real(name).mugraph)) if not p.where.endswith(".tail")]
    for estimate, taken in zip(estimates, MEASURED[name], strict=True):
        assert taken <= estimate <= 1.4 * taken


def test_memory_plan_takes_as_many_stages_as_fit() -> None:
    m = BUILDERS["gated_mlp"](m=64, k=4096, n=4096, tm=64, tk=256, tn=64).mugraph
    found = broken_rule(m)
    assert found is not None and found[0] == "capacity"  # three stages do not fit
    planned = plan(m)
    check(planned)
    (k,) = planned.kernels
    assert isinstance(k, CustomKernel) and k.stages == 2
    assert broken_rule(plan(m, without={"memory_plan"})) is not None
    tight = memory_plan(m, Limits(shared=100_000)).kernels[0]
    assert isinstance(tight, CustomKernel) and tight.stages == 1


def test_blocks_start_where_they_share_the_larger_operand() -> None:
    m = BUILDERS["gated_mlp"](m=1024, k=8192, n=8192, tm=64, tk=64, tn=64).mugraph
    (before,), (after,) = m.kernels, plan(m).kernels
    (kept,) = plan(m, without={"block_order"}).kernels
    assert isinstance(before, CustomKernel) and isinstance(after, CustomKernel) and isinstance(kept, CustomKernel)
    assert [d.name for d in before.block.grid] == [d.name for d in kept.block.grid] == ["m", "n"]
    assert [d.name for d in after.block.grid] == ["n", "m"]  # 16 blocks of rows read the same columns of the weights
    few = BUILDERS["gated_mlp"](m=16, k=4096, n=4096, tm=16, tk=64, tn=64).mugraph
    (small,) = plan(few).kernels
    assert isinstance(small, CustomKernel)
    assert [d.name for d in small.block.grid] == ["m", "n"]  # one block of rows reads everything once
    tail = real("attention_tail").mugraph
    order = [d.name for k in tail.kernels if isinstance(k, CustomKernel) for d in k.block.grid]
    assert order == [d.name for k in plan(tail).kernels if isinstance(k, CustomKernel) for d in k.block.grid]


def linear(**sizes: int) -> MuGraph:
    """A product with a bias, in no cluster."""
    return each_block(BUILDERS["cluster_linear"](**sizes).mugraph, lambda b: replace(b, cluster=1))


def test_tiles_of_large_products_are_copied_where_a_device_has_warp_groups() -> None:
    def loads(m: MuGraph, target: str) -> set[str]:
        found = plan(m, device(target))
        check(found, Limits.of(device(target)))
        return {s.statement.by for p in parts(found) for s in sites(p) if isinstance(s.statement, Load)}

    wide = dict(tm=128, tk=64, tn=128)
    large = linear(m=2048, k=1024, n=1024, **wide)
    clustered = each_block(large, lambda b: replace(b, cluster=2))
    assert loads(clustered, "sm_90") == {"pointers"}
    assert loads(large, "sm_90") == {"descriptor", "pointers"}  # the bias is no operand
    assert loads(large, "sm_86") == {"pointers"}
    odd = linear(m=2048, k=1023, n=1025, **wide)
    assert loads(odd, "sm_90") == {"pointers"}  # rows of no whole 16 bytes
    few = linear(m=64, k=1024, n=1024, tm=64, tk=64, tn=64)
    assert loads(few, "sm_90") == {"pointers"}
    normed = BUILDERS["rmsnorm_linear"](m=2048, k=1024, n=1024, **wide).mugraph
    found = {s.statement.tensor for p in parts(plan(normed)) for s in sites(p)
             if isinstance(s.statement, Load) and s.statement.by == "descriptor"}  # fmt: skip
    assert found <= {"W"}  # X is read otherwise too


def test_the_other_way_to_load_is_there_and_back() -> None:
    limits = Limits.of(device("sm_90"))
    m = plan(linear(m=2048, k=1024, n=1024, tm=128, tk=64, tn=128))
    plain = other_loads(m, limits)
    assert "descriptor" in to_text(m) and "descriptor" not in to_text(plain)
    assert other_loads(plain, limits) == m
    heads = BUILDERS["attention_split"](h=8, q=256, t=1024, d=64, e=64, tq=64, tt=64).mugraph
    assert plan(heads) == plan(heads, without={"copied_tiles"})  # scores are no sums that stay
    assert "load K[h, t, d] by descriptor" in to_text(other_loads(plan(heads), limits))
    assert other_loads(plain, Limits.of(device("sm_86"))) == plain
