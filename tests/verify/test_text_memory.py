"""The memory opinion on emitted text: what the emitter writes is proved, what is broken is refused with the place, and what
is not understood is not proved."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from mutants.bases import base, module_of
from workloads.hand import BUILDERS, small
from workloads.hand_targets import targets

from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.results.verdict import Evidence
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field import algebra_opinion
from mirage.verify.field.text_opinion import text_opinion
from mirage.verify.memory.text_opinion import text_memory_opinion

CASES = small()
GOLDEN = Path(__file__).parent.parent / "golden"
Run = Callable[[str, dict[str, Any]], dict[str, Any]]


def opinion(graph: MuGraph, module: str) -> Evidence:
    return text_memory_opinion(graph, module, [t.name for t in graph.inputs])


@pytest.mark.parametrize("name", BUILDERS)
def test_emitted_kernels_are_proved(name: str) -> None:
    for graph in (CASES[name].mugraph, BUILDERS[name]().mugraph):
        e = opinion(graph, module_of(graph))
        assert e.word == "PROVED" and e.details.proved, e.summary
        assert e.details.accesses >= len(graph.tensors)


@pytest.mark.parametrize("name", ["search/gated_mlp", "search/norm_mlp", "search/low_rank_adapter", "search/attention"])
def test_kernels_that_the_search_finds_are_proved_at_their_real_sizes(name: str) -> None:
    b = base(name)
    assert text_memory_opinion(b.mugraph, b.module, b.parameters).word == "PROVED"


@pytest.mark.parametrize("name", ["attention_tail", "rmsnorm_linear"])
def test_golden_modules_are_proved(name: str) -> None:
    module = (GOLDEN / f"emitted_{name}.py.txt").read_text(encoding="utf-8")
    assert opinion(CASES[name].mugraph, module).word == "PROVED"


# (case, what stands in the text, what stands there instead, what is said of it)
BROKEN = [
    ("gated_mlp", r"mask=in_m\[:, None\] & in_n\[None, :\]", "mask=in_n[None, :]", "the store of O is out of bounds"),
    ("gated_mlp", r"mask=in_m\[:, None\] & in_k\[None, :\]", "mask=in_k[None, :]", "the load of X is out of bounds"),
    ("gated_mlp", r"(O_ptr \+ i_m\[:, None\]) \* N", r"\1 * (N - 1)", " is written more than once: by _gated_mlp_fused, line"),
    ("gated_mlp", r"(O_ptr \+ i_m\[:, None\]) \* N", r"\1 * (N + 1)", "O"),
    ("gated_mlp", r"(W1_ptr \+ i_k\[:, None\]) \* N", r"\1 * (N + 1)", "the load of W1 is out of bounds"),
    ("gated_mlp", r"\(i_n < N\)", "(i_n < N - 1)", "is never written"),
    ("gated_mlp", r"\(i_n < N\)", "(i_n <= N)", "out of bounds"),
    ("gated_mlp", r"\(i_n < N\) \| \(N % BLOCK_N == 0\)", "(i_n < N) | (N % BLOCK_N != 0)", "out of bounds"),
    ("gated_mlp", r"grid = \((.+),\)", r"grid = (\1 - 1,)", "is never written"),
    ("gated_mlp", r"pid_m \* BLOCK_M \+", "pid_m * (BLOCK_M - 1) +", "is written more than once"),
    ("gated_mlp", r"pid % blocks_n", "pid % (blocks_n - 1)", "O"),
    ("gated_mlp", r"O_ptr \+ i_m\[:, None\] \* N \+ i_n\[None, :\]", "O_ptr + 1 + i_m[:, None] * N + i_n[None, :]", "O"),
    ("gated_mlp", r"\n    tl\.store\(\n(?:        .+\n)+    \)", "\n    pass", "O is never written"),
    ("gated_mlp", r"        O,\n", "        X,\n", "X"),
    ("gated_mlp", r"return _run\(X, W1", "return _run(W1, X", "out of bounds"),
    ("attention_split", r"(Mp_ptr \+ pid_s \* \(H \* Q\) \+ pid_h) \* Q", r"\1", "Mp"),
    ("attention_split", r"first_t = pid_s \* share_t", "first_t = pid_s * share_t + 1", None),
    ("attention_split", r"min\(first_t \+ share_t, tiles_t\)", "first_t + share_t + 1", None),
    ("attention_tail", r"== PARTS_S - 1", "== PARTS_S - 2", "has 3 blocks, its last one waits for 2"),
    ("attention_tail", r"(Mp_ptr \+ i_s\[:, None\] \* \(H \* Q\) \+ )pid_h", r"\1 (1 - pid_h)", "another group"),
    ("attention_tail", r"\n    tl\.store\(Lp_ptr.+", "", "the load of Lp: it is read before"),
]  # fmt: skip


@pytest.mark.parametrize("case,old,new,said", BROKEN, ids=[f"{b[0]}: {b[2][:40]}" for b in BROKEN])
def test_broken_texts_are_refused_at_a_place(case: str, old: str, new: str, said: str | None, run: Run) -> None:
    graph = CASES[case].mugraph
    good = module_of(graph)
    bad = re.sub(old, new, good, count=1)
    assert bad != good, "the mutation changed nothing"
    e = opinion(graph, bad)
    if said is None:  # a loop that reads other tiles: masks keep it in bounds, so that no access is wrong
        assert e.word == "PROVED"
    else:
        assert e.word == "REJECTED" and said in e.summary, e.summary
        assert e.counterexample is not None and e.counterexample.actual
    # it is wrong in truth: the run of the text says so too
    t, outputs = targets(graph)
    names = [i.name for i in graph.inputs]
    with patch.object(
        algebra_opinion, "OPAQUE_IN_TEXT", algebra_opinion.OPAQUE_IN_TEXT[:1]
    ):  # all of them say the same of memory
        assert text_opinion(EmittedModule(t, outputs, graph, bad, names), run, draws=2).word == "REJECTED"


def test_a_race_that_a_run_in_order_does_not_show_is_refused() -> None:
    """Heads share their counters: the interpreter runs one block after the other, so that all is well there."""
    graph = CASES["attention_tail"].mugraph
    good = module_of(graph)
    bad = good.replace("group = pid_h", "group = 0 * pid_h")
    assert bad != good
    e = opinion(graph, bad)
    assert e.word == "REJECTED" and "depends on which block of its group arrives last" in e.summary


def test_a_counterexample_is_a_block_a_lane_and_an_element() -> None:
    graph = CASES["gated_mlp"].mugraph
    bad = module_of(graph).replace("(i_n < N)", "(i_n < N + 1)")
    e = opinion(graph, bad)
    assert e.word == "REJECTED" and "the load of W1 is out of bounds" in e.summary
    at = e.details.at
    tile = graph.kernels[0].block.dim("n").tile  # type: ignore[union-attr]
    column = at["block"] % -(-graph.size("n") // tile) * tile + at["lane1"]
    row = next(v for name, v in at.items() if name.startswith("tile_k")) * 32 + at["lane0"]
    assert at["element"] == row * graph.size("n") + column == graph.size("k") * graph.size("n")


UNREAD = [
    ("i_n = pid_n", "i_n = tl.load(X_ptr).to(tl.int32) + pid_n", "depends on data"),
    ("in_n = (i_n < N)", "in_n = (tl.load(W1_ptr + 0 * i_n) > 0) & (i_n < N)", "depends on data"),
    ("    i_m = ", "    while False:\n        pass\n    i_m = ", "While is not followed"),
    ("    i_m = ", "    tl.device_print('x', X_ptr)\n    i_m = ", "a pointer is passed to tl.device_print"),
    ("in_m = (", "in_m = (i_m * i_m < 0) | (", "a product of two indices"),
]


@pytest.mark.parametrize("old,new,said", UNREAD, ids=[u[2] for u in UNREAD[:1]] + [u[1][:30] for u in UNREAD[1:]])
def test_what_is_not_understood_is_not_proved(old: str, new: str, said: str) -> None:
    graph = CASES["gated_mlp"].mugraph
    good = module_of(graph)
    assert old in good
    e = opinion(graph, good.replace(old, new, 1))
    assert e.word == "TESTED" and not e.details.proved and e.bound is None
    assert any(said in u for u in e.details.unproved), e.details.unproved


def test_a_question_that_takes_too_much_work_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    import z3

    graph = CASES["gated_mlp"].mugraph
    monkeypatch.setattr(z3.Solver, "check", lambda self, *a: z3.unknown)
    e = opinion(graph, module_of(graph))
    assert e.word == "TESTED" and "took too much work" in e.summary


def test_offsets_that_do_not_fit_into_32_bits_are_refused() -> None:
    graph = BUILDERS["gated_mlp"]().mugraph
    big = {a: 65536 if a in ("m", "n") else n for a, n in graph.axes}
    graph = MuGraph(graph.name, tuple(big.items()), graph.tensors, graph.kernels)
    module = module_of(graph)
    assert "tl.int64" in module and opinion(graph, module).word == "PROVED"
    e = opinion(graph, module.replace(".to(tl.int64)", ""))
    assert e.word == "REJECTED" and "64-bit" in e.summary and e.details.at["element"] >= 2**31


TWO_OUTPUTS = parse("""mugraph sums
axes k=50 p=3 m=21
input X fp16 [m, k]
temp S0 fp32 [p, m]
temp S1 fp32 [p, m]
output out0 fp32 [m]
output out1 fp32 [m]
kernel sums warps 4 stages 1:
  block cluster 1:
    dim p (p) split tile 1 splits k parts 3
    dim m (m) grid tile 16
    dim k (k) loop tile 8
    for k:
      x[m, k] = load X[m, k]
      y[m, k] = mul(x, x)
      a[m] = sum(x; dim=k)
      b[m] = sum(y; dim=k)
      sa[m] += a
      sb[m] += b
    store S0[p, m] = sa
    store S1[p, m] = sb
  tail cluster 1:
    dim m (m) grid tile 16
    dim p (p) resident tile 4
    s0[m, p] = load S0[p, m]
    t0[m] = sum(s0; dim=p)
    store out0[m] = t0
    s1[m, p] = load S1[p, m]
    t1[m] = sum(s1; dim=p)
    store out1[m] = t1
""")


def test_a_last_block_that_writes_two_outputs_is_proved() -> None:
    assert opinion(TWO_OUTPUTS, module_of(TWO_OUTPUTS)).word == "PROVED"


def test_a_last_block_that_reads_what_it_wrote_without_a_barrier_is_not() -> None:
    good = module_of(TWO_OUTPUTS)
    parts = good.split("    if arrived ==")
    again = re.sub(r"(    s1 = tl\.load\()", r"    tl.store(S1_ptr + i_m, t0, mask=in_m)\n    \1", parts[1], count=1)
    assert again != parts[1]
    e = opinion(TWO_OUTPUTS, parts[0] + "    if arrived ==" + again)
    assert e.word == "REJECTED" and not e.details.proved
    assert "no barrier between a store of the last block" in e.summary, e.summary


ARRIVAL = 'tl.atomic_add(counters_ptr + group, 1, sem="acq_rel")'
BARRIER = "    tl.debug_barrier()\n"
STORE = r"(?m)^    tl\.store\(Lp_ptr.+\n"
# What orders the stores of all blocks before the loads of the last one, taken away: (what stands there, what is written, what is said)
UNORDERED = [
    *((ARRIVAL, ARRIVAL.replace("acq_rel", x), "does not order") for x in ("relaxed", "acquire", "release")),
    (ARRIVAL, ARRIVAL.replace(")", ', scope="cta")'), "does not order"),
    (f"{BARRIER}    group", "    group", "no barrier between the stores of a block and its arrival"),
    (
        f"{BARRIER}    group",
        "    if pid_h > 0:\n        tl.debug_barrier()\n    group",
        "no barrier between the stores of a block",
    ),
    (
        f"{BARRIER}    group",
        "    for _ in range(0, T):\n        tl.debug_barrier()\n    group",
        "no barrier between the stores of a block",
    ),
    (f"- 1:\n    {BARRIER}", "- 1:\n", "no barrier between the arrival and what the last block does"),
]
ORDERED = [
    ARRIVAL.replace(")", ', scope="gpu")'),
    ARRIVAL.replace(")", ', scope="sys")'),
    ARRIVAL.replace(', sem="acq_rel"', ""),
]


@pytest.mark.parametrize("old,new,said", UNORDERED)
def test_what_orders_nothing_is_refused_by_reading(old: str, new: str, said: str) -> None:
    """No run shows it: the interpreter runs one block after the other."""
    graph = CASES["attention_tail"].mugraph
    good = module_of(graph)
    assert good.count(old) == 1
    e = opinion(graph, good.replace(old, new))
    assert e.word == "REJECTED" and said in e.summary, e.summary


@pytest.mark.parametrize("arrival", ORDERED)
def test_what_orders_as_much_in_other_words_is_proved(arrival: str) -> None:
    graph = CASES["attention_tail"].mugraph
    good = module_of(graph)
    assert opinion(graph, good.replace(ARRIVAL, arrival)).word == "PROVED"


def test_a_block_that_stores_after_its_arrival_is_refused() -> None:
    graph = CASES["attention_tail"].mugraph
    good = module_of(graph)
    (store,) = re.findall(STORE, good)
    late = good.replace(store, "").replace("    if arrived ==", f"{store}    if arrived ==")
    assert late.count(store) == 1 and late != good
    e = opinion(graph, late)
    assert e.word == "REJECTED" and "after the block has arrived" in e.summary, e.summary


@pytest.mark.parametrize(
    "new",
    ["tl.atomic_add(counters_ptr + group, 1, pid_h > 0)", "tl.atomic_add(counters_ptr + group, 1, mask=pid_h > 0)"],
)
def test_an_arrival_that_some_blocks_leave_out_is_not_proved(new: str) -> None:
    graph = CASES["attention_tail"].mugraph
    e = opinion(graph, module_of(graph).replace(ARRIVAL, new))
    assert e.word != "PROVED" and not e.details.proved
