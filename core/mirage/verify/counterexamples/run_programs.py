"""A program loaded from its text and run on random inputs. What stands between the two marks is copied into each counterexample's
script, so that a user runs what was run here."""

from __future__ import annotations

# counterexample:begin
import importlib.util
import os
import tempfile
from collections.abc import Mapping, Sequence
from types import ModuleType

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


def load(text: str) -> ModuleType:
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


def draw(inputs: Sequence[tuple[str, Sequence[int], str]], kind: str, seed: int, k: int) -> list[torch.Tensor]:
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


def run(
    program: ModuleType,
    tensors: Sequence[torch.Tensor],
    sizes: Mapping[str, int],
    tiles: Mapping[str, Mapping[str, int]],
    double: bool = True,
) -> list[torch.Tensor]:
    """The outputs as float64: of a function on float64 inputs (as they are without `double`), of a kernel on the inputs
    as they are, with outputs full of NaN before it runs."""
    torch.use_deterministic_algorithms(True, warn_only=True)  # torch.empty gives NaN
    with torch.no_grad():
        if hasattr(program, "_run"):
            small(program, tensors, sizes, tiles)
            out = program._run(*[t.clone() for t in tensors])
        else:
            out = program.function(*[t.double() if double and t.is_floating_point() else t.clone() for t in tensors])
    return [x.double() for x in (out if isinstance(out, (tuple, list)) else (out,))]


def small(
    module: ModuleType,
    tensors: Sequence[torch.Tensor],
    sizes: Mapping[str, int],
    tiles: Mapping[str, Mapping[str, int]],
) -> None:
    """Makes a module one for these tensors: its launcher refuses what the module was not made for."""
    for table, own in ((module.SIZES, sizes), (module.TILES, tiles)):
        table.clear()
        table.update(own)
    expected = tuple((tuple(t.shape), t.dtype) for t in tensors)
    rows = {expected: (module._run, module.SIZES, module.TILES)}
    module.__dict__.update(_EXPECTED=expected, _BY_SIZE=rows)


# counterexample:end
