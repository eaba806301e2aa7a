"""One module for several sizes: each row of its table is accepted by its own µGraph, and no other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from workloads.hand import Case, gated_mlp, rmsnorm_linear
from workloads.hand_targets import targets

from mirage.codegen.emit import emit_module, emit_rows
from mirage.codegen.launcher_text import RowNames
from mirage.codegen.size_table import focused, inputs_of, rows_of
from mirage.errors import ModuleUnreadable
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.text_opinion import text_opinion
from mirage.verify.memory.text_opinion import text_memory_opinion

Run = Callable[[str, dict[str, Any]], dict[str, Any]]


def program_of(graph: MuGraph) -> Program:
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    return Program(graph.name, inputs, (), tuple(range(len(graph.outputs))))


def with_warps(case: Case, warps: int) -> Case:
    (kernel,) = case.mugraph.kernels
    assert isinstance(kernel, CustomKernel)
    return replace(case, mugraph=replace(case.mugraph, kernels=(replace(kernel, warps=warps),)))


CASES = [rmsnorm_linear(m=19), rmsnorm_linear(m=40, tn=32), with_warps(rmsnorm_linear(m=24), 8)]


def merged(cases: list[Case]) -> str:
    text = "\n".join(x for x in cases[0].source.splitlines() if not x.startswith("@mirage") and x != "import mirage")
    rows = [(program_of(c.mugraph), c.mugraph) for c in cases]
    return emit_rows(rows, text, function=cases[0].name, header={})


TEXT = merged(CASES)


def said(case: Case, module: str, run: Run) -> str:
    """ "" where the module's row for the case is accepted, else why it is not."""
    program = program_of(case.mugraph)
    try:
        module = focused(module, inputs_of(program))
    except ModuleUnreadable as e:
        return e.message
    t, outputs = targets(case.mugraph)
    names = [i.name for i in program.inputs]
    for e in (
        text_memory_opinion(case.mugraph, module, names),
        text_opinion(EmittedModule(t, outputs, case.mugraph, module, names), run, draws=8),
    ):
        if e.word == "REJECTED":
            return e.summary
    assert e.opinion == "field" and e.word == "TESTED"
    return ""


def test_rows_share_what_is_the_same() -> None:
    assert TEXT.count("@triton.jit") == 1  # warps are the launcher's
    assert re.findall(r"def (_run\w*)\(", TEXT) == ["_run", "_run_3"]
    assert [r.names for r in rows_of(TEXT)] == [
        RowNames(),
        RowNames("_EXPECTED_2", "_run", "SIZES_2", "TILES_2"),
        RowNames("_EXPECTED_3", "_run_3", "SIZES_3", "TILES"),
    ]
    assert [r.inputs for r in rows_of(TEXT)] == [inputs_of(program_of(c.mugraph)) for c in CASES]


def test_kernels_that_differ_have_names_of_their_own() -> None:
    other = gated_mlp()
    rows = [(program_of(c.mugraph), c.mugraph) for c in CASES[:2]]
    different = replace(other.mugraph, name=CASES[0].name)
    source = "def rmsnorm_linear(X, G=None, W=None, W1=None, W2=None):\n    return X\n"
    names = [n for n in re.findall(r"def (_\w+)\(\n", emit_rows(rows, source, function=CASES[0].name, header={}))]
    assert len(names) == 1
    kernel = CASES[0].mugraph.kernels[0]
    assert isinstance(kernel, CustomKernel)
    again = replace(different, kernels=(replace(different.kernels[0], name=kernel.name),))
    text = emit_rows([*rows, (program_of(again), again)], source, function=CASES[0].name, header={})
    assert re.findall(r"def (_\w+)\(\n", text) == [names[0], f"{names[0]}_2"]


def test_a_module_of_one_size_has_no_table() -> None:
    case = CASES[0]
    text = merged([case])
    assert "_BY_SIZE" not in text and [r.names for r in rows_of(text)] == [RowNames()]
    assert focused(text, ()) is text
    source = "\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")
    assert text == emit_module(program_of(case.mugraph), case.mugraph, source, function=case.name, header={})


@pytest.mark.parametrize("number", range(len(CASES)))
def test_every_row_is_accepted(number: int, run: Run) -> None:
    assert said(CASES[number], TEXT, run) == ""


def test_names_only_change_places() -> None:
    inputs = inputs_of(program_of(CASES[2].mugraph))
    there = focused(TEXT, inputs)
    assert there != TEXT and focused(there, inputs) == there
    assert focused(there, inputs_of(program_of(CASES[0].mugraph))) == TEXT
    assert there.partition("# mirage:begin original")[2] == TEXT.partition("# mirage:begin original")[2]
    with pytest.raises(ModuleUnreadable):
        focused(TEXT, inputs[1:])


ROW = "    {0}: (\n        {1},\n        {2},\n        {3},\n    ),\n"
SECOND = ROW.format("_EXPECTED_2", "_run", "SIZES_2", "TILES_2")
BROKEN = [
    ("another row's sizes and tiles", 1, SECOND, ROW.format("_EXPECTED_2", "_run", "SIZES", "TILES")),
    ("another row's sizes", 1, SECOND, ROW.format("_EXPECTED_2", "_run", "SIZES", "TILES_2")),
    ("another row's tiles", 1, SECOND, ROW.format("_EXPECTED_2", "_run", "SIZES_2", "TILES")),
    ("no row", 1, SECOND, ""),
    ("a row that is no row", 1, SECOND, "    _EXPECTED_2: None,\n"),
    ("changed behind the table", 1, "def _fits(", "_BY_SIZE[_EXPECTED_2] = (_run, SIZES, TILES)\n\n\ndef _fits("),
    ("any size", 0, "_BY_SIZE.get(tuple(given)) if", "_BY_SIZE.get(tuple(given), (_run, SIZES, TILES)) if"),
    ("always the first row", 1, "= _fits(X, G, W)", "= _fits(X, G, W) and next(iter(_BY_SIZE.values()))"),
    ("always the last row", 1, "= _fits(X, G, W)", "= _fits(X, G, W) and list(_BY_SIZE.values())[-1]"),
    ("any device", 2, "if here else None", ""),
    ("sizes and tiles by themselves", 1, "return run(X, G, W, sizes, tiles, ", "return run(X, G, W, "),
    ("tensors exchanged", 1, "return run(X, G, W, sizes", "return run(X, W, G, sizes"),
]  # fmt: skip


@pytest.mark.parametrize("what,number,old,new", BROKEN, ids=[b[0] for b in BROKEN])
def test_broken_tables_are_rejected(what: str, number: int, old: str, new: str, run: Run) -> None:
    assert TEXT.count(old) == 1
    assert said(CASES[number], TEXT.replace(old, new), run), what
