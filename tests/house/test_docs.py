"""The documentation says what the code does: generated pages are fresh, and what a page names exists."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mirage.errors import MirageError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_fresh() -> None:
    """In a process of its own: in this one other tests may have put commands and names of theirs."""
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stale_page_is_seen(generate: ModuleType, tmp_path: Path) -> None:
    generate.DOCS = tmp_path
    assert generate.main() == 0 and generate.stale() == []
    page = tmp_path / "errors.md"
    page.write_text(page.read_text("utf-8").replace("MIR100", "MIR199"), "utf-8")
    assert generate.stale() == ["errors.md"]


def test_every_code_has_a_row() -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    for code, error in MirageError.registry.items():
        assert f"| {code} |" in page, f"{code} is in no section of docs/generate.py"
        assert error.title != MirageError.title, f"{code} has no title of its own"


def test_the_tests_that_the_architecture_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) >= 10
    for path, test in named:
        assert (ROOT / path).exists(), path
        assert f"def {test}" in (ROOT / path).read_text("utf-8"), f"{path}::{test}"


def test_the_folders_of_core_are_all_on_the_map() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = [p.parent.name for p in (ROOT / "core" / "mirage").glob("*/__init__.py")]
    assert [r for r in rooms if f"`{r}/`" not in page] == []
