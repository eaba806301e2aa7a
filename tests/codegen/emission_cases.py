"""µGraphs for the tests of emission: small, each with one thing that the hand-written six do not have."""

from __future__ import annotations

from typing import Any

import numpy as np
from workloads.hand import Case, case, dim, op, plus, tensor

from mirage.ir.index import DimIndex
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.mugraph.grammar import (
    BlockGraph,
    CustomKernel,
    DTensor,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Store,
    ThreadGraph,
    TileDim,
)


def program_of(mugraph: MuGraph, *, returns_tuple: bool = False) -> Program:
    """The program's signature, which is all that emission reads of it."""
    inputs = tuple(TensorSpec(t.name, mugraph.shape(t), t.dtype) for t in mugraph.inputs)
    return Program(mugraph.name, inputs, (), tuple(range(len(mugraph.outputs))), returns_tuple)


def original_of(c: Case) -> str:
    """The user's function as emission gets it: without its decorator."""
    return "\n".join(x for x in c.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")


def grouped_rows(b: int = 3, h: int = 7, k: int = 21, n: int = 37) -> Case:
    """One tile dim over two axes, whole in memory for X, taken apart for the bias; a thread graph; a mask by index."""
    rows = TileDim("r", ("b", "h"), 16, "grid")
    flat = (DimIndex(("b",)), DimIndex(("h",)))
    loop = Loop(
        "k",
        (
            Load("x", "X", (*flat, DimIndex(("k",))), ("r", "k")),
            Load("w", "W", (DimIndex(("k",)), DimIndex(("n",))), ("k", "n")),
            op("part", "dot", "x w", "r n", dim="k"),
            plus("y", "part", "r n"),
        ),
    )
    fused = ThreadGraph(
        "o",
        (
            op("i_h", "index", "", "r", axis="h"),
            op("i_n", "index", "", "n", axis="n"),
            op("low", "lt", "i_h i_n", "r n"),
            op("zero", "const", value="0/1"),
            op("minus", "neg", "bias", "r"),
            op("shifted", "add", "y minus", "r n"),
            op("sq", "mul", "shifted shifted", "r n"),
            op("o", "where", "low sq zero", "r n"),
        ),
        ("r", "n"),
    )
    block = BlockGraph((rows, dim("n", 16, "grid"), dim("k", 16, "loop")), (
        loop,
        Load("bias", "B", (DimIndex(("h",)),), ("r",)),
        fused,
        Store("O", "o", (*flat, DimIndex(("n",)))),
    ))  # fmt: skip
    graph = MuGraph(
        "grouped_rows",
        (("b", b), ("h", h), ("k", k), ("n", n)),
        (tensor("X", "b h k"), tensor("W", "k n"), tensor("B", "h"), tensor("O", "b h n", "output")),
        (CustomKernel("fused", block),),
    )

    def reference(X: Any, W: Any, B: Any) -> Any:
        y = X @ W - B[:, None]
        return np.where(np.arange(h)[:, None] < np.arange(n), y * y, 0.0)

    return case(graph, reference, (
        "y = X @ W - B[:, None]\n"
        f"i, j = torch.arange({h}, device=X.device)[:, None], torch.arange({n}, device=X.device)\n"
        "return torch.where(i < j, y * y, torch.zeros_like(y))"
    ))  # fmt: skip


def sliced(m: int = 11, n: int = 13) -> Case:
    """Slices of a tensor of rigid size: a half each of its last dim, gated; and rows before the first are padding."""
    at = (DimIndex(("m",)), DimIndex(("n",)))
    block = BlockGraph((dim("m", 8, "grid"), dim("n", 8, "grid")), (
        Load("a", "X", at, ("m", "n")),
        Load("b", "X", (DimIndex(("m",)), DimIndex(("n",), n)), ("m", "n")),
        Load("c", "X", (DimIndex(("m",), -1), DimIndex(("n",))), ("m", "n")),
        op("gate", "sigmoid", "b", "m n"),
        op("v", "mul", "a gate", "m n"),
        op("o", "add", "v c", "m n"),
        Store("O", "o", at),
    ))  # fmt: skip
    x = DTensor("X", "fp16", (("m",), ("n",)), rigid=(None, 2 * n))
    graph = MuGraph("sliced", (("m", m), ("n", n)), (x, tensor("O", "m n", "output")), (CustomKernel("gate", block),))

    def reference(X: Any) -> Any:
        before = np.vstack([np.zeros((1, n)), X[:-1, :n]])
        return X[:, :n] / (1 + np.exp(-X[:, n:])) + before

    body = f"a, b = X.split({n}, dim=-1)\nreturn a * torch.sigmoid(b) + torch.nn.functional.pad(a, (0, 0, 1, 0))[:-1]"
    return case(graph, reference, body)


def library_then_kernel(m: int = 9, k: int = 20, n: int = 12) -> Case:
    """A PyTorch call, then a custom kernel over what it gave."""
    at = (DimIndex(("m",)), DimIndex(("n",)))
    block = BlockGraph((dim("m", 8, "grid"), dim("n", 16, "resident")), (
        Load("y", "Y", at, ("m", "n")),
        op("o", "maximum", "y zero", "m n"),
        Store("O", "o", at),
    ))  # fmt: skip
    block = BlockGraph(block.dims, (op("zero", "const", value="0/1"), *block.body))
    graph = MuGraph(
        "library_then_kernel",
        (("m", m), ("k", k), ("n", n)),
        (tensor("X", "m k"), tensor("W", "k n"), tensor("Y", "m n", "temp"), tensor("O", "m n", "output")),
        (LibraryKernel("product", "matmul", ("X", "W"), "Y"), CustomKernel("relu", block)),
    )
    return case(graph, lambda X, W: np.maximum(X @ W, 0.0), "return torch.relu(X @ W)")


def row_sums(m: int = 6, k: int = 40) -> Case:
    """Scalar tiles and a sum of products where a dot has no second wide dim; the result is one number a row."""
    loop = Loop("k", (
        Load("x", "X", (DimIndex(("m",)), DimIndex(("k",))), ("m", "k")),
        Load("g", "G", (DimIndex(("k",)),), ("k",)),
        op("part", "dot", "x g", "m", dim="k"),
        plus("y", "part", "m"),
    ))  # fmt: skip
    block = BlockGraph((dim("m", 1, "grid"), dim("k", 16, "loop")), (loop, Store("O", "y", (DimIndex(("m",)),))))
    graph = MuGraph(
        "row_sums",
        (("m", m), ("k", k)),
        (tensor("X", "m k"), tensor("G", "k"), tensor("O", "m", "output")),
        (CustomKernel("rows", block),),
    )
    return case(graph, lambda X, G: X @ G, "return X @ G")


def one_row(k: int = 75, n: int = 37, tk: int = 32, tn: int = 8) -> Case:
    """One row through a matrix, and its sum of squares: tiles of products are added up and reduced after the loop."""
    loop = Loop("k", (
        Load("x", "X", (DimIndex(("m",)), DimIndex(("k",))), ("m", "k")),
        Load("w", "W", (DimIndex(("k",)), DimIndex(("n",))), ("k", "n")),
        op("part", "dot", "x w", "m n", dim="k"),
        op("sq", "mul", "x x", "m k"),
        op("squares", "sum", "sq", "m", dim="k"),
        plus("y", "part", "m n"),
        plus("ss", "squares", "m"),
    ))  # fmt: skip
    block = BlockGraph((dim("m", 1, "grid"), dim("n", tn, "grid"), dim("k", tk, "loop")), (
        loop,
        op("inv", "inv", "ss", "m"),
        op("o", "mul", "y inv", "m n"),
        Store("O", "o", (DimIndex(("m",)), DimIndex(("n",)))),
    ))  # fmt: skip
    graph = MuGraph(
        "one_row",
        (("m", 1), ("k", k), ("n", n)),
        (tensor("X", "m k"), tensor("W", "k n"), tensor("O", "m n", "output")),
        (CustomKernel("row", block),),
    )
    body = "return (X @ W) / (X * X).sum(-1, keepdim=True)"
    return case(graph, lambda X, W: X @ W / (X * X).sum(-1, keepdims=True), body)


EXTRA = {f.__name__: f for f in (grouped_rows, sliced, library_then_kernel, row_sums, one_row)}
