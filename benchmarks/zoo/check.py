"""Run each function of the zoo: on meta tensors at its real shapes, and on the CPU at small ones, in its dtypes and in float64.

    python -m benchmarks.zoo.check [NAME...]

Small shapes: a size above 256 is halved until it is at most 256, the same size to the same everywhere in a file, ends of `int` ranges too.
Sizes that a function's text fixes stay whole where the file says so: `FIXED = (4096,)`.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import Input, ZooFunction, constant, every_function, inputs
from .values import DTYPES, Kind

LARGEST = 256
NARROW = (torch.float16, torch.bfloat16, torch.float32)
CASTS = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)


class Wide(TorchFunctionMode):
    """Computes in float64 what the text computes in float16, bfloat16 or float32; 8-bit floats and integers stay."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in CASTS:
            func = torch.Tensor.double

        def wide(a: Any) -> Any:
            return torch.float64 if isinstance(a, torch.dtype) and a in NARROW else a

        return func(*map(wide, args), **{k: wide(v) for k, v in (kwargs or {}).items()})


def small(fn: ZooFunction) -> ZooFunction:
    """The same function at its first row with small shapes."""
    fixed = constant(ast.parse(fn.path.read_text(encoding="utf-8")), "FIXED", ())

    def size(n: int) -> int:
        while n > LARGEST and n not in fixed:
            n //= 2
        return n

    def kind(k: Kind) -> Kind:
        return ("int", k[1], size(int(k[2]))) if k[0] == "int" else k

    rows = (tuple(Input(tuple(map(size, i.shape)), i.dtype) for i in fn.rows[0]),)
    return replace(fn, rows=rows, generators={n: kind(k) for n, k in fn.generators.items()})


def outputs(result: Any) -> tuple[torch.Tensor, ...]:
    """A function's outputs as a tuple."""
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def fault(fn: ZooFunction) -> str | None:
    """What is wrong with a function of the zoo, or None."""
    function, own = fn.load(), small(fn)
    try:
        for row in fn.rows:
            outputs(function(*(torch.empty(i.shape, dtype=DTYPES[i.dtype], device="meta") for i in row)))
        result = outputs(function(*inputs(own, 0)))
        given = [t.double() if t.dtype in NARROW else t for t in inputs(own, 0)]
        with Wide():
            reference = outputs(function(*given))
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    if not result or [r.shape for r in result] != [r.shape for r in reference]:
        return f"results {[tuple(r.shape) for r in result]}, in float64 {[tuple(r.shape) for r in reference]}"
    for index, (mine, exact) in enumerate(zip(result, reference, strict=True)):
        if not (mine.double().isfinite().all() and exact.double().isfinite().all()):
            return f"result {index} is not finite"
        if mine.is_floating_point() and exact.dtype == torch.float64:
            error = (mine.double() - exact).abs().mean() / exact.abs().mean().clamp_min(1e-30)
            if error > 0.1:
                return f"result {index} is {float(error):.3f} from float64 in the mean"
    return None


def main(names: list[str]) -> int:
    torch.set_num_threads(1)
    chosen = [f for f in every_function() if not names or f.name in names]
    faults = {f"{f.family}/{f.name}": said for f in chosen if (said := fault(f))}
    for name, said in faults.items():
        print(f"{name}: {said}")
    print(f"{len(chosen) - len(faults)} of {len(chosen)} functions run")
    return 1 if faults or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
