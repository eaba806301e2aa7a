"""Functions that models are trained with, and inputs of any dtype for them: what training's tests and benchmark run."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F


def rms_norm(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def layer_norm(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b)


def gated_mlp(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def linear_cross_entropy(x, w, labels):
    return F.cross_entropy(F.linear(x, w), labels)


def attention(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    return torch.softmax(scores.masked_fill(~seen, -math.inf), -1) @ v


def rope(q, k, cos, sin):
    def turned(x):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    return turned(q), turned(k)


@dataclass(frozen=True)
class Case:
    """A function, the shapes of the inputs that need a gradient, and of those that do not; `classes`: labels below it."""

    function: Callable[..., object]
    shapes: tuple[tuple[int, ...], ...]
    fixed: tuple[tuple[int, ...], ...] = ()
    classes: int = 0

    def inputs(self, dtype: torch.dtype) -> list[torch.Tensor]:
        """The same numbers for each dtype."""
        made = torch.Generator().manual_seed(0)
        wanted = [torch.randn(s, generator=made).to(dtype).requires_grad_() for s in self.shapes]
        if self.classes:
            return [*wanted, torch.randint(0, self.classes, self.fixed[0], generator=made)]
        return wanted + [torch.randn(s, generator=made).to(dtype) for s in self.fixed]


HEADS = (2, 3, 4, 6)
CASES = {
    "rms_norm": Case(rms_norm, ((5, 8), (8,))),
    "layer_norm": Case(layer_norm, ((5, 8), (8,), (8,))),
    "gated_mlp": Case(gated_mlp, ((3, 6), (10, 6), (10, 6), (6, 10))),
    "linear_cross_entropy": Case(linear_cross_entropy, ((5, 6), (11, 6)), ((5,),), classes=11),
    "attention": Case(attention, (HEADS, HEADS, HEADS)),
    "rope": Case(rope, (HEADS, HEADS), ((4, 6), (4, 6))),
}
