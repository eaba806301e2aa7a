"""The rules of the primitives: how axes meet, and the term at an index. Pointwise operators share `broadcast_*`.

An index is one DimIndex a dim. Axis classes come from `Lowering` (a union-find with splits); a dim of size one has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mirage.errors import UnsupportedReshape
from mirage.ir.index import DimIndex
from mirage.ir.program import Operation
from mirage.operators.protocols import Dims, Index, Lowering
from mirage.operators.type_rules import dims_of, is_float, numel

ZERO = DimIndex((), 0)


# ---- pointwise and expand: operands are aligned at the last dim; size one spreads
def broadcast_axes(low: Lowering, node: Operation) -> Dims:
    shape = node.type.shape
    out: Dims = [()] * len(shape)
    for arg in node.args:
        mine, sizes = low.dims[arg], low.type(arg).shape
        for i in range(1, len(sizes) + 1):
            if sizes[-i] != 1:
                out[-i] = low.unify(out[-i], mine[-i], node) if out[-i] else mine[-i]
    return [leaves or low.fresh(n) for leaves, n in zip(out, shape, strict=True)]


def broadcast_index(low: Lowering, arg: int, index: Index) -> Index:
    sizes = low.type(arg).shape
    tail = index[len(index) - len(sizes) :]
    return tuple(ZERO if n == 1 else d for d, n in zip(tail, sizes, strict=True))


def pointwise_term(low: Lowering, node: Operation, index: Index) -> int:
    parts = [low.term(arg, broadcast_index(low, arg, index)) for arg in node.args]
    value = low.entry(node.op).value
    assert value is not None
    return value(low.t, parts, dict(node.attrs))


def expand_term(low: Lowering, node: Operation, index: Index) -> int:
    return low.term(node.args[0], broadcast_index(low, node.args[0], index))


# ---- leaves: constants, indices, sizes
def no_axes(low: Lowering, node: Operation) -> Dims:
    return [low.fresh(n) for n in node.type.shape]


def const_term(low: Lowering, node: Operation, index: Index) -> int:
    return low.t.literal(float(node.attr("value")))


def iota_term(low: Lowering, node: Operation, index: Index) -> int:
    (d,) = index
    here = low.t.index(d.axes) if d.axes else low.t.const(0)
    return low.t.add(here, low.t.const(d.offset))


def size_term(low: Lowering, node: Operation, index: Index) -> int:
    t, arg = low.t, node.args[0]
    over = dims_of(dict(node.attrs), len(low.type(arg).shape))
    return t.mul(*[t.size(low.name(leaf)) for i in over for leaf in low.leaves(arg, i)])


# ---- contraction: an equation of letters
def einsum_axes(low: Lowering, node: Operation) -> Dims:
    operands, _, result = node.attr("equation").partition("->")
    found: dict[str, tuple[int, ...]] = {}
    for arg, letters in zip(node.args, operands.split(","), strict=True):
        for letter, leaves in zip(letters, low.dims[arg], strict=True):
            if leaves:
                found[letter] = low.unify(found[letter], leaves, node) if letter in found else leaves
    for letter, leaves in found.items():
        if letter not in result:
            low.reduces(leaves)
    low.letters[id(node)] = found
    return [found.get(letter, ()) for letter in result]


def einsum_term(low: Lowering, node: Operation, index: Index) -> int:
    operands, _, result = node.attr("equation").partition("->")
    at = dict(zip(result, index, strict=True))
    taken = {a for d in index for a in d.axes}
    bound: list[str] = []
    for letter, leaves in low.letters[id(node)].items():
        if letter not in at:
            names = low.bind(leaves, taken)
            taken |= set(names)
            bound += names
            at[letter] = DimIndex(names, 0)
    parts = []
    for arg, letters in zip(node.args, operands.split(","), strict=True):
        sizes = low.type(arg).shape
        parts.append(low.term(arg, tuple(ZERO if n == 1 else at[c] for c, n in zip(letters, sizes, strict=True))))
    body = low.t.mul(*parts)
    for name in reversed(bound):
        body = low.sum(name, body)
    return body


# ---- reduction
def reduce_axes(low: Lowering, node: Operation) -> Dims:
    mine = low.dims[node.args[0]]
    over = dims_of(dict(node.attrs), len(mine))
    for i in over:
        low.reduces(mine[i])
    keep = node.attr("keepdim", False)
    return [() if i in over else leaves for i, leaves in enumerate(mine) if keep or i not in over]


def reduce_term(low: Lowering, node: Operation, index: Index) -> int:
    rank = len(low.type(node.args[0]).shape)
    over = dims_of(dict(node.attrs), rank)
    left = list(index) if not node.attr("keepdim", False) else [d for i, d in enumerate(index) if i not in over]
    taken = {a for d in left for a in d.axes}
    bound: list[str] = []
    inner: list[DimIndex] = []
    for i in range(rank):
        if i in over:
            names = low.bind(low.dims[node.args[0]][i], taken)
            taken |= set(names)
            bound += names
            inner.append(DimIndex(names, 0))
        else:
            inner.append(left.pop(0))
    body = low.term(node.args[0], tuple(inner))
    for name in reversed(bound):
        body = low.sum(name, body) if node.op == "sum" else low.t.max(name, body)
    return body


# ---- shape
def permute_axes(low: Lowering, node: Operation) -> Dims:
    return [low.dims[node.args[0]][i] for i in node.attr("dims")]


def permute_term(low: Lowering, node: Operation, index: Index) -> int:
    inner = [ZERO] * len(index)
    for place, i in enumerate(node.attr("dims")):
        inner[i] = index[place]
    return low.term(node.args[0], tuple(inner))


def view_axes(low: Lowering, node: Operation) -> Dims:
    """The dims of the result as groups of the operand's leaves: both flattened, cut where their sizes meet."""
    source = [leaf for leaves in low.dims[node.args[0]] for leaf in low.resolve(leaves)]
    out: Dims = []
    for n in reversed(node.type.shape):
        taken: list[int] = []
        left = n
        while left > 1:
            leaf = source.pop()
            size = low.size(leaf)
            if size > left:
                if size % left:
                    raise UnsupportedReshape(
                        f"{list(low.type(node.args[0]).shape)} -> {list(node.type.shape)} cuts a dimension of {size} "
                        f"into parts of {left}",
                        line=node.line,
                    )
                high, leaf = low.split(leaf, left)
                source.append(high)
                size = left
            elif left % size:
                raise UnsupportedReshape(
                    f"{list(low.type(node.args[0]).shape)} -> {list(node.type.shape)} joins part of a dimension of {size}",
                    line=node.line,
                )
            taken.insert(0, leaf)
            left //= size
        out.insert(0, tuple(taken))
    return out


def view_term(low: Lowering, node: Operation, index: Index) -> int:
    arg = node.args[0]
    theirs = [low.resolve(leaves) for leaves in low.dims[arg]]
    mine = [low.resolve(leaves) for leaves in low.node_dims(node)]
    whole: dict[int, DimIndex] = {}  # operand dims that are dims of the result unchanged
    starts: dict[tuple[int, tuple[int, ...]], DimIndex] = {}
    at = 0
    for leaves, d in zip(mine, index, strict=True):
        if leaves:
            starts[at, leaves] = d
        at += len(leaves)
    at = 0
    for i, leaves in enumerate(theirs):
        if (at, leaves) in starts:
            whole[i] = starts[at, leaves]
        at += len(leaves)
    cut: list[DimIndex] | None = None
    picked = Picked(low, {a for d in index for a in d.axes})
    inner: list[DimIndex] = []
    at = 0
    for i, leaves in enumerate(theirs):
        if not leaves or i in whole:
            inner.append(whole.get(i, ZERO))
        else:
            if cut is None:
                cut = [
                    p for ls, d in zip(mine, index, strict=True)
                    for p in (_whole_or_cut(low, node, ls, d, set(whole.values())))
                ]  # fmt: skip
            inner.append(_join(low, node, leaves, cut[at : at + len(leaves)], picked))
        at += len(leaves)
    return picked.summed(low.term(arg, tuple(inner)))


def _whole_or_cut(
    low: Lowering, node: Operation, leaves: tuple[int, ...], d: DimIndex, whole: set[DimIndex]
) -> list[DimIndex]:
    return [ZERO] * len(leaves) if d in whole and d.axes else _cut(low, node, leaves, d)


def _cut(low: Lowering, node: Operation, leaves: tuple[int, ...], d: DimIndex) -> list[DimIndex]:
    """One index for each leaf of a dim. The major leaf takes what is left, so that an index outside stays outside."""
    axes, offset = list(d.axes), d.offset
    out: list[DimIndex] = []
    for leaf in reversed(leaves[1:]):
        size = low.size(leaf)
        taken: list[str] = []
        n = 1
        while axes and n < size:
            taken.insert(0, axes.pop())
            n *= low.t.sizes[taken[0]]
        if (n > 1 and offset % size and (axes or offset % size + n > size)) or n > size or (axes and n < size):
            raise UnsupportedReshape("a slice does not fall on the parts of a reshaped dimension", line=node.line)
        out.insert(0, DimIndex(tuple(taken), offset % size))
        offset //= size
    return [DimIndex(tuple(axes), offset), *out] if leaves else []


@dataclass
class Picked:
    """Places of parts of dims that no index of a tensor can name, since an index does not stride: the part is read whole, and a
    sum picks the place."""

    low: Lowering
    taken: set[str]  # names that binders may not have
    places: list[tuple[tuple[str, ...], DimIndex]] = field(default_factory=list)

    def whole(self, leaf: int, place: DimIndex) -> DimIndex:
        """The whole of a part, bound by axes of its own, in place of a place in it."""
        names = self.low.bind((leaf,), self.taken)
        self.taken |= set(names)
        self.places.append((names, place))
        return DimIndex(names, 0)

    def summed(self, body: int) -> int:
        """The term `body`, which reads the parts whole, at the places."""
        t = self.low.t
        for names, place in reversed(self.places):
            at = t.add(t.index(place.axes) if place.axes else t.const(0), t.const(place.offset))
            body = t.where(t.fn("eq", t.index(names), at), body, t.const(0))
            for name in reversed(names):
                body = self.low.sum(name, body)
        return body


def _join(low: Lowering, node: Operation, leaves: tuple[int, ...], parts: list[DimIndex], picked: Picked) -> DimIndex:
    """The index into a dim made of leaves, from an index for each; a part that is not read whole behind one that varies is picked."""
    axes: tuple[str, ...] = ()
    offset, stride = 0, 1
    for k, (leaf, d) in reversed(list(enumerate(zip(leaves, parts, strict=True)))):
        if any(p.axes for p in parts[:k]) and numel([low.t.sizes[a] for a in d.axes]) != low.size(leaf):
            if not is_float(low.type(node.args[0]).dtype):
                raise UnsupportedReshape("a slice is joined with the dimension before it", line=node.line)
            d = picked.whole(leaf, d)
        axes = d.axes + axes
        offset += d.offset * stride
        stride *= low.size(leaf)
    return DimIndex(axes, offset)


def slice_axes(low: Lowering, node: Operation) -> Dims:
    mine = list(low.dims[node.args[0]])
    i = node.attr("dim")
    if node.type.shape[i] != low.type(node.args[0]).shape[i]:
        mine[i] = low.fresh(node.type.shape[i])
    return mine


def slice_term(low: Lowering, node: Operation, index: Index) -> int:
    i = node.attr("dim")
    d = index[i]
    moved = DimIndex(d.axes, d.offset + node.attr("start"))
    return low.term(node.args[0], (*index[:i], moved, *index[i + 1 :]))


def cat_axes(low: Lowering, node: Operation) -> Dims:
    at = node.attr("dim")
    out: Dims = [()] * len(node.type.shape)
    for i in range(len(out)):
        if i == at:
            out[i] = low.fresh(node.type.shape[i])
            continue
        for arg in node.args:
            leaves = low.dims[arg][i]
            if leaves:
                out[i] = low.unify(out[i], leaves, node) if out[i] else leaves
    return out


def cat_term(low: Lowering, node: Operation, index: Index) -> int:
    """Each part where the index falls into it. A part is read outside its bounds too: a load gives the pad there."""
    t, i = low.t, node.attr("dim")
    d = index[i]
    here = t.add(t.index(d.axes) if d.axes else t.const(0), t.const(d.offset))
    ends, total = [], 0
    for arg in node.args:
        ends.append((arg, total))
        total += low.type(arg).shape[i]
    out: int | None = None
    for arg, start in reversed(ends):
        if not d.axes and not start <= d.offset < start + low.type(arg).shape[i]:
            continue
        part = low.term(arg, (*index[:i], DimIndex(d.axes, d.offset - start), *index[i + 1 :]))
        stop = t.const(start + low.type(arg).shape[i])
        out = part if out is None else t.where(t.fn("lt", here, stop), part, out)
    assert out is not None
    return out
