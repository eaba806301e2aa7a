"""Library kernels: their value in the fields is what torch computes, in µGraphs and in emitted modules; with other
arguments they are rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from workloads.hand import at, dim, load, tensor
from workloads.hand_targets import read

from mirage.codegen.emit import emit_module
from mirage.errors import UnknownOperator
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import BlockGraph, CustomKernel, LibraryKernel, MuGraph, Store
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.field.text_opinion import text_opinion
from mirage.verify.output_terms import Output
from mirage.verify.semantics.float64 import Floats
from mirage.verify.semantics.library_calls import LIBRARY

Run = Callable[[str, dict[str, Any]], dict[str, Any]]
CALLS: tuple[tuple[str, tuple[tuple[int, ...], ...], dict[str, Any], Callable[..., Any]], ...] = (
    ("matmul", ((3, 4), (4, 5)), {}, torch.matmul),
    ("matmul", ((2, 3, 4), (4, 5)), {}, torch.matmul),
    ("matmul", ((4,), (2, 4, 5)), {}, torch.matmul),
    ("matmul", ((2, 3, 4), (4,)), {}, torch.matmul),
    ("matmul", ((4,), (4,)), {}, torch.matmul),
    ("bmm", ((2, 3, 4), (2, 4, 5)), {}, torch.bmm),
    ("linear", ((2, 3, 4), (5, 4), (5,)), {}, torch.nn.functional.linear),
    ("einsum", ((2, 3, 4), (2, 5, 4)), {"equation": "bij,bkj->kbi"}, lambda *x: torch.einsum("bij,bkj->kbi", *x)),
    ("einsum", ((2, 3),), {"equation": "ij->j"}, lambda x: torch.einsum("ij->j", x)),
    ("scaled_dot_product_attention", ((2, 3, 4), (2, 5, 4), (2, 5, 6)), {}, torch.nn.functional.scaled_dot_product_attention),
    (
        "scaled_dot_product_attention", ((1, 4, 5, 3), (1, 2, 5, 3), (1, 2, 5, 6)),
        {"causal": "True", "gqa": "True", "scale": "0.3"},
        lambda *x: torch.nn.functional.scaled_dot_product_attention(*x, is_causal=True, enable_gqa=True, scale=0.3),
    ),
)  # fmt: skip


@pytest.mark.parametrize("name,shapes,attrs,call", CALLS, ids=[f"{c[0]} {c[1]}" for c in CALLS])
def test_library_calls_are_what_torch_computes(name: str, shapes: Any, attrs: Any, call: Any) -> None:
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(s) for s in shapes]
    want = call(*(torch.from_numpy(x) for x in given)).numpy()
    got = LIBRARY[name](Floats(), [x[None] for x in given], attrs)
    assert got.shape[1:] == want.shape
    np.testing.assert_allclose(got[0], want, rtol=1e-12, atol=1e-12)


def test_calls_that_have_no_value_are_refused() -> None:
    x = np.ones((1, 2, 2))
    for name, args, attrs in (
        ("einsum", [x], {"equation": "ii->i"}),
        ("einsum", [x], {"equation": "...i->i"}),
        ("einsum", [x, x], {"equation": "ij,jk"}),
        ("scaled_dot_product_attention", [x, x, x, x], {}),
    ):
        with pytest.raises(UnknownOperator):
            LIBRARY[name](Floats(), args, attrs)


def product(t: Terms) -> int:
    return t.sum("k", t.mul(read(t, "X", "mk"), read(t, "W", "kn")))


def batched(t: Terms) -> int:
    return t.sum("k", t.mul(read(t, "X", "bmk"), read(t, "W", "bkn")))


def attention(t: Terms) -> int:
    p = t.exp(t.mul(t.literal(3**-0.5), t.sum("d", t.mul(read(t, "Q", "md"), read(t, "K", "td")))))
    return t.mul(t.sum("t", t.mul(p, read(t, "V", "te"))), t.inv(t.sum("t", p)))


SDPA = ("scaled_dot_product_attention", ("Q", "K", "V"), (("causal", False), ("scale", None), ("gqa", False)))
GRAPHS: dict[str, tuple[Any, dict[str, str], str, tuple[Any, ...], tuple[Any, ...]]] = {
    "matmul": (product, {"X": "m k", "W": "k n"}, "m n", ("matmul", ("X", "W"), ()), ("linear", ("X", "W"), ())),
    "linear": (
        product, {"X": "m k", "W": "k n"}, "m n",
        ("einsum", ("X", "W"), (("equation", "mk,kn->mn"),)), ("einsum", ("X", "W"), (("equation", "mk,kn->nm"),)),
    ),
    "batched": (batched, {"X": "b m k", "W": "b k n"}, "b m n", ("matmul", ("X", "W"), ()), ("matmul", ("W", "X"), ())),
    "attention": (
        attention, {"Q": "m d", "K": "t d", "V": "t e"}, "m e", SDPA,
        (SDPA[0], SDPA[1], (("causal", True), *SDPA[2][1:])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_library_kernels_are_run_in_graphs_and_modules(name: str, run: Run) -> None:
    build, inputs, out, right, wrong = GRAPHS[name]
    sizes = {"b": 2, "m": 5, "k": 7, "n": 4, "d": 3, "t": 6, "e": 8}
    used = sorted({a for dims in (*inputs.values(), out) for a in dims.split()})
    tensors = (*(tensor(n, d) for n, d in inputs.items()), tensor("Y", out, "temp"), tensor("O", out, "output"))
    axes = out.split()
    body = (load("y", "Y", out), Store("O", "y", at(*axes)))
    copy = CustomKernel("copy", BlockGraph(tuple(dim(a, 1 if a == "b" else 4, "grid") for a in axes), body))

    def opinions(call: tuple[Any, ...]) -> list[str]:
        kernel = LibraryKernel("call", call[0], call[1], "Y", call[2])
        graph = MuGraph("program", tuple((a, sizes[a]) for a in used), tensors, (kernel, copy))
        t = Terms(dict(graph.axes))
        outputs = [Output("O", build(t), tuple((a,) for a in out.split()))]
        program = Program("program", tuple(TensorSpec(i.name, graph.shape(i), i.dtype) for i in graph.inputs), (), (0,))
        source = f"def program({', '.join(inputs)}):\n    return None"
        module = emit_module(program, graph, source, function="program", header={})
        fixed = {"sizes": dict(graph.axes), "tiles": {"copy": {d.name: d.tile for d in copy.block.dims}}}
        return [
            schedule_opinion(t, outputs, graph, 8, **fixed).word,
            text_opinion(EmittedModule(t, outputs, graph, module, list(inputs)), run, draws=8, **fixed).word,
        ]

    assert opinions(right) == ["TESTED", "TESTED"]
    assert opinions(wrong) == ["REJECTED", "REJECTED"]
    if len(set(inputs)) > 1:
        swapped = (right[0], (*right[1][1:], right[1][0]), right[2])
        assert opinions(swapped) == ["REJECTED", "REJECTED"]
