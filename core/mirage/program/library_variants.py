"""Variants of a program in which operators with a fast PyTorch kernel, such as attention, stay library calls.

Both ways to read a program are searched. Where the operator is taken apart, it is fused with what is around it; where it stays, all
else is optimized around it. `CALLS` says which operators, and how each is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mirage.ir.program import Attr, Operation, Program
from mirage.ir.torch_calls import RESULT_TENSOR, SIZES, Places


@dataclass(frozen=True)
class Whole:
    """How PyTorch is called for an operator: the overload, the names of the tensors, the attributes by their names there, and
    the dims that have one size (`calls.SIZES`)."""

    op: str
    tensors: tuple[str, ...]
    attrs: Callable[[Operation], dict[str, Attr]]
    sizes: Callable[[Program, Operation], tuple[Places, ...]]
    least: int = 0  # dims of the first tensor, below which PyTorch has no kernel of one piece


def attention_attrs(n: Operation) -> dict[str, Attr]:
    given = {"is_causal": bool(n.attr("causal")), "scale": n.attr("scale"), "enable_gqa": bool(n.attr("gqa"))}
    return {k: v for k, v in given.items() if v not in (None, False)}


def attention_sizes(p: Program, n: Operation) -> tuple[Places, ...]:
    """Rows of queries, keys, and the two inner dims; batch dims where all three tensors have them alike."""
    q, k, v = (p.type_of(a).shape for a in n.args[:3])
    rank, out = len(q), RESULT_TENSOR
    if len(n.args) > 3 or not len(q) == len(k) == len(v):
        return ()
    found: list[Places] = [
        ((0, rank - 2), (out, rank - 2)), ((1, rank - 2), (2, rank - 2)), ((0, rank - 1), (1, rank - 1)),
        ((2, rank - 1), (out, rank - 1)),
    ]  # fmt: skip
    found += [((0, d), (1, d), (2, d), (out, d)) for d in range(rank - 2) if q[d] == k[d] == v[d]]
    shapes = {0: q, 1: k, 2: v, out: n.type.shape}
    return tuple(group for group in found if shapes[group[0][0]][group[0][1]] > 1)


CALLS = {
    "scaled_dot_product_attention": Whole(
        "aten.scaled_dot_product_attention.default", ("query", "key", "value", "attn_mask"), attention_attrs,
        attention_sizes, least=4,
    ),
}  # fmt: skip
OPERATORS = {whole.op: op for op, whole in CALLS.items()}


def kept(p: Program, n: Operation) -> Operation:
    """The operator as PyTorch's own call, if it is one of `CALLS`."""
    whole = CALLS.get(n.op)
    if whole is None or len(p.type_of(n.args[0]).shape) < whole.least:
        return n
    given = {name: f"%{n.args.index(a)}" for name, a in zip(whole.tensors, n.args, strict=False)}
    args = tuple(dict.fromkeys(n.args))
    given = {name: f"%{args.index(n.args[int(at[1:])])}" for name, at in given.items()}
    sizes = whole.sizes(p, n) if len(args) == len(n.args) else ()
    attrs = {**given, **whole.attrs(n), SIZES: sizes}
    return replace(n, op=whole.op, args=args, attrs=tuple(sorted(attrs.items())))


def ways(p: Program) -> tuple[Program, ...]:
    """The program as the table means it; and with operators that stay PyTorch's own, where it has such."""
    other = replace(p, nodes=tuple(kept(p, n) for n in p.nodes))
    return (p,) if other.nodes == p.nodes else (p, other)
