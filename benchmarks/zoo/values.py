"""The kinds of values that inputs of the zoo need: probabilities, positive scales, labels, masks, rotary tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

DTYPES = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "int8": torch.int8,
    "int32": torch.int32,
    "int64": torch.int64,
    "bool": torch.bool,
}

Kind = tuple[str | float, ...]
Shape = tuple[int, ...]
Draw = Callable[..., torch.Tensor]


def _normal(shape: Shape, generator: torch.Generator, dtype: torch.dtype, std: float = 1.0) -> torch.Tensor:
    return torch.randn(shape, generator=generator, device=generator.device, dtype=dtype).mul_(std)


def _weight(shape: Shape, generator: torch.Generator, dtype: torch.dtype, contracted: int) -> torch.Tensor:
    return _normal(shape, generator, dtype, shape[contracted] ** -0.5)


def _uniform(
    shape: Shape, generator: torch.Generator, dtype: torch.dtype, low: float = 0.0, high: float = 1.0
) -> torch.Tensor:
    return torch.rand(shape, generator=generator, device=generator.device, dtype=dtype).mul_(high - low).add_(low)


def _positive(shape: Shape, generator: torch.Generator, dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
    return _uniform(shape, generator, dtype, 0.5 * scale, 1.5 * scale)


def _int(shape: Shape, generator: torch.Generator, dtype: torch.dtype, low: int, high: int) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=generator, device=generator.device, dtype=dtype)


def _probability(shape: Shape, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    return torch.softmax(_normal(shape, generator, dtype), -1)


def _log_probability(shape: Shape, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    return torch.log_softmax(_normal(shape, generator, dtype), -1)


def _descending(shape: Shape, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    return _normal(shape, generator, dtype).sort(-1, descending=True).values


def _unit(shape: Shape, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    return torch.nn.functional.normalize(_normal(shape, generator, dtype), dim=-1)


def _distance(shape: Shape, device: torch.device) -> torch.Tensor:
    """Position of the query less position of the key, of shape (queries, keys); the last query stands at the last key."""
    queries, keys = shape[-2:]
    rows = torch.arange(keys - queries, keys, device=device)
    return rows[:, None] - torch.arange(keys, device=device)


def _causal(shape: Shape, generator: torch.Generator, dtype: torch.dtype, window: int = 0) -> torch.Tensor:
    """The keys seen: those before the query and itself, of the last `window` keys where that is not 0; added to scores
    (0 and -inf) where the dtype is floating."""
    distance = _distance(shape, generator.device)
    seen = (distance >= 0) & (distance < window) if window else distance >= 0
    seen = seen.expand(shape)
    if dtype == torch.bool:
        return seen.contiguous()
    return torch.zeros(shape, dtype=dtype, device=generator.device).masked_fill(~seen, -math.inf)


def _mask(shape: Shape, generator: torch.Generator, dtype: torch.dtype, share: float = 0.5) -> torch.Tensor:
    """True (or 1) for about `share` of the elements and for the first of each row."""
    chosen = torch.rand(shape, generator=generator, device=generator.device) < share
    chosen[..., 0] = True
    return chosen.to(dtype)


def _angles(shape: Shape, device: torch.device, base: float) -> torch.Tensor:
    """Rotary angles of (..., positions, d): the first half of d again as the second."""
    positions, d = shape[-2:]
    rates = base ** (-torch.arange(0, d, 2, device=device, dtype=torch.float32) / d)
    angles = torch.arange(positions, device=device)[:, None] * rates
    return torch.cat((angles, angles), -1)[:, :d].expand(shape)


def _cos(shape: Shape, generator: torch.Generator, dtype: torch.dtype, base: float = 10000.0) -> torch.Tensor:
    return _angles(shape, generator.device, base).cos().to(dtype)


def _sin(shape: Shape, generator: torch.Generator, dtype: torch.dtype, base: float = 10000.0) -> torch.Tensor:
    return _angles(shape, generator.device, base).sin().to(dtype)


def _arange(shape: Shape, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(shape[-1], device=generator.device).to(dtype).expand(shape).contiguous()


@dataclass(frozen=True)
class KindOf:
    """How a kind of values is drawn, and how many numbers it may be given."""

    draw: Draw
    fewest: int = 0
    most: int = 0


KINDS = {
    "normal": KindOf(_normal, 0, 1),  # standard deviation
    "weight": KindOf(_weight, 1, 1),  # the dimension that a product contracts: deviation 1 / sqrt(its size)
    "uniform": KindOf(_uniform, 0, 2),  # least and largest
    "positive": KindOf(_positive, 0, 1),  # mean; from half of it to one and a half
    "int": KindOf(_int, 2, 2),  # least, and the end, which is left out
    "probability": KindOf(_probability),  # sums to 1 along the last dimension
    "log_probability": KindOf(_log_probability),
    "descending": KindOf(_descending),  # sorted along the last dimension
    "unit": KindOf(_unit),  # length 1 along the last dimension
    "causal": KindOf(_causal, 0, 1),  # window
    "mask": KindOf(_mask, 0, 1),  # share
    "cos": KindOf(_cos, 0, 1),  # base
    "sin": KindOf(_sin, 0, 1),
    "arange": KindOf(_arange),
}

BY_DTYPE: dict[str, Kind] = {"bool": ("mask",), "int8": ("int", -127, 128)}


def check_kind(kind: Kind, where: str) -> None:
    """ValueError where `kind` is no entry of KINDS with as many numbers as that takes."""
    entry = KINDS.get(str(kind[0])) if isinstance(kind, tuple) and kind else None
    if entry is None or not entry.fewest <= len(kind) - 1 <= entry.most:
        raise ValueError(f"{where}: {kind} is no kind of values (zoo/values.py)")


def draw(kind: Kind | None, shape: Shape, dtype: str, generator: torch.Generator) -> torch.Tensor:
    """A tensor of `shape` on the generator's device. ValueError for integers of which nothing is said."""
    chosen = kind or BY_DTYPE.get(dtype) or (("normal",) if DTYPES[dtype].is_floating_point else ())
    check_kind(chosen, f"{dtype} {shape}")
    own = DTYPES[dtype]
    made = torch.float32 if own == torch.float8_e4m3fn else own
    return KINDS[str(chosen[0])].draw(shape, generator, made, *chosen[1:]).to(own)
