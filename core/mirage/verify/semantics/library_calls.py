"""Library kernels (one PyTorch call) evaluated in an arithmetic: the contractions that the kernel graph may leave to cuBLAS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from mirage.errors import UnknownOperator
from mirage.ir.opaque_calls import is_call
from mirage.mugraph.grammar import LibraryKernel, MuGraph
from mirage.verify.semantics.arrays import Array

if TYPE_CHECKING:
    from mirage.verify.semantics.execute import Arithmetic

Attrs = Mapping[str, object]
Run = Callable[["Arithmetic", "list[Array]", Attrs], Array]


def matmul(a: Arithmetic, x: Array, y: Array) -> Array:
    """x @ y over the last two axes, the others broadcast as torch.matmul does (the leading axis is the draws')."""
    own = getattr(a, "matmul", None)
    if own is not None:
        return np.asarray(own(x, y))
    wide = a.mul(a.lift(x)[..., :, None, :], np.swapaxes(a.lift(y), -1, -2)[..., None, :, :])
    return a.sum(wide, wide.ndim - 1)


def _matmul(a: Arithmetic, args: list[Array], attrs: Attrs) -> Array:
    x, y = args
    vectors = [v.ndim == 2 for v in args]
    x = x[:, None, :] if vectors[0] else x
    y = y[..., None] if vectors[1] else y
    rank = max(x.ndim, y.ndim)
    x, y = (v.reshape(v.shape[0], *(1,) * (rank - v.ndim), *v.shape[1:]) for v in (x, y))
    out = matmul(a, x, y)
    out = out[..., 0] if vectors[1] else out
    return np.asarray(out[..., 0, :] if vectors[0] and not vectors[1] else out[..., 0] if vectors[0] else out)


def _linear(a: Arithmetic, args: list[Array], attrs: Attrs) -> Array:
    out = _matmul(a, [args[0], np.swapaxes(args[1], -1, -2)], attrs)
    if len(args) == 2:
        return out
    return a.add(out, a.lift(args[2]).reshape(args[2].shape[0], *(1,) * (out.ndim - 2), -1))


def _einsum(a: Arithmetic, args: list[Array], attrs: Attrs) -> Array:
    equation = str(attrs["equation"]).replace(" ", "")
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if not arrow or "." in equation or len(parts) != len(args) or any(len(set(p)) != len(p) for p in (*parts, right)):
        raise UnknownOperator(f"einsum {equation!r} has no value in the fields")
    letters = [*right, *sorted(set("".join(parts)) - set(right))]
    wide = []
    for part, x in zip(parts, args, strict=True):
        moved = np.transpose(a.lift(x), [0, *(1 + part.index(c) for c in letters if c in part)])
        lengths = iter(moved.shape[1:])
        wide.append(moved.reshape(moved.shape[0], *(next(lengths) if c in part else 1 for c in letters)))
    out = a.mul(*wide)
    for _ in range(len(letters) - len(right)):
        out = a.sum(out, out.ndim - 1)
    return out


def _attention(a: Arithmetic, args: list[Array], attrs: Attrs) -> Array:
    """Without a mask, or causal; with fewer heads of keys than of queries where grouped."""
    if len(args) != 3:
        raise UnknownOperator("a masked scaled_dot_product_attention has no value in the fields")
    q, k, v = (a.lift(x) for x in args)
    if str(attrs.get("gqa", attrs.get("enable_gqa", False))) == "True":
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    scale = str(attrs.get("scale", None))
    factor = a.literal(q.shape[-1] ** -0.5 if scale == "None" else float(scale))
    score = a.mul(matmul(a, q, np.swapaxes(k, -1, -2)), a.lift(factor).reshape(-1, *(1,) * (q.ndim - 1)))
    last = score.ndim - 1
    if str(attrs.get("causal", attrs.get("is_causal", False))) == "True":
        rows, columns = np.indices(score.shape[-2:])
        low = a.lift(a.neg_inf()).reshape(-1, *(1,) * last)
        score = a.fn("where", np.broadcast_to(columns <= rows, score.shape), score, low)
    top = np.expand_dims(a.max(score, last), last)
    p = a.fn("exp", a.fn("sub", score, top))
    return a.fn("div", matmul(a, p, v), np.expand_dims(a.sum(p, last), last))


LIBRARY: dict[str, Run] = {
    "matmul": _matmul,
    "mm": _matmul,
    "bmm": _matmul,
    "linear": _linear,
    "einsum": _einsum,
    "scaled_dot_product_attention": _attention,
}


def run_library(kernel: LibraryKernel, graph: MuGraph, memory: Mapping[str, Array], a: Arithmetic) -> Array:
    """The result of a library kernel; UnknownOperator for a call that has no value here (it is never accepted)."""
    unknown = getattr(a, "unknown", None)  # an arithmetic without values, to which all calls are alike
    if unknown is not None and is_call(kernel.op):
        return np.asarray(unknown(graph.shape(graph.tensor(kernel.out))))
    run = LIBRARY.get(kernel.op)
    if run is None:
        raise UnknownOperator(f"the library kernel {kernel.op} has no value in the fields")
    out = run(a, [memory[x] for x in kernel.args], dict(kernel.attrs))
    shape = graph.shape(graph.tensor(kernel.out))
    return np.broadcast_to(out, (max(out.shape[0], a.draws), *out.shape[1:])).reshape(-1, *shape)
