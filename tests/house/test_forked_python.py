"""Forked processes of tests: what a process of its own would say, and nothing that another one left behind."""

from __future__ import annotations

import signal
from pathlib import Path

from forked_python import ForkedPython

LEAVES = """
import os, sys, torch
os.environ["LEFT"] = "1"
sys.modules["left_behind"] = torch
torch.left_behind = True
print(sys.argv[1:], os.getcwd())
"""
LOOKS = """
import os, sys, torch
print("LEFT" in os.environ, "left_behind" in sys.modules, hasattr(torch, "left_behind"), "triton" in sys.modules)
"""


def test_a_process_leaves_nothing_to_the_next(forked_python: ForkedPython, tmp_path: Path) -> None:
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES, "utf-8")
    done = forked_python.run(script, "a", "b", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"['a', 'b'] {tmp_path}\n", "")
    assert forked_python.run("-c", LOOKS).stdout == "False False False False\n"
    assert forked_python.run("-c", LEAVES + LOOKS, env={}).stdout.splitlines()[-1] == "True True True False"


def test_its_end_is_told(forked_python: ForkedPython) -> None:
    assert forked_python.run("-c", "raise SystemExit(3)").returncode == 3
    said = forked_python.run("-c", "raise SystemExit('why')")
    assert (said.returncode, said.stderr) == (1, "why\n")
    raised = forked_python.run("-c", "print('before'); 1 / 0")
    assert (raised.returncode, raised.stdout) == (1, "before\n") and "ZeroDivisionError" in raised.stderr
    assert forked_python.run("-c", "import time; time.sleep(60)", seconds=1).returncode == -signal.SIGALRM
    assert forked_python.run("-m", "this").stdout.startswith("The Zen")


def test_it_imports_from_where_it_is_told(forked_python: ForkedPython, tmp_path: Path) -> None:
    (tmp_path / "only_there.py").write_text("print('there')", "utf-8")
    assert forked_python.run("-c", "import only_there", env={"PYTHONPATH": str(tmp_path)}).stdout == "there\n"
    assert "ModuleNotFoundError" in forked_python.run("-c", "import only_there", env={}).stderr
