"""Run by a test in a process of its own, with TRITON_INTERPRET=1: `saved_file.py FILE ORIGINAL FUNCTION` calls a function of
a file, as its user would, beside the original, and prints what happened as JSON."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType
from typing import Any


def load(path: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(path: str, original: str, function: str) -> None:
    import torch
    from triton.runtime import interpreter

    launches: list[Any] = []
    launch = interpreter.GridExecutor.__call__

    def counted(self: Any, *args: Any, **keywords: Any) -> Any:
        launches.append(self.fn)
        return launch(self, *args, **keywords)

    interpreter.GridExecutor.__call__ = counted
    torch.manual_seed(3)
    x = torch.randn(16, 4096).half()
    g = torch.rand(4096).half()
    w = (torch.randn(4096, 4096) / 64).half()
    with torch.no_grad():
        want = getattr(load(original, "original"), function)(x, g, w)
        before = len(launches)
        got = getattr(load(path, "saved"), function)(x, g, w)
    error = float((got.double() - want.double()).norm() / want.double().norm())
    print(json.dumps({"before": before, "launches": len(launches) - before, "error": error,
                      "identical": torch.equal(got, want)}))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
