from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

INTERPRET = Path(__file__).parent / "interpret.py"


@pytest.fixture(scope="session")
def interpret() -> Iterator[Callable[..., dict[str, Any]]]:
    """`interpret(text, arrays, dtype, call="_run", grad=False, **keywords)` runs an emitted module's function in the
    interpreter; the answer has "out" (float64 arrays), "dtype", "tuple", "kernels" (whether they ran), or "error"."""
    process = subprocess.Popen([sys.executable, str(INTERPRET)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None

    def run(text: str, arrays: Any, dtype: Any = "float16", call: str = "_run", grad: bool = False, **keywords: Any):
        dtypes = [dtype] * len(arrays) if isinstance(dtype, str) else dtype
        inputs = [(a, d, grad) for a, d in zip(arrays, dtypes, strict=True)]
        pickle.dump({"text": text, "inputs": inputs, "call": call, "keywords": keywords}, process.stdin)
        process.stdin.flush()
        return pickle.load(process.stdout)

    yield run
    process.stdin.close()
    process.wait(60)
