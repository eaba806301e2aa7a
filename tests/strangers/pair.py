"""A pair of PyTorch functions over the same inputs, the file that `mirage verify` reads for each, and inputs that tell them apart."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

DTYPES = {
    "fp8e4m3": torch.float8_e4m3fn,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "int8": torch.int8,
    "int16": torch.int16,
    "uint8": torch.uint8,
    "int32": torch.int32,
    "int64": torch.int64,
    "bool": torch.bool,
}


@dataclass(frozen=True)
class Pair:
    """`inputs`: "x fp32 8x1000; w fp32 1000". `a` and `b`: an expression, or the lines of a function's body. `why`: what differs, or
    why nothing does. `setup`: statements that change the drawn inputs (normal floats, integers of 0 to 7, booleans) so that it shows."""

    name: str
    inputs: str
    a: str
    b: str
    why: str
    setup: str = ""

    @property
    def declared(self) -> list[tuple[str, tuple[int, ...], str]]:
        """Name, shape and dtype of each input."""
        found = (x.split() for x in self.inputs.split(";"))
        return [(n, tuple(int(d) for d in shape.split("x")), dtype) for n, dtype, shape in found]


def body(text: str) -> str:
    """The lines of a function's body; an expression becomes what is returned."""
    text = textwrap.dedent(text).strip()
    return text if "return " in text else f"return {text}"


def source(pair: Pair, which: str) -> str:
    """A file with one decorated function `f`: the pair's `a` or `b`."""
    names = ", ".join(n for n, _, _ in pair.declared)
    sizes = ", ".join(f"({shape}, {dtype!r})" for _, shape, dtype in pair.declared)
    lines = textwrap.indent(body(getattr(pair, which)), "    ")
    head = "import math\n\nimport torch\nimport torch.nn.functional as F\n\nimport mirage\n\n\n"
    return f"{head}@mirage.optimize(inputs=[{sizes}])\ndef f({names}):\n{lines}\n"


def function(pair: Pair, which: str) -> Callable[..., Any]:
    """The pair's `a` or `b` as PyTorch runs it, without a decorator."""
    names = ", ".join(n for n, _, _ in pair.declared)
    scope: dict[str, Any] = {"torch": torch, "F": F, "math": __import__("math")}
    exec(f"def f({names}):\n{textwrap.indent(body(getattr(pair, which)), '    ')}", scope)
    found: Callable[..., Any] = scope["f"]
    return found


def drawn(pair: Pair, scale: float = 1.0, seed: int = 0) -> dict[str, torch.Tensor]:
    """Inputs on the CPU, floats times `scale`, after the pair's setup."""
    gen = torch.Generator().manual_seed(seed)
    found: dict[str, torch.Tensor] = {}
    for name, shape, dtype in pair.declared:
        if dtype == "bool":
            found[name] = torch.rand(shape, generator=gen) < 0.5
        elif not DTYPES[dtype].is_floating_point:
            found[name] = torch.randint(0, 8, shape, generator=gen).to(DTYPES[dtype])
        else:
            found[name] = (torch.randn(shape, generator=gen) * scale).to(DTYPES[dtype])
    scope: dict[str, Any] = {"torch": torch, "math": __import__("math"), **found}
    exec(textwrap.dedent(pair.setup), scope)
    return {n: scope[n].to(found[n].dtype) for n in found}


@dataclass(frozen=True)
class Difference:
    """How far two functions are apart: `apart`, the largest difference in their own dtype; `rounding`, the largest of either from its own
    value in float64, `reference` the first one's; `kinds`: NaN, infinity or the shape or dtype differs; `largest`: the largest magnitude;
    `eps`: the dtype's."""

    apart: float
    rounding: float
    reference: float
    kinds: bool
    largest: float
    eps: float

    @property
    def wrong(self) -> bool:
        """More than rounding explains, of either."""
        return self.kinds or self.apart > 4 * self.rounding + self.eps * self.largest / 2

    @property
    def imprecise(self) -> bool:
        """More than rounding in the first one's dtypes explains: the second one has narrower ones on its way."""
        return self.kinds or self.apart > 8 * self.reference + 8 * self.eps * self.largest

    @property
    def agrees(self) -> bool:
        return not self.kinds and self.apart <= 4 * self.rounding + 4 * self.eps * self.largest


OTHER_KIND = Difference(0.0, 0.0, 0.0, True, 0.0, 0.0)


def worst(found: list[Difference]) -> Difference:
    """The output that is furthest from agreement."""
    return max(found, key=lambda x: (x.kinds, x.apart - 4 * x.rounding))


def outputs(found: Any) -> list[torch.Tensor]:
    """What a function gave, one or several."""
    return list(found) if isinstance(found, tuple | list) else [found]


def widened(x: torch.Tensor) -> torch.Tensor:
    """Floats as float64."""
    return x.double() if x.is_floating_point() else x


def difference(pair: Pair, inputs: dict[str, torch.Tensor]) -> Difference:
    """Both functions on the inputs in their own dtype and with floats widened to float64; the worst of the outputs."""
    runs = []
    for which in ("a", "b"):
        f = function(pair, which)
        own = outputs(f(*inputs.values()))
        wide = outputs(f(*map(widened, inputs.values())))
        runs.append((own, wide))
    (own_a, wide_a), (own_b, wide_b) = runs
    return worst([_of_output(*x) for x in zip(own_a, own_b, wide_a, wide_b, strict=True)])


def _of_output(a: torch.Tensor, b: torch.Tensor, aw: torch.Tensor, bw: torch.Tensor) -> Difference:
    if a.shape != b.shape or a.dtype != b.dtype:
        return OTHER_KIND
    eps = torch.finfo(a.dtype).eps if a.is_floating_point() else 0.0
    a, b, aw, bw = (x.double() for x in (a, b, aw, bw))
    kinds = bool(((a.isnan() != b.isnan()) | (a.isposinf() != b.isposinf()) | (a.isneginf() != b.isneginf())).any())
    fine = a.isfinite() & b.isfinite() & aw.isfinite() & bw.isfinite()
    if not bool(fine.any()):
        return Difference(0.0, 0.0, 0.0, kinds, 0.0, eps)
    a, b, aw, bw = (x[fine] for x in (a, b, aw, bw))
    apart = float((a - b).abs().max())
    reference, other = float((a - aw).abs().max()), float((b - bw).abs().max())
    return Difference(apart, max(reference, other), reference, kinds, float(a.abs().max()), eps)
