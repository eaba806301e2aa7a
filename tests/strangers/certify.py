"""What PyTorch and Triton's interpreter say of the cases: is a right text right, and its wrong twin wrong, on the drawn inputs?"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from strangers.pair import Difference, Pair, drawn, function


def first_configuration(text: str) -> str:
    """The text with one configuration for each `autotune`: the interpreter has no device to time several on."""
    return re.sub(r"(\[\s*triton\.Config\([^\n]*\n)(\s*triton\.Config\([^\n]*\n)+", r"\1", text)


def loaded(text: str, folder: Path, name: str) -> Callable[..., Any]:
    """The function `f` of a module's text. `TRITON_INTERPRET=1` has to be set before Triton is imported."""
    path = folder / f"{name}.py"
    path.write_text(first_configuration(text), "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.f
    return found


def against(pair: Pair, run: Callable[..., Any], inputs: dict[str, torch.Tensor]) -> Difference:
    """How far `run` is from the pair's function: the worst output. `rounding` is the function's own."""
    f = function(pair, "a")
    own, exact, got = (_tensors(x) for x in (f(*inputs.values()), f(*map(_wide, inputs.values())), run(*inputs.values())))
    worst = Difference(0.0, 0.0, False, 0.0, 0.0)
    for a, aw, b in zip(own, exact, got, strict=True):
        found = _one(a, aw, b)
        if found.kinds or found.apart * max(worst.largest, 1e-30) >= worst.apart * found.largest:
            worst = found
        if worst.kinds:
            break
    return worst


def _tensors(found: Any) -> list[torch.Tensor]:
    return list(found) if isinstance(found, tuple | list) else [found]


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.double() if x.is_floating_point() else x


def _one(a: torch.Tensor, aw: torch.Tensor, b: torch.Tensor) -> Difference:
    if a.shape != b.shape or a.dtype != b.dtype:
        return Difference(0.0, 0.0, True, 0.0, 0.0)
    eps = torch.finfo(a.dtype).eps
    a, aw, b = a.double(), aw.double(), b.double()
    kinds = not torch.equal(a.isfinite(), b.isfinite())
    fine = a.isfinite() & b.isfinite()
    return Difference(
        float((b - aw)[fine].abs().max()), float((a - aw)[fine].abs().max()), kinds, float(aw[fine].abs().max()), eps
    )


def wrong(pair: Pair, run: Callable[..., Any]) -> bool:
    """Does a text differ from its function by more than rounding: ten times its own error, and more than an eighth of an ulp?"""
    found = against(pair, run, drawn(pair))
    return found.kinds or found.apart > 4 * found.rounding + found.eps * found.largest / 2


def right(pair: Pair, run: Callable[..., Any], scale: float = 1.0) -> bool:
    """Does it agree within rounding?"""
    found = against(pair, run, drawn(pair, scale))
    return not found.kinds and found.apart <= 4 * found.rounding + 2 * found.eps * found.largest
