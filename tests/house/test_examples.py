"""Every example is one decorated function that can be read, sliced and run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mirage.ir.dtypes import DTYPES, TORCH_NAMES
from mirage.source.detect import find
from mirage.source.shapes import read
from mirage.source.slice import cut

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(p for p in FOLDER.glob("*.py") if not p.stem.endswith("_mirage"))  # `./dev demo` writes beside them


def test_there_are_the_ten() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path: Path) -> None:
    text = path.read_text("utf-8")
    scan = find(text, str(path))
    assert scan.problems == []
    (function,) = scan.functions
    assert function.name == path.stem and function.docstring
    space: dict[str, object] = {}
    exec(compile(cut(text, function).text, str(path), "exec"), space)
    inputs = read(function)
    assert all(s.dtype in DTYPES for s in inputs)
    out = space[function.name](
        *(torch.empty(s.shape, dtype=getattr(torch, TORCH_NAMES[s.dtype]), device="meta") for s in inputs)
    )
    assert isinstance(out, torch.Tensor) and out.dtype == torch.float16
    assert f"`{path.name}`" in (path.parent / "README.md").read_text("utf-8")
