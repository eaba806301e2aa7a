"""Whether the kernels of two modules are one text apart from names, so that a time of one is a time of the other."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
BENCH = Path(__file__).resolve().parents[2] / "benchmarks" / "same_kernels.py"
Differs = Callable[[str, str], tuple[str, str] | None]


@pytest.fixture(scope="module")
def differs() -> Differs:
    spec = importlib.util.spec_from_file_location("same_kernels", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Differs = module.first_difference
    return found


def golden(name: str) -> str:
    return (GOLDEN / f"emitted_{name}.py.txt").read_text("utf-8")


def renamed(text: str, name: str, other: str) -> str:
    assert re.search(rf"\b{name}\b", text) and not re.search(rf"\b{other}\b", text)
    return re.sub(rf"\b{name}\b", other, text)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("shifted", "moved"),  # a variable
        ("X_ptr", "given_ptr"),  # a parameter
        ("BLOCK_R", "ROWS"),  # one that the launch names
        ("_grouped_rows_fused", "_grouped_rows_main"),  # a kernel
        ("fused", "whole"),  # its table of tiles
        ("grid", "blocks"),  # a variable of the launcher
    ],
)
def test_names_make_no_difference(differs: Differs, name: str, other: str) -> None:
    text = golden("grouped_rows")
    assert differs(text, renamed(text, name, other)) is None


@pytest.mark.parametrize(
    ("have", "want"),
    [
        ("y - bias[:, None]", "bias[:, None] - y"),  # the same names, elsewhere
        ("sq = shifted * shifted", "sq = shifted * y"),
        ("tl.where(low, sq, 0.0)", "tl.where(low, sq, 1.0)"),
        ("tl.load(B_ptr + i_h, mask=in_r, other=0.0)", 'tl.load(B_ptr + i_h, mask=in_r, other=0.0, cache_modifier=".cg")'),
        ('{"r": 16, "n": 16, "k": 16}', '{"r": 16, "n": 32, "k": 16}'),
        ("num_warps=4", "num_warps=8"),
        ('BLOCK_N=tiles["fused"]["n"]', 'BLOCK_N=tiles["fused"]["k"]'),
        ("        W,\n        B,\n        O,", "        W,\n        O,\n        B,"),
        ('-(-sizes["n"] // tiles["fused"]["n"])', '-(-sizes["n"] // tiles["fused"]["k"])'),
    ],
)  # fmt: skip
def test_anything_else_is_a_difference(differs: Differs, have: str, want: str) -> None:
    text = golden("grouped_rows")
    assert text.count(have) == 1
    found = differs(text, text.replace(have, want))
    assert found is not None and found[0] != found[1]


def test_a_kernel_more_is_a_difference(differs: Differs) -> None:
    text = golden("grouped_rows")
    more = text.replace("# mirage:end kernels", "@triton.jit\ndef _second(O_ptr):\n    pass\n\n\n# mirage:end kernels")
    assert differs(text, more) is not None and differs(more, text) is not None


def test_what_a_launcher_refuses_is_left_out(differs: Differs) -> None:
    """It is asked before a CUDA graph is captured, and modules of earlier versions do not ask."""
    text = golden("rmsnorm_linear")
    earlier = re.sub(r"(?m)^ +if not fits:\n +_refuse_others\(\(.*\n", "", text).replace(
        "tiles=TILES, *, fits=False", "tiles=TILES"
    )
    assert earlier.count("fits=") == text.count("fits=") - 1 and differs(earlier, text) is None
