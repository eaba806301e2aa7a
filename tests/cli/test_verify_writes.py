"""`mirage verify` of functions that write to their inputs: the last values of these count, and so does what is returned of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirage.cli import verify_subjects
from mirage.cli.verify import judged
from mirage.codegen.writing_module import taken_apart
from mirage.errors import InPlaceEdit, MirageError, ModuleUnreadable
from mirage.isolate.runner import Worker
from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request
from mirage.results.progress import CancelToken
from mirage.results.result import Result
from mirage.results.verdict import Verdict
from mirage.verify.structure.loadable import check_loadable

HEAD = "import torch\n\nimport mirage\n\n\n"
STEP = "m.mul_(0.9).add_(g)\np.sub_(m * 0.1)\nreturn p"


def function(folder: Path, name: str, body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    path = folder / f"{name}.py"
    inputs = ", ".join(['((12, 20), "fp32")'] * 3)
    path.write_text(f"{HEAD}@mirage.optimize(inputs=[{inputs}])\ndef f(p, g, m):\n{lines}", "utf-8")
    return str(path)


def verdict(worker: Worker, a: str, b: str) -> Verdict:
    return judged(verify_subjects.load(a, worker), verify_subjects.load(b, worker), worker)


EQUAL = {
    "one expression": "m.copy_(g + 0.9 * m)\np.copy_(p - 0.1 * m)\nreturn p",
    "by parts": "m[:4] = m[:4] * 0.9 + g[:4]\nm[4:] = m[4:] * 0.9 + g[4:]\nreturn p.sub_(m * 0.1)",
    "through a view": "v = m.view(20, 12)\nv *= 0.9\nm += g\np.view(-1).sub_((m / 10).view(-1))\nreturn p",
}
OTHER = {
    "a write is missing": "n = m * 0.9 + g\np.sub_(n * 0.1)\nreturn p",
    "another value is written": "m.mul_(0.9).add_(g)\np.sub_(m * 0.2)\nreturn p",
    "written before it is read": "p.sub_(m * 0.1)\nm.mul_(0.9).add_(g)\nreturn p",
    "another input is written": "g.add_(m * 0.9)\np.sub_(g * 0.1)\nreturn p",
    "one write more": f"g.zero_()\n{STEP}".replace("g.zero_()\nm.mul_(0.9).add_(g)", "m.mul_(0.9).add_(g)\ng.zero_()"),
    "a copy is returned": f"{STEP}.clone()",
    "another input is returned": STEP.replace("return p", "return m"),
    "nothing is returned": STEP.replace("\nreturn p", ""),
    "a tuple is returned": STEP.replace("return p", "return (p,)"),
    "a part is left as it was": STEP.replace("p.sub_(m * 0.1)", "p[1:].sub_(m[1:] * 0.1)"),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_writes_are_accepted(worker: Worker, tmp_path: Path, name: str) -> None:
    assert verdict(worker, function(tmp_path, "a", STEP), function(tmp_path, "b", EQUAL[name])).accepted


@pytest.mark.parametrize("name", OTHER)
def test_other_writes_are_rejected(worker: Worker, tmp_path: Path, name: str) -> None:
    found = verdict(worker, function(tmp_path, "a", STEP), function(tmp_path, "b", OTHER[name]))
    assert found.word == "REJECTED"


KERNEL = """import triton
import triton.language as tl


@triton.jit
def k(p):
    tl.store(p, 1.0)


def f(p, g, m):
    k[(1,)](p)
    return p
"""


def test_kernels_without_a_mugraph_are_refused(worker: Worker, tmp_path: Path) -> None:
    """What they write is not seen."""
    (tmp_path / "k.py").write_text(KERNEL, "utf-8")
    with pytest.raises(InPlaceEdit):
        verdict(worker, function(tmp_path, "a", STEP), str(tmp_path / "k.py"))


@pytest.fixture(scope="module")
def optimized(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = function(tmp_path_factory.mktemp("writes"), "a", STEP)
    request = Request(Path(path).read_text("utf-8"), path, "f", anyway=True)
    return optimize(request, lambda _: None, CancelToken(), tools)


def test_the_module_is_the_answer_for_the_function(worker: Worker, tmp_path: Path, optimized: Result) -> None:
    assert (optimized.function, optimized.answer) == ("f", "kernel")
    assert any("writes to `p`, `m` and returns `p` itself" in n for n in optimized.notes)
    check_loadable(optimized.source)
    (tmp_path / "module.py").write_text(optimized.source, "utf-8")
    module = str(tmp_path / "module.py")
    assert verdict(worker, function(tmp_path, "a", STEP), module).accepted
    assert verdict(worker, function(tmp_path, "b", OTHER["a copy is returned"]), module).word == "REJECTED"
    assert verdict(worker, function(tmp_path, "c", OTHER["a write is missing"]), module).word == "REJECTED"


def test_the_module_without_its_writes_is_rejected(worker: Worker, tmp_path: Path, optimized: Result) -> None:
    (tmp_path / "plain.py").write_text(taken_apart(optimized.source)[0], "utf-8")
    found = verdict(worker, function(tmp_path, "a", STEP), str(tmp_path / "plain.py"))
    assert found.word == "REJECTED" and "writes to no input" in found.rejections[0].summary


EDITS = {
    "one write fewer": ("        m.copy_(new[1])\n", ""),
    "no guard against overlaps": (" and _apart((0, 2), p, g, m)", ""),
    "more than the emitters write": ("# mirage:end writes\n", "print(1)\n# mirage:end writes\n"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_part_is_neither_read_nor_loaded(
    worker: Worker, tmp_path: Path, optimized: Result, name: str
) -> None:
    old, new = EDITS[name]
    assert old in optimized.source
    text = optimized.source.replace(old, new, 1)
    with pytest.raises(MirageError):
        check_loadable(text)
    (tmp_path / "edited.py").write_text(text, "utf-8")
    with pytest.raises(ModuleUnreadable):
        verify_subjects.load(str(tmp_path / "edited.py"), worker)


def test_a_module_whose_function_returns_something_else_than_it_says_is_rejected(
    worker: Worker, tmp_path: Path, optimized: Result
) -> None:
    """The function on copies is the same; that the function as written gives a copy away shows when that is run."""
    old = "    p.sub_(m * 0.1)\n    return p\n"
    assert optimized.source.count(old) == 1
    text = optimized.source.replace(old, old.replace("return p", "return p.clone()"))
    (tmp_path / "edited.py").write_text(text, "utf-8")
    found = verify_subjects.load(str(tmp_path / "edited.py"), worker)
    assert found.refused is not None and "`p` itself" in found.refused.summary
