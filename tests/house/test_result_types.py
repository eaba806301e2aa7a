"""The extension's TypeScript types of a result are those of the dataclasses."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_types", ROOT / "docs" / "generate_types.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_types_are_fresh(generate: ModuleType) -> None:
    assert not generate.stale(), "run: ./dev fix"


def test_a_stale_file_is_seen(generate: ModuleType, tmp_path: Path) -> None:
    generate.TARGET = tmp_path / "result_types.ts"
    assert generate.stale() and generate.main() == 0 and not generate.stale()
    generate.TARGET.write_text(generate.TARGET.read_text("utf-8").replace("headline: string", "headline: number"))
    assert generate.stale() and generate.main("--check") == 1


def test_a_type_without_a_form_is_refused(generate: ModuleType) -> None:
    with pytest.raises(TypeError):
        generate.written(set[int], {})
