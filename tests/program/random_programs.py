"""Random compositions of operators as PyTorch texts: seeded, random names, finite on ordinary inputs.

`from program.random_programs import random_programs, long_program`; each has the text, the function's name and the inputs.
Short programs have prime sizes; long ones sizes with divisors, since they reshape.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
DIVISIBLE = (4, 6, 8, 12, 16, 20, 24, 32, 36)
MOST_DIMS, MOST_OF_A_DIM = 4, 144
HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"


@dataclass(frozen=True)
class RandomProgram:
    """`text` defines `function`; `inputs` are (name, shape, dtype)."""

    seed: int
    function: str
    text: str
    inputs: tuple[tuple[str, tuple[int, ...], str], ...]

    def decorated(self) -> str:
        """The text as a user's file: with the decorator and its inputs."""
        listed = ", ".join(f'({shape}, "{dtype}")' for _, shape, dtype in self.inputs)
        body = self.text[len(HEAD) :]
        return f"import mirage\n{HEAD}@mirage.optimize(inputs=[{listed}])\n{body}"


class _Writer:
    """Grows a function line by line; `x` is the current tensor, `shape` its shape."""

    def __init__(self, seed: int, sizes: tuple[int, ...] = PRIMES) -> None:
        self.r = Random(seed)
        self.sizes = sizes
        self.used: set[str] = {"torch", "F"}
        self.dtype = self.r.choice(("fp16", "bf16", "fp32", "fp32"))
        self.inputs: list[tuple[str, tuple[int, ...], str]] = []
        self.lines: list[str] = []
        rank = self.r.choice((2, 2, 2, 3))
        self.shape = tuple(self.size() for _ in range(rank))
        self.x = self.input(self.shape)

    def size(self) -> int:
        return self.r.choice(self.sizes)

    def name(self) -> str:
        while True:
            word = "".join(
                self.r.choice("bdfgklmnprstvz") + self.r.choice("aeiou") for _ in range(self.r.choice((1, 2, 2)))
            )
            if word not in self.used and not keyword.iskeyword(word):
                self.used.add(word)
                return word

    def input(self, shape: tuple[int, ...]) -> str:
        name = self.name()
        self.inputs.append((name, shape, self.dtype))
        return name

    def put(self, text: str, shape: tuple[int, ...] | None = None) -> None:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        self.x = name
        self.shape = self.shape if shape is None else shape


def unary(w: _Writer) -> None:
    x = w.x
    w.put(w.r.choice((
        f"F.silu({x})", f"F.gelu({x})", f"F.gelu({x}, approximate='tanh')", f"torch.sigmoid({x})", f"torch.relu({x})",
        f"torch.tanh({x})", f"-{x}", f"{x}.square()", f"torch.exp(-{x}.abs())", f"torch.rsqrt({x}.square() + 0.5)",
        f"torch.sqrt({x}.abs() + 1)", f"torch.log({x}.abs() + 1.5)", f"{x}.clamp(-1.25, 2.0)", f"1 / ({x} ** 2 + 0.75)",
    )))  # fmt: skip


def scalar(w: _Writer) -> None:
    w.put(w.r.choice((f"{w.x} * 0.125", f"{w.x} + 0.5", f"{w.x} / 3", f"1 - {w.x}", f"2.5 * {w.x} - 1")))


def binary(w: _Writer) -> None:
    shape = w.r.choice((w.shape, w.shape[-1:], (*w.shape[:-1], 1)))
    other, x = w.input(shape), w.x
    w.put(w.r.choice((
        f"{x} * {other}", f"{x} + {other}", f"{x} - {other}", f"torch.maximum({x}, {other})",
        f"{x} / ({other}.square() + 1)", f"torch.where({other} > 0, {x}, 0.25 * {x})", f"torch.sigmoid({other}) * {x}",
    )))  # fmt: skip


def residual(w: _Writer) -> None:
    before, shape = w.x, w.shape
    w.r.choice((unary, normed))(w)
    assert w.shape == shape
    w.put(f"{before} + {w.x}")


def normed(w: _Writer) -> None:
    x, n = w.x, w.shape[-1]
    kind = w.r.randrange(6)
    if kind == 0:
        w.put(f"F.rms_norm({x}, ({n},), {w.input((n,))}, 1e-5)")
    elif kind == 1:
        w.put(f"F.layer_norm({x}, ({n},), {w.input((n,))}, {w.input((n,))})")
    elif kind == 2:
        w.put(f"F.normalize({x}, dim=-1)")
    elif kind == 3:
        w.put(f"torch.softmax({x}, dim=-1)")
    elif kind == 4:
        w.put(f"{x} * torch.rsqrt({x}.pow(2).mean(-1, keepdim=True) + 1e-3)")
    else:
        w.put(f"{x} - {x}.mean(dim=-1, keepdim=True)")


def product(w: _Writer) -> None:
    n, m = w.shape[-1], w.size()
    kind = w.r.randrange(4)
    if kind == 0:
        w.put(f"{w.x} @ {w.input((n, m))}", (*w.shape[:-1], m))
    elif kind == 1:
        w.put(f"F.linear({w.x}, {w.input((m, n))}, {w.input((m,))})", (*w.shape[:-1], m))
    elif kind == 2:
        k = w.size()
        w.put(f"({w.x} @ {w.input((n, k))}) @ {w.input((k, m))}", (*w.shape[:-1], m))
    else:
        w.put(f"F.silu({w.x} @ {w.input((n, m))}) * ({w.x} @ {w.input((n, m))})", (*w.shape[:-1], m))


def attention(w: _Writer) -> None:
    d, s, v = w.shape[-1], w.size(), w.size()
    lead = w.shape[:-2]
    keys, values = w.input((*lead, s, d)), w.input((*lead, s, v))
    score = f"torch.softmax({w.x} @ {keys}.transpose(-1, -2) * {1 / d:.3f}, dim=-1)"
    w.put(f"{score} @ {values}", (*w.shape[:-1], v))


def gate(w: _Writer) -> None:
    """The two halves of a product, one gating the other."""
    m = w.size()
    w.put(f"{w.x} @ {w.input((w.shape[-1], 2 * m))}", (*w.shape[:-1], 2 * m))
    first, second, x = w.name(), w.name(), w.x
    w.lines.append(f"{first}, {second} = {x}.chunk(2, dim=-1)")
    w.put(f"torch.sigmoid({first}) * {second}", (*w.shape[:-1], m))


def reduced(w: _Writer) -> None:
    how = w.r.choice(("sum", "mean", "amax"))
    w.put(f"{w.x}.{how}(dim=-1)", w.shape[:-1])


def turned(w: _Writer) -> None:
    w.put(f"{w.x}.transpose(-1, -2)", (*w.shape[:-2], w.shape[-1], w.shape[-2]))


STEPS: tuple[tuple[Callable[[_Writer], None], int], ...] = (
    (unary, 5), (scalar, 3), (binary, 5), (residual, 3), (normed, 5), (product, 5), (attention, 2), (gate, 1), (turned, 1),
)  # fmt: skip


def split(w: _Writer) -> None:
    """The last dim as two, where there is room for one more."""
    n = w.shape[-1]
    divisors = [d for d in range(2, n) if n % d == 0]
    if divisors and len(w.shape) < MOST_DIMS:
        d = w.r.choice(divisors)
        shape = (*w.shape[:-1], d, n // d)
        w.put(f"{w.x}.reshape({', '.join(map(str, shape))})", shape)


def merged(w: _Writer) -> None:
    """Two neighbouring dims as one."""
    places = [i for i in range(len(w.shape) - 1) if w.shape[i] * w.shape[i + 1] <= MOST_OF_A_DIM]
    if places and len(w.shape) > 2:
        i = w.r.choice(places)
        shape = (*w.shape[:i], w.shape[i] * w.shape[i + 1], *w.shape[i + 2 :])
        w.put(f"{w.x}.reshape({', '.join(map(str, shape))})", shape)


def against_its_own(w: _Writer) -> None:
    """Each element beside a reduction over one of the dims."""
    x, dim = w.x, w.r.randrange(-len(w.shape), 0)
    w.put(w.r.choice((
        f"{x} - {x}.mean(dim={dim}, keepdim=True)", f"{x} - {x}.amax(dim={dim}, keepdim=True)",
        f"{x} / ({x}.abs().sum(dim={dim}, keepdim=True) + 1)", f"{x} * torch.rsqrt({x}.square().mean(dim={dim}, keepdim=True) + 1e-3)",
        f"torch.softmax({x}, dim={dim})",
    )))  # fmt: skip


def reduced_over(w: _Writer) -> None:
    """One dim less, where more than two are left."""
    if len(w.shape) > 2:
        i = w.r.randrange(len(w.shape))
        how = w.r.choice(("sum", "mean", "amax"))
        w.put(f"{w.x}.{how}(dim={i})", (*w.shape[:i], *w.shape[i + 1 :]))


LONG_STEPS: tuple[tuple[Callable[[_Writer], None], int], ...] = (
    *STEPS, (split, 4), (merged, 4), (against_its_own, 6), (reduced_over, 2),
)  # fmt: skip
GROWING = (product, gate, attention)  # after which a model has a norm, and a program of many stays finite


def _written(w: _Writer, seed: int) -> RandomProgram:
    function = w.name()
    body = "".join(f"    {line}\n" for line in w.lines)
    parameters = ", ".join(name for name, _, _ in w.inputs)
    text = f"{HEAD}def {function}({parameters}):\n{body}    return {w.x}\n"
    return RandomProgram(seed, function, text, tuple(w.inputs))


def random_program(seed: int) -> RandomProgram:
    """The program of a seed: two to five steps, perhaps a reduction at the end."""
    w = _Writer(seed)
    steps = [s for s, weight in STEPS for _ in range(weight)]
    for _ in range(w.r.randrange(2, 6)):
        w.r.choice(steps)(w)
    if w.r.random() < 0.15:
        reduced(w)
    return _written(w, seed)


def operators(lines: list[str]) -> int:
    """How many operators of PyTorch these lines apply: calls and arithmetic, a number's sign aside."""
    nodes = (node for line in lines for node in ast.walk(ast.parse(line)))
    return sum(
        isinstance(n, ast.Call | ast.BinOp) or (isinstance(n, ast.UnaryOp) and not isinstance(n.operand, ast.Constant))
        for n in nodes
    )


def long_program(seed: int) -> RandomProgram:
    """The program of a seed: 8 to 20 operators, with reshapes and several reductions."""
    w = _Writer(seed, DIVISIBLE)
    steps = [s for s, weight in LONG_STEPS for _ in range(weight)]
    least, most = w.r.randrange(8, 17), 20
    while operators(w.lines) < least:
        before = w.x, w.shape, len(w.lines), len(w.inputs)
        step = w.r.choice(steps)
        step(w)
        if step in GROWING:
            normed(w)
        if operators(w.lines) > most:
            w.x, w.shape = before[:2]
            del w.lines[before[2] :], w.inputs[before[3] :]
    return _written(w, seed)


def random_programs(count: int = 200, first: int = 0) -> list[RandomProgram]:
    """`count` programs of consecutive seeds."""
    return [random_program(first + i) for i in range(count)]
