"""Tiles of kernels that reduce nothing: axes that follow each other in memory are one dim, the others are not."""

from __future__ import annotations

import math

import pytest
from workloads.terms import tensor

from mirage.ir.index import DimIndex
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import BlockGraph, Compute, Load, Loop, Statement, TileDim
from mirage.search.kernel_pieces import warps_for
from mirage.search.tile_dims import layout
from mirage.search.tile_sizes import ELEMENTWISE, tilings

SIZES = {"m": 256, "n": 64, "p": 48, "q": 3}


def at(axes: str) -> tuple[DimIndex, ...]:
    return tuple(DimIndex((a,)) for a in axes)


def groups(*reads: str, written: tuple[str, ...] = (), sizes: dict[str, int] = SIZES) -> tuple[tuple[str, ...], ...]:
    """The groups of a kernel that adds the tensors `reads`, its outputs along the axes of `written`."""
    t = Terms(dict(sizes))
    root = t.add(*(tensor(t, f"x{i}", axes) for i, axes in enumerate(reads)))
    wide = max((*written, *reads), key=len) if not written else written[0]
    return layout(t, root, tuple(wide), [at(w) for w in written or (wide,)]).groups


def test_axes_that_follow_each_other_everywhere_are_one_dim():
    assert groups("mnpq", "mnpq") == (("m", "n", "p", "q"),)


@pytest.mark.parametrize(
    ("reads", "written", "expected"),
    [
        (("mn", "n"), ("mn",), (("m",), ("n",))),  # a row that every row reads
        (("mn", "nm"), ("mn",), (("m",), ("n",))),  # the other way round
        (("mpn", "pn"), ("mpn",), (("m",), ("p", "n"))),
        (("mn",), ("mn", "n"), (("m",), ("n",))),  # an output that lacks an axis
    ],
)
def test_axes_that_do_not_follow_each_other_somewhere_are_not(reads, written, expected):
    assert groups(*reads, written=written) == expected


def test_a_part_of_a_tensor_is_no_run_of_it():
    t = Terms(dict(SIZES))
    whole, part = (
        t.input("x", (DimIndex(("m",)), DimIndex(("n",)))),
        t.input("y", (DimIndex(("m",)), DimIndex(("n",), 64))),
    )
    assert layout(t, t.add(whole, whole), ("m", "n"), [at("mn")]).groups == (("m", "n"),)
    assert layout(t, t.add(whole, part), ("m", "n"), [at("mn")]).groups == (("m",), ("n",))


def test_a_last_dim_that_no_tile_divides_is_taken_with_the_rest():
    assert groups("mq", "q") == (("m", "q"),)  # 3 columns
    assert groups("mp", "p") == (("m", "p"),)  # 48
    assert groups("mn", "n") == (("m",), ("n",))  # 64
    assert groups("qm", "m", sizes=SIZES | {"m": 640}) == (("q",), ("m",))  # 128 divides it


def test_what_is_read_the_other_way_round_or_written_apart_stays_in_two_dims():
    assert groups("mq", "qm") == (("m",), ("q",))
    assert groups("mq", written=("mq", "q")) == (("m",), ("q",))


def tiles(*reads: str, sizes: dict[str, int] = SIZES) -> list[tuple[int, ...]]:
    t = Terms(dict(sizes))
    root = t.add(*(tensor(t, f"x{i}", axes) for i, axes in enumerate(reads)))
    lay = layout(t, root, tuple(reads[0]), [at(reads[0])])
    return [tuple(d.tile for d in dims) for dims in tilings(lay, t.sizes, ())]


def test_a_block_has_a_fair_number_of_elements_whatever_the_shape():
    for reads in (("mnpq",), ("mn", "n"), ("nm", "m"), ("mq", "q"), ("mn", "nm")):
        found = tiles(*reads, sizes=SIZES | {"m": 16384})
        assert len(found) == len(set(found))
        assert {math.prod(x) for x in found} == set(ELEMENTWISE), (reads, found)


def test_small_tensors_get_tiles_of_their_own_size():
    assert all(math.prod(x) <= 16 for x in tiles("mn", sizes={"m": 3, "n": 4}))


def test_tiles_are_long_along_both_dims_only_where_a_tensor_lies_the_other_way_round():
    square = {"m": 4096, "n": 4096}
    assert any(min(x) >= 32 for x in tiles("mn", "nm", sizes=square)[:3])
    assert not any(min(x) >= 32 for x in tiles("mn", "n", sizes=square)[:3])


def test_short_sums_have_as_many_rows_as_a_block_takes():
    def rows(inner: int) -> set[int]:
        t = Terms({"m": 65536, "n": inner})
        lay = layout(t, t.sum("n", tensor(t, "x", "mn")), ("m",), [at("m")])
        return {dims[0].tile for dims in tilings(lay, t.sizes, ())}

    assert max(rows(2)) * 2 >= 2048
    assert max(rows(512)) <= 128  # more would not fit


def block(rows: int, columns: int, role: str = "resident", op: str = "sum") -> BlockGraph:
    x = Load("x", "X", at("mn"), ("m", "n"))
    body: tuple[Statement, ...] = (x, Compute("y", op, ("x",), ("m",) if op == "sum" else ("m", "n"), (("dim", "n"),)))
    dims = (TileDim("m", ("m",), rows, "grid"), TileDim("n", ("n",), columns, role))  # type: ignore[arg-type]
    return BlockGraph(dims, (Loop("n", body),) if role == "loop" else body)


def test_short_rows_that_a_block_holds_whole_have_few_warps():
    assert [warps_for(block(r, 512)) for r in (1, 2, 4, 8)] == [1, 1, 2, 4]
    assert warps_for(block(4, 8192, op="exp")) == 8


def test_rows_in_a_loop_and_what_reduces_nothing_keep_four():
    assert warps_for(block(1, 512, "loop")) == 4
    assert warps_for(block(1, 512, op="exp")) == 4


def gate(t: Terms, along: str) -> int:
    """The rows of one tensor times the sum of another one over k."""
    return t.mul(tensor(t, "Y", "mn"), t.sum("k", t.exp(tensor(t, "X", along))))


def test_what_no_reduction_varies_along_is_a_dim_beside_it():
    t = Terms({"m": 512, "n": 2048, "k": 2048})
    lay = layout(t, gate(t, "mk"), ("m", "n"), [at("mn")])
    assert lay.groups == (("m",), ("n",)) and lay.beside == {"n"}
    found = [{d.name: d.tile for d in dims} for dims in tilings(lay, t.sizes, ("k",))]
    assert found[0]["n"] == 2048  # a block writes whole rows
    assert {1024 * 4, 1024 * 8, 1024 * 16} & {x["m"] * x["k"] for x in found[:4]}  # and reduces as much as ever


def test_what_a_reduction_varies_along_is_not():
    t = Terms({"m": 512, "n": 2048, "k": 64})
    assert layout(t, gate(t, "mnk"), ("m", "n"), [at("mn")]).beside == frozenset()
    assert layout(t, gate(t, "nk"), ("m", "n"), [at("mn")]).beside == frozenset()  # it is the last one's
    assert layout(t, t.sum("k", tensor(t, "X", "mk")), ("m",), [at("m")]).beside == frozenset()
