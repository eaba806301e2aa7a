"""Texts and results for the language server's tests."""

from __future__ import annotations

from typing import Any

HEAD = "import mirage\nimport torch\nfrom jaxtyping import Float16\nfrom torch import Tensor\n\n\n"
FUNCTION = '''@mirage.optimize
def double(x: Float16[Tensor, "16 64"]) -> Tensor:
    """Twice x."""
    return x + x
'''
TEXT = HEAD + FUNCTION
LINE = HEAD.count("\n")  # 0-based line of the decorator
MODULE = '''# mirage:begin header
# Made by Mirage from double
# mirage:end header

# mirage:begin imports
from __future__ import annotations

import math
# mirage:end imports

# mirage:begin kernels
SIZES = {"n": 1024}
TILES = {"double_kernel": {"n": 64}}


def double_kernel(x, n):
    return [v + v for v in x[:n]]
# mirage:end kernels

# mirage:begin launcher
def _run(x, sizes=SIZES, tiles=TILES):
    return double_kernel(x, n=sizes["n"])


def double(x):
    """Twice x."""
    if math.isnan(len(x)):
        return _original_double(x)
    return _run(x, sizes=SIZES)
# mirage:end launcher

# mirage:begin original
def _original_double(x):
    return x + x
# mirage:end original
'''


def result(**changes: Any) -> dict[str, Any]:
    """A result as the daemon gives it."""
    links = {
        "algebra": {"word": "PROVED", "bound": 0.0},
        "schedule": {"word": "TESTED", "bound": 1e-20},
        "text": {"word": "TESTED", "bound": 1e-20},
    }
    kernel = {
        "name": "double_kernel", "grid": [16, 1, 1], "loops": [{"dim": "n", "range": 4}], "warps": 4, "stages": 3,
        "shared_bytes": 8192, "registers": 40, "spill_bytes": 0, "tensor_core": False, "target": "sm_90",
    }  # fmt: skip
    base: dict[str, Any] = {
        "function": "double", "answer": "kernel", "reason": "", "inputs": [], "program_key": "p",
        "verdict": {"word": "TESTED", "headline": "TESTED (bound 2.0e-20)", "bound": 2e-20, "links": links},
        "search": {"values": 9, "mugraphs": 14, "seconds": 0.25}, "kernels": [kernel],
        "estimate": {"us": 5.0, "speed_of_light_us": 4.0, "baseline_us": 9.0, "device": "H100", "measured": False},
        "source": MODULE, "mugraphs": [], "by_size": [], "derivation": [], "notes": ["x is read once"],
        "versions": {}, "schema": 1,
    }  # fmt: skip
    return {**base, **changes}


def kept(reason: str) -> dict[str, Any]:
    return result(answer="keep", reason=reason, source="", kernels=[], estimate=None)
