"""What a traced program's terms give in float64, beside what PyTorch gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from workloads.term_values import evaluate
from workloads.traced import trace

from mirage.ir.program import Program
from mirage.operators.table import BLOCK
from mirage.program.lower import lower

DTYPES = {"bool": torch.bool, "int64": torch.int64}
HEAD = "import math\nimport torch\nimport torch.nn.functional as F\n"


def functions() -> dict[str, Any]:
    return {name: entry.float64 for name, entry in BLOCK.items() if entry.float64 is not None}


def draw(shapes: list[tuple[str, tuple[int, ...], str]], seed: int = 0) -> dict[str, np.ndarray]:
    """Normal inputs; booleans are 0/1 with at least one 1 a row, integers from 0 to 4."""
    rng = np.random.default_rng(seed)
    out = {}
    for name, shape, dtype in shapes:
        a = rng.standard_normal(shape)
        if dtype == "bool":
            a = (a > 0).astype(float)
            a[..., 0] = 1.0
        elif dtype == "int64":
            a = rng.integers(0, 5, shape)
        out[name] = a
    return out


def values(program: Program, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a program by its terms."""
    lowered = lower(program)
    out = []
    for (x, dims), i in zip(lowered.outputs, program.outputs, strict=True):
        axes = tuple(a for d in dims for a in d)
        out.append(evaluate(lowered.terms, x, inputs, axes, functions()).reshape(program.type_of(i).shape))
    return out


def eager(
    text: str, function: str, given: list[tuple[str, tuple[int, ...], str]], inputs: dict[str, np.ndarray]
) -> list[Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "<test>", "exec"), names)
    tensors = [torch.tensor(inputs[n], dtype=DTYPES.get(d, torch.float64)) for n, _, d in given]
    with torch.no_grad():
        value = names[function](*tensors)
    return [v.numpy() for v in (value if isinstance(value, (tuple, list)) else [value])]


def difference(text: str, function: str, given: list[tuple[str, tuple[int, ...], str]], seed: int = 0) -> float:
    """The largest difference between terms and PyTorch, relative to the largest value; NaN and inf must agree."""
    inputs = draw(given, seed)
    program = trace(text, function, [(n, s, d if d in DTYPES else "fp64") for n, s, d in given])
    worst = 0.0
    for got, want in zip(values(program, inputs), eager(text, function, given, inputs), strict=True):
        assert got.shape == want.shape
        finite = np.isfinite(want)
        assert np.array_equal(got[~finite], want[~finite].astype(float), equal_nan=True)
        scale = max(1.0, float(np.abs(want[finite]).max(initial=0.0)))
        worst = max(worst, float(np.abs(got[finite] - want[finite]).max(initial=0.0)) / scale)
    return worst


def expression(text: str, *given: tuple[str, tuple[int, ...]] | tuple[str, tuple[int, ...], str]) -> float:
    """`difference` for a function of one expression."""
    full = [(g[0], g[1], g[2] if len(g) > 2 else "fp64") for g in given]
    return difference(f"{HEAD}def f({', '.join(g[0] for g in full)}):\n    return {text}\n", "f", full)
