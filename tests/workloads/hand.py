"""Six µGraphs written by hand, each with a float64 reference and the function as its user would write it.

They fix what the grammar means before any search exists: every room takes them as its first inputs. Each builder is a
function of sizes and tiles; the defaults are small, with a tail for every tile, loop and split; `real()` gives the
shapes of the published evaluation. A tile has every dim whose axes its load indexes, scalar ones (tile 1: heads) too,
but no split dim: that one is a number in each block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mirage.ir.index import DimIndex
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    DTensor,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    TileDim,
)


@dataclass(frozen=True)
class Case:
    """`reference(*inputs)` takes float64 arrays, ordered as `mugraph.inputs`; `source` is the user's module."""

    name: str
    mugraph: MuGraph
    reference: Callable[..., np.ndarray[Any, Any]]
    source: str

    def inputs(self, seed: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
        """Random inputs at the µGraph's own shapes, rounded to float16, as float64."""
        rng = np.random.default_rng(seed)
        shapes = [self.mugraph.shape(t) for t in self.mugraph.inputs]
        return tuple(rng.standard_normal(s).astype(np.float16).astype(np.float64) for s in shapes)


def next_power(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


def at(*axes: str) -> tuple[DimIndex, ...]:
    """An index with one axis a dimension."""
    return tuple(DimIndex((a,)) for a in axes)


def tensor(name: str, axes: str, kind: Any = "input", dtype: str = "fp16") -> DTensor:
    return DTensor(name, dtype, tuple((a,) for a in axes.split()), kind=kind)


def dim(name: str, tile: int, role: Any, **more: Any) -> TileDim:
    return TileDim(name, (name,), tile, role, **more)


def op(out: str, name: str, args: str = "", dims: str = "", **attrs: str) -> Compute:
    return Compute(out, name, tuple(args.split()), tuple(dims.split()), tuple(attrs.items()))


def load(out: str, name: str, index: str, pad: float = 0.0) -> Load:
    return Load(out, name, at(*index.split()), tuple(index.split()), pad)


def plus(out: str, arg: str, dims: str) -> Accumulate:
    return Accumulate(out, "sum", arg, tuple(dims.split()))


def user_module(name: str, tensors: tuple[DTensor, ...], graph: MuGraph, body: str) -> str:
    """The text of a user's module: the decorated function with its inputs' shapes."""
    inputs = ", ".join(f'({graph.shape(t)}, "{t.dtype}")' for t in tensors)
    parameters = ", ".join(t.name for t in tensors)
    lines = "\n".join("    " + line for line in body.strip().split("\n"))
    return (
        "import torch\nimport torch.nn.functional as F\n\nimport mirage\n\n\n"
        f"@mirage.optimize(inputs=[{inputs}])\ndef {name}({parameters}):\n{lines}\n"
    )


def case(graph: MuGraph, reference: Callable[..., np.ndarray[Any, Any]], body: str) -> Case:
    return Case(graph.name, graph, reference, user_module(graph.name, graph.inputs, graph, body))


# ---- RMSNorm + Linear: one loop, the division after the contraction
def rmsnorm_linear(m: int = 19, k: int = 75, n: int = 37, tm: int = 16, tk: int = 32, tn: int = 16) -> Case:
    loop = Loop(
        "k",
        (
            load("x", "X", "m k"),
            load("g", "G", "k"),
            load("w", "W", "k n"),
            op("x2", "mul", "x x", "m k"),
            op("ss_part", "sum", "x2", "m", dim="k"),
            plus("ss", "ss_part", "m"),
            op("xg", "mul", "x g", "m k"),
            op("y_part", "dot", "xg w", "m n", dim="k"),
            plus("y", "y_part", "m n"),
        ),
    )
    block = BlockGraph(
        (dim("m", tm, "grid"), dim("n", tn, "grid"), dim("k", tk, "loop")),
        (
            loop,
            op("count", "size", axis="k"),
            op("eps", "const", value="1/1000000"),
            op("mean", "div", "ss count", "m"),
            op("shifted", "add", "mean eps", "m"),
            op("scale", "rsqrt", "shifted", "m"),
            op("o", "mul", "y scale", "m n"),
            Store("O", "o", at("m", "n")),
        ),
    )
    graph = MuGraph(
        "rmsnorm_linear",
        (("m", m), ("k", k), ("n", n)),
        (tensor("X", "m k"), tensor("G", "k"), tensor("W", "k n"), tensor("O", "m n", "output")),
        (CustomKernel("fused", block),),
    )

    def reference(X: Any, G: Any, W: Any) -> Any:
        return (X * G / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-6)) @ W

    return case(
        graph,
        reference,
        (
            "variance = X.float().pow(2).mean(-1, keepdim=True)\n"
            "return (X * torch.rsqrt(variance + 1e-6).to(X.dtype) * G) @ W"
        ),
    )


# ---- gated MLP: two dots share one loop
def gated_mlp(m: int = 21, k: int = 70, n: int = 45, tm: int = 16, tk: int = 32, tn: int = 16) -> Case:
    loop = Loop(
        "k",
        (
            load("x", "X", "m k"),
            load("w1", "W1", "k n"),
            load("w2", "W2", "k n"),
            op("a_part", "dot", "x w1", "m n", dim="k"),
            op("b_part", "dot", "x w2", "m n", dim="k"),
            plus("a", "a_part", "m n"),
            plus("b", "b_part", "m n"),
        ),
    )
    block = BlockGraph(
        (dim("m", tm, "grid"), dim("n", tn, "grid"), dim("k", tk, "loop")),
        (
            loop,
            op("gate", "sigmoid", "a", "m n"),
            op("o", "mul", "a gate b", "m n"),
            Store("O", "o", at("m", "n")),
        ),
    )
    graph = MuGraph(
        "gated_mlp",
        (("m", m), ("k", k), ("n", n)),
        (tensor("X", "m k"), tensor("W1", "k n"), tensor("W2", "k n"), tensor("O", "m n", "output")),
        (CustomKernel("fused", block),),
    )

    def reference(X: Any, W1: Any, W2: Any) -> Any:
        a = X @ W1
        return a / (1 + np.exp(-a)) * (X @ W2)

    return case(graph, reference, "return F.silu(X @ W1) * (X @ W2)")


# ---- LayerNorm + Linear: two passes, because the mean is subtracted before anything is squared
def layernorm_linear(m: int = 23, k: int = 77, n: int = 43, tm: int = 16, tk: int = 32, tn: int = 16) -> Case:
    first = Loop(
        "k",
        (
            load("x1", "X", "m k"),
            op("sx_part", "sum", "x1", "m", dim="k"),
            plus("sx", "sx_part", "m"),
        ),
    )
    # x - mean is -mean in the padding, so its squares are masked before they are summed.
    second = Loop(
        "k",
        (
            load("x", "X", "m k"),
            load("g", "G", "k"),
            load("b", "B", "k"),
            load("w", "W", "k n"),
            op("in_k", "mask", "", "k", dim="k"),
            op("centred", "sub", "x mean", "m k"),
            op("d", "mul", "centred in_k", "m k"),
            op("d2", "mul", "d d", "m k"),
            op("sd_part", "sum", "d2", "m", dim="k"),
            plus("sd", "sd_part", "m"),
            op("dg", "mul", "d g", "m k"),
            op("y_part", "dot", "dg w", "m n", dim="k"),
            plus("y", "y_part", "m n"),
            op("bw", "mul", "b w", "k n"),
            op("bias_part", "sum", "bw", "n", dim="k"),
            plus("bias", "bias_part", "n"),
        ),
    )
    block = BlockGraph(
        (dim("m", tm, "grid"), dim("n", tn, "grid"), dim("k", tk, "loop")),
        (
            op("count", "size", axis="k"),
            first,
            op("mean", "div", "sx count", "m"),
            second,
            op("eps", "const", value="1/100000"),
            op("var", "div", "sd count", "m"),
            op("shifted", "add", "var eps", "m"),
            op("scale", "rsqrt", "shifted", "m"),
            op("scaled", "mul", "y scale", "m n"),
            op("o", "add", "scaled bias", "m n"),
            Store("O", "o", at("m", "n")),
        ),
    )
    graph = MuGraph(
        "layernorm_linear",
        (("m", m), ("k", k), ("n", n)),
        (tensor("X", "m k"), tensor("G", "k"), tensor("B", "k"), tensor("W", "k n"), tensor("O", "m n", "output")),
        (CustomKernel("fused", block),),
    )

    def reference(X: Any, G: Any, B: Any, W: Any) -> Any:
        mean = X.mean(-1, keepdims=True)
        var = ((X - mean) ** 2).mean(-1, keepdims=True)
        return ((X - mean) / np.sqrt(var + 1e-5) * G + B) @ W

    return case(graph, reference, f"return F.layer_norm(X, ({k},), G, B, 1e-5) @ W")


# ---- attention: the shifted tuple, the key axis split over blocks
def _attention_block(tq: int, tt: int, d: int, e: int, parts: int, scale: Fraction) -> BlockGraph:
    loop = Loop(
        "t",
        (
            load("k", "K", "h t d"),
            load("v", "V", "h t e"),
            op("in_t", "mask", "", "t", dim="t"),
            op("qk", "dot", "q k", "h q t", dim="d"),
            op("score", "mul", "qk scale", "h q t"),
            op("seen", "where", "in_t score lowest", "h q t"),
            op("m_part", "max", "seen", "h q", dim="t"),
            Accumulate("m", "max", "m_part", ("h", "q")),
            op("shift", "finite", "m", "h q"),
            op("same", "eq", "m m@old", "h q"),
            op("drop", "sub", "m@old m", "h q"),
            op("decay", "exp", "drop", "h q"),
            op("rescale", "where", "same one decay", "h q"),
            op("z", "sub", "score shift", "h q t"),
            op("ez", "exp", "z", "h q t"),
            op("p", "mul", "ez in_t", "h q t"),
            op("l_part", "sum", "p", "h q", dim="t"),
            Accumulate("l", "sum", "l_part", ("h", "q"), (("rescale", ""),)),
            op("o_part", "dot", "p v", "h q e", dim="t"),
            Accumulate("o", "sum", "o_part", ("h", "q", "e"), (("rescale", ""),)),
        ),
    )
    body: tuple[Statement | Loop, ...] = (
        load("q", "Q", "h q d"),
        op("scale", "const", value=f"{scale.numerator}/{scale.denominator}"),
        op("lowest", "const", value="-inf"),
        op("one", "const", value="1/1"),
        loop,
        Store("Mp", "m", at("s", "h", "q")),
        Store("Lp", "l", at("s", "h", "q")),
        Store("Op", "o", at("s", "h", "q", "e")),
    )
    dims = (
        dim("h", 1, "grid"),
        dim("q", tq, "grid"),
        dim("s", 1, "split", splits="t", parts=parts),
        dim("d", next_power(d), "resident"),
        dim("e", next_power(e), "resident"),
        dim("t", tt, "loop"),
    )
    return BlockGraph(dims, body)


def _combine_block(tq: int, e: int, parts: int) -> BlockGraph:
    body: tuple[Statement | Loop, ...] = (
        load("ms", "Mp", "s h q", pad=float("-inf")),
        load("ls", "Lp", "s h q"),
        load("os", "Op", "s h q e"),
        op("in_s", "mask", "", "s", dim="s"),
        op("m", "max", "ms", "h q", dim="s"),
        op("shift", "finite", "m", "h q"),
        op("z", "sub", "ms shift", "s h q"),
        op("ez", "exp", "z", "s h q"),
        op("f", "mul", "ez in_s", "s h q"),
        op("fl", "mul", "f ls", "s h q"),
        op("l", "sum", "fl", "h q", dim="s"),
        op("fo", "mul", "f os", "s h q e"),
        op("o", "sum", "fo", "h q e", dim="s"),
        op("out", "div", "o l", "h q e"),
        Store("O", "out", at("h", "q", "e")),
    )
    dims = (
        dim("h", 1, "grid"),
        dim("q", tq, "grid"),
        dim("s", next_power(parts), "resident"),
        dim("e", next_power(e), "resident"),
    )
    return BlockGraph(dims, body)


def _attention(name: str, h: int, q: int, t: int, d: int, e: int, parts: int, scale: Fraction, kernels: Any) -> Case:
    graph = MuGraph(
        name,
        (("h", h), ("q", q), ("t", t), ("d", d), ("e", e), ("s", parts)),
        (
            tensor("Q", "h q d"),
            tensor("K", "h t d"),
            tensor("V", "h t e"),
            tensor("Mp", "s h q", "temp", "fp32"),
            tensor("Lp", "s h q", "temp", "fp32"),
            tensor("Op", "s h q e", "temp", "fp32"),
            tensor("O", "h q e", "output"),
        ),
        kernels,
    )

    def reference(Q: Any, K: Any, V: Any) -> Any:
        score = Q @ np.swapaxes(K, -1, -2) * float(scale)
        p = np.exp(score - score.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True) @ V

    return case(
        graph,
        reference,
        (
            f"score = torch.matmul(Q, K.transpose(-1, -2)) * {float(scale)!r}\n"
            "return torch.matmul(torch.softmax(score, dim=-1), V)"
        ),
    )


def attention_split(
    h: int = 2,
    q: int = 19,
    t: int = 89,
    d: int = 24,
    e: int = 28,
    tq: int = 16,
    tt: int = 16,
    parts: int = 3,
    scale: Fraction = Fraction(1, 4),
    combine_tq: int = 16,
) -> Case:
    """The partial results (m, l, o) of each part go through device memory; a second kernel combines them."""
    partial = CustomKernel("partial", _attention_block(tq, tt, d, e, parts, scale))
    combine = CustomKernel("combine", _combine_block(combine_tq, e, parts))
    return _attention("attention_split", h, q, t, d, e, parts, scale, (partial, combine))


def attention_tail(
    h: int = 2,
    q: int = 21,
    t: int = 87,
    d: int = 20,
    e: int = 26,
    tq: int = 16,
    tt: int = 16,
    parts: int = 3,
    scale: Fraction = Fraction(1, 4),
) -> Case:
    """As `attention_split`, but the last block of each split group to arrive combines the group's partial results."""
    block = _attention_block(tq, tt, d, e, parts, scale)
    kernel = CustomKernel("partial", block, tail=_combine_block(tq, e, parts))
    return _attention("attention_tail", h, q, t, d, e, parts, scale, (kernel,))


# ---- linear with bias and ReLU on clusters of two blocks
def cluster_linear(m: int = 35, k: int = 71, n: int = 41, tm: int = 16, tk: int = 32, tn: int = 16) -> Case:
    loop = Loop(
        "k",
        (
            load("x", "X", "m k"),
            load("w", "W", "k n"),
            op("y_part", "dot", "x w", "m n", dim="k"),
            plus("y", "y_part", "m n"),
        ),
    )
    block = BlockGraph(
        (dim("m", tm, "grid"), dim("n", tn, "grid"), dim("k", tk, "loop")),
        (
            loop,
            load("b", "B", "n"),
            op("zero", "const", value="0/1"),
            op("biased", "add", "y b", "m n"),
            op("o", "maximum", "biased zero", "m n"),
            Store("O", "o", at("m", "n")),
        ),
        cluster=2,
    )
    graph = MuGraph(
        "cluster_linear",
        (("m", m), ("k", k), ("n", n)),
        (tensor("X", "m k"), tensor("W", "k n"), tensor("B", "n"), tensor("O", "m n", "output")),
        (CustomKernel("fused", block),),
    )

    def reference(X: Any, W: Any, B: Any) -> Any:
        return np.maximum(X @ W + B, 0.0)

    return case(graph, reference, "return torch.relu(X @ W + B)")


BUILDERS: dict[str, Callable[..., Case]] = {
    f.__name__: f
    for f in (rmsnorm_linear, gated_mlp, layernorm_linear, attention_split, attention_tail, cluster_linear)
}

REAL: dict[str, dict[str, Any]] = {
    "rmsnorm_linear": dict(m=16, k=4096, n=4096, tm=16, tk=128, tn=32),
    "gated_mlp": dict(m=8, k=4096, n=4096, tm=16, tk=128, tn=32),
    "layernorm_linear": dict(m=16, k=4096, n=4096, tm=16, tk=128, tn=32),
    "attention_split": dict(
        h=2, q=256, t=4096, d=64, e=64, tq=64, tt=64, parts=16, scale=Fraction(1, 8), combine_tq=16
    ),
    "attention_tail": dict(h=2, q=256, t=4096, d=64, e=64, tq=32, tt=64, parts=8, scale=Fraction(1, 8)),
    "cluster_linear": dict(m=1024, k=4096, n=4096, tm=128, tk=64, tn=128),
}


def small() -> dict[str, Case]:
    """All six at small sizes with tails."""
    return {name: build() for name, build in BUILDERS.items()}


def real(name: str) -> Case:
    """One of the six at the published shapes."""
    return BUILDERS[name](**REAL[name])
