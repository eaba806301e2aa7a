"""The µGraphs that a module carries come back as they were, and nothing else is taken for one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from emission_cases import EXTRA, original_of, program_of
from workloads import hand

from mirage.codegen.carried_mugraph import MAX_CHARS, WIDTH, comment_lines, read_carried
from mirage.codegen.emit import emit_module, emit_rows, split_parts
from mirage.errors import MirageError, ModuleUnreadable, MugraphSyntax
from mirage.mugraph.resized import like
from mirage.plan import plan

CASES = {**hand.small(), **{n: f() for n, f in EXTRA.items()}}
ROWS = [hand.rmsnorm_linear(m=19), hand.rmsnorm_linear(m=24), hand.rmsnorm_linear(m=40, tn=32)]


@pytest.mark.parametrize("name", CASES)
def test_what_was_emitted_comes_back(name: str) -> None:
    case = CASES[name]
    for graph in (case.mugraph, plan(case.mugraph)):
        text = emit_module(program_of(graph), graph, original_of(case), function=case.name, header={})
        assert read_carried(split_parts(text)["mugraph"], 1) == [graph]


def test_each_row_has_its_own() -> None:
    rows = [(program_of(c.mugraph), c.mugraph) for c in ROWS]
    text = emit_rows(rows, original_of(ROWS[0]), function=ROWS[0].name, header={})
    assert read_carried(split_parts(text)["mugraph"], 3) == [c.mugraph for c in ROWS]
    for count in (0, 1, 2, 4):
        with pytest.raises(ModuleUnreadable):
            read_carried(split_parts(text)["mugraph"], count)


def test_one_at_other_sizes_is_said_by_them() -> None:
    graphs = [CASES["rmsnorm_linear"].mugraph]
    sizes = dict(graphs[0].axes)
    graphs += [like(graphs[0], {**sizes, "m": n}) for n in (3, 5)]
    lines = comment_lines(graphs)
    assert lines[-2:] == [f"# mugraph {graphs[0].name} as number 1 with m={n}" for n in (3, 5)]
    assert read_carried("\n".join(lines), 3) == graphs
    wider = replace(graphs[1], tensors=tuple(replace(t, dtype="fp32") for t in graphs[1].tensors))
    assert len(comment_lines([graphs[0], wider])) > len(comment_lines(graphs[:1])) + 1  # another one is written out
    for forged in (
        lines[-1].replace("number 1", "number 3"), lines[-1].replace("number 1", "number 0"), lines[-1].replace("m=5", "zz=5"),
    ):  # fmt: skip
        with pytest.raises(ModuleUnreadable):
            read_carried("\n".join([*lines[:-1], forged]), 3)
    for odd in ("m=5; n=2", "m=-1", "m=", "m=5, __import__('os')"):
        with pytest.raises((MugraphSyntax, ModuleUnreadable)):
            read_carried("\n".join([*lines[:-1], lines[-1].replace("m=5", odd)]), 3)


def test_long_lines_are_folded_and_come_back() -> None:
    """Within the width where there is a space to break at, wherever the words end."""
    for word in range(1, 40):
        note = " ".join("w" * (word + i % 7) for i in range(200 // word)) + "  two  spaces\u2028 and 'quotes' \\n"
        graph = replace(CASES["rmsnorm_linear"].mugraph, notes=(note, "x" * 300))
        lines = comment_lines([graph])
        assert read_carried("\n".join(lines), 1) == [graph]
        assert sum(len(x) > WIDTH for x in lines) == 1  # one word longer than any line
        assert not any(x.endswith(" ") for x in lines)


def test_it_is_nothing_but_comments() -> None:
    case = CASES["rmsnorm_linear"]
    text = emit_module(program_of(case.mugraph), case.mugraph, original_of(case), function=case.name, header={})
    part = split_parts(text)["mugraph"]
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(text.replace(part, "")))


Change = Callable[[str], str]
BROKEN: list[tuple[str, Change, type[MirageError]]] = [
    ("code", lambda s: s + "\nimport os", ModuleUnreadable),
    ("code instead", lambda s: "_MUGRAPH = 1", ModuleUnreadable),
    ("nothing", lambda s: "", ModuleUnreadable),
    ("no head", lambda s: s.partition("\n")[2], ModuleUnreadable),
    ("two", lambda s: f"{s}\n{s}", ModuleUnreadable),
    ("huge", lambda s: s + "\n# note " + "x" * MAX_CHARS, ModuleUnreadable),
    ("another line", lambda s: s + "\n# import os", MugraphSyntax),
    ("a line less", lambda s: re.sub(r"\n# kernel .*", "", s, count=1), MugraphSyntax),
    ("another operator's form", lambda s: s.replace(" = load ", " = fetch ", 1), MugraphSyntax),
]


@pytest.mark.parametrize("what,change,error", BROKEN, ids=[b[0] for b in BROKEN])
def test_what_is_none_is_refused(what: str, change: Change, error: type[MirageError]) -> None:
    part = "\n".join(comment_lines([CASES["rmsnorm_linear"].mugraph]))
    with pytest.raises(error) as raised:
        read_carried(change(part), 1)
    assert "mirage optimize" in raised.value.next_step
