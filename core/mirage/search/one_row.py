"""A program whose matrix products have one row, with that row as an axis of size one.

A dim of size one has no axis: a product with one row is then one of a vector, which is added up without a matrix instruction. With an
axis for the row its tiles are padded to what the instruction takes, and the search makes of it what it makes of eight rows. Which
of the two is faster depends on how much is added up beside each byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mirage.meaning.row_axis import along, last_single, with_item
from mirage.meaning.terms import Terms
from mirage.search.engine import Candidate
from mirage.search.problem import Bounds, Problem, fork
from mirage.search.tile_dims import contractions, layout

ROW = "row"


def one_row(p: Problem) -> Problem | None:
    """The problem with an axis for the one row of its products; None where no product has one row, or where the row has no place
    in what is computed."""
    vectors = set() if p.calls else _vectors(p)
    place = {x.name: last_single(x.dims) for x in p.inputs if x.name in vectors and () in x.dims}
    if not place:
        return None
    t, row = fork(p.t), _fresh(p.t)
    t.sizes = {**p.t.sizes, row: 1}
    outputs = []
    for o in p.outputs:
        term, dims = along(t, o.term, place, row), o.dims
        if row in t.dims(term):
            if () not in dims:
                return None
            dims = with_item(dims, last_single(dims), (row,))
        outputs.append(replace(o, term=term, dims=dims))
    if not any(layout(t, o.term, o.axes).dotted for o in outputs):
        return None
    inputs = (replace(x, dims=with_item(x.dims, place[x.name], (row,))) if x.name in place else x for x in p.inputs)
    return replace(p, t=t, inputs=tuple(inputs), outputs=tuple(outputs))


def bounds_for(p: Problem, bounds: Bounds, best: Sequence[Candidate]) -> Bounds:
    """The bounds of a search after others, whose candidates these are. The row's axis changes products, and not where a program is cut
    into kernels: with it there are no more cuts than the best answer without it has."""
    if not best or 1 not in p.t.sizes.values():
        return bounds
    return replace(bounds, cuts=min(bounds.cuts, min(best, key=lambda c: c.us).structure.count("|")))


def _vectors(p: Problem) -> set[str]:
    """The inputs that products read as vectors alone: all of their axes are the other factor's too, which has more."""
    t = p.t
    vectors: set[str] = set()
    matrices: set[str] = set()
    for o in p.outputs:
        for _, factors in contractions(t, o.term):
            dims = [t.dims(f) for f in factors]
            for f, own in zip(factors, dims, strict=True):
                if any(own < other for other in dims):
                    vectors |= t.inputs(f)
                elif any(other < own for other in dims):
                    matrices |= t.inputs(f)
    return vectors - matrices


def _fresh(t: Terms) -> str:
    name = ROW
    while name in t.sizes:
        name += "_"
    return name
