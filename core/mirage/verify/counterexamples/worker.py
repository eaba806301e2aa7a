"""The worker's half of the search for float counterexamples: two programs run on inputs of many kinds until they differ."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import ModuleType

import torch

from mirage.ir.dtypes import FLOATING
from mirage.verify.counterexamples.run_programs import DRAWS, draw, load, run
from mirage.verify.worker_tasks import DifferentElement, RerunAnswer, RerunPayload

MANY = 64  # elements: so few are written out
UNIT = {FLOATING[d].torch: FLOATING[d].roundoff for d in ("fp16", "bf16", "fp32")}
FUNCTIONS = 1e-5  # of two functions in float64, which may cast to float32 on their way
UNITS = 8.0


def worst(want: torch.Tensor, got: torch.Tensor, tolerance: float, top: float) -> tuple[float, tuple[int, ...]] | None:
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


def difference(payload: RerunPayload) -> RerunAnswer:
    """In the worker: both programs on inputs of every kind until they differ; "values" are given when they are few."""
    left, right = load(payload["left"]), load(payload["right"])
    inputs = [(n, tuple(s), d) for n, s, d in payload["inputs"]]
    pair = _Pair(left, right, payload, max((UNIT.get(d, 0.0) for _, _, d in inputs), default=0.0))
    top = 32000.0 if any(d == "float16" for _, _, d in inputs) and pair.kernels else 1e38
    tried, until = 0, time.monotonic() + payload["seconds"]
    for kind, seed in ((kind, seed) for kind in DRAWS for seed in range(payload["seeds"])):
        if time.monotonic() > until:
            break
        tensors = draw(inputs, kind, seed, payload["k"])
        try:
            want = pair.run(left, tensors)
        except Exception as e:  # the function names a size that this launch has not
            said = f"{type(e).__name__}: {e}"[:200]
            return {"found": None, "tried": tried, "errors": [said], "inputs": [], "expected": []}
        tried += 1
        found = pair.first_difference(tensors, want, top)
        if found is not None:
            few = sum(t.numel() for t in tensors) <= MANY
            values = [t.double().tolist() for t in tensors] if few else []
            return {
                "found": {"kind": kind, "seed": seed, "values": values, **found},
                "tried": tried,
                "errors": [],
                "inputs": [t.double().contiguous().numpy().tobytes() for t in tensors],
                "expected": [x.contiguous().numpy().tobytes() for x in want],
            }
    return {"found": None, "tried": tried, "errors": [], "inputs": [], "expected": []}


@dataclass(frozen=True)
class _Pair:
    """Both programs of a launch; `unit` is that of the inputs' coarsest dtype."""

    left: ModuleType
    right: ModuleType
    launch: RerunPayload
    unit: float

    @property
    def kernels(self) -> bool:
        return hasattr(self.right, "_run")

    def run(self, program: ModuleType, tensors: list[torch.Tensor], double: bool = True) -> list[torch.Tensor]:
        return run(program, tensors, self.launch["sizes"], self.launch["tiles"], double)

    def first_difference(
        self, tensors: list[torch.Tensor], want: list[torch.Tensor], top: float
    ) -> DifferentElement | None:
        """The first element of the right program's outputs that rounding does not explain, or its error."""
        try:
            got = self.run(self.right, tensors)
        except Exception as e:
            return {"error": f"{type(e).__name__}: {e}"[:300]}
        own = [0.0] * len(want)
        if self.kernels and not hasattr(self.left, "_run"):
            eager = self.run(self.left, tensors, double=False)
            own = [_own(a, b) for a, b in zip(want, eager)]
        for i, (a, b) in enumerate(zip(want, got)):
            allowed = max(2 * own[i], UNITS * (self.unit + UNIT["float32"] * self.launch["k"] ** 0.5))
            found = worst(a, b, allowed if self.kernels else FUNCTIONS, top)
            if found is None:
                continue
            at = found[1]
            alike = a.shape == b.shape
            expected, actual = (float(x[at]) if alike else str(tuple(x.shape)) for x in (a, b))
            return {"error": "", "output": i, "index": list(at), "expected": expected, "actual": actual}
        return None


def _own(want: torch.Tensor, eager: torch.Tensor) -> float:
    """The function's own error."""
    found = worst(want, torch.where(eager.isfinite(), eager, want), 0.0, 1e300)
    return found[0] if found is not None else 0.0
