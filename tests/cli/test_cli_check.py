"""`mirage check`: a function and its kernel no longer belong together after a real edit of either."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mirage.cli import COMMANDS, main
from mirage.codegen.baseline_module import emit_baselines
from mirage.codegen.emit import emit_module
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.mugraph.parse import parse
from mirage.source.slice import cut

FUNCTION = """import mirage
import torch


@mirage.optimize(inputs=[((16, 64), "fp16")])
def doubled(x):
    return x * 2.0
"""
GRAPH = """mugraph doubled
axes m=16 n=64
input x fp16 [m, n]
output out fp16 [m, n]
kernel fused warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 16
    dim n (n) grid tile 64
    a[m, n] = load x[m, n]
    two[] = const(value=2/1)
    b[m, n] = mul(a, two)
    store out[m, n] = b
"""
PROGRAM = Program("doubled", (TensorSpec("x", (16, 64), "fp16"),), (), (0,), False)
Check = Callable[..., Result]


@pytest.fixture
def check() -> Check:
    return lambda *arguments: CliRunner().invoke(main, ["check", *map(str, arguments)], prog_name="mirage")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A file with a function, and what `mirage optimize` writes beside it."""
    (tmp_path / "model.py").write_text(FUNCTION)
    text = emit_module(PROGRAM, parse(GRAPH), cut(FUNCTION, "doubled").readable, function="doubled", header={})
    (tmp_path / "doubled_mirage.py").write_text(text)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, text
    path.write_text(text.replace(old, new))


def test_what_belongs_together_is_no_problem(project: Path, check: Check) -> None:
    done = check(project)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "1 kernel read, 0 problems\n", "")
    edit(project / "model.py", "    return x * 2.0", '    """Twice x."""\n    return x * 2.0  # as ever')
    assert check(project).exit_code == 0, "comments and docstrings change nothing"


@pytest.mark.parametrize(
    ("file", "old", "new", "code", "says"),
    [
        ("model.py", "x * 2.0", "x * 3.0", "MIR315", "x * 3.0"),
        ("model.py", "(16, 64)", "(32, 64)", "MIR315", "16x64"),
        ("model.py", '"fp16"', '"bf16"', "MIR315", "no longer names"),
        ("model.py", "def doubled", "def twice", "MIR317", "`doubled`"),
        ("model.py", "return x * 2.0", "return x * 2.0 +", "MIR101", "invalid syntax"),
        ("doubled_mirage.py", "b = a * 2.0", "b = a * 2.5", "MIR316", "a * 2.5"),
        ("doubled_mirage.py", 'SIZES = {"m": 16', 'SIZES = {"m": 8', "MIR316", "8"),
        ("doubled_mirage.py", "    return x * 2.0\n", "    return x * 3.0\n", "MIR315", "x * 3.0"),
        ("doubled_mirage.py", "# mirage:end kernels", "# the end of kernels", "MIR316", "mark"),
        ("doubled_mirage.py", "#   block cluster 1:", "#   block clutter 1:", "MIR316", "nothing can be emitted"),
    ],
)
def test_an_edit_of_either_is_found(
    project: Path, check: Check, file: str, old: str, new: str, code: str, says: str
) -> None:
    edit(project / file, old, new)
    done = check(project)
    first = done.stderr.splitlines()[0]
    assert done.exit_code == 1 and first.startswith(code) and says in first, done.stderr
    assert str(project / file) in first or code in ("MIR315", "MIR317")


def test_the_function_of_a_module_alone_is_looked_for_beside_it(project: Path, check: Check) -> None:
    assert check(project / "doubled_mirage.py").exit_code == 0
    edit(project / "model.py", "x * 2.0", "x * 3.0")
    assert check(project / "doubled_mirage.py").exit_code == 1
    assert check(project / "model.py").exit_code == 0, "it was not asked for"


def test_a_function_of_that_name_elsewhere_does_not_speak_for_the_one_beside_it(project: Path, check: Check) -> None:
    (project / "other").mkdir()
    (project / "other" / "copy.py").write_text(FUNCTION)
    edit(project / "model.py", "x * 2.0", "x * 3.0")
    assert check(project).exit_code == 1
    (project / "model.py").unlink()
    assert check(project).exit_code == 0, "then it is the only one"


def test_a_module_without_kernels_is_checked_too(project: Path, check: Check) -> None:
    source = cut(FUNCTION, "doubled").readable
    text = emit_baselines([(PROGRAM, "compile")], source, function="doubled", header={})
    (project / "doubled_mirage.py").write_text(text)
    assert check(project).exit_code == 0
    edit(project / "model.py", "x * 2.0", "x * 3.0")
    assert check(project).exit_code == 1


def test_sarif_names_the_place_and_the_rule(project: Path, check: Check) -> None:
    edit(project / "model.py", "x * 2.0", "x * 3.0")
    done = check(project, "--sarif", project / "found.sarif")
    assert done.exit_code == 1 and done.stderr.startswith("MIR315")
    log = json.loads((project / "found.sarif").read_text())
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0" and run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "MIR315"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("doubled_mirage.py") and place["region"]["startLine"] > 1
    assert json.loads(check(project, "--sarif", "-").stdout) == log
    edit(project / "model.py", "x * 3.0", "x * 2.0")
    assert json.loads(check(project, "--sarif", "-").stdout)["runs"][0]["results"] == []


def test_nothing_of_the_files_runs(project: Path, check: Check) -> None:
    for file in ("model.py", "doubled_mirage.py"):
        path = project / file
        path.write_text(path.read_text() + f"\nopen({str(project / 'ran')!r}, 'w').close()\n")
    check(project)
    assert not (project / "ran").exists()


def test_it_needs_no_torch(project: Path) -> None:
    """Where a hook or a CI job runs it, none is installed."""
    code = (
        "import sys; sys.modules['torch'] = sys.modules['triton'] = None; sys.argv = ['mirage', 'check', sys.argv[1]]\n"
        "from mirage.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, str(project)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1 kernel read, 0 problems\n"), done.stderr


def test_the_hook_runs_this_command() -> None:
    hook = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    (entry,) = re.findall(r"^ +entry: mirage (.+)$", hook, re.M)
    assert entry in COMMANDS and "pass_filenames: false" in hook, (
        "a module's function is in another file than the one that changed"
    )
