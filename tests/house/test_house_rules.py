"""The rules of the house: which room may import which, how long a file may be, what no text may say."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "lsp", "mirage_daemon", "tests", "examples", "benchmarks", "docs", ".ci")
LONGEST, MEDIAN = 600, 200
SUFFIXES = {".py", ".md", ".toml", ".txt", ".json", ".ts", ""}


def files(*suffixes: str) -> list[Path]:
    """The repository's own files: build outputs, caches and golden files left out."""
    found = [ROOT / n for n in ("dev", "README.md", "CONTRIBUTING.md", "pyproject.toml")]
    for folder in (*FOLDERS, "vscode-extension"):
        found += [p for p in (ROOT / folder).rglob("*") if p.is_file()]
    skip = {"__pycache__", "node_modules", "golden", "out", "dist", ".mypy_cache", ".pytest_cache"}
    return [p for p in found if p.suffix in suffixes and not skip & set(p.relative_to(ROOT).parts)]


# ---- imports
def lint_imports(config: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    return subprocess.run([*command, "--config", str(config)], cwd=config.parent, capture_output=True, text=True)


def test_the_import_rules_are_kept() -> None:
    done = lint_imports(ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("mirage/search", "import torch"),
        ("mirage/source", "def f():\n    import triton"),
        ("mirage/link", "import mirage.verify"),
        ("mirage/verify", "import mirage_daemon"),
        ("mirage_lsp", "from mirage_daemon import daemon_command"),
        ("mirage_lsp", "import torch"),
        ("mirage/meaning", "import mirage.mugraph"),
        ("mirage/operators", "import mirage.meaning"),
        ("mirage/operators", "def f():\n    from mirage.program import lower"),
        ("mirage/operators", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import mirage.program"),
        ("mirage/verify", "import mirage.search"),
        ("mirage/search", "import mirage.verify"),
        ("mirage/ir", "import mirage.results"),
        ("mirage/runtime", "import mirage_original"),
        ("mirage_original", "import mirage_daemon"),
        ("mirage/verify/field", "import mirage.verify.proof"),
        ("mirage_certificate", "import mirage.meaning"),
    ],
)
def test_a_broken_import_rule_is_seen(tmp_path: Path, module: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = (ROOT / "pyproject.toml").read_text("utf-8")
    rules = config[config.index("[tool.importlinter]") :]
    for name in {*re.findall(r"\bmirage[\w.]*", rules), "mirage_daemon.daemon_command"}:
        folder = tmp_path.joinpath(*name.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
    (tmp_path / module / "__init__.py").write_text(line + "\n")
    (tmp_path / "pyproject.toml").write_text(rules)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = lint_imports(tmp_path / "pyproject.toml")
    assert done.returncode != 0 and "BROKEN" in done.stdout, done.stdout + done.stderr


def rooms(folder: Path) -> set[str]:
    """The packages and modules of a folder, and the packages of `verify`."""
    return {p.stem for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()} - {"__init__"}


def without_a_layer(names: set[str], package: str) -> set[str]:
    """Those of the names that no layers contract has."""
    config = (ROOT / "pyproject.toml").read_text("utf-8")
    layers = set(re.findall(r"[\w.]+", " ".join(re.findall(r"(?ms)^layers = \[(.*?)^\]", config))))
    return {n for n in names if f"{package}.{n}" not in layers}


@pytest.mark.parametrize("package", ["mirage", "mirage.verify"])
def test_each_room_has_a_layer(package: str) -> None:
    found = rooms(ROOT.joinpath("core", *package.split(".")))
    assert {"search", "verify", "errors"} <= found or {"judge", "field"} <= found
    assert without_a_layer(found, package) == set()
    assert without_a_layer({*found, "another"}, package) == {"another"}


def own_package(text: str) -> bool:
    """Does a module of core import the package itself? It would load what stands above."""
    return re.search(r"(?m)^\s*(?:import mirage(?!\.)\b|from mirage import (?!\w))", text) is not None or any(
        not (ROOT / "core" / "mirage" / name).exists() and not (ROOT / "core" / "mirage" / f"{name}.py").exists()
        for names in re.findall(r"(?m)^\s*from mirage import ([\w, ]+)", text)
        for name in re.split(r",\s*", names.split(" as ")[0].strip())
    )


def test_no_room_imports_the_package_that_holds_it() -> None:
    assert [
        str(p) for p in files(".py") if (ROOT / "core" / "mirage") in p.parents and own_package(p.read_text())
    ] == []
    assert all(
        map(own_package, ["import mirage\n", "def f():\n    import mirage as m", "from mirage import optimize\n"])
    )
    assert not any(map(own_package, ["import mirage.errors\n", "from mirage import errors\n", "import mirage_x\n"]))


# ---- sizes and names of files
def test_files_stay_small() -> None:
    lengths = {p: len(p.read_text("utf-8").splitlines()) for p in [*files(".py", ".ts"), ROOT / "dev"]}
    assert not {str(p): n for p, n in lengths.items() if n > LONGEST}
    assert statistics.median(n for n in lengths.values() if n) <= MEDIAN


def test_test_files_have_names_of_their_own() -> None:
    names = [p.name for p in files(".py") if p.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))


# ---- words
FORBIDDEN = {
    "a path of one machine": (re.compile(r"/(?:wo[r]k|ro[o]t)/"), "see /wo" + "rk/notes"),
    "work put off": (re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b"), "# TO" + "DO: later"),
    "a stub": (re.compile(r"(?m)raise Not[I]mplementedError(?:\(\))?\s*$"), "    raise Not" + "ImplementedError\n"),
    "an error swallowed": (
        re.compile(r"except(?: \(?(?:Base)?Exception\b[^\n]*)?:[ \t]*(?:#[^\n]*)?\n?[ \t]+pa[s]s\b"),
        "except Exception:\n    pa" + "ss",
    ),
    "how the project is made": (re.compile(r"(?i)\bsub-?age[n]ts?\b|\biss[u]e #?\d"), "as iss" + "ue 2 says"),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_forbidden_words(what: str) -> None:
    pattern, example = FORBIDDEN[what]
    assert pattern.search(example)
    found = []
    for path in files(*SUFFIXES):
        text = path.read_text("utf-8", "replace")
        found += [f"{path.relative_to(ROOT)}:{text[: m.start()].count(chr(10)) + 1}" for m in pattern.finditer(text)]
    assert not found


def test_what_is_fine_is_not_forbidden() -> None:
    fine = "helper functions; except OSError:\n    pass\nexcept KeyError:\n    continue\n~/network/x, issues a warning"
    assert not any(pattern.search(fine) for pattern, _ in FORBIDDEN.values())
