"""Runs both functions of a pair in PyTorch and says whether they differ, by far more than rounding, or agree within it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import torch

from hostile.pair import Pair

DTYPES = {
    "fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64,
    "int32": torch.int32, "int64": torch.int64, "bool": torch.bool,
}  # fmt: skip
AGREE, DIFFER = 16, 64  # in units of the outputs' roundoff at the size of their largest value
RANDOM = 12
FILLS = (0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.25, 7.0)
Tensors = dict[str, torch.Tensor]


@contextlib.contextmanager
def setting(owner: object, name: str, value: object) -> Iterator[None]:
    """An attribute with another value for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def calling(read: str, change: str, value: object) -> Iterator[None]:
    """What one function of torch tells and another one sets, for a while."""
    back, function = getattr(torch, read)(), getattr(torch, change)
    function(value)
    try:
        yield
    finally:
        function(back)


def random_inputs(pair: Pair, seed: int, scale: float = 1.0) -> Tensors:
    """Normal floats, small integers, fair booleans."""
    g = torch.Generator().manual_seed(seed)
    found = {}
    for name, shape, dtype in pair.tensors:
        if DTYPES[dtype].is_floating_point:
            found[name] = (torch.randn(shape, generator=g) * scale).to(DTYPES[dtype])
        else:
            low = 0 if dtype == "bool" else -5
            found[name] = torch.randint(low, 2 if dtype == "bool" else 6, shape, generator=g).to(DTYPES[dtype])
    return found


def witness_inputs(pair: Pair) -> Tensors:
    """The random inputs after the witness's code."""
    names: dict[str, object] = {"torch": torch, "math": math, "inf": math.inf, "nan": math.nan}
    names.update(random_inputs(pair, 0))
    exec(pair.witness, names)
    made = {name: names[name] for name, _, _ in pair.tensors}
    found = {name: x for name, x in made.items() if isinstance(x, torch.Tensor)}
    for name, shape, dtype in pair.tensors:
        x = found[name]
        assert tuple(x.shape) == shape and x.dtype == DTYPES[dtype], f"{pair.name}: {name} is no longer {shape} {dtype}"
    return found


def general_inputs(pair: Pair) -> Iterator[Tensors]:
    """Twenty: random ones of several sizes, ties, and one value everywhere."""
    for seed in range(RANDOM):
        found = random_inputs(pair, seed + 1, (1.0, 0.01, 4.0)[seed % 3])
        if seed % 4 == 3:
            found = {k: x.round() if x.is_floating_point() else x for k, x in found.items()}
        yield found
    for value in FILLS:
        yield {k: torch.full_like(x, value) if x.is_floating_point() else x for k, x in random_inputs(pair, 0).items()}


@cache
def function(text: str) -> Callable[..., object]:
    names: dict[str, object] = {}
    exec(compile(text, "<pair>", "exec"), names)
    made = names["f"]
    assert callable(made)
    return made


def outputs(text: str, inputs: Tensors) -> list[torch.Tensor]:
    """The tensors that the function gives."""
    made = function(text)(**inputs)
    found = made if isinstance(made, tuple | list) else (made,)
    return [x.detach() for x in found if isinstance(x, torch.Tensor)]


def both(pair: Pair, inputs: Tensors) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    names = {"torch": torch, "nullcontext": contextlib.nullcontext, "setting": setting, "calling": calling}
    with eval(pair.under, names):
        a, b = outputs(pair.plain(pair.a), inputs), outputs(pair.plain(pair.b), inputs)
    assert len(a) == len(b), f"{pair.name}: {len(a)} and {len(b)} outputs"
    for x, y in zip(a, b, strict=True):
        assert x.shape == y.shape, f"{pair.name}: {tuple(x.shape)} and {tuple(y.shape)}"
        assert x.dtype == y.dtype, f"{pair.name}: {x.dtype} and {y.dtype}"
        yield x, y


def roundoffs(a: torch.Tensor, b: torch.Tensor, least: float) -> float:
    """The largest difference, in units of the dtype's roundoff at the size of the largest value (`least` or more); infinite
    where one is a number and the other not, or where integers differ."""
    if not a.is_floating_point():
        return 0.0 if torch.equal(a, b) else math.inf
    unit = torch.finfo(a.dtype).eps
    x, y = a.double().flatten(), b.double().flatten()
    fine = x.isfinite() & y.isfinite()
    alike = (x == y) | (x.isnan() & y.isnan())
    if bool((~fine & ~alike).any()):
        return math.inf
    x, y = x[fine], y[fine]
    if not len(x):
        return 0.0
    size = max(float(x.abs().max()), float(y.abs().max()), least)
    return float((x - y).abs().max()) / (unit * size) if size else 0.0


def largest(tensors: Sequence[torch.Tensor]) -> float:
    return max((float(x.double().abs().max()) for x in tensors if x.is_floating_point()), default=0.0)


def differ_on(pair: Pair, inputs: Tensors) -> bool:
    """Do these inputs show a difference by far more than rounding?"""
    return any(roundoffs(x, y, 0.0) > DIFFER for x, y in both(pair, inputs))


def differs(pair: Pair) -> bool:
    """Does the witness show a difference?"""
    return differ_on(pair, witness_inputs(pair))


def agrees(pair: Pair) -> bool:
    """Do general inputs show no more than rounding, of values as large as the inputs or 1?"""
    return all(
        roundoffs(x, y, max(1.0, largest(list(inputs.values())))) <= AGREE
        for inputs in general_inputs(pair)
        for x, y in both(pair, inputs)
    )


def outside_inputs(pair: Pair) -> Iterator[Tensors]:
    """Random inputs with one infinite or NaN element in one of them."""
    for name, _, _ in pair.tensors:
        for value in (math.inf, -math.inf, math.nan):
            found = random_inputs(pair, 1)
            if found[name].is_floating_point():
                found[name].flatten()[found[name].numel() // 2] = value
                yield found


def shown_outside(pair: Pair) -> bool:
    """Is it an infinite or NaN input that shows the difference? The witness has one, and shows none with a 1 in its place."""
    given = witness_inputs(pair)
    if all(bool(x.isfinite().all()) for x in given.values()):
        return False
    return not differ_on(pair, {k: torch.where(x.isfinite(), x, torch.ones_like(x)) for k, x in given.items()})


def shown_beyond(pair: Pair, most: float) -> bool:
    """Is it inputs larger than `most` alone that show the difference? The witness has one, and shows none once it is cut to
    `most`, or shrunk to it as a whole."""
    given = witness_inputs(pair)
    size = largest(list(given.values()))
    if math.isfinite(size) and size <= most:
        return False
    cut = {k: x.nan_to_num().clamp(-most, most) if x.is_floating_point() else x for k, x in given.items()}
    shrunk = {
        k: (x.double().nan_to_num() * (most / size)).to(x.dtype)
        if x.is_floating_point() and math.isfinite(size)
        else cut[k]
        for k, x in given.items()
    }
    return not any(differ_on(pair, x) for x in (cut, shrunk))


def alike_outside(pair: Pair) -> bool:
    """Does an equal pair agree on inputs that are infinite or NaN too?"""
    return all(roundoffs(x, y, 1.0) <= AGREE for inputs in outside_inputs(pair) for x, y in both(pair, inputs))


def certified(pair: Pair) -> bool:
    """Does PyTorch confirm what the pair says of itself?"""
    with torch.random.fork_rng(devices=[]):
        return differs(pair) if pair.expected == "differ" else agrees(pair)
