"""Rules on declarations: names, sizes and forms of axes, tensors, dims and kernels, which every later rule assumes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mirage.ir.dtypes import DTYPES
from mirage.ir.opaque_calls import RESULT_TENSOR, fault, is_call, sizes_of
from mirage.mugraph.descriptors import refused
from mirage.mugraph.grammar import CustomKernel, LibraryKernel, Load, Loop, MuGraph, TileDim
from mirage.mugraph.rules.breach import Breach, Limits, breach
from mirage.mugraph.walk import PlacedBlock, parts, sites, size_of
from mirage.operators.attribute_faults import attribute_fault

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
MAX_SIZE = 1 << 31
CLUSTERS = (1, 2, 4, 8, 16)
WARPS = (1, 2, 4, 8, 16, 32)


def _unique(kind: str, names: Iterable[str], where: str = "") -> None:
    seen: set[str] = set()
    for n in names:
        if not IDENTIFIER.match(n):
            raise Breach(where, f"{kind} {n!r} is not an identifier")
        if n in seen:
            raise Breach(where, f"{kind} {n} occurs twice")
        seen.add(n)


def names(m: MuGraph, limits: Limits) -> None:
    """Axes, tensors and kernels have unique names that are identifiers; an axis has at least one element."""
    _unique("axis", (a for a, _ in m.axes))
    _unique("tensor", (t.name for t in m.tensors))
    _unique("kernel", (k.name for k in m.kernels))
    for a, n in m.axes:
        if not 1 <= n <= MAX_SIZE:
            raise Breach("", f"axis {a} has size {n}, which is not from 1 to {MAX_SIZE}")
    if not m.kernels or not m.outputs:
        raise Breach("", "a µGraph has at least one kernel and one output")


def tensors(m: MuGraph, limits: Limits) -> None:
    """Tensors have a known dtype, known axes, each once, and rigid sizes that fit their rank; an axis of size one is a dimension of
    its own, since it adds nothing to another."""
    known = {a for a, _ in m.axes}
    single = {a for a, n in m.axes if n == 1}
    for t in m.tensors:
        if t.dtype not in DTYPES:
            raise Breach("", f"tensor {t.name} has the unknown dtype {t.dtype}")
        for a in (a for axes in t.dims for a in axes):
            if a not in known:
                raise Breach("", f"tensor {t.name} uses the unknown axis {a}")
        if any(len(axes) > 1 and not single.isdisjoint(axes) for axes in t.dims):
            raise Breach("", f"tensor {t.name} has a dimension of several axes, one of which has size 1")
        if t.rigid and len(t.rigid) != len(t.dims):
            raise Breach("", f"tensor {t.name} has {len(t.dims)} dimensions but {len(t.rigid)} rigid sizes")
        if any(n is not None and n < 1 for n in t.rigid):
            raise Breach("", f"tensor {t.name} has a size below one")


def _tile_dim(m: MuGraph, part: PlacedBlock, d: TileDim, seen: dict[str, str]) -> None:
    known = {a for a, _ in m.axes}
    if not d.axes:
        raise Breach(part.where, f"dim {d.name} has no axes")
    for a in d.axes:
        if a not in known:
            raise Breach(part.where, f"dim {d.name} uses the unknown axis {a}")
        if a in seen:
            raise Breach(part.where, f"axis {a} is in the dims {seen[a]} and {d.name}")
        seen[a] = d.name
    if d.tile < 1 or d.tile & (d.tile - 1):
        raise Breach(part.where, f"dim {d.name} has tile {d.tile}, which is not a power of two")
    if d.role == "resident" and d.tile < size_of(m, d):
        raise Breach(part.where, f"resident dim {d.name} has tile {d.tile} below its size {size_of(m, d)}")
    if d.role != "split" and (d.splits or d.parts != 1):
        raise Breach(part.where, f"dim {d.name} has role {d.role} but splits a loop")


def dims(m: MuGraph, limits: Limits) -> None:
    """Tile dims: known axes, each in one dim of a block; tiles powers of two; a resident tile covers its dim."""
    for part in parts(m):
        _unique("dim", (d.name for d in part.graph.dims), part.where)
        seen: dict[str, str] = {}
        for d in part.graph.dims:
            _tile_dim(m, part, d, seen)
        if part.graph.cluster not in CLUSTERS:
            raise Breach(part.where, f"a cluster of {part.graph.cluster} blocks; it is one of {CLUSTERS}")
        if part.kernel.warps not in WARPS or not 1 <= part.kernel.stages <= 16:
            raise Breach(part.where, f"warps are one of {WARPS}, stages 1 to 16")


def groups(m: MuGraph, limits: Limits) -> None:
    """At most one grid dim of a block starts its blocks in groups: they divide its blocks, into several or one by one, and another dim
    comes behind it. No last block of a split waits for them."""
    for part in parts(m):
        grouped = [d for d in part.graph.dims if d.group]
        for d in grouped:
            blocks = -(-size_of(m, d) // d.tile)
            if d.role != "grid" or d == part.graph.grid[-1]:
                raise Breach(part.where, f"dim {d.name} has a group, but is no grid dim before another")
            if d.group < 0 or blocks % d.group or d.group == blocks > 1:
                raise Breach(part.where, f"groups of {d.group} do not part the {blocks} blocks of dim {d.name}")
            if len(grouped) > 1 or part.kernel.tail is not None:
                raise Breach(part.where, f"dim {d.name} has a group beside another's, or beside a tail")


def descriptors(m: MuGraph, limits: Limits) -> None:
    """A load by a descriptor is a block's, and one that a device can copy as a whole."""
    for part in parts(m):
        for s in sites(part):
            if isinstance(s.statement, Load) and s.statement.by == "descriptor":
                wrong = (
                    "a tail copies nothing by descriptors"
                    if part.role == "tail"
                    else refused(m, part.graph, s.statement)
                )
                if wrong:
                    raise breach(s, wrong)


def splits(m: MuGraph, limits: Limits) -> None:
    """A split dim shares one loop of its block: tile 1, its own axis, as many parts as that axis' size."""
    for part in parts(m):
        shared: set[str] = set()
        loops = {item.dim for item in part.graph.body if isinstance(item, Loop)}
        for d in part.graph.dims:
            if d.role != "split":
                continue
            if part.role == "tail":
                raise Breach(part.where, f"a tail runs once for each group and has no split dim ({d.name})")
            if d.tile != 1 or d.axes != (d.name,) or d.parts != m.size(d.name):
                raise Breach(part.where, f"split dim {d.name} needs tile 1, its own axis, and parts equal to its size")
            if d.splits not in loops or part.graph.dim(d.splits).role != "loop":
                raise Breach(part.where, f"split dim {d.name} splits {d.splits or 'nothing'}, which is no loop here")
            if d.splits in shared:
                raise Breach(part.where, f"loop {d.splits} is split twice")
            shared.add(d.splits)


def library(m: MuGraph, limits: Limits) -> None:
    """A library kernel takes and gives declared tensors."""
    known = {t.name: t for t in m.tensors}
    for k in m.kernels:
        if isinstance(k, LibraryKernel):
            if wrong := attribute_fault(k.op, k.attrs):
                raise Breach(k.name, wrong)
            for a in (*k.args, k.out):
                if a not in known:
                    raise Breach(k.name, f"tensor {a} is not declared")
            if known[k.out].kind == "input":
                raise Breach(k.name, f"it writes the input {k.out}")
            if is_call(k.op):
                _call(
                    k, {i: len(known[a].dims) for i, a in enumerate(k.args)} | {RESULT_TENSOR: len(known[k.out].dims)}
                )


def _call(k: LibraryKernel, ranks: dict[int, int]) -> None:
    """A call that stays PyTorch's own states each tensor that it takes, and dims that are there."""
    wrong = fault(k.op, k.attrs, len(k.args))
    if wrong:
        raise Breach(k.name, wrong)
    for i, d in (place for group in sizes_of(k.attrs) for place in group):
        if not 0 <= d < ranks.get(i, 0):
            raise Breach(k.name, f"{k.op} has no dim {d} of tensor {i}")


def tails(m: MuGraph, limits: Limits) -> None:
    """A tail belongs to a split block, and its grid is the group's: the block's grid dims without the split ones."""
    for k in m.kernels:
        if isinstance(k, CustomKernel) and k.tail is not None:
            if not any(d.role == "split" for d in k.block.dims):
                raise Breach(f"{k.name}.tail", "the block has no split dim, so it has no group to wait for")
            if k.tail.grid != tuple(d for d in k.block.grid if d.role == "grid"):
                raise Breach(f"{k.name}.tail", "its grid dims are not the block's grid dims without the split ones")
            if k.tail.cluster != k.block.cluster:
                raise Breach(f"{k.name}.tail", "its cluster is not the block's")
