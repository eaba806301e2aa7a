"""The emitter's own modules, merged into their users' files: they parse, run, keep apart, and come out again."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from workloads.hand import Case, small

from mirage.codegen.emit import emit_module
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.source import detect, slice
from mirage_lsp import kernel_block, merge_module

CASES = small()


def emitted(case: Case) -> str:
    """The module for a case's µGraph, made from the slice of its user's file as the pipeline makes it."""
    graph = case.mugraph
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    program = Program(case.name, inputs, (), tuple(range(len(graph.outputs))))
    text = slice.cut(case.source, case.name).text
    return emit_module(program, graph, text, function=case.name, header={"function": case.name})


def put_in(text: str, name: str, module: str) -> str:
    found = next(f for f in detect.find(text).functions if f.name == name)
    assert found.node is not None
    decorator = found.node.decorator_list[0]
    lines = (decorator.lineno, decorator.end_lineno or decorator.lineno)
    start, end, new = merge_module.replace(
        text, merge_module.ReplacedFunction(name, found.decorator_line, found.end_line, lines), module
    )
    return text[:start] + new + text[end:]


def run(text: str, tmp_path: Path) -> dict[str, Any]:
    """The names of a file that lies on disk: Triton reads its kernels' source there."""
    (tmp_path / "merged.py").write_text(text, encoding="utf-8")
    module = types.ModuleType("merged")
    module.__file__ = str(tmp_path / "merged.py")
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module.__dict__


def formatted(text: str, tmp_path: Path) -> str:
    """The text as a formatter with its defaults leaves it; its line length is not the emitter's."""
    path = tmp_path / "formatted.py"
    path.write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", "--isolated", str(path)], check=True, timeout=60)
    return path.read_text("utf-8")


def test_formatters_leave_emitted_kernels_alone(tmp_path: Path) -> None:
    for name, case in CASES.items():
        text = put_in(formatted(case.source, tmp_path), name, emitted(case))
        assert formatted(text, tmp_path) == text, name


@pytest.mark.parametrize("name", CASES)
def test_the_merged_file_falls_back_to_the_original(name: str, tmp_path: Path) -> None:
    import torch

    case = CASES[name]
    text = put_in(case.source, name, emitted(case))
    assert [b.name for b in kernel_block.find(text)] == [name] and detect.find(text).functions == []
    space = run(text, tmp_path)
    inputs = [torch.from_numpy(x).half() for x in case.inputs()]
    # On a machine without a GPU the guards refuse these tensors: what runs is the original.
    assert torch.equal(space[name](*inputs), space[f"_original_{name}"](*inputs))
    (found,) = kernel_block.find(text)
    assert text[: found.start] + kernel_block.original(found) + text[found.end :] == case.source


def test_all_of_them_in_one_file() -> None:
    text = "\n\n".join(case.source for case in CASES.values())
    for name, case in CASES.items():
        text = put_in(text, name, emitted(case))
    assert sorted(b.name for b in kernel_block.find(text)) == sorted(CASES)
    shared = [line for line in text.split("\n") if line.startswith(("SIZES =", "TILES =", "def _run(", "def _fits("))]
    assert shared == []
    for found in reversed(kernel_block.find(text)):
        text = text[: found.start] + kernel_block.original(found) + text[found.end :]
    assert text == "\n\n".join(case.source for case in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_formatters_leave_the_emitted_block_alone(name: str) -> None:
    text = put_in(CASES[name].source, name, emitted(CASES[name]))
    command = [sys.executable, "-m", "ruff", "format", "--line-length", "120", "-"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    before, after = kernel_block.find(text)[0].lines, kernel_block.find(done.stdout.decode())[0].lines
    assert after == before
