"""PyTorch's own calls are pieces like others: found, ranked, proved, derived, said; a wrong call is rejected."""

from __future__ import annotations

from dataclasses import replace

import pytest
from workloads.terms import tensor

from mirage.derivation.derive import derive, replay
from mirage.devices.table import DEVICES
from mirage.ir.index import DimIndex
from mirage.ir.narrowing import Narrowing
from mirage.ir.program import Program
from mirage.meaning.terms import Terms
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import CustomKernel, LibraryKernel, MuGraph
from mirage.pipeline.fusion_remarks import explain
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import baseline, estimate
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.search.checkpoint import decode, encode
from mirage.search.engine import Bounds, Search
from mirage.search.kernel_pieces import Target
from mirage.search.library_pieces import calls
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.proof.opinion import proof_opinion

DEVICE = DEVICES["sm_90"]
FEW = Bounds(keep=16, tilings=4, structures=4)


def normed(rows: int = 2048, n: int = 8192) -> Program:
    """relu(rms_norm(x) @ w): at many rows the product is better by the library than by any kernel with the norm in it."""
    b = Builder("normed")
    x, w = b.input("x", (rows, n), "fp16"), b.input("w", (n, n), "fp16")
    b.output(b.op("relu", b.op("matmul", b.op("rms_norm", x, rank=1, eps=1e-6), w)))
    return b.program()


def searched(p: Program, bounds: Bounds = FEW) -> Search:
    s = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICE), bounds=bounds)
    list(s.run())
    return s


@pytest.fixture(scope="module")
def search() -> Search:
    return searched(normed())


@pytest.fixture(scope="module")
def graph(search) -> MuGraph:
    return next(c.mugraph for c in search.best if library(c.mugraph))


def library(m: MuGraph) -> list[LibraryKernel]:
    return [k for k in m.kernels if isinstance(k, LibraryKernel)]


def words(s: Search, m: MuGraph) -> tuple[str | None, str]:
    proof = proof_opinion(s.problem.t, targets(s), m)
    return proof.word if proof else None, schedule_opinion(s.problem.t, s.problem.outputs, m).word


def targets(s: Search):
    return {o.tensor: (o.term, o.dims) for o in s.problem.outputs}


def test_the_product_is_left_to_the_library_where_that_is_faster(search, graph):
    assert search.best[0].mugraph == graph
    assert [k.op for k in library(graph)] == ["matmul"] and any(isinstance(k, CustomKernel) for k in graph.kernels)
    own = min(c.us for c in search.best if not library(c.mugraph))
    assert search.best[0].us < own and search.best[0].us < baseline(normed(), DEVICE)
    few = searched(normed(16))
    assert not library(few.best[0].mugraph)  # at 16 rows one kernel is better


def test_it_is_valid_proved_and_derived(search, graph):
    assert broken_rule(graph) is None
    assert words(search, graph) == ("PROVED", "TESTED")
    replay(search.problem.t, targets(search), derive(search.problem.t, targets(search), graph), graph)


def changed(m: MuGraph, **fields) -> MuGraph:
    return replace(m, kernels=tuple(replace(k, **fields) if isinstance(k, LibraryKernel) else k for k in m.kernels))


@pytest.mark.parametrize("fields", [{"op": "linear"}, {"args": ("x", "w")}])
def test_another_call_is_rejected(search, graph, fields):
    proved, tested = words(search, changed(graph, **fields))
    assert proved is None and tested == "REJECTED"


def test_the_remark_has_both_times(search):
    (r,) = (r for r in explain(search, search.best[0], 1e9, DEVICE) if r.code == "library-kernel")
    assert r.figures["operator"] == "matmul" and r.figures["us"] < r.figures["other_us"]
    assert f"{r.figures['us']:.1f}" in r.text and f"{r.figures['other_us']:.1f}" in r.text


def test_a_part_with_a_call_reads_as_it_was_written(search):
    parts = [p for p in search._parts.values() if any("library" in piece.structure for _, piece in p.pieces)]
    assert parts and all(decode(encode(p)) == p for p in parts)


def test_who_asks_for_kernels_of_a_form_gets_no_calls():
    s = searched(normed(64, 128), replace(FEW, given=Narrowing.of(griddims=[(4, 4, 1)])))
    assert not any(library(c.mugraph) for c in s.best)


@pytest.mark.parametrize(
    "left,right,out,op",
    [
        ("mk", "kn", "mn", "matmul"), ("bmk", "kn", "bmn", "matmul"), ("bmk", "bkn", "bmn", "matmul"),
        ("mk", "nk", "mn", "linear"), ("bmk", "nk", "bmn", "linear"),
        ("mk", "kn", "nm", None), ("km", "kn", "mn", None), ("bmk", "bnk", "bmn", None), ("mbk", "bkn", "mbn", None),
    ],
)  # fmt: skip
def test_which_products_are_calls(left, right, out, op):
    t = Terms({"b": 2, "m": 4, "k": 8, "n": 5})
    x, w = tensor(t, "X", left), tensor(t, "W", right)
    target = Target("O", t.sum("k", t.mul(x, w)), tuple((a,) for a in out), "fp16")
    found = list(calls(t, target, "main", {"X": "fp16", "W": "fp16"}))
    assert [p.kernels[0].op for p in found] == ([op] if op else [])
    assert all(p.kernels[0].args == ("X", "W") for p in found)


def test_what_is_no_call():
    t = Terms({"m": 4, "k": 8, "n": 5})
    x, w = tensor(t, "X", "mk"), tensor(t, "W", "kn")
    same = {"X": "fp16", "W": "fp16"}
    part = t.input("W", (DimIndex(("k",), 2), DimIndex(("n",))))

    def found(body: int, dtypes=same, dtype: str = "fp16"):
        return list(calls(t, Target("O", t.sum("k", body), (("m",), ("n",)), dtype), "main", dtypes))

    assert found(t.mul(x, w))
    assert not found(t.mul(x, x, w)) and not found(t.mul(t.exp(x), w)) and not found(t.mul(x, part))
    assert not found(t.mul(x, w), {"X": "fp16", "W": "fp32"}) and not found(t.mul(x, w), {"X": "fp16"})
    assert not found(t.mul(x, w), dtype="fp32")


def test_a_kept_product_lies_as_the_library_gives_it():
    """In the dtype of its operands, rows first: also where the weight's columns are heads and their elements."""
    b = Builder("heads")
    x, w = b.input("x", (32, 48), "fp16"), b.input("w", (48, 64), "fp16")
    heads = b.op("reshape", b.op("matmul", b.op("exp", x), w), shape=(32, 4, 16))
    b.output(b.op("rms_norm", b.op("permute", heads, dims=(1, 0, 2)), rank=1, eps=1e-6))
    p = b.program()
    s = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICE), bounds=FEW)
    every = s.work.targets(s.problem.t, s.cuts)
    dtypes = {x.name: x.dtype for x in s.problem.inputs} | s.work.kept
    (product,) = (x for x in every if list(calls(s.problem.t, x, "k", dtypes)))
    assert product.dtype == "fp16" and [len(d) for d in product.dims] == [1, 2]


@pytest.mark.parametrize(
    "left,right,out,op",
    [
        ("mk", "nk", "mn", "linear"),
        ("bmk", "nk", "bmn", "linear"),
        ("mk", "kn", "mn", None),
        ("bmk", "bkn", "bmn", None),
    ],
)
def test_which_products_take_a_bias(left, right, out, op):
    t = Terms({"b": 2, "m": 4, "k": 8, "n": 5})
    x, w = tensor(t, "X", left), tensor(t, "W", right)
    product = t.sum("k", t.mul(x, w))
    same = {"X": "fp16", "W": "fp16", "B": "fp16"}

    def found(bias: int, dtypes=same):
        target = Target("O", t.add(product, bias), tuple((a,) for a in out), "fp16")
        return [p.kernels[0] for p in calls(t, target, "main", dtypes)]

    bias = tensor(t, "B", "n")
    assert [(k.op, k.args) for k in found(bias)] == ([(op, ("X", "W", "B"))] if op else [])
    assert not found(tensor(t, "B", "m")) and not found(tensor(t, "B", "mn"))  # along another dim, or more than one
    assert not found(t.exp(bias)) and not found(t.add(bias, x)) and not found(t.mul(bias, t.const(2)))
    assert not found(bias, same | {"B": "fp32"}) and not found(bias, {"X": "fp16", "W": "fp16"})


def biased(rows: int, columns: int, batch: tuple[int, ...] = ()) -> Program:
    b = Builder("biased")
    x, w = b.input("x", (*batch, rows, 256), "fp16"), b.input("w", (columns, 256), "fp16")
    bias = b.input("bias", (columns,), "fp16")
    b.output(b.op("linear", b.op("rms_norm", x, rank=1, eps=1e-6), w, bias))
    return b.program()


@pytest.mark.parametrize("batch", [(), (1,), (1, 1)])
def test_a_product_with_its_bias_is_one_call_also_in_a_batch_of_one(batch):
    p = biased(512, 384, batch)
    s = searched(p)
    graph = next(c.mugraph for c in s.best if any(len(k.args) == 3 for k in library(c.mugraph)))
    assert [k.op for k in library(graph)] == ["linear"] and len(graph.kernels) == 2
    assert broken_rule(graph) is None and words(s, graph) == ("PROVED", "TESTED")
    replay(s.problem.t, targets(s), derive(s.problem.t, targets(s), graph), graph)
    (call,) = library(graph)
    for args in (call.args[:2], (call.args[0], call.args[1], "w")):
        proved, tested = words(s, changed(graph, args=args))
        assert proved is None and tested == "REJECTED"
