"""The line of a header that judges its module again: it can be pasted, and no path gets out of its comment."""

from __future__ import annotations

import ast
import shlex

import pytest

from mirage.codegen import module_header
from mirage.codegen.emit import assemble

MODULE = assemble({"header": module_header.lines({"verdict": "TESTED"}), "imports": ["import torch"]})


@pytest.mark.parametrize("path", ["model.py", "a folder/model.py", "it's.py", "$(rm)/é.py", "x" * 200 + ".py"])
def test_the_command_is_one_line_that_can_be_pasted(path: str) -> None:
    text = module_header.with_check(MODULE, f"{path}::f", f"{path}_mirage.py")
    (line,) = [x for x in text.splitlines() if x.startswith("# check: ")]
    assert shlex.split(line.removeprefix("# check: ")) == ["mirage", "verify", f"{path}::f", f"{path}_mirage.py"]
    assert module_header.read(text)["verdict"] == "TESTED"
    assert text.replace(f"{line}\n", "") == MODULE


@pytest.mark.parametrize("path", ["a\nimport os\n.py", "a\rb.py", "a\u2028b.py", "a\x0cb.py", "a\udc80.py"])
def test_a_path_that_no_line_can_hold_is_left_out(path: str) -> None:
    assert module_header.with_check(MODULE, f"{path}::f", "f_mirage.py") == MODULE
    assert ast.dump(ast.parse(module_header.with_check(MODULE, "f.py::f", path))) == ast.dump(ast.parse(MODULE))
