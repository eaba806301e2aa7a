"""Compiles handwritten modules at their functions' own sizes, for a GPU that need not be there; wrong ones too are kernels.

python -m handwritten.compiles [NAME...]    in the folder tests/; all without a name
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import triton
from triton.compiler.errors import CompilationError

from handwritten.case import Case, case, names
from handwritten.tuned import tuned
from mirage.codegen.interpreter import load_module
from mirage.devices.table import device
from mirage.ir.dtypes import DTYPES
from mirage.profile.parallel_compile import CompileDriver

TARGET = "sm_90"
_run = triton.JITFunction.run


def compile_launch(
    kernel: triton.JITFunction[Any], *args: object, grid: Any, warmup: bool, **keywords: object
) -> object:
    """Compiles what a launch would run, and works its grid out."""
    compiled = _run(kernel, *args, grid=grid, warmup=True, **keywords)
    named = dict(zip(kernel.arg_names, args)) | keywords
    sizes = grid(named) if callable(grid) else grid
    assert all(isinstance(x, int) and x > 0 for x in sizes), sizes
    assert compiled.metadata.shared <= device(TARGET).shared_per_block
    return compiled


def uncompiled(row: Case) -> list[str]:
    """The names of the case's modules that Triton refuses."""
    triton.runtime.driver.set_active(CompileDriver(device(TARGET).capability))
    triton.JITFunction.run = compile_launch
    texts = {row.name: row.module} | {f"{row.name}/{x.name}": row.wrong(x) for x in row.faults}
    found = []
    for name, text in texts.items():
        module = load_module(text, interpret=False)
        for _ in tuned(module):
            tensors = [torch.empty(s, dtype=getattr(torch, DTYPES[d].torch), device="meta") for s, d in row.inputs]
            try:
                getattr(module, row.name)(*tensors)
            except CompilationError as e:
                print(f"{name}: {e}")
                found.append(name)
    return found


def main(arguments: list[str]) -> int:
    chosen = arguments or names()
    bad = [x for name in chosen for x in uncompiled(case(name))]
    print(f"{len(chosen)} cases, not compiled: {', '.join(bad) or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
