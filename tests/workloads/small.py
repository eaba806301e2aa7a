"""Random small programs as terms: up to four operators over matrices X[m,k], Y[m,k] and W[k,n]."""

from __future__ import annotations

import random

from mirage.ir.index import DimIndex
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DTensor
from mirage.search.engine import Problem
from mirage.search.kernel_pieces import Target

SIZES = {"m": 64, "k": 256, "n": 128}
INPUTS = {"X": "mk", "Y": "mk", "W": "kn"}


def small_program(seed: int) -> Problem:
    """A program of at most four operators with at least one reduction, the same for each seed."""
    rng = random.Random(seed)
    while True:
        t = Terms(dict(SIZES))
        pool = [tensor(t, name) for name in ("X", "Y")]
        used = 0
        while used < 4:
            x = rng.choice(pool[-2:])
            made = operator(rng, t, x, rng.choice(pool))
            if made is not None and made not in pool:
                pool.append(made)
                used += 1
        y = pool[-1]
        if t.closure(y) and t.dims(y) >= {"m"}:
            axes = [a for a in "mkn" if a in t.dims(y)]
            inputs = tuple(DTensor(n, "fp16", tuple((a,) for a in INPUTS[n])) for n in sorted(t.inputs(y)))
            return Problem("small", t, inputs, (Target("O", y, tuple((a,) for a in axes), "fp16"),), "fp16")


def tensor(t: Terms, name: str) -> int:
    return t.input(name, tuple(DimIndex((a,)) for a in INPUTS[name]))


def operator(rng: random.Random, t: Terms, x: int, y: int) -> int | None:
    """One operator on `x` (and `y`), or None where it does not fit."""
    kind = rng.choice(("add", "mul", "sum", "max", "matmul", "sigmoid", "abs", "inverse_root", "scale"))
    if kind == "add":
        return t.add(x, y) if x != y and t.dims(x) | t.dims(y) in ({"m", "k"}, {"m", "n"}) else None
    if kind == "mul":
        return t.mul(x, y) if t.dims(x) | t.dims(y) in ({"m", "k"}, {"m", "n"}) else None
    if kind in ("sum", "max"):
        axis = "k" if "k" in t.dims(x) else "n"
        return (t.sum if kind == "sum" else t.max)(axis, x) if axis in t.dims(x) else None
    if kind == "matmul":
        return t.sum("k", t.mul(x, tensor(t, "W"))) if t.dims(x) == {"m", "k"} else None
    if kind == "inverse_root":
        return t.inv(t.sqrt(t.add(t.fn("abs", x), t.const(1))))
    if kind == "scale":
        return t.mul(x, t.const(3))
    return t.fn(kind, x)
