"""The search for floats that show a difference, in a worker: both programs on inputs of many kinds, judged by plain
means. What stands between the two marks is copied into each counterexample's script, so that a user runs what was run here."""

from __future__ import annotations

# counterexample:begin
import importlib.util
import os
import tempfile
from typing import Any

os.environ.setdefault("TRITON_INTERPRET", "1")  # before triton is imported: its kernels then run on the CPU
import torch

DRAWS = {
    "normal": lambda s, g, k: torch.randn(s, generator=g, dtype=torch.float64),
    "small integers": lambda s, g, k: torch.randint(-2, 3, s, generator=g).double(),
    "negative": lambda s, g, k: -torch.rand(s, generator=g, dtype=torch.float64) - 0.25,
    "tiny": lambda s, g, k: 1e-3 * torch.randn(s, generator=g, dtype=torch.float64),
    "times 10": lambda s, g, k: 10 * torch.randn(s, generator=g, dtype=torch.float64),
    "mean 1000 x deviation": lambda s, g, k: 8 + 0.008 * torch.randn(s, generator=g, dtype=torch.float64),
    "far below zero": lambda s, g, k: -150 + torch.randn(s, generator=g, dtype=torch.float64),
    "scores of 60000": lambda s, g, k: (20000 / k**0.5) ** 0.5 * torch.randn(s, generator=g, dtype=torch.float64),
    "zeros": lambda s, g, k: torch.zeros(s, dtype=torch.float64),
}


def load(text: str) -> Any:
    """A program's text as a module."""
    folder = tempfile.mkdtemp(prefix="counterexample-")
    path = os.path.join(folder, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(inputs: Any, kind: str, seed: int, k: int) -> list[Any]:
    """One tensor for each (name, shape, dtype): rounded random numbers; flags and integers are random too."""
    g = torch.Generator().manual_seed(seed)
    tensors = []
    for _, shape, dtype in inputs:
        kind_of = getattr(torch, dtype)
        if kind_of.is_floating_point:
            tensors.append(DRAWS[kind](tuple(shape), g, k).to(kind_of))
        else:
            tensors.append(torch.randint(0, 2 if dtype == "bool" else 4, tuple(shape), generator=g).to(kind_of))
    return tensors


def run(program: Any, tensors: Any, sizes: Any, tiles: Any, double: bool = True) -> list[Any]:
    """The outputs as float64: of a function on float64 inputs (as they are without `double`), of a kernel on the inputs
    as they are, with outputs full of NaN before it runs."""
    torch.use_deterministic_algorithms(True, warn_only=True)  # torch.empty gives NaN
    with torch.no_grad():
        if hasattr(program, "_run"):
            out = program._run(*[t.clone() for t in tensors], sizes=sizes, tiles=tiles)
        else:
            out = program.function(*[t.double() if double and t.is_floating_point() else t.clone() for t in tensors])
    return [x.double() for x in (out if isinstance(out, (tuple, list)) else (out,))]


# counterexample:end
from mirage.ir.dtypes import FLOATING  # noqa: E402 - the copied text stands alone

MANY = 64  # elements: so few are written out
UNIT = {FLOATING[d].torch: FLOATING[d].roundoff for d in ("fp16", "bf16", "fp32")}
FUNCTIONS = 1e-5  # of two functions in float64, which may cast to float32 on their way
UNITS = 8.0


def worst(want: Any, got: Any, tolerance: float, top: float) -> tuple[float, tuple[int, ...]] | None:
    """(how large, the index) of the largest difference that rounding does not explain."""
    if want.shape != got.shape:
        return float("inf"), ()
    if not want.numel():
        return None
    finite = want.isfinite() & (want.abs() <= top)
    size = float(want[finite].square().mean().sqrt()) if bool(finite.any()) else 0.0
    scale = want.abs().clamp(min=max(size, 1e-300))
    error = torch.where(finite & got.isfinite(), (got - want).abs() / scale, 0.0)
    lost = (finite & ~got.isfinite()) | (want.isnan() & ~got.isnan())
    error = torch.where(lost, float("inf"), error)
    at = int(error.reshape(-1).argmax())
    largest = float(error.reshape(-1)[at])
    if largest <= tolerance:
        return None
    index = []
    for n in reversed(want.shape):
        index.append(at % n)
        at //= n
    return largest, tuple(reversed(index))


def task(payload: dict[str, Any]) -> dict[str, Any]:
    """{"left", "right": texts, "inputs": [(name, shape, dtype)], "sizes", "tiles", "k", "seeds", "seconds"} -> the first
    difference: {"found": {"kind", "seed", "output", "index", "expected", "actual", "error", "values"} or None, "tried",
    "errors", "inputs", "expected"}. "values" are given when they are few; "inputs" and "expected" are float64 bytes."""
    from time import monotonic

    left, right = load(payload["left"]), load(payload["right"])
    sizes, tiles, k = payload["sizes"], payload["tiles"], payload["k"]
    kernels = hasattr(right, "_run")
    inputs = [(n, tuple(s), d) for n, s, d in payload["inputs"]]
    unit = max((UNIT.get(d, 0.0) for _, _, d in inputs), default=0.0)
    top = 32000.0 if any(d == "float16" for _, _, d in inputs) and kernels else 1e38
    tried, until = 0, monotonic() + payload["seconds"]
    none: dict[str, Any] = {"found": None, "errors": [], "inputs": [], "expected": []}
    for kind, seed in ((kind, seed) for kind in DRAWS for seed in range(payload["seeds"])):
        if monotonic() > until:
            break
        tensors = draw(inputs, kind, seed, k)
        try:
            want = run(left, tensors, sizes, tiles)
        except Exception as e:  # the function names a size that this launch has not
            return none | {"tried": tried, "errors": [f"{type(e).__name__}: {e}"[:200]]}
        tried += 1
        hit: dict[str, Any] = {"kind": kind, "seed": seed, "values": [], "error": ""}
        if sum(t.numel() for t in tensors) <= MANY:
            hit["values"] = [t.double().tolist() for t in tensors]
        shown = {
            "tried": tried,
            "errors": [],
            "inputs": [t.double().contiguous().numpy().tobytes() for t in tensors],
            "expected": [x.contiguous().numpy().tobytes() for x in want],
        }
        try:
            got = run(right, tensors, sizes, tiles)
        except Exception as e:
            return {"found": hit | {"error": f"{type(e).__name__}: {e}"[:300]}, **shown}
        own = [0.0] * len(want)
        if kernels and not hasattr(left, "_run"):
            eager = run(left, tensors, sizes, tiles, double=False)
            own = [_own(a, b) for a, b in zip(want, eager)]
        for i, (a, b) in enumerate(zip(want, got)):
            allowed = max(2 * own[i], UNITS * (unit + UNIT["float32"] * k**0.5))
            found = worst(a, b, allowed if kernels else FUNCTIONS, top)
            if found is not None:
                at = found[1]
                values: dict[str, Any] = {"expected": str(tuple(a.shape)), "actual": str(tuple(b.shape))}
                if a.shape == b.shape:
                    values = {"expected": float(a[at]), "actual": float(b[at])}
                return {"found": hit | {"output": i, "index": list(at), **values}, **shown}
    return none | {"tried": tried}


def _own(want: Any, eager: Any) -> float:
    """The function's own error."""
    found = worst(want, torch.where(eager.isfinite(), eager, want), 0.0, 1e300)
    return found[0] if found is not None else 0.0
