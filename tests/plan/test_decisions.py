"""Which unit does a product, and how much shared memory that takes, beside what the compiler makes of the emitted text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from workloads import terms

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.isolate.runner import Worker
from mirage.mugraph.capacity import room, shared_bytes
from mirage.mugraph.check import SM_90, Limits, broken_rule
from mirage.mugraph.decisions import decide
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.walk import parts
from mirage.plan import memory, plan
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search

PRODUCT = """mugraph mm
axes b=2 k=256 m=256 n=256
input X {dtype} [b, m, k]
input W {dtype} [b, k, n]
output Y {dtype} [b, m, n]
kernel main warps {warps} stages 3:
  block cluster 1:
    dim b (b) grid tile {b}
    dim m (m) grid tile {m}
    dim n (n) grid tile {n}
    dim k (k) loop tile {k}
    for k:
      x[b, m, k] = load X[b, m, k]
      w[b, k, n] = load W[b, k, n]
      t[{order}] = dot(x, w; dim=k)
      acc[{order}] += t
    store Y[b, m, n] = acc
"""
USUAL = {"b": 1, "m": 64, "n": 64, "k": 32, "warps": 4, "dtype": "fp16", "order": "b, m, n"}
# what differs from the usual, and the unit on sm_90 and on sm_86
CASES = [
    ({}, "warp group", "warp"),
    ({"warps": 2}, "warp", "warp"),  # no group of four
    ({"m": 32}, "warp", "warp"),  # 32 rows
    ({"m": 32, "order": "b, n, m"}, "warp group", "warp"),  # 64 rows: the operands change places
    ({"b": 2}, "warp", "warp"),  # a batch of them
    ({"b": 2, "order": "m, b, n"}, "warp", "warp"),  # the batch need not come first
    ({"m": 16, "n": 16, "k": 16}, "warp", "warp"),
    ({"n": 8}, None, None),
    ({"k": 8}, None, None),
    ({"m": 1}, None, None),  # a row by a matrix
]
INSTRUCTIONS = {"warp group": "wgmma", "warp": "mma"}


@pytest.fixture(scope="module")
def compiler() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


def product(**changes: object) -> MuGraph:
    return parse(PRODUCT.format(**USUAL | changes))


def compiled(worker: Worker, m: MuGraph, target: str) -> list[dict[str, int]]:
    """What the compiler says of the µGraph's kernels."""
    inputs = tuple(TensorSpec(t.name, m.shape(t), t.dtype) for t in m.inputs)
    program = Program("f", inputs, (), tuple(range(len(m.outputs))))
    source = f"import torch\n\n\ndef f({', '.join(i.name for i in inputs)}):\n    return {inputs[0].name}\n"
    text = emit_module(program, m, source, function="f", header={})
    rows: list[dict[str, int]] = worker.call("compile", {"text": text, "target": target}, timeout_s=120)["kernels"]
    return rows


@pytest.mark.parametrize("changes,on_90,on_86", CASES, ids=[str(c[0]) for c in CASES])
def test_the_unit_is_the_compilers(changes: dict[str, object], on_90: str, on_86: str, compiler: Worker) -> None:
    m = product(**changes)
    (part,) = parts(m)
    for target, wanted in (("sm_90", on_90), ("sm_86", on_86)):
        limits = Limits.of(DEVICES[target])
        found = decide(part.graph, part.kernel.warps, limits.warp_groups).products.get((0, "t"))
        assert (None if found is None else found.unit) == wanted
        (row,) = compiled(compiler, m, target)
        used = [name for name in ("wgmma", "mma") if row[name]]
        assert used == ([] if wanted is None else [INSTRUCTIONS[wanted]])
        if wanted is not None:
            assert row["shared"] <= shared_bytes(m, part, 3, limits.warp_groups) <= 1.5 * row["shared"]


def test_products_of_float32_are_the_threads(compiler: Worker) -> None:
    """Tensor cores would round their operands; the text is a product all the same."""
    m = product(dtype="fp32")
    (part,) = parts(m)
    (row,) = compiled(compiler, m, "sm_90")
    assert decide(part.graph, 4).products and not row["wgmma"] and not row["mma"]


def test_what_is_deferred_is_said_once() -> None:
    (plain,) = memory(product(m=1))
    ((deferred,),) = plain.decisions.deferred.values()
    assert (deferred.accumulator, deferred.summand, deferred.wide) == ("acc", "t", ("n", "k"))
    read = PRODUCT.format(**USUAL | {"m": 1}).replace(
        "acc[b, m, n] += t", "acc[b, m, n] += t\n      e[b, m, n] = exp(acc)"
    )
    (other,) = memory(parse(read))  # its running value is read in the loop
    (large,) = memory(product(m=1, n=256, k=256))  # more than the registers that there are for it
    (summed,) = memory(product())  # on tensor cores
    assert not any(ds for p in (other, large, summed) for ds in p.decisions.deferred.values())


@cache
def best(name: str, target: str, limits: Limits) -> MuGraph:
    """The first answer of a search for a device, planned for it."""
    device = DEVICES[target]
    search = Search(
        terms.problem(name), lambda g: estimate(g, device), bounds=Bounds(keep=4, seconds=600), limits=limits
    )
    list(search.run())
    return plan(search.best[0].mugraph, device)


LARGE = ["rmsnorm_linear", "attention", "qknorm_attention"]


@pytest.mark.parametrize("name", LARGE)
def test_the_first_answer_for_a_smaller_device_fits(name: str, compiler: Worker) -> None:
    """What is best on sm_90 takes more than 100 KB of a block's shared memory there; on sm_86 what is found first fits."""
    large = max(r["shared"] for r in compiled(compiler, best(name, "sm_90", SM_90), "sm_90"))
    assert 100_000 < large <= DEVICES["sm_90"].shared_per_block
    limits = Limits.of(DEVICES["sm_86"])
    found = best(name, "sm_86", limits)
    assert broken_rule(found, limits) is None
    rows = compiled(compiler, found, "sm_86")
    assert all(r["fits"] for r in rows) and max(r["shared"] for r in rows) <= DEVICES["sm_86"].shared_per_block


def test_what_a_device_has_no_room_for_is_refused_and_planned_smaller(compiler: Worker) -> None:
    limits = Limits.of(DEVICES["sm_86"])
    large = product(m=128, n=128, k=128)
    assert broken_rule(large, SM_90) is None and broken_rule(large, limits) is not None
    assert compiled(compiler, large, "sm_90")[0]["fits"] and not compiled(compiler, large, "sm_86")[0]["fits"]
    planned = plan(large, DEVICES["sm_86"])
    assert broken_rule(planned, limits) is None and compiled(compiler, planned, "sm_86")[0]["fits"]
    assert plan(large, DEVICES["sm_90"]).kernels[0].stages == 3  # type: ignore[union-attr]


def test_without_its_limits_a_search_finds_what_breaks_them() -> None:
    assert broken_rule(best("qknorm_attention", "sm_86", SM_90), Limits.of(DEVICES["sm_86"])) is not None


BEFORE_A_LOOP = """mugraph two
axes j=512 k=512 m={m} n=2048
input X fp16 [m, k]
input H fp16 [m, j]
input W fp16 [n, k]
input U fp16 [n, j]
output Y fp16 [m, n]
kernel main warps 4 stages 3:
  block cluster 1:
    dim m (m) resident tile {m}
    dim n (n) grid tile {n}
    dim k (k) loop tile 64
    dim j (j) resident tile 512
    h[m, j] = load H[m, j]
    u[n, j] = load U[n, j]
    t[n, m] = dot(h, u; dim=j)
    for k:
      x[m, k] = load X[m, k]
      w[n, k] = load W[n, k]
      t_2[n, m] = dot(x, w; dim=k)
      acc[n, m] += t_2
    a[n, m] = {op}(acc, t)
    store Y[m, n] = a
"""


@pytest.mark.parametrize("m,n", [(16, 64), (64, 64), (16, 32)])
@pytest.mark.parametrize("op", ["add", "maximum"])
def test_the_operands_of_a_dot_that_starts_from_a_later_sum_wait_for_it(
    op: str, m: int, n: int, compiler: Worker
) -> None:
    """The compiler makes `acc + dot(h, u)` a product that starts from `acc`, after the loop; of no other operator."""
    graph = parse(BEFORE_A_LOOP.format(op=op, m=m, n=n))
    (part,) = parts(graph)
    (row,) = compiled(compiler, graph, "sm_90")
    estimated = shared_bytes(graph, part, 3)
    assert row["shared"] <= estimated <= 1.5 * row["shared"]
    operands, loop = 2 * 512 * (m + n), 2 * 64 * (m + n) * 3
    assert (estimated >= operands + loop) is (
        op == "add" and n == 64
    )  # of a warp's instruction one operand waits in registers


def test_room_counts_what_waits() -> None:
    """With one byte less than the waiting operands and the loop's buffers take, there is no room; for an operator that waits for
    nothing there is."""
    added, other = (parse(BEFORE_A_LOOP.format(op=op, m=16, n=64)) for op in ("add", "maximum"))
    (part,) = parts(added)
    needed = shared_bytes(added, part, 3)
    assert room(added, Limits(needed)) and not room(added, Limits(needed - 1))
    assert room(other, Limits(needed - 1))
