"""What the hand-written µGraphs compute, as terms over their own axes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from mirage.ir.index import DimIndex
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import MuGraph
from mirage.verify.output_terms import Output


def read(t: Terms, name: str, axes: str) -> int:
    return t.input(name, tuple(DimIndex((a,)) for a in axes))


def mean(t: Terms, axis: str, x: int) -> int:
    return t.mul(t.inv(t.size(axis)), t.sum(axis, x))


def _rmsnorm_linear(t: Terms) -> int:
    x = read(t, "X", "mk")
    scale = t.inv(t.sqrt(t.add(mean(t, "k", t.mul(x, x)), t.literal(1e-6))))
    return t.sum("k", t.mul(x, read(t, "G", "k"), scale, read(t, "W", "kn")))


def _gated_mlp(t: Terms) -> int:
    a, b = (t.sum("k", t.mul(read(t, "X", "mk"), read(t, w, "kn"))) for w in ("W1", "W2"))
    return t.mul(a, t.fn("sigmoid", a), b)


def _layernorm_linear(t: Terms) -> int:
    x = read(t, "X", "mk")
    d = t.sub(x, mean(t, "k", x))
    scale = t.inv(t.sqrt(t.add(mean(t, "k", t.mul(d, d)), t.literal(1e-5))))
    y = t.add(t.mul(d, scale, read(t, "G", "k")), read(t, "B", "k"))
    return t.sum("k", t.mul(y, read(t, "W", "kn")))


def _attention(t: Terms) -> int:
    score = t.mul(t.const(Fraction(1, 4)), t.sum("d", t.mul(read(t, "Q", "hqd"), read(t, "K", "htd"))))
    p = t.exp(t.sub(score, t.max("t", score)))
    return t.sum("t", t.mul(p, t.inv(t.sum("t", p)), read(t, "V", "hte")))


def _cluster_linear(t: Terms) -> int:
    y = t.sum("k", t.mul(read(t, "X", "mk"), read(t, "W", "kn")))
    return t.fn("maximum", t.add(y, read(t, "B", "n")), t.const(0))


MEANING: dict[str, Callable[[Terms], int]] = {
    "rmsnorm_linear": _rmsnorm_linear,
    "gated_mlp": _gated_mlp,
    "layernorm_linear": _layernorm_linear,
    "attention_split": _attention,
    "attention_tail": _attention,
    "cluster_linear": _cluster_linear,
}


def targets(graph: MuGraph) -> tuple[Terms, list[Output]]:
    """The terms of a hand-written µGraph's outputs."""
    t = Terms(dict(graph.axes))
    (o,) = graph.outputs
    return t, [Output(o.name, MEANING[graph.name](t), o.dims)]
