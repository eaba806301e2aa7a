"""Rows of which a mask leaves nothing: a kernel that gives 0 there, or that is NaN where the function is 0, is rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from workloads.hand import at, dim, load, op, tensor

from mirage.codegen.emit import emit_module
from mirage.ir.index import DimIndex
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import BlockGraph, CustomKernel, MuGraph, Store
from mirage.results.details import FieldDetails
from mirage.results.verdict import Evidence, Verdict
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.algebra_opinion import field_opinion
from mirage.verify.field.sampling import draw, one_a_line
from mirage.verify.field.schedule_opinion import schedule_opinion, small_case
from mirage.verify.field.text_opinion import text_opinion
from mirage.verify.floats.opinion import float_opinion
from mirage.verify.floats.regimes import REGIMES, added_masks
from mirage.verify.output_terms import Output

Run = Callable[[str, dict[str, Any]], dict[str, Any]]
SOURCES = {
    "bool": "    return torch.softmax(torch.where(M, X.float(), float('-inf')), dim=-1).to(X.dtype)",
    "added": "    return torch.softmax(X.float() + M.float(), dim=-1).to(X.dtype)",
    "safe": (
        "    p = torch.softmax(torch.where(M, X.float(), float('-inf')), dim=-1)\n"
        "    return torch.where(M.any(-1, keepdim=True), p, 0.0).to(X.dtype)"
    ),
}


def masked_softmax(kind: str) -> tuple[Terms, Output, MuGraph]:
    """A softmax of masked scores, a row at a time, shifted by a maximum that is 0 where nothing is left."""
    dtype = "fp16" if kind == "added" else "bool"
    body = (
        load("x", "X", "m k", 0.0),
        load("a", "M", "m k", 0.0),
        op("low", "const", "", "", value="-inf"),
        op("inside", "mask", "", "k", dim="k"),
        op("masked", "add", "x a", "m k") if kind == "added" else op("masked", "where", "a x low", "m k"),
        op("s", "where", "inside masked low", "m k"),
        op("top", "max", "s", "m", dim="k"),
        op("shift", "finite", "top", "m"),
        op("z", "sub", "s shift", "m k"),
        op("e", "exp", "z", "m k"),
        op("l", "sum", "e", "m", dim="k"),
        op("o", "div", "e l", "m k"),
        Store("O", "o", at("m", "k")),
    )
    graph = MuGraph(
        "masked", (("m", 19), ("k", 13)),
        (tensor("X", "m k"), tensor("M", "m k", dtype=dtype), tensor("O", "m k", "output")),
        (CustomKernel("fused", BlockGraph((dim("m", 4, "grid"), dim("k", 16, "resident")), body)),),
    )  # fmt: skip
    t = Terms(dict(graph.axes))
    index = (DimIndex(("m",)), DimIndex(("k",)))
    x, m = t.input("X", index), t.input("M", index, boolean=kind != "added")
    p = t.exp(t.add(x, m) if kind == "added" else t.where(m, x, t.neg_inf()))
    return t, Output("O", t.mul(p, t.inv(t.sum("k", p))), (("m",), ("k",))), graph


def module_of(graph: MuGraph, source: str) -> str:
    inputs = tuple(TensorSpec(i.name, graph.shape(i), i.dtype) for i in graph.inputs)
    program = Program("masked", inputs, (), (0,))
    return emit_module(program, graph, source, function="masked", header={})


def floats(kind: str, module: str, source: str, run: Run) -> Any:
    t, output, graph = masked_softmax("bool" if kind == "safe" else kind)
    return float_opinion(EmittedModule(t, [output], graph, module, ["X", "M"], source, "masked"), run)


@pytest.mark.parametrize("kind", ["bool", "added"])
def test_rows_without_anything_are_looked_at(kind: str, run: Run) -> None:
    source = f"import torch\n\n\ndef masked(X, M):\n{SOURCES[kind]}"
    t, output, graph = masked_softmax(kind)
    good = module_of(graph, source)
    assert text_opinion(EmittedModule(t, [output], graph, good, ["X", "M"]), run, draws=8).word == "TESTED"
    e = floats(kind, good, source, run)
    assert e.word == "TESTED", (e.summary, e.details)
    assert any("masked" in r.regime for r in e.details.regimes)
    (division,) = [x for x in good.splitlines() if x.startswith("    o = e / l")]
    zero = good.replace(division, f"{division}\n    o = tl.where(l[:, None] > 0.0, o, 0.0)")
    assert zero != good
    e = floats(kind, zero, source, run)
    assert e.word == "REJECTED" and "masked" in e.summary, e.summary


def test_a_kernel_that_is_nan_where_the_function_is_zero_is_rejected(run: Run) -> None:
    source = f"import torch\n\n\ndef masked(X, M):\n{SOURCES['safe']}"
    _, _, graph = masked_softmax("bool")
    bad = module_of(graph, source)
    e = floats("safe", bad, source, run)
    assert e.word == "REJECTED" and "masked" in e.summary, e.summary
    (division,) = [x for x in bad.splitlines() if x.startswith("    o = e / l")]
    good = bad.replace(division, f"{division}\n    o = tl.where(l[:, None] > 0.0, o, 0.0)")
    e = floats("safe", good, source, run)
    assert e.word == "TESTED", e.summary


def test_masks_in_the_fields_leave_something_in_each_row() -> None:
    for shape in ((3, 5), (5, 3), (4, 4), (2, 3, 7), (1, 6), (6, 1), (7,), (), (1,)):
        flags = one_a_line(shape)
        assert flags.shape == shape and not (flags.size > 4 and min(shape) > 1 and flags.all())
        for axis, n in enumerate(shape):
            assert n == 1 or flags.any(axis=axis).all()
        if len(shape) > 1:
            assert np.diagonal(flags, axis1=-2, axis2=-1).all()


def test_added_masks_are_found() -> None:
    t, output, _ = masked_softmax("added")
    assert added_masks(t, [output.term]) == {"X", "M"}
    t = Terms()
    x, m, g = (t.input(n, (DimIndex(("m",)), DimIndex(("k",)))) for n in "XMG")
    p = t.exp(t.add(t.mul(x, g), m))
    assert added_masks(t, [t.mul(p, t.inv(t.sum("k", p)))]) == {"M"}
    assert added_masks(t, [t.mul(p, m)]) == set()
    assert added_masks(t, [t.add(x, m)]) == set()
    assert sum(r.flags is not None for r in REGIMES) == 1


def test_the_algebra_draws_integers_anew_in_each_draw() -> None:
    t = Terms({"m": 1})
    n, k = (t.input(x, (DimIndex(("m",)),)) for x in "NK")
    kinds = {"N": "int", "K": "int"}
    assert all(field_opinion(t, n, k, seed=seed, sizes={"m": 1}, kinds=kinds).word == "REJECTED" for seed in range(40))
    assert field_opinion(t, t.add(n, k), t.add(k, n), kinds=kinds).word == "TESTED"
    assert len(draw(t, [n], {"m": 1}, 0, 64, kinds=kinds).inputs["N"]) == 1


def test_the_algebra_draws_flags_anew_in_each_draw() -> None:
    """Two flags at one place agree in every second drawing: a single one for all draws would accept what differs."""
    t = Terms({"m": 2})
    t.bool_inputs |= {"F", "G"}
    f, g = (t.input(n, (DimIndex(("m",)),)) for n in "FG")
    assert all(field_opinion(t, f, g, seed=seed).word == "REJECTED" for seed in range(12))
    assert field_opinion(t, t.mul(f, g), t.mul(g, f, f)).word == "TESTED"
    flags = draw(t, [f, g], {"m": 2}, 0, 64, kinds={"F": "flags"}).inputs["F"]
    assert (
        flags.any(axis=1).all() and not flags.all(axis=0).any() and len(draw(t, [f], {"m": 2}, 0, 64).inputs["F"]) == 1
    )


def chosen(flag: str) -> MuGraph:
    """X where a flag is true, else 0, of few elements."""
    body = (
        load("x", "X", "m", 0.0),
        load("f", flag, "m", 0.0),
        op("zero", "const", "", "", value="0.0"),
        op("o", "where", "f x zero", "m"),
        Store("O", "o", at("m")),
    )
    tensors = (tensor("X", "m"), *(tensor(n, "m", dtype="bool") for n in "FG"), tensor("O", "m", "output"))
    return MuGraph("chosen", (("m", 2),), tensors, (CustomKernel("fused", BlockGraph((dim("m", 1, "grid"),), body)),))


def test_the_schedule_draws_flags_anew_in_each_draw() -> None:
    """Of two flags at two places, of which one is true, a single drawing for all draws agrees in one of three."""
    t = Terms({"m": 2})
    t.bool_inputs |= {"F", "G"}
    x, f, g = (t.input(n, (DimIndex(("m",)),)) for n in "XFG")
    targets = [Output("O", t.add(t.mul(f, x), t.mul(t.const(0), g)), (("m",),))]
    whole = {"sizes": {"m": 2}, "tiles": {"fused": {"m": 1}}}
    for seed in range(12):
        right = schedule_opinion(t, targets, chosen("F"), seed=seed, **whole)  # type: ignore[arg-type]
        assert right.word == "TESTED" and isinstance(right.details, FieldDetails), right.summary
        assert right.details.theorem.endswith("given the flags, each draw's own") and right.details.given == ("flags",)
        assert schedule_opinion(t, targets, chosen("G"), seed=seed, **whole).word == "REJECTED"  # type: ignore[arg-type]
    once = small_case(t, targets, chosen("F"), draws=16, seed=0)
    assert {len(once.sample.inputs[n]) for n in "FG"} == {1}
    assert once.bound.theorem.endswith("given the flags, the same in all draws")


def test_the_text_draws_flags_anew_in_each_draw(run: Run) -> None:
    """A text that is wrong for one pattern of flags alone, which a single drawing for all draws has in one of 16 at most."""
    source = "import torch\n\n\ndef masked(X, F, G):\n    return torch.where(F, X.float(), 0.0).to(X.dtype)"
    t = Terms({"m": 2})
    t.bool_inputs |= {"F", "G"}
    x, f, g = (t.input(n, (DimIndex(("m",)),)) for n in "XFG")
    targets = [Output("O", t.add(t.mul(f, x), t.mul(t.const(0), g)), (("m",),))]
    graph = chosen("F")
    good = module_of(graph, source)
    wrong = good.replace(
        "    o = tl.where(f, x, 0.0)",
        "    o = tl.where(f & (tl.load(F_ptr + 1 - pid_m) == 0), x * 2.0, tl.where(f, x, 0.0))",
    )
    bits = good.replace("    o = tl.where(f, x, 0.0)", "    o = tl.where((f.to(tl.int32) | 4) == 5, x, 0.0)")
    assert good not in (wrong, bits)

    def said(module: str, seed: int) -> Evidence:
        emitted = EmittedModule(t, targets, graph, module, ["X", "F", "G"])
        return text_opinion(emitted, run, seed=seed, sizes={"m": 2}, tiles={"fused": {"m": 1}})

    for seed in range(6):
        right = said(good, seed)
        assert right.word == "TESTED" and isinstance(right.details, FieldDetails), right.summary
        assert right.details.theorem.endswith("given the flags, each draw's own")
        assert said(wrong, seed).word == "REJECTED"
    # what has a value for one drawing of flags alone is looked at with one, and the theorem says so
    right = said(bits, 0)
    assert right.word == "TESTED" and isinstance(right.details, FieldDetails), right.summary
    assert right.details.theorem.endswith("given the flags, the same in all draws")
    verdict = Verdict((right,))
    assert verdict.headline.endswith(" given the flags)") and "bound" in verdict.headline
    assert any(said(bits.replace("== 5", "== 4"), seed).word == "REJECTED" for seed in range(3))
