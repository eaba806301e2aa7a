"""Neovim and Emacs, the real ones, attached to `mirage lsp`: diagnostics, a quick fix, hover, replace and restore.

`./dev editors` says how to get them, and runs this. Without one its tests are skipped and say so.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsp_daemon import FakeDaemon
from lsp_samples import FUNCTION, HEAD, LINE, result

SCRIPTS = Path(__file__).with_name("editors")
MIRAGE = "import sys; sys.argv[0] = 'mirage'; from mirage.cli import main; main()"
SERVER = [sys.executable, "-c", MIRAGE, "lsp", "--stdio"]
# Astral characters before everything: an editor that counts other units than the server ends up elsewhere.
TEXT = HEAD + "NOTE = '😀'\n\n\n" + FUNCTION.replace("16 64", "b 64").replace("x + x", "x + x  # 😀")
FIXED = TEXT.replace("@mirage.optimize", '@mirage.optimize(dims={"b": 8})')
DECORATOR = LINE + 3


def run(command: list[str], home: Path, folder: Path) -> dict[str, Any]:
    """What an editor saw when it did the steps of its script."""
    (folder / "model.py").write_text(TEXT, "utf-8")
    report = folder / "report.json"
    env = {
        **os.environ,
        "MIRAGE_HOME": str(home),
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "LANG": "C.UTF-8",
        "SERVER": json.dumps(SERVER),
        "REPORT": str(report),
        "SOURCE": str(folder / "model.py"),
    }
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert report.exists(), done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(report.read_text("utf-8"))
    assert "failed" not in seen, seen["failed"]
    return seen


def check(seen: dict[str, Any], folder: Path) -> None:
    assert seen["diagnostic"]["line"] == DECORATOR + 1 and "`b` in `x` has no size" in seen["diagnostic"]["message"]
    assert seen["fix"] == "Mirage: give a size: b = 8"
    assert "1.8x (estimated for sm_90)" in seen["hover"] and "`double_kernel`" in seen["hover"]
    assert seen["replace"].startswith("Mirage: replace `double` with the kernel")
    before, block = seen["replaced"].split("# mirage:begin double", 1)
    assert before == HEAD + "NOTE = '😀'\n\n\n" and block.endswith("# mirage:end double\n")
    ast.parse(seen["replaced"])
    assert seen["restore"] == "Mirage: restore the original `double`"
    assert seen["restored"] == FIXED and (folder / "model.py").read_text("utf-8") == FIXED


@pytest.fixture
def answered(daemon: FakeDaemon) -> FakeDaemon:
    daemon.at_once["double"] = {"state": "done", "result": result(), "error": None}
    return daemon


@pytest.mark.skipif(shutil.which("nvim") is None, reason="nvim is not installed (./dev editors says how)")
def test_neovim(answered: FakeDaemon, home: Path, tmp_path: Path) -> None:
    script = str(SCRIPTS / "neovim.lua")
    seen = run(["nvim", "--headless", "-n", "-u", "NONE", "model.py", "-c", f"luafile {script}"], home, tmp_path)
    check(seen, tmp_path)
    assert seen["lens"].startswith("Mirage 1.8x")
    assert seen["undone"] == seen["replaced"] and seen["before"] == FIXED  # one step each


@pytest.mark.skipif(shutil.which("emacs") is None, reason="emacs is not installed (./dev editors says how)")
def test_emacs(answered: FakeDaemon, home: Path, tmp_path: Path) -> None:
    probe = ["emacs", "-q", "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"]
    if subprocess.run(probe, capture_output=True, timeout=60).returncode != 0:
        pytest.skip("emacs has no eglot (./dev editors says how)")
    load = ["-l", str(SCRIPTS / "emacs.el")]
    check(run(["emacs", "-q", "--batch", "--eval", "(package-initialize)", *load], home, tmp_path), tmp_path)
