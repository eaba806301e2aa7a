"""Random chains of shape operators: what is lowered has PyTorch's values; what is refused is refused by name."""

from __future__ import annotations

from random import Random

import pytest
from program.numeric import HEAD, difference

from mirage.errors import MirageError, UnsupportedReshape


def divisors(n: int) -> list[int]:
    return [d for d in range(2, n) if n % d == 0]


def step(r: Random, x: str, shape: list[int]) -> tuple[str, list[int]]:
    """One more operator on the text `x` of a tensor of this shape."""
    kind = r.randrange(11)
    i = r.randrange(len(shape))
    n = shape[i]
    if kind == 0 and divisors(n) and len(shape) < 5:
        d = r.choice(divisors(n))
        return f"{x}.unflatten({i}, ({n // d}, {d}))", [*shape[:i], n // d, d, *shape[i + 1 :]]
    if kind == 1 and i + 1 < len(shape):
        return f"{x}.flatten({i}, {i + 1})", [*shape[:i], n * shape[i + 1], *shape[i + 2 :]]
    if kind == 2:
        order = r.sample(range(len(shape)), len(shape))
        return f"{x}.permute({order})", [shape[j] for j in order]
    if kind == 3 and n > 1:
        start = r.randrange(n)
        stop = r.randrange(start + 1, n + 1)
        cut = ", ".join([":"] * i + [f"{start}:{stop}"])
        return f"{x}[{cut}]", [*shape[:i], stop - start, *shape[i + 1 :]]
    if kind == 4 and len(shape) > 1:
        return f"{x}.select({i}, {r.randrange(n)})", shape[:i] + shape[i + 1 :]
    if kind == 5:
        return f"torch.cat([{x}, 2 * {x}], {i})", [*shape[:i], 2 * n, *shape[i + 1 :]]
    if kind == 6:
        return f"{x}.repeat_interleave(2, {i})", [*shape[:i], 2 * n, *shape[i + 1 :]]
    if kind == 7 and len(shape) < 5:
        return f"{x}.unsqueeze({i}).expand({[*shape[:i], 3, *shape[i:]]})", [*shape[:i], 3, *shape[i:]]
    if kind == 8:
        return f"({x} - {x}.amax({i}, keepdim=True)).exp()", shape
    if kind == 9 and len(shape) > 1:
        return f"{x}.sum({i})", shape[:i] + shape[i + 1 :]
    if kind == 10 and len(shape) > 1:
        return f"({x} @ {x}.transpose(-1, -2))", [*shape[:-1], shape[-2]]
    return f"({x} + 1)", shape


def chain(seed: int) -> tuple[str, tuple[int, ...]]:
    r = Random(seed)
    first = [r.choice((2, 3, 4, 6)) for _ in range(r.randrange(1, 4))]
    lines, shape = ["y = x"], list(first)
    for _ in range(r.randrange(2, 7)):
        text, wider = step(r, "y", shape)
        size = 1
        for n in wider:
            size *= n
        if size <= 600:
            lines.append(f"y = {text}")
            shape = wider
    return f"{HEAD}def f(x):\n    " + "\n    ".join(lines) + "\n    return y\n", tuple(first)


def test_random_shape_chains() -> None:
    refused = 0
    for seed in range(300):
        text, shape = chain(seed)
        try:
            assert difference(text, "f", [("x", shape, "fp64")], seed) < 1e-12, text
        except UnsupportedReshape:
            refused += 1
    assert refused < 30


def test_a_refusal_names_the_line() -> None:
    text = f"{HEAD}def f(x):\n    y = x.flatten()\n    return y[3:9] + 1\n"
    with pytest.raises(MirageError) as raised:
        difference(text, "f", [("x", (4, 6), "fp64")])
    assert raised.value.line == 5  # the reshape, where the function may be split
