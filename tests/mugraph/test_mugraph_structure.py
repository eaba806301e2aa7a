"""Maps, structure keys, and the same structure at other sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from workloads.evaluate import evaluate
from workloads.hand import BUILDERS, REAL, real, small
from workloads.terms import problem

from mirage.errors import InvalidMugraph
from mirage.mugraph.check import broken_rule, check
from mirage.mugraph.grammar import CustomKernel, Load, Loop, MuGraph, Store
from mirage.mugraph.maps import fmap, grid, imap, loop_range, omap, tile_count
from mirage.mugraph.parse import parse
from mirage.mugraph.resized import rigid_axes, shrink, tiny_sizes
from mirage.mugraph.structure import structure_key
from mirage.mugraph.text import to_text
from mirage.mugraph.walk import parts
from mirage.search.engine import Bounds, Search

NAMES = sorted(BUILDERS)


def _loop(m: MuGraph) -> tuple[CustomKernel, Loop]:
    k = m.kernels[0]
    assert isinstance(k, CustomKernel)
    return k, next(i for i in k.block.body if isinstance(i, Loop))


def test_grid_and_range() -> None:
    m = real("attention_split").mugraph
    assert grid(m, "partial") == (2, 4, 16) and grid(m, "combine") == (2, 16)
    assert loop_range(m, "partial", "t") == 4  # 4096 keys, 64 a tile, 16 parts
    small_one = small()["attention_split"].mugraph
    assert loop_range(small_one, "partial", "t") == 2  # ceil(ceil(89 / 16) / 3)
    with pytest.raises(KeyError):
        grid(m, "nothing")


def test_maps_say_where_dims_cut() -> None:
    k, loop = _loop(real("attention_split").mugraph)
    keys = loop.body[0]
    assert isinstance(keys, Load) and keys.tensor == "K"
    assert imap(k.block, keys) == {"h": 0, "q": None, "s": 1} and fmap(k.block, loop, keys) == 1
    store = k.block.body[-1]
    assert isinstance(store, Store)
    assert omap(k.block, store) == {"h": 1, "q": 2, "s": 0} and fmap(k.block, loop, store) is None


@pytest.mark.parametrize("name", NAMES)
def test_sizes_tiles_and_names_do_not_matter_to_the_key(name: str) -> None:
    small_one = small()[name].mugraph
    same_scale = {k: v for k, v in REAL[name].items() if k != "scale"}
    assert structure_key(BUILDERS[name](**same_scale).mugraph) == structure_key(small_one)
    text = to_text(small_one).replace("_part", "_piece").replace("kernel ", "kernel my_")
    assert structure_key(parse(text)) == structure_key(small_one)


def test_structures_have_their_own_keys() -> None:
    keys = [structure_key(c.mugraph) for c in small().values()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale[m] = rsqrt(shifted)", "scale[m] = sqrt(shifted)"),
        ("value=1/1000000", "value=1/100000"),
        ("dim n (n) grid", "dim n (n) resident"),
        ("input W fp16", "input W bf16"),
        ("load X[m, k]", "load X[m, k] pad 1.0"),
        ("dot(xg, w;", "dot(w, xg;"),
        ("cluster 1", "cluster 2"),
    ],
)
def test_what_matters_changes_the_key(old: str, new: str) -> None:
    text = to_text(small()["rmsnorm_linear"].mugraph)
    assert old in text
    assert structure_key(parse(text.replace(old, new))) != structure_key(parse(text))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_tiny_launches_have_tiles_tails_and_distinct_sizes(name: str, seed: int) -> None:
    case = real(name)
    sizes, tiles = tiny_sizes(case.mugraph, seed)
    assert (sizes, tiles) == tiny_sizes(case.mugraph, seed)
    assert len(set(sizes.values())) == len(sizes)
    m = shrink(case.mugraph, sizes, tiles)
    check(m)
    for part in parts(m):
        for d in part.graph.dims:
            size = int(np.prod([sizes[a] for a in d.axes]))
            if d.role in ("grid", "loop") and d.tile > 1:
                assert tile_count(m, d) >= 3 and size % d.tile
            if d.role == "split":
                count = tile_count(m, part.graph.dim(d.splits))
                assert count % d.parts and count > (d.parts - 1) * -(-count // d.parts)
    assert int(np.prod(grid(m, m.kernels[0].name))) <= 100
    tiny = replace(case, mugraph=m)
    inputs = tiny.inputs(seed)
    np.testing.assert_allclose(evaluate(m, *inputs), case.reference(*inputs), rtol=1e-8, atol=1e-10)


PATCHED = """mugraph patched
axes b=6 c=32 e=3 g=24 h=2 r=12 s=4
input X fp16 [b, g*s, c]
input Y fp16 [h*e*r, c]
output O fp16 [b, e, g*h, r*s]
kernel main warps 4 stages 1:
  block cluster 1:
    dim left (b*g*s) grid tile 32
    dim right (e*h*r) grid tile 16
    dim c (c) loop tile 16
    for c:
      x[left, c] = load X[b, g*s, c]
      y[right, c] = load Y[h*e*r, c]
      part[left, right] = dot(x, y; dim=c)
      acc[left, right] += part
    store O[b, e, g*h, r*s] = acc
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_launch_whose_dims_are_products_of_many_axes_stays_small(seed: int) -> None:
    m = parse(PATCHED)
    check(m)
    sizes, tiles = tiny_sizes(m, seed)
    assert (sizes, tiles) == tiny_sizes(m, seed) and len(set(sizes.values())) == len(sizes)
    small = shrink(m, sizes, tiles)
    check(small)
    for d in (d for part in parts(small) for d in part.graph.dims):
        assert tile_count(small, d) >= 3 and np.prod([sizes[a] for a in d.axes]) % d.tile
    assert np.prod(list(sizes.values())) <= 2**18


def test_another_seed_gives_other_sizes() -> None:
    m = real("attention_split").mugraph
    assert len({tuple(tiny_sizes(m, seed)[0].values()) for seed in range(10)}) > 3


def test_shrink_lets_resident_tiles_and_parts_follow() -> None:
    m = shrink(real("attention_tail").mugraph, {"d": 17, "e": 3, "s": 5}, {"partial": {"q": 8}})
    k = m.kernels[0]
    assert isinstance(k, CustomKernel) and k.tail is not None
    assert (k.block.dim("d").tile, k.block.dim("e").tile, k.block.dim("s").parts) == (32, 4, 5)
    assert k.tail.dim("q").tile == 8 and k.tail.dim("s").tile == 8
    check(m)
    assert to_text(shrink(m, {})) == to_text(m)


def test_shrink_refuses_what_is_not_there() -> None:
    m = real("attention_tail").mugraph
    with pytest.raises(InvalidMugraph, match="no axis z"):
        shrink(m, {"z": 3})
    with pytest.raises(InvalidMugraph, match=r"no dim partial\.z"):
        shrink(m, {}, {"partial": {"z": 4}})
    found = broken_rule(shrink(m, {}, {"partial": {"q": 12}}))
    assert found is not None and found[0] == "dims"


SLICED = """mugraph sliced
axes m=600 n=24 p=40
input X fp16 [m, n] sizes [_, 64]
input Y fp16 [m, p]
output O fp16 [m, n] sizes [_, 64]
kernel one warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 16
    dim n (n) resident tile 32
    x[m, n] = load X[m, n+8]
    store O[m, n] = x
kernel two warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 16
    dim p (p) resident tile 64
    y[m, p] = load Y[m, p]
    store O[m, p+24] = y
"""


def test_rigid_dimensions_keep_their_sizes() -> None:
    m = parse(SLICED)
    check(m)
    assert rigid_axes(m) == {"n", "p"}
    sizes, tiles = tiny_sizes(m, 0)
    assert (sizes["n"], sizes["p"]) == (24, 40) and sizes["m"] < 20
    tiny = shrink(m, sizes, tiles)
    check(tiny)
    x, y = (np.random.default_rng(1).standard_normal(tiny.shape(t)) for t in tiny.inputs)
    np.testing.assert_array_equal(evaluate(tiny, x, y), np.concatenate([x[:, 8:32], y], 1))


@pytest.mark.parametrize(("old", "new"), [("p+24", "p+23"), ("p+24", "p"), ("O[m, p+24]", "O[m, p]")])
def test_a_concatenation_that_overlaps_or_leaves_gaps_is_refused(old: str, new: str) -> None:
    found = broken_rule(parse(SLICED.replace(old, new)))
    assert found is not None and found[0] == "cover"


def test_two_splits_of_one_axis_both_get_an_uneven_last_share_at_small_sizes():
    split_twice = next(m for m in _split_twice())
    sizes, tiles = tiny_sizes(split_twice)
    small = shrink(split_twice, sizes, tiles)
    seen = set()
    for k in small.kernels:
        assert isinstance(k, CustomKernel)
        for d in (d for d in k.block.dims if d.role == "split"):
            loop = k.block.dim(d.splits)
            count = -(-small.size(loop.axes[0]) // loop.tile)
            share = -(-count // d.parts)
            assert share >= 2 and count % d.parts and (d.parts - 1) * share < count
            seen.add(d.parts)
    assert len(seen) == 2 and max(sizes.values()) < 64


def _split_twice() -> Iterator[MuGraph]:
    """Answers of the search in which two kernels split one axis each their own way."""
    search = Search(
        problem("attention_without_shift"), lambda g: float(len(g.kernels)), bounds=Bounds(cuts=1, keep=400)
    )
    list(search.run())
    for c in search.best:
        splits = [
            d for k in c.mugraph.kernels if isinstance(k, CustomKernel) for d in k.block.dims if d.role == "split"
        ]
        if len(splits) > 1 and len({d.splits for d in splits}) == 1:
            yield c.mugraph
