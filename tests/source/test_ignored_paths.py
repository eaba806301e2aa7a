"""What is ignored is what git ignores, and what never holds a project's own code."""

import random
import shutil
import subprocess
import time

import pytest

from mirage.source.ignored_paths import Ignores, matches, parse

PATTERNS = [
    "*.py", "/a.py", "a.py", "sub/", "sub", "/sub/*.py", "**/deep", "deep/**", "a/**/b.py", "!a.py", "!b.py", "?.py",
    "[ab].py", "[!a].py", "x*", "sub/deep/", "*/b.py", "\\!odd.py", "# words", "", "b.py  ", "**/sub/**", "a*b*.py", "/",
    "*", "!*/", "!sub/", "\\*.py", "[a",
]  # fmt: skip
NAMES = ["a.py", "b.py", "!odd.py", "x.py", "aXbY.py", "*.py"]
FOLDERS = ["", "sub", "sub/deep", "a", "a/m", "a/m/n", "deep", "other/sub"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git to compare with")
@pytest.mark.parametrize("seed", range(12))
def test_it_agrees_with_git(tmp_path, seed):
    rng = random.Random(seed)
    for folder in FOLDERS:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            (tmp_path / folder / name).write_text("")
    (tmp_path / ".gitignore").write_text("\n".join(rng.sample(PATTERNS, 4)))
    (tmp_path / "sub" / ".gitignore").write_text("\n".join(rng.sample(PATTERNS, 3)))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    paths = [f"{f}/{n}".lstrip("/") for f in FOLDERS for n in NAMES]
    said = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=tmp_path,
        input="\n".join(paths),
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    ignores = Ignores(str(tmp_path))
    ours = [p for p in paths if ignores.ignored(str(tmp_path / p), False)]
    theirs = [line for line in said if line]
    assert ours == [p for p in paths if p in theirs], (tmp_path / ".gitignore").read_text()


@pytest.mark.parametrize("name", [".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages", "my-env"])
def test_folders_of_tools_are_ignored(tmp_path, name):
    (tmp_path / "my-env").mkdir()
    (tmp_path / "my-env" / "pyvenv.cfg").write_text("")
    ignores = Ignores(str(tmp_path))
    assert ignores.ignored(str(tmp_path / name / "x.py"), False) and ignores.ignored(str(tmp_path / name), True)
    assert not ignores.ignored(str(tmp_path / "model" / "x.py"), False)
    assert ignores.ignored(str(tmp_path.parent / "x.py"), False)


def test_a_pattern_cannot_cost_much():
    hostile = "/".join(["**", "*a*a*a*a*a*a*a*a*b"] * 40)
    (rule,) = parse(hostile)
    start = time.process_time()
    assert not matches(rule, ["a" * 200] * 60)
    assert time.process_time() - start < 2.0


def test_rules_that_are_no_file_are_no_rules(tmp_path):
    import os

    os.mkfifo(tmp_path / ".gitignore")
    assert not Ignores(str(tmp_path)).ignored(str(tmp_path / "a.py"), False)
