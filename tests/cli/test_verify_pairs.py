"""What `mirage verify` compares, and what it shows of a rejection: floats that differ, a script, a report."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from forked_python import ForkedPython
from mutants.facts import NAIVE
from workloads.hand import Case, small

from mirage.cli import main, verify_subjects
from mirage.cli.verify import judged
from mirage.codegen.emit import emit_module, split_parts
from mirage.errors import MirageError
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.isolate.runner import Worker
from mirage.mugraph import json_form, text
from mirage.results.codec import structure, unstructure
from mirage.results.verdict import Verdict
from mirage.search.engine import Search
from mirage.verify import report

HEAD = "import torch\nimport torch.nn.functional as F\nfrom jaxtyping import Float16\nfrom torch import Tensor\n\nimport mirage\n\n\n"
X = 'x: Float16[Tensor, "6 10"]'


def function(folder: Path, name: str, body: str, parameters: str = X) -> Path:
    path = folder / f"{name}.py"
    path.write_text(f"{HEAD}@mirage.optimize\ndef f({parameters}):\n    return {body}\n", "utf-8")
    return path


def files(folder: Path, case: Case) -> dict[str, Path]:
    """The user's file, the µGraph in both forms, the emitted module, and a result that holds both."""
    graph = case.mugraph
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    source = "\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")
    program = Program(graph.name, inputs, (), tuple(range(len(graph.outputs))))
    module = emit_module(program, graph, source, function=case.name, header={})
    made = {
        "user.py": case.source, "graph.txt": text.to_text(graph), "graph.json": json.dumps(json_form.to_json(graph)),
        "module.py": module, "result.json": json.dumps({"mugraphs": [json_form.to_json(graph)], "text": module}),
    }  # fmt: skip
    for name, content in made.items():
        (folder / name).write_text(content, "utf-8")
    return {name: folder / name for name in made}


def verdict(worker: Worker, a: Path | str, b: Path | str) -> dict[str, Any]:
    left, right = verify_subjects.load(str(a), worker), verify_subjects.load(str(b), worker)
    return unstructure(judged(left, right, worker))


def floats_on(found: dict[str, Any]) -> dict[str, Any]:
    """What the float opinion says of the text."""
    return next(e for e in found["evidence"] if (e["link"], e["opinion"]) == ("text", "float"))


def rejected(found: dict[str, Any]) -> Any:
    """The counterexample in floats."""
    return refused(found, "REJECTED")


def refused(found: dict[str, Any], word: str) -> Any:
    """The floats beside the evidence that gives the verdict its word."""
    return next(e["counterexample"]["concrete"] for e in found["evidence"] if e["word"] == word)


PAIRS = [
    ("user.py", "graph.txt"), ("user.py", "result.json"), ("graph.json", "graph.txt"), ("graph.txt", "module.py"),
    ("user.py", "module.py"), ("module.py", "module.py"),
]  # fmt: skip


@pytest.mark.parametrize("a,b", PAIRS, ids=[f"{a}, {b}" for a, b in PAIRS])
def test_what_is_equal_is_accepted(a: str, b: str, worker: Worker, tmp_path: Path) -> None:
    made = files(tmp_path, small()["rmsnorm_linear"])
    found = verdict(worker, made[a], made[b])
    assert found["word"] in ("PROVED", "TESTED"), found
    assert set(found["links"]) == {"algebra", "schedule"} | ({"text"} if b in ("module.py", "result.json") else set())
    if "text" in found["links"]:
        assert {"field", "float"} <= {e["opinion"] for e in found["evidence"]}


ASKED = [
    ("X.is_contiguous()", ""), ("X.is_contiguous() and W.is_contiguous()", ""), ("X.shape[0] > 0", ""),
    ("X.is_cuda", "device of `X`"), ("not torch.is_grad_enabled()", "gradient mode"), ("X.stride(1) == 1", "strides of `X`"),
]  # fmt: skip


@pytest.mark.parametrize("asked,refused", ASKED, ids=[a for a, _ in ASKED])
def test_what_the_function_asks_is_guarded_and_said_or_refused(
    asked: str, refused: str, worker: Worker, tmp_path: Path
) -> None:
    made = files(tmp_path, small()["rmsnorm_linear"])
    content = made["user.py"].read_text("utf-8")
    assert content.count("    return ") == 1
    returns = f"    if not ({asked}):\n        return X\n    return "
    asking = written(tmp_path / "asking.py", content.replace("    return ", returns))
    module = made["module.py"].read_text("utf-8")
    original = split_parts(module)["original"]
    assert original.count("    return ") == 1
    kept = written(tmp_path / "kept.py", module.replace(original, original.replace("    return ", returns)))
    if refused:
        with pytest.raises(MirageError, match=refused) as raised:
            verdict(worker, asking, kept)
        assert raised.value.code == "MIR210"
        return
    assert verdict(worker, asking, made["module.py"])["word"] == "REJECTED"  # what it falls back to is another text
    found = verdict(worker, asking, kept)
    assert found["word"] in ("PROVED", "TESTED")
    assert any("for contiguous X" in n for n in found["notes"]) == ("contiguous" in asked)
    if "contiguous" in asked:  # what tells a function apart from another is not compared
        with pytest.raises(MirageError, match="MIR210"):
            verdict(worker, asking, made["user.py"])
    else:
        assert verdict(worker, asking, made["user.py"])["scope"] == "these sizes"


BROKEN = [
    ("graph.txt", "= rsqrt(", "= sqrt("),
    ("module.py", "tl.rsqrt", "tl.sqrt"),
]


@pytest.mark.parametrize("name,old,new", BROKEN, ids=[b[0] for b in BROKEN])
def test_what_is_broken_is_rejected_with_floats(
    name: str, old: str, new: str, worker: Worker, tmp_path: Path, forked_python: ForkedPython
) -> None:
    made = files(tmp_path, small()["rmsnorm_linear"])
    content = made[name].read_text("utf-8")
    assert old in content
    broken = written(tmp_path / f"broken_{name}", content.replace(old, new))
    left = made["graph.txt"] if name == "module.py" else made["user.py"]
    found = verdict(worker, left, broken)
    assert found["word"] == "REJECTED"
    shown = rejected(found)
    assert shown["script"] and shown["expected"] != shown["actual"], shown["note"]
    assert_script(shown, tmp_path, forked_python)


def assert_script(shown: dict[str, Any], folder: Path, forked_python: ForkedPython) -> None:
    """The script runs on its own and prints what the counterexample says."""
    path = folder / "counterexample.py"
    path.write_text(shown["script"], "utf-8")
    env = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "PYTHONPATH")}
    done = forked_python.run(path, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    expected, actual, difference = done.stdout.splitlines()
    assert float(expected.rsplit(" ", 1)[1]) == pytest.approx(float(shown["expected"]), nan_ok=True)
    assert float(actual.rsplit(" ", 1)[1]) == pytest.approx(float(shown["actual"]), nan_ok=True)
    assert difference.startswith("difference:")
    imported = set(re.findall(r"^import ([\w.]+)", shown["script"], re.M))
    assert imported <= {"importlib.util", "os", "tempfile", "torch", "triton"}


OTHER = [
    ("(x + 1) * 2", "x * 2 + 2.001"), ("torch.relu(x)", "x"), ("F.silu(x) * torch.exp(x)", "F.gelu(x)"),
    ("x / (x.abs() + 1e-5)", "x / (x.abs() + 1e-6)"), ("torch.where(x > 0, x, -1.0)", "torch.where(x >= 0, x, -1.0)"),
    ("x.softmax(1)", "x.softmax(0)"), ("x.amax(1)", "x[:, 1:].amax(1)"),
]  # fmt: skip


@pytest.mark.parametrize("a,b", OTHER, ids=[f"{a} | {b}" for a, b in OTHER])
def test_functions_that_differ_are_shown_to(a: str, b: str, worker: Worker, tmp_path: Path) -> None:
    found = verdict(worker, function(tmp_path, "a", a), function(tmp_path, "b", b))
    assert found["word"] == "REJECTED"
    shown = rejected(found)
    assert shown["script"], shown["note"]
    assert shown["values"] or shown["kind"]
    assert shown["expected"] != shown["actual"]


def test_a_script_of_two_functions_runs(worker: Worker, tmp_path: Path, forked_python: ForkedPython) -> None:
    found = verdict(worker, function(tmp_path, "a", "x.softmax(1)"), function(tmp_path, "b", "x.softmax(0)"))
    assert_script(rejected(found), tmp_path, forked_python)


def test_what_only_the_field_sees_is_said_to_be_so(worker: Worker, tmp_path: Path) -> None:
    """Sines are opaque there, and no law knows three times an angle."""
    found = verdict(
        worker,
        function(tmp_path, "a", "torch.sin(3 * x)"),
        function(tmp_path, "b", "3 * torch.sin(x) - 4 * torch.sin(x) ** 3"),
    )
    shown = refused(found, "UNDECIDED")
    assert "field alone" in shown["note"] and not shown["script"]


def test_what_only_floats_see_is_shown_in_floats(worker: Worker, tmp_path: Path) -> None:
    """Attention without its shift: equal in exact arithmetic, and not finite where scores are large."""
    made = files(tmp_path, small()["attention_split"])
    content = made["module.py"].read_text("utf-8")
    naive = content.replace(*NAIVE)
    assert naive != content
    result = tmp_path / "naive.json"
    result.write_text(json.dumps({"mugraphs": [json_form.to_json(small()["attention_split"].mugraph)], "text": naive}))
    found = verdict(worker, made["user.py"], result)
    assert found["word"] == "REJECTED" and floats_on(found)["word"] == "REJECTED"
    shown = rejected(found)
    assert shown["script"], shown["note"]
    assert shown["actual"] in ("nan", "inf", "-inf")


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [v for k, v in attrs if k in ("src", "href") and v]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_report_stands_alone_and_escapes(worker: Worker, tmp_path: Path) -> None:
    made = files(tmp_path, small()["rmsnorm_linear"])
    found = verdict(worker, made["user.py"], made["result.json"])
    evil = "<script>alert(1)</script>&\"'"
    found["notes"] = [evil]
    floats_on(found)["summary"] = evil
    floats_on(found)["details"]["regimes"][0]["regime"] = evil
    page = report.html(structure(found, Verdict), evil, evil)
    read = Page()
    read.feed(page)
    assert "script" not in read.tags and not read.links and "@import" not in page and "url(" not in page
    words = " ".join(read.words)
    for part in (
        "algebra",
        "schedule",
        "text",
        "scores of 60000",
        "PyTorch's tracer",
        "bound",
        found["headline"],
    ):
        assert part in words, part
    assert "prefers-color-scheme: dark" in page and words.count(evil) >= 5


Files = dict[str, Path]
MISTAKES: list[tuple[str, Callable[[Path, Files], tuple[Path, Path]], str]] = [
    ("other shapes", lambda d, m: (function(d, "f", "x"), m["graph.txt"]), "MIR303"),
    ("other shapes of a module", lambda d, m: (function(d, "f", "x"), m["module.py"]), "MIR303"),
    (
        "no µGraph",
        lambda d, m: (m["user.py"], written(d / "r.json", '{"mugraphs": [], "reason": "keep yours"}')),
        "MIR301",
    ),
    ("not JSON", lambda d, m: (m["user.py"], written(d / "r.json", "{")), "MIR301"),
    ("no text of a µGraph", lambda d, m: (m["user.py"], written(d / "g.txt", "hello")), "MIR301"),
    ("no file", lambda d, m: (m["user.py"], d / "none.py"), "MIR100"),
    ("a module in pieces", lambda d, m: (m["user.py"], cut(d, m["module.py"], "# mirage:end launcher")), "MIR306"),
    ("a module without tables", lambda d, m: (m["graph.txt"], cut(d, m["module.py"], "_EXPECTED =")), "MIR306"),
    ("half a µGraph in a module", lambda d, m: (m["user.py"], other(d, m, "\n# kernel ", "\n# ")), "MIR301"),
    ("a µGraph of other sizes", lambda d, m: (m["user.py"], cut(d, m["module.py"], "# axes m=", "1")), "MIR307"),
    ("a µGraph of other tiles", lambda d, m: (m["user.py"], other(d, m, "grid tile 16", "grid tile 32")), "MIR307"),
    ("an invalid µGraph", lambda d, m: (m["user.py"], other(d, m, " = rsqrt(", " = nothing(")), "MIR300"),
    ("a µGraph of one input less", lambda d, m: (m["user.py"], other(d, m, "\n# input", "\n# temp")), "MIR300"),
    ("a µGraph that does not parse", lambda d, m: (m["user.py"], other(d, m, " = rsqrt(", " = rsqrt[")), "MIR301"),
    ("code for a µGraph", lambda d, m: (m["user.py"], other(d, m, "\n# axes", "\nimport os\n# axes")), "MIR306"),
    ("two µGraphs for a row", lambda d, m: (m["user.py"], other(d, m, "\n# axes", "\n# mugraph f\n# axes")), "MIR306"),
    (
        "a huge µGraph",
        lambda d, m: (m["user.py"], other(d, m, "\n# axes", "\n# " + "x" * (1 << 20) + "\n# axes")),
        "MIR306",
    ),
    ("a module of other tiles", lambda d, m: (m["graph.txt"], cut(d, m["module.py"], 'SIZES = {"m": ', "1")), "MIR303"),
]


def written(path: Path, content: str) -> Path:
    path.write_text(content, "utf-8")
    return path


def cut(folder: Path, path: Path, old: str, more: str = "") -> Path:
    content = path.read_text("utf-8")
    assert old in content
    return written(folder / "cut.py", content.replace(old, old + more if more else ""))


def other(folder: Path, made: Files, old: str, new: str) -> Path:
    """The module with its µGraph changed, and nothing else of it."""
    head, mark, part = made["module.py"].read_text("utf-8").partition("# mirage:begin mugraph")
    assert old in part
    return written(folder / "other.py", head + mark + part.replace(old, new, 1))


@pytest.mark.parametrize("what,make,code", MISTAKES, ids=[m[0] for m in MISTAKES])
def test_mistakes_have_codes(what: str, make: Any, code: str, worker: Worker, tmp_path: Path) -> None:
    a, b = make(tmp_path, files(tmp_path, small()["rmsnorm_linear"]))
    with pytest.raises(MirageError) as raised:
        verdict(worker, a, b)
    assert raised.value.code == code, raised.value
    assert raised.value.next_step


OTHER_PROGRAMS = [
    ("another operator", " = rsqrt(", " = sqrt("),
    ("another constant", "const(value=1/", "const(value=2/"),
]


@pytest.mark.parametrize("what,old,new", OTHER_PROGRAMS, ids=[o[0] for o in OTHER_PROGRAMS])
def test_another_programs_mugraph_is_no_evidence(what: str, old: str, new: str, worker: Worker, tmp_path: Path) -> None:
    """A valid µGraph of the same shapes and tiles that computes something else: the text is right, and is not accepted by it; nor
    is a text that is wrong in the same way."""
    made = files(tmp_path, small()["rmsnorm_linear"])
    wrong = other(tmp_path, made, old, new)
    alike = written(tmp_path / "alike.py", wrong.read_text("utf-8").replace("tl.rsqrt(", "tl.sqrt("))
    for module in (wrong, alike):
        found = verdict(worker, made["user.py"], module)
        assert found["word"] == "REJECTED" and found["links"]["algebra"]["word"] == "REJECTED"


def test_a_wrong_text_beside_the_right_mugraph_is_rejected(worker: Worker, tmp_path: Path) -> None:
    made = files(tmp_path, small()["rmsnorm_linear"])
    wrong = written(tmp_path / "wrong.py", made["module.py"].read_text("utf-8").replace("tl.rsqrt(", "tl.sqrt("))
    found = verdict(worker, made["user.py"], wrong)
    assert found["links"]["algebra"]["word"] != "REJECTED" and found["links"]["text"]["word"] == "REJECTED"


AT_ITS_SIZE = "in_m = (i_m < M) |", "in_m = (i_m < min(M, 64)) |"


@pytest.mark.parametrize("left", ["user.py", "graph.txt", "module.py"])
def test_a_text_that_is_wrong_at_its_real_size_alone_is_rejected(left: str, worker: Worker, tmp_path: Path) -> None:
    made = files(tmp_path, small()["rmsnorm_linear"])
    text = made["module.py"].read_text("utf-8")
    assert text.count(AT_ITS_SIZE[0]) == 1
    found = verdict(worker, made[left], written(tmp_path / "cut.py", text.replace(*AT_ITS_SIZE)))
    (e,) = [e for e in found["evidence"] if e["word"] == "REJECTED"]
    assert (e["link"], e["opinion"]) == ("text", "structure") and "min(M, 64)" in e["summary"]
    shown = e["counterexample"]["concrete"]
    assert "read" in shown["note"] and not shown["script"]
    layout = written(tmp_path / "layout.py", text.replace(AT_ITS_SIZE[0], "# of the rows\n    " + AT_ITS_SIZE[0]))
    assert verdict(worker, made[left], layout)["word"] in ("PROVED", "TESTED")


def test_a_text_that_reaches_out_is_not_run(worker: Worker, tmp_path: Path) -> None:
    made = files(tmp_path, small()["rmsnorm_linear"])
    text = made["module.py"].read_text("utf-8")
    outside = written(
        tmp_path / "outside.py", text.replace("    return O\n", '    return O * len(torch.os.environ["X"])\n', 1)
    )
    found = verdict(worker, made["user.py"], outside)
    (e,) = found["evidence"]
    line = text[: text.index("    return O\n")].count("\n") + 1
    assert e["word"] == "REJECTED" and e["summary"].startswith(f"module text: line {line}: reads torch.os")


def test_verifying_a_module_searches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No search is made for the verdict on a module, and the count sees the one that made the module."""
    searched: list[str] = []
    run = Search.run

    def counted(self: Search) -> Any:
        searched.append(self.problem.name)
        return run(self)

    monkeypatch.setattr(Search, "run", counted)
    user, module = function(tmp_path, "f", "torch.softmax(x, -1)"), tmp_path / "module.py"
    done = CliRunner().invoke(main, ["optimize", str(user), "--anyway", "--no-daemon", "--out", str(module)])
    assert done.exit_code == 0 and searched, done.output
    searched.clear()
    done = CliRunner().invoke(main, ["verify", str(user), str(module), "--json"])
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)["links"]) == {"algebra", "schedule", "text"} and searched == []
