"""Rules on loops: iterators, accumulators and savers stand where the paper's validity wants them.

In a loop every path from an iterator (a load, mask or index that varies with the loop's dim) to a value that is used
after the loop crosses exactly one accumulator. Scoping gives "at least one"; `accumulators` gives the rest. The shifted
tuple is the one exception: a carried accumulator may read the running value of another, because its update says how.
"""

from __future__ import annotations

from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, Compute, Load, Loop, MuGraph, Store
from mirage.mugraph.rules.breach import Breach, Limits, breach
from mirage.mugraph.walk import PlacedBlock, Site, computes, parts, reads, sites, writes


def loop_dims(m: MuGraph, limits: Limits) -> None:
    """A loop runs over a dim of role loop, and that dim's tiles exist only inside its loops."""
    for part in parts(m):
        loop_names = {d.name for d in part.graph.dims if d.role == "loop"}
        used = {item.dim for item in part.graph.body if isinstance(item, Loop)}
        for name in sorted(used - loop_names):
            raise Breach(part.where, f"the loop over {name} needs a dim of role loop")
        for name in sorted(loop_names - used):
            raise Breach(part.where, f"dim {name} has role loop, but no loop runs over it")
        for s in sites(part):
            dims = set(getattr(s.statement, "dims", ())).union(*(c.dims for c in computes(s.statement)))
            outside = dims & loop_names - ({s.loop.dim} if s.loop else set())
            if outside:
                raise breach(s, f"a tile over {sorted(outside)[0]} outside the loop over it")


def _varies(part: PlacedBlock, s: Site) -> bool:
    """Whether a statement is itself an iterator of its loop."""
    assert s.loop is not None
    dim = part.graph.dim(s.loop.dim)
    if isinstance(s.statement, Load):
        return any(a in dim.axes for i in s.statement.index for a in i.axes)
    return any(_iterates(c, dim.name, dim.axes) for c in computes(s.statement))


def _iterates(c: Compute, name: str, axes: tuple[str, ...]) -> bool:
    return (c.op == "mask" and c.attr("dim") == name) or (c.op == "index" and c.attr("axis") in axes)


def accumulators(m: MuGraph, limits: Limits) -> None:
    """Accumulators: in a loop, of its tiles, reduced over its dim; each path crosses one; carried ones are sums that
    scale this loop's accumulators."""
    for part in parts(m):
        varying: set[str] = set()
        running: set[str] = set()  # what depends on an accumulator of the present loop
        own: set[str] = set()  # its accumulators
        at = -1
        for s in sites(part):
            if s.position != at:
                varying, running, at = set(), set(), s.position
                own = {y.out for y in s.loop.body if isinstance(y, Accumulate)} if s.loop else set()
            x = s.statement
            if s.loop is None:
                if isinstance(x, Accumulate):
                    raise breach(s, "an accumulator outside a loop")
                continue
            names = [old_value.bare(r) for r in reads(x)]
            if isinstance(x, Accumulate):
                _accumulator(s, x, own, x.arg in varying, old_value.bare(x.arg) in running | own)
                continue
            out = writes(x)
            if out is not None and (_varies(part, s) or any(n in varying for n in names)):
                varying.add(out)
            if out is not None and any(n in running | own for n in names):
                running.add(out)


def _accumulator(s: Site, x: Accumulate, own: set[str], varies: bool, crossed: bool) -> None:
    assert s.loop is not None
    if s.loop.dim in x.dims:
        raise breach(s, f"the contribution is not reduced over the loop's dim {s.loop.dim}")
    if x.update and x.op != "sum":
        raise breach(s, "only a sum is carried")
    for _, acc in x.update:
        if acc and acc not in own:
            raise breach(s, f"{acc} is not an accumulator of this loop")
    if x.start:
        _start(s, x)
    if not varies:
        raise breach(s, f"the contribution does not vary with {s.loop.dim}: its path crosses no input iterator")
    if crossed and not x.update:
        raise breach(s, "a path crosses two accumulators of one loop and the second is not carried")


def _start(s: Site, x: Accumulate) -> None:
    """A sum may go on from the sum of an earlier loop; each block has all of both, so neither is split."""
    assert s.loop is not None
    graph = s.part.graph
    before = [item for item in graph.body[: s.position] if isinstance(item, Loop)]
    source = next((y for item in before for y in item.body if isinstance(y, Accumulate) and y.out == x.start), None)
    if source is None:
        raise breach(s, f"{x.start} is no accumulator of an earlier loop")
    if x.op != "sum" or source.op != "sum" or x.update:
        raise breach(s, "only a plain sum goes on from another sum")
    if set(source.dims) != set(x.dims):
        raise breach(s, f"{x.start} has the dims {list(source.dims)}")
    if any(d.role == "split" and d.splits == s.loop.dim for d in graph.dims):
        raise breach(s, f"the loop over {s.loop.dim} is split, so each part would begin with {x.start}")


def savers(m: MuGraph, limits: Limits) -> None:
    """Output savers: a store inside a loop writes at the loop's own place, one outside does not mention its dim; a
    store in a loop does not write a value that is still accumulating."""
    for part in parts(m):
        loops = {d.name: d for d in part.graph.dims if d.role == "loop"}
        for s in sites(part):
            x = s.statement
            if not isinstance(x, Store):
                continue
            axes = {a for i in x.index for a in i.axes}
            if s.loop is None and any(axes & set(d.axes) for d in loops.values()):
                raise breach(s, "a store after the loop is indexed by the loop's dim")
            if s.loop is not None and not set(loops[s.loop.dim].axes) <= axes:
                raise breach(s, f"a store in the loop over {s.loop.dim} writes the same place in each iteration")
            if s.loop is not None and _running(s, x.tile):
                raise breach(s, "a store in a loop writes a value that is still accumulating")


def _running(s: Site, tile: str) -> bool:
    assert s.loop is not None
    partial = {y.out for y in s.loop.body if isinstance(y, Accumulate)}
    for y in s.loop.body:
        if not isinstance(y, Accumulate) and any(old_value.bare(r) in partial for r in reads(y)):
            partial.add(writes(y) or "")
    return old_value.bare(tile) in partial
