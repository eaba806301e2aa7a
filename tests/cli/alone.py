"""Run by a test in a process of its own: `alone.py MODULE FUNCTION ORIGINAL SEED` imports a generated module by its path,
with mirage and jaxtyping out of reach, calls its function on random inputs of the shapes that it was made for, and
prints what happened as JSON.

ORIGINAL is a file with the function as the user wrote it, without decorator and annotations.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import sys
from types import ModuleType
from typing import Any

FORBIDDEN = ("mirage", "jaxtyping")


class Wall(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in FORBIDDEN:
            raise ImportError(f"{name} is out of reach")


def load(path: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(path: str, function: str, original: str, seed: str) -> None:
    sys.meta_path.insert(0, Wall())
    import torch

    module, wanted = load(path, "generated"), getattr(load(original, "original"), function)
    torch.manual_seed(int(seed))
    inputs = [torch.randn(shape).to(dtype) for shape, dtype in module._EXPECTED]
    runs = 0
    kernels = module._run

    def counted(*args: Any, **keywords: Any) -> Any:
        nonlocal runs
        runs += 1
        return kernels(*args, **keywords)

    module._run = counted
    with torch.no_grad():
        got, want = getattr(module, function)(*inputs), wanted(*inputs)
        exact = wanted(*(x.double() for x in inputs))
        smaller = getattr(module, function)(*(x[:1] if i == 0 else x for i, x in enumerate(inputs)))
    report = {
        "runs": runs,
        "identical": torch.equal(got, want),
        "dtype": got.dtype == want.dtype,
        "error": float((got.double() - exact).norm() / exact.norm()),
        "eager": float((want.double() - exact).norm() / exact.norm()),
        "another_shape": torch.equal(smaller, wanted(*(x[:1] if i == 0 else x for i, x in enumerate(inputs)))),
        "mirage": "mirage" in sys.modules,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
