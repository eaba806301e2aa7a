"""Scores of a function that is written without a shift are kept in float32: in its own dtype they are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mutants.bases import module_of
from mutants.facts import regime

from mirage.devices.table import DEVICES
from mirage.ir.program import Program
from mirage.mugraph.grammar import MuGraph
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.search.engine import Bounds, Search
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.floats.opinion import float_opinion

Run = Callable[[str, dict[str, Any]], dict[str, Any]]
SOURCE = """import torch

def attention(Q, K, V):
    E = torch.exp(torch.matmul(Q, K))
    return torch.matmul(E / E.sum(-1, keepdim=True), V)
"""


def attention(shift: bool) -> Program:
    b = Builder("attention")
    Q, K, V = (b.input(n, s, "fp16") for n, s in (("Q", (2, 32, 32)), ("K", (2, 32, 128)), ("V", (2, 128, 16))))
    a = b.op("matmul", Q, K)
    e = b.op("exp", a)
    b.output(
        b.op("matmul", b.op("softmax", a, dim=-1) if shift else b.op("div", e, b.op("sum", e, dim=-1, keepdim=True)), V)
    )
    return b.program()


def searched(p: Program) -> Search:
    s = Search(
        problem(p, lower(p)), lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=64, structures=4, tilings=4)
    )
    list(s.run())
    return s


def kept(s: Search, operand: bool) -> list[MuGraph]:
    """µGraphs that keep the scores (or the exponentials, an operand) in one tensor, best first."""
    cuts = {f"tmp{c.number}": c for c in s.cuts}
    out = []
    for c in s.best:
        temps = [x for x in c.mugraph.tensors if x.name in cuts]
        if len(temps) == 1 and len(temps[0].dims) == 3 and cuts[temps[0].name].operand == operand:
            out.append(c.mugraph)
    return out


def dtypes(graphs: list[MuGraph]) -> set[str]:
    return {x.dtype for m in graphs for x in m.tensors if x.name.startswith("tmp") and "_" not in x.name}


@pytest.fixture(scope="module")
def search() -> Search:
    return searched(attention(shift=False))


def test_scores_without_a_shift_are_kept_in_float32(search: Search) -> None:
    assert dtypes(kept(search, operand=False)) == {"fp32"}
    assert dtypes(kept(search, operand=True)) == {"fp16"}  # exponentials are at most 1


def test_scores_with_a_shift_are_kept_as_pytorch_keeps_them() -> None:
    assert dtypes(kept(searched(attention(shift=True)), operand=False)) == {"fp16"}


def test_scores_in_float16_are_refused(search: Search, run: Run) -> None:
    graph = kept(search, operand=False)[0]
    narrow = replace(graph, tensors=tuple(replace(x, dtype="fp16") if x.name == "tmp0" else x for x in graph.tensors))
    assert graph != narrow
    for m, word in ((graph, "TESTED"), (narrow, "REJECTED")):
        e = float_opinion(
            EmittedModule(
                search.problem.t, search.problem.outputs, m, module_of(m), ["Q", "K", "V"], SOURCE, "attention"
            ),
            run,
            regimes=[regime("times 10")],
        )
        assert e.word == word, e.summary
    assert "error" in e.summary
