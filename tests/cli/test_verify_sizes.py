"""`mirage verify` where a side has several sizes: every row is judged, the weakest decides, what was not judged is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from workloads.hand import Case, rmsnorm_linear

from mirage.cli import main
from mirage.codegen.emit import emit_rows
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.mugraph import json_form, text
from mirage.mugraph.parse import parse

CASES = [rmsnorm_linear(m=19), rmsnorm_linear(m=24), rmsnorm_linear(m=40, tn=32)]


def program_of(case: Case) -> Program:
    graph = case.mugraph
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    return Program(graph.name, inputs, (), tuple(range(len(graph.outputs))))


def plain(case: Case) -> str:
    return "\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")


def user(path: Path, cases: list[Case], change: tuple[str, str] = ("", "")) -> Path:
    rows = [[(t.type.shape, t.type.dtype) for t in program_of(c).inputs] for c in cases]
    decorator = f"@mirage.optimize(inputs={rows!r})"
    source = plain(cases[0])
    head = source.index("def ")
    path.write_text(f"import mirage\n{source[:head]}{decorator}\n{source[head:].replace(*change)}\n", "utf-8")
    return path


def module(path: Path, cases: list[Case]) -> Path:
    rows = [(program_of(c), c.mugraph) for c in cases]
    path.write_text(emit_rows(rows, plain(cases[0]), function=cases[0].name, header={}), "utf-8")
    return path


def result(path: Path, cases: list[Case], made: Path) -> Path:
    graphs = [json_form.to_json(c.mugraph) for c in cases]
    table = [{"inputs": [], "mugraph": i} for i in range(len(cases))]
    path.write_text(json.dumps({"mugraphs": graphs, "source": made.read_text("utf-8"), "by_size": table}), "utf-8")
    return path


def shapes(case: Case) -> str:
    return ", ".join("x".join(map(str, i.type.shape)) for i in program_of(case).inputs)


def judged(a: Path, b: Path) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(main, ["verify", str(a), str(b), "--json"])
    assert done.exit_code in (0, 3), done.output
    return done.exit_code, json.loads(done.stdout)


def test_every_row_of_a_result_is_judged(tmp_path: Path) -> None:
    made = result(tmp_path / "result.json", CASES, module(tmp_path / "module.py", CASES))
    code, found = judged(user(tmp_path / "user.py", CASES), made)
    assert code == 0 and found["word"] == "TESTED" and found["not_judged"] == []
    assert [r["inputs"] for r in found["rows"]] == [shapes(c) for c in CASES]
    assert all("text" in r["links"] and r["word"] == "TESTED" for r in found["rows"])


def test_one_wrong_row_is_enough(tmp_path: Path) -> None:
    """The first row's µGraph is wrong; the last row, which the plain names are for, is right."""
    wrong = parse(re.sub(r"= rsqrt\(", "= sqrt(", text.to_text(CASES[0].mugraph)))
    made = {"mugraphs": [json_form.to_json(c.mugraph) for c in CASES], "by_size": [{}]}
    made["mugraphs"][0] = json_form.to_json(wrong)
    path = tmp_path / "result.json"
    path.write_text(json.dumps(made))
    code, found = judged(user(tmp_path / "user.py", CASES), path)
    assert code == 3 and found["word"] == "REJECTED"
    assert {r["inputs"]: r["word"] == "REJECTED" for r in found["rows"]} == {shapes(c): c is CASES[0] for c in CASES}


def test_a_row_that_one_side_lacks_is_said(tmp_path: Path) -> None:
    path = user(tmp_path / "user.py", CASES)
    graph = tmp_path / "graph.txt"
    graph.write_text(text.to_text(CASES[1].mugraph), "utf-8")
    code, found = judged(path, graph)
    assert code == 0 and [r["inputs"] for r in found["rows"]] == [shapes(CASES[1])]
    assert found["not_judged"] == [shapes(CASES[0]), shapes(CASES[2])]
    said = CliRunner().invoke(main, ["verify", str(path), str(graph)]).output
    assert f"{shapes(CASES[0])}: not judged" in said and "(one size)" in said
    alone = tmp_path / "other.txt"
    alone.write_text(text.to_text(rmsnorm_linear(m=7).mugraph), "utf-8")
    refused = CliRunner().invoke(main, ["verify", str(path), str(alone)])
    assert refused.exit_code not in (0, 3) and shapes(CASES[1]) not in refused.output


def test_functions_are_compared_at_every_size(tmp_path: Path) -> None:
    """They differ at one size alone."""
    left = user(tmp_path / "left.py", CASES[:2])
    same = user(tmp_path / "same.py", CASES[:2])
    body = plain(CASES[0])
    result_of = re.search(r"return (.*)", body)
    assert result_of is not None
    more = f"return ({result_of[1]}) * (2.0 if X.shape[0] == 19 else 1.0)"
    other = user(tmp_path / "other.py", CASES[:2], (result_of[0], more))
    for path, words in ((same, ["PROVED", "PROVED"]), (other, ["REJECTED", "PROVED"])):
        code, found = judged(left, path)
        assert [r["word"] for r in found["rows"]] == words and code == (3 if "REJECTED" in words else 0)
