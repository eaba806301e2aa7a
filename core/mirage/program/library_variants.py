"""Variants of a program in which operators that PyTorch may be better left with, such as attention, stay library calls.

Both ways to read a program are searched. Where the operator is taken apart, it is fused with what is around it; where it stays, all
else is optimized around it. `CALLS` says which operators, and how and where each is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mirage.ir.opaque_calls import RESULT_TENSOR, SIZES, Places
from mirage.ir.program import Attr, Operation, Program


@dataclass(frozen=True)
class Whole:
    """How PyTorch is called for an operator: the overload, the names of the tensors, the attributes by their names there, and
    the dims that have one size (`calls.SIZES`); `when` it may be the better way. `listed`: all tensors are one list of that name."""

    op: str
    tensors: tuple[str, ...]
    attrs: Callable[[Operation], dict[str, Attr]]
    sizes: Callable[[Program, Operation], tuple[Places, ...]]
    when: Callable[[Program, Operation], bool]
    listed: str = ""


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


def has_batch_and_heads(p: Program, n: Operation) -> bool:
    """Whether the first tensor has the four dims for which PyTorch has an attention of one kernel."""
    return len(p.type_of(n.args[0]).shape) >= 4


def concat_sizes(p: Program, n: Operation) -> tuple[Places, ...]:
    """Every dim but the one along which the tensors follow each other."""
    everyone = (*range(len(set(n.args))), RESULT_TENSOR)
    return tuple(tuple((i, d) for i in everyone) for d, _ in enumerate(n.type.shape) if d != n.attr("dim"))


def read_again(p: Program, n: Operation) -> bool:
    """Whether the parts of a concatenation are made of the same inputs, and these are larger than the whole: a kernel that writes the
    whole reads them once for each part."""
    below = [inputs_of(p, a) for a in n.args]
    shared = {i for i in frozenset().union(*below) if sum(i in x for x in below) > 1}
    return sum(p.type_of(i).bytes for i in shared) > n.type.bytes


def inputs_of(p: Program, x: int) -> frozenset[int]:
    """The program's inputs of which a value is made."""
    found, todo, first = set[int](), {x}, len(p.inputs)
    while todo:
        found |= todo
        todo = {a for y in todo if y >= first for a in p.nodes[y - first].args} - found
    return frozenset(y for y in found if y < first)


CALLS = {
    "scaled_dot_product_attention": Whole(
        "aten.scaled_dot_product_attention.default", ("query", "key", "value", "attn_mask"), attention_attrs,
        attention_sizes, has_batch_and_heads,
    ),
    "concat": Whole("aten.cat.default", (), lambda n: {"dim": n.attr("dim")}, concat_sizes, read_again, listed="tensors"),
}  # fmt: skip
OPERATORS = {whole.op: op for op, whole in CALLS.items()}


def kept(p: Program, n: Operation) -> Operation:
    """The operator as PyTorch's own call, if it is one of `CALLS`."""
    whole = CALLS.get(n.op)
    if whole is None or not whole.when(p, n):
        return n
    args = tuple(dict.fromkeys(n.args))
    places = tuple(f"%{args.index(a)}" for a in n.args)
    given: dict[str, Attr] = {whole.listed: places} if whole.listed else dict(zip(whole.tensors, places, strict=False))
    sizes = whole.sizes(p, n) if len(args) == len(n.args) else ()
    attrs = {**given, **whole.attrs(n), SIZES: sizes}
    return replace(n, op=whole.op, args=args, attrs=tuple(sorted(attrs.items())))


def ways(p: Program) -> tuple[Program, ...]:
    """The program as the table means it; and with operators that stay PyTorch's own, where it has such."""
    other = replace(p, nodes=tuple(kept(p, n) for n in p.nodes))
    return (p,) if other.nodes == p.nodes else (p, other)
