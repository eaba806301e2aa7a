"""The published workloads as terms, for tests of the search that need no tracer."""

from __future__ import annotations

from collections.abc import Callable

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import Input
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DTensor
from mirage.search.engine import Problem
from mirage.search.kernel_pieces import Target

SIZES = {"m": 16, "k": 4096, "n": 4096, "h": 8192, "g": 8, "s": 8192, "d": 128, "e": 128, "r": 16, "b": 2, "c": 16}
SIZES |= {"q": 1024, "w": 1024}  # the tokens of a whole attention block: of the queries, and of the keys and values


def tensor(t: Terms, name: str, axes: str) -> int:
    return t.input(name, tuple(DimIndex((a,)) for a in axes))


def rms(t: Terms, x: int, axis: str) -> int:
    mean = t.mul(t.inv(t.size(axis)), t.sum(axis, t.mul(x, x)))
    return t.inv(t.sqrt(t.add(mean, t.literal(1e-6))))


def softmax_times(t: Terms, scores: int, v: int) -> int:
    p = t.exp(t.sub(scores, t.fn("finite", t.max("s", scores))))
    return t.sum("s", t.mul(p, t.inv(t.sum("s", p)), v))


def rmsnorm_linear(t: Terms) -> int:
    x = tensor(t, "X", "mk")
    return t.sum("k", t.mul(x, rms(t, x, "k"), tensor(t, "W", "kn")))


def gated_mlp(t: Terms) -> int:
    x = tensor(t, "X", "mk")
    a, b = (t.sum("k", t.mul(x, tensor(t, name, "kn"))) for name in ("W1", "W2"))
    return t.mul(a, t.fn("sigmoid", a), b)


def attention(t: Terms) -> int:
    q, k, v = tensor(t, "Q", "bgd"), tensor(t, "K", "bsd"), tensor(t, "V", "bse")
    return softmax_times(t, t.sum("d", t.mul(q, k)), v)


def attention_without_shift(t: Terms) -> int:
    q, k, v = tensor(t, "Q", "bgd"), tensor(t, "K", "bsd"), tensor(t, "V", "bse")
    p = t.exp(t.sum("d", t.mul(q, k)))
    return t.sum("s", t.mul(p, t.inv(t.sum("s", p)), v))


def qknorm_attention(t: Terms) -> int:
    q, k, v = tensor(t, "Q", "gd"), tensor(t, "K", "sd"), tensor(t, "V", "se")
    return softmax_times(t, t.sum("d", t.mul(q, rms(t, q, "d"), k, rms(t, k, "d"))), v)


def layernorm_linear(t: Terms) -> int:
    x = tensor(t, "X", "mk")
    centred = t.sub(x, t.mul(t.inv(t.size("k")), t.sum("k", x)))
    y = t.add(t.mul(centred, rms(t, centred, "k"), tensor(t, "G", "k")), tensor(t, "B", "k"))
    return t.sum("k", t.mul(y, tensor(t, "W", "kn")))


def normalized_step(t: Terms) -> int:
    h, x, a = tensor(t, "H", "mk"), tensor(t, "X", "mk"), tensor(t, "A", "k")
    u = t.inv(t.sqrt(t.sum("k", t.mul(h, h))))
    y = t.add(x, t.mul(a, t.sub(t.mul(h, u), x)))
    return t.mul(y, t.inv(t.sqrt(t.sum("k", t.mul(y, y)))))


def low_rank_adapter(t: Terms) -> int:
    x = tensor(t, "X", "mk")
    low = t.sum("k", t.mul(x, tensor(t, "A", "kr")))
    return t.add(t.sum("k", t.mul(x, tensor(t, "W", "kn"))), t.sum("r", t.mul(low, tensor(t, "B", "rn"))))


def norm_mlp(t: Terms) -> int:
    x = tensor(t, "X", "mk")
    y = t.mul(x, rms(t, x, "k"))
    a, b = (t.sum("k", t.mul(y, tensor(t, name, "kh"))) for name in ("W1", "W2"))
    return t.sum("h", t.mul(a, t.fn("sigmoid", a), b, tensor(t, "W3", "hn")))


def rmsnorm_linear_with_gain(t: Terms) -> int:
    x = tensor(t, "X", "mk")
    return t.sum("k", t.mul(x, rms(t, x, "k"), tensor(t, "G", "k"), tensor(t, "W", "kn")))


def grouped_query_attention(t: Terms) -> int:
    q, k, v = tensor(t, "Q", "bcgd"), tensor(t, "K", "bcsd"), tensor(t, "V", "bcse")
    return softmax_times(t, t.sum("d", t.mul(q, k)), v)


def attention_block(t: Terms) -> int:
    """x + attention(norm(x) Wq, norm(x) Wk, norm(x) Wv) Wo, with normalized queries and keys, c heads."""
    by_query, by_key = tensor(t, "X", "qk"), tensor(t, "X", "wk")
    normed, keys = (t.mul(x, rms(t, x, "k"), tensor(t, "G", "k")) for x in (by_query, by_key))
    q = t.sum("k", t.mul(normed, tensor(t, "Wq", "kcd")))
    k = t.sum("k", t.mul(keys, tensor(t, "Wk", "kcd")))
    v = t.sum("k", t.mul(keys, tensor(t, "Wv", "kce")))
    scores = t.sum("d", t.mul(q, rms(t, q, "d"), k, rms(t, k, "d")))
    p = t.exp(t.sub(scores, t.fn("finite", t.max("w", scores))))
    heads = t.sum("w", t.mul(p, t.inv(t.sum("w", p)), v))
    out = t.sum("c", t.sum("e", t.mul(heads, tensor(t, "Wo", "cen"))))
    return t.add(tensor(t, "X", "qn"), out)


WORKLOADS: dict[str, tuple[Callable[[Terms], int], str]] = {
    "rmsnorm_linear": (rmsnorm_linear, "mn"),
    "gated_mlp": (gated_mlp, "mn"),
    "attention": (attention, "bge"),
    "attention_without_shift": (attention_without_shift, "bge"),
    "qknorm_attention": (qknorm_attention, "ge"),
    "layernorm_linear": (layernorm_linear, "mn"),
    "normalized_step": (normalized_step, "mk"),
    "low_rank_adapter": (low_rank_adapter, "mn"),
    "norm_mlp": (norm_mlp, "mn"),
}

# Beside those that every test runs over: too much for the quick bounds of the tests, or alike to one of them.
MORE: dict[str, tuple[Callable[[Terms], int], str]] = {
    "rmsnorm_linear_with_gain": (rmsnorm_linear_with_gain, "mn"),
    "grouped_query_attention": (grouped_query_attention, "bcge"),
    "attention_block": (attention_block, "qn"),
}


def problem(name: str) -> Problem:
    build, axes = (WORKLOADS | MORE)[name]
    t = Terms(dict(SIZES))
    y = build(t)
    inputs = {}
    for x in t.walk(y):
        n = t.node(x)
        if isinstance(n, Input):
            inputs[n.name] = DTensor(n.name, "fp16", tuple(d.axes for d in n.index))
    dims = tuple((a,) for a in axes)
    return Problem(name, t, tuple(inputs.values()), (Target("O", y, dims, "fp16"),), "fp16")
