"""What `check` accepts does not depend on how it is tiled: random changes of valid µGraphs, each one either rejected or
run at two tilings of the same sizes, whose outputs must agree (also in where they are infinite or NaN)."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from workloads.evaluate import evaluate
from workloads.hand import small

from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.resized import shrink, tiny_sizes
from mirage.mugraph.text import to_text

UNARY = ["neg", "inv", "exp", "sqrt", "rsqrt", "sigmoid", "log", "tanh", "abs", "sin", "cos", "finite"]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "lt", "le", "eq"]
NAMES = ["rmsnorm_linear", "gated_mlp", "layernorm_linear", "cluster_linear"]
LINE = re.compile(r"^( +)(\w+)\[([\w, ]*)\] = (\w+)\(([\w, ]+)\)$")


def _mutant(text: str, rng: random.Random) -> str:
    """One change: a load's pad, an operator, an argument, or a unary operator put before a reduction."""
    lines = text.split("\n")
    kind = rng.choice(["pad", "op", "arg", "wrap"])
    if kind == "pad":
        i = rng.choice([i for i, x in enumerate(lines) if " = load " in x])
        lines[i] = lines[i].split(" pad")[0] + rng.choice([" pad 1.0", " pad -inf", " pad 2.5"])
    elif kind == "wrap":
        i = rng.choice([i for i, x in enumerate(lines) if "= sum(" in x or "= dot(" in x])
        arg = re.search(r"\((\w+)", lines[i])[1]  # type: ignore[index]
        made = next(re.search(r"\[.*?\]", x)[0] for x in lines if x.strip().startswith(arg + "["))  # type: ignore[index]
        indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
        lines[i] = lines[i].replace(f"({arg}", "(wrapped", 1)
        lines.insert(i, f"{indent}wrapped{made} = {rng.choice(UNARY)}({arg})")
    else:
        i = rng.choice([i for i, x in enumerate(lines) if LINE.match(x)])
        indent, out, dims, op, args = LINE.match(lines[i]).groups()  # type: ignore[union-attr]
        names = args.split(", ")
        if kind == "op":
            op = rng.choice(UNARY if len(names) == 1 else BINARY if len(names) == 2 else [op])
        else:
            names[rng.randrange(len(names))] = rng.choice(re.findall(r"^ +(\w+)\[", text, re.MULTILINE))
        lines[i] = f"{indent}{out}[{dims}] = {op}({', '.join(names)})"
    return "\n".join(lines)


def _tilings(m: MuGraph, seed: int) -> tuple[MuGraph, MuGraph]:
    sizes, tiles = tiny_sizes(m, seed)
    k = m.kernels[0]
    assert isinstance(k, CustomKernel)
    other = {k.name: {d: 2 * n for d, n in tiles[k.name].items()}}
    return shrink(m, sizes, tiles), shrink(m, sizes, other)


def _agree(m: MuGraph, seed: int) -> bool:
    a, b = _tilings(m, seed)
    inputs = [np.random.default_rng(seed).standard_normal(a.shape(t)) for t in a.inputs]
    return np.allclose(evaluate(a, *inputs), evaluate(b, *inputs), rtol=1e-6, atol=1e-8, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_accepted_mutants_do_not_depend_on_their_tiling(name: str) -> None:
    rng = random.Random(name)
    text = to_text(small()[name].mugraph)
    accepted = rejected = caught = 0
    for i in range(60):
        m = parse(_mutant(text, rng))
        found = broken_rule(m)
        if found is None:
            accepted += 1
            assert _agree(m, i), to_text(m)
        else:
            rejected += 1
            caught += found[0] == "padding"
    assert accepted >= 8 and rejected >= 8 and caught >= 3


def test_a_missing_mask_does_depend_on_the_tiling() -> None:
    """The comparison is able to fail: what the padding rule rejects gives different values at different tiles."""
    text = to_text(small()["layernorm_linear"].mugraph).replace("mul(centred, in_k)", "add(centred)")
    m = parse(text)
    found = broken_rule(m)
    assert found is not None and found[0] == "padding"
    assert not _agree(m, 1)
