"""A program that adds up what it makes of a matrix product, with the added axes in blocks: a sum over each block, then one over blocks.

A kernel makes one tile of the product, and the sum over that tile needs nothing else: it is one number a tile in device memory, where
the product itself was. What adds up the tiles is another reduction, of far less. Without the blocks a kernel would have to hold all of
an added axis, or the product would be written and read again.
"""

from __future__ import annotations

from dataclasses import replace

from mirage.meaning.axis_split import in_pairs, split_axis
from mirage.meaning.nodes import Reduce
from mirage.meaning.terms import Terms
from mirage.search.cuts import is_product
from mirage.search.problem import Problem, fork

BLOCKS = (128, 64)  # elements of a block: tiles that matrix instructions fill


def tiled_sums(p: Problem) -> Problem | None:
    """The problem with blocks along the axes that are added up after a matrix product varied along them; None where there are none."""
    written = {a for o in p.outputs for a in o.axes}
    stated = {a for x in p.inputs if any(n is not None for n in x.rigid) for d in x.dims for a in d}
    found = sorted({a for o in p.outputs for a in added(p.t, o.term)} - written - stated)
    sizes = {a: block for a in found if (block := block_of(p.t.sizes[a]))}
    if p.calls or not sizes:
        return None
    t = fork(p.t)
    t.sizes = dict(t.sizes)
    inputs, terms = list(p.inputs), [o.term for o in p.outputs]
    blocks: set[str] = set()
    for axis, size in sizes.items():
        part, rest = _fresh(t, f"{axis}_block"), _fresh(t, f"{axis}_in")
        t.sizes |= {part: t.sizes[axis] // size, rest: size}
        terms = [split_axis(t, x, axis, part, rest) for x in terms]
        inputs = [replace(x, dims=tuple(in_pairs(d, axis, part, rest) for d in x.dims)) for x in inputs]
        blocks.add(part)
    outputs = (replace(o, term=outermost(t, x, blocks)) for o, x in zip(p.outputs, terms, strict=True))
    return replace(p, t=t, inputs=tuple(inputs), outputs=tuple(outputs))


def block_of(n: int) -> int:
    """The largest block that cuts `n` elements into several whole ones; 0 where none does."""
    return next((b for b in BLOCKS if n > b and n % b == 0), 0)


def added(t: Terms, term: int) -> set[str]:
    """The axes that sums run over after a matrix product that varies along them, if nothing below such a sum reduces the axis too
    (a softmax needs the whole of its axis before it adds up)."""
    found, refused = set[str](), set[str]()
    for r in t.closure(term):
        n = t.reduction(r)
        below = [t.reduction(q).axis for q in t.closure(n.body)]
        if n.op != "sum" or n.changes or n.axis in below:
            refused.add(n.axis)
        elif any(is_product(t, q) and n.axis in t.dims(q) for q in t.closure(n.body)):
            found.add(n.axis)
    return found - refused


def outermost(t: Terms, x: int, blocks: set[str], memo: dict[int, int] | None = None) -> int:
    """`x` with the sums over `blocks` outside of the sums that they stand directly in."""
    memo = {} if memo is None else memo
    if x in memo:
        return memo[x]
    n, body, axes = t.node(x), x, list[str]()
    while isinstance(m := t.node(body), Reduce) and m.op == "sum" and not m.changes:
        axes.append(m.axis)
        body = m.body
    if axes:
        out = outermost(t, body, blocks, memo)
        for a in sorted(reversed(axes), key=lambda a: a in blocks):
            out = t.sum(a, out)
    else:
        kids = tuple(outermost(t, k, blocks, memo) for k in n.kids)
        out = t.rebuild(x, kids) if kids else x
    memo[x] = out
    return out


def _fresh(t: Terms, name: str) -> str:
    while name in t.sizes:
        name += "_"
    return name
