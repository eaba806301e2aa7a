"""Texts and results for the language server's tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mirage.codegen.baseline_module import emit_baselines
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.results.codec import unstructure
from mirage.results.result import Estimate, KernelFacts, LoopFacts, Result, SearchStats
from mirage.results.verdict import LINKS, Evidence, Verdict

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


def told(link: Any, opinion: Any, word: Any, bound: float | None = None, **more: Any) -> Evidence:
    return Evidence(link=link, opinion=opinion, word=word, bound=bound, **{"summary": "", **more})


TESTED = Verdict(
    (
        told("algebra", "proof", "PROVED", 0.0),
        told("schedule", "field", "TESTED", 1e-20),
        told("text", "field", "TESTED", 1e-20),
    )
)
PROVED = Verdict(tuple(told(link, "proof", "PROVED", 0.0) for link in LINKS))
KERNEL = KernelFacts("double_kernel", (16, 1, 1), (LoopFacts("n", 4, 64),), 4, 3, 8192, 40, 0, False, "sm_90")
ESTIMATE = Estimate(5.0, 4.0, 9.0, "H100")
RESULT = Result(
    function="double", answer="kernel", reason="", inputs=(), program_key="p", verdict=TESTED,
    search=SearchStats(values=9, mugraphs=14, seconds=0.25), kernels=(KERNEL,), estimate=ESTIMATE, source=MODULE,
    notes=("x is read once",),
)  # fmt: skip


def typed(**changes: Any) -> Result:
    return replace(RESULT, **changes)


def result(**changes: Any) -> dict[str, Any]:
    """A result as the daemon gives it."""
    return unstructure(typed(**changes))


KEPT: dict[str, Any] = {"answer": "keep", "source": "", "kernels": (), "estimate": None}


COMPILED: dict[str, Any] = {
    "answer": "compile", "baseline": "compile", "verdict": None, "kernels": (), "estimate": replace(ESTIMATE, measured=True),
    "source": emit_baselines(
        [(Program("double", (TensorSpec("x", (2, 3), "fp32"),), (), (0,), False), "compile")],
        "def double(x):\n    return x + x\n", function="double", header={"runs": "by PyTorch"},
    ),
}  # fmt: skip


def kept(reason: str) -> dict[str, Any]:
    return result(**KEPT, reason=reason)
