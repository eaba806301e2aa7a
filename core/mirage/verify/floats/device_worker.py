"""The worker's half of the opinion at the real shape: an emitted module on the device that it is for, beside float64 there.

Inputs are drawn where they are used; nothing of a tensor's size crosses to the parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from mirage.codegen.interpreter import float_interpreter, load_module
from mirage.ir.dtypes import BY_TORCH_NAME
from mirage.verify.floats.error_limits import NEARLY, ROUNDINGS, Compared, judge
from mirage.verify.floats.launch_sizes import integer_range
from mirage.verify.floats.matrix_units import cut_off
from mirage.verify.floats.regimes import REGIMES, UNIT, Regime, Rng
from mirage.verify.floats.worker import Run, in_dtype, outputs_of, rounded_outputs
from mirage.verify.semantics.arrays import Array
from mirage.verify.worker_tasks import DeviceAnswer, DevicePayload, DeviceRow

if TYPE_CHECKING:
    import torch

Draw = Callable[[Rng, tuple[int, ...], str, int], Array]
POOL = 1_048_573  # values that are drawn for one input, a prime number; longer inputs repeat them
CHUNK = 1 << 23  # elements that are compared at once
POISON = (1 << 18, 1 << 25)  # elements of float16: one size for each pool of the caching allocator


def poison(device: str = "cuda") -> None:
    """Fills memory that the allocator will hand out next with NaN, so that what a kernel does not write shows."""
    import torch

    held = [torch.full((n,), float("nan"), dtype=torch.float16, device=device) for n in POISON for _ in range(4)]
    del held


def run_on_device(payload: DevicePayload) -> DeviceAnswer:
    """In the worker: the module's launcher on inputs of every regime at the shapes that it is for, against the function in
    float64 on the same device; `device` is torch's name of it ("cpu": in Triton's interpreter)."""
    import torch

    device = payload.get("device", "cuda")
    place = torch.cuda.get_device_name() if device == "cuda" else device
    look = _Look(load_module(payload["text"], interpret=device == "cpu"), payload, device)
    rows: list[DeviceRow] = []
    skipped: list[str] = []
    with torch.no_grad():
        for regime in look.regimes:
            try:
                rows += look.regime(regime)
            except torch.OutOfMemoryError:
                skipped.append(f"{regime.name}: the device's memory does not hold the function in float64")
            if device == "cuda":
                torch.cuda.empty_cache()
            if any(row["why"] for row in rows):  # spares the rest
                break
    return {"where": place, "rows": rows, "skipped": skipped}


class _Look:
    """One module beside its function."""

    def __init__(self, module: ModuleType, payload: DevicePayload, device: str) -> None:
        self.module, self.payload, self.device = module, payload, device
        self.original: Run = getattr(module, f"_original_{payload['function']}")
        self.dtypes = [BY_TORCH_NAME[str(dtype).removeprefix("torch.")] for _, dtype in module._EXPECTED]
        masks = set(payload["masks"]) | {n for n, d in zip(payload["names"], self.dtypes, strict=True) if d == "bool"}
        self.masks = masks
        self.regimes = [r for r in REGIMES if r.fits(self.dtypes, bool(masks)) and not r.whole]
        self.rng = np.random.default_rng((payload["seed"], 0xDE71CE))

    def inputs(self, regime: Regime) -> list[torch.Tensor]:
        """On the device, in the module's own dtypes."""
        import torch

        out = []
        floating = False
        for name, (shape, dtype), ours in zip(self.payload["names"], self.module._EXPECTED, self.dtypes, strict=True):
            if regime.flags is not None and name in self.masks:
                flags = torch.from_numpy(regime.flags(self.rng, tuple(shape))).to(self.device)
                value = flags if ours == "bool" else torch.where(flags, 0.0, float("-inf"))
            elif ours in UNIT:
                draw = regime.first if regime.first is not None and not floating else regime.draw
                floating = True
                value = self._repeated(shape, partial(self._floats, draw, ours))
            else:
                low, high = (0, 2) if ours == "bool" else integer_range(ours, self.payload["integers"][name])
                value = self._repeated(shape, partial(self._integers, low, high))
            out.append(value.to(dtype))
        return out

    def _floats(self, draw: Draw, dtype: str, count: int) -> Array:
        return draw(self.rng, (count,), dtype, self.payload["products"])

    def _integers(self, low: int, high: int, count: int) -> Array:
        return np.asarray(self.rng.integers(low, high, count))

    def _repeated(self, shape: Sequence[int], draw: Callable[[int], Array]) -> torch.Tensor:
        """A draw of at most POOL values, as often as the shape needs them."""
        import torch

        count = int(np.prod(shape, dtype=np.int64))
        pool = np.asarray(draw(min(count, POOL)), np.float64)
        values = torch.from_numpy(pool).to(self.device)
        return values.repeat(-(-count // max(len(pool), 1)))[:count].reshape(tuple(shape))

    def regime(self, regime: Regime) -> Iterator[DeviceRow]:
        """A row of each output."""
        import torch

        given = self.inputs(regime)
        if self.device != "cpu":
            poison(self.device)
        with float_interpreter() if self.device == "cpu" else nullcontext():
            got = outputs_of(self.module._run(*[t.clone() for t in given]))
        eager = outputs_of(self.original(*given))
        single = in_dtype(self.original, given, torch.float32)
        double = in_dtype(self.original, given, torch.float64)
        for i, of in enumerate(zip(got, eager, single, double, strict=True)):
            yield self._row(regime, i, given, of)

    def _row(self, regime: Regime, output: int, given: list[torch.Tensor], of: tuple[torch.Tensor, ...]) -> DeviceRow:
        """The worst of its chunks."""
        got, eager, single, double = (x.reshape(-1) for x in of)
        dtype, k, shape = BY_TORCH_NAME[str(of[1].dtype).removeprefix("torch.")], self.payload["k"], of[1].shape
        row: DeviceRow = {
            "regime": regime.name, "output": output, "dtype": dtype, "error": 0.0, "eager": 0.0, "budget": 0.0,
            "allowed": 0.0, "why": "", "index": [], "expected": "", "actual": "", "roundings": 0,
        }  # fmt: skip
        kinds = [f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}" for x in of[:2]]
        if kinds[0] != kinds[1]:
            return {**row, "why": f"output {output} is {kinds[0]}, not {kinds[1]}"}
        others: list[torch.Tensor] = []
        for at in range(0, got.numel(), CHUNK):
            part = slice(at, at + CHUNK)
            cut = Compared(
                _doubles(got[part]), _doubles(double[part]), _doubles(eager[part]), _doubles(single[part]), dtype
            )
            figures, found = judge(cut, k, regime.wild)
            if figures["far"] and figures["error"] <= NEARLY * figures["allowed"]:
                others = others or self._rounded(given, output)
                beside = Compared(
                    cut.got,
                    cut.want,
                    cut.eager,
                    cut.single,
                    dtype,
                    others=[_doubles(x.reshape(-1)[part]) for x in others],
                )
                figures, found = judge(beside, k, regime.wild)
                row["roundings"] = ROUNDINGS
            for name in ("error", "eager", "budget", "allowed"):
                row[name] = max(row[name], figures[name])
            if found is not None:
                index = np.unravel_index(at + found[0], tuple(shape)) if shape else ()
                return {
                    **row, "why": figures["why"], "index": [int(i) for i in index],
                    "expected": repr(float(cut.want[found])), "actual": repr(float(cut.got[found])),
                }  # fmt: skip
        return row

    def _rounded(self, given: list[torch.Tensor], output: int) -> list[torch.Tensor]:
        """The output of runs of the function with each result as far off as its dtype may make it, at random, and its products as
        far off as matrix units may."""
        return [found[output] for found in rounded_outputs(self.original, given, ROUNDINGS, cut_off)]


def _doubles(x: torch.Tensor) -> Array:
    return np.asarray(x.double().cpu().numpy())
