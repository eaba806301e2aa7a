"""The parameters that narrow the search: what each asks holds for every kernel, and nonsense is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from workloads.terms import problem, tensor

from mirage.errors import BadSearchParameter
from mirage.ir.narrowing import Narrowing
from mirage.meaning.terms import Terms
from mirage.mugraph import maps
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import BlockGraph, CustomKernel, DTensor, Load, Loop, MuGraph, Store, TileDim
from mirage.mugraph.structure import canonical
from mirage.search.engine import Bounds, Problem, Search
from mirage.search.kernel_pieces import Target
from mirage.search.tile_sizes import split_options
from mirage.verify.field.schedule_opinion import schedule_opinion


def size_of(g: MuGraph) -> float:
    return sum(100.0 + len(k.block.body) for k in g.kernels)


def run(name: str, keep: int = 48, cuts: int = 0, **given: object) -> Search:
    bounds = Bounds(keep=keep, cuts=cuts, tilings=24, per_kernel=200, given=Narrowing.of(**given))
    search = Search(problem(name), size_of, bounds=bounds)
    list(search.run())
    return search


def kernels(search: Search) -> Iterator[tuple[MuGraph, CustomKernel]]:
    for c in search.best:
        yield from ((c.mugraph, k) for k in c.mugraph.kernels if isinstance(k, CustomKernel))


def blocks(k: CustomKernel) -> list[BlockGraph]:
    return [k.block, *([k.tail] if k.tail else [])]


def statements(b: BlockGraph) -> Iterator[tuple[Loop | None, object]]:
    for item in b.body:
        yield from [(item, s) for s in item.body] if isinstance(item, Loop) else [(None, item)]


def wide(m: MuGraph, k: CustomKernel) -> tuple[int, ...]:
    return tuple(n for n in maps.grid(m, k) if n > 1)


GRIDS = [(2, 8, 1), (2, 8, 4), (64, 1, 1), (256, 2, 1)]


@pytest.mark.parametrize("name", ["attention_without_shift", "rmsnorm_linear", "gated_mlp", "normalized_step"])
def test_every_kernel_has_a_grid_that_is_asked_for(name):
    asked = {tuple(n for n in g if n > 1) for g in GRIDS}
    narrowed = run(name, griddims=GRIDS)
    assert {wide(m, k) for m, k in kernels(narrowed)} <= asked
    free = {wide(m, k) for m, k in kernels(run(name))}
    assert free - asked  # the search has other grids when it is free
    if name == "rmsnorm_linear":
        assert {(64,), (256, 2)} <= {wide(m, k) for m, k in kernels(narrowed)}


def test_a_split_counts_as_a_grid_dim_wherever_it_is_asked_for():
    search = run("rmsnorm_linear", griddims=[(8, 64, 1), (64, 8, 1), (64, 1, 1)])
    splits = {
        tuple(d.role for d in k.block.grid if maps.tile_count(m, d) > 1): wide(m, k)
        for m, k in kernels(search) if any(d.role == "split" for d in k.block.dims)
    }  # fmt: skip
    assert ("split", "grid") in splits and ("grid", "split") in splits


def test_a_grid_that_no_tiles_give_leaves_nothing_and_is_said():
    search = run("rmsnorm_linear", griddims=[(7, 1, 1)])
    assert search.best == [] and any("griddims" in x for x in search.counts.limits)
    assert not search.counts.exhaustive


def test_no_part_of_a_split_is_without_work():
    t = {"k": 64}
    loop = TileDim("k", ("k",), 16, "loop")
    assert split_options(t, (loop,), Narrowing.of(griddims=[(2, 3, 4)])) == [2, 4]  # of 4 tiles, a third part had none
    assert split_options({"k": 80}, (loop,), Narrowing.of(griddims=[(2, 3, 4)])) == [2, 3]


def test_threads():
    assert {k.warps for _, k in kernels(run("rmsnorm_linear", blockdims=[(64, 1, 1), (32, 8, 1)]))} == {2, 8}


def test_clusters():
    search = run("rmsnorm_linear", clusters=[2, 4], griddims=[(64, 1, 1), (64, 4, 1)])
    assert {k.block.cluster for _, k in kernels(search)} == {2, 4}
    assert all(k.tail is None for _, k in kernels(search))
    assert {k.block.cluster for _, k in kernels(run("rmsnorm_linear"))} == {1}


def test_ranges_of_loops():
    def ranges(search: Search) -> set[int]:
        return {
            maps.loop_range(m, replace(k, block=b), s)
            for m, k in kernels(search) for b in blocks(k) for s in b.body if isinstance(s, Loop)
        }  # fmt: skip

    assert ranges(run("rmsnorm_linear", franges=[4, 8])) == {4, 8}
    assert ranges(run("rmsnorm_linear")) - {4, 8}
    assert ranges(run("attention_without_shift", franges=[16], griddims=[(2, 4, 1), (2, 1, 1), (2, 1, 8)])) == {16}


def test_maps_of_iterators_and_savers():
    asked = {"imaps": [(-1, -1, -1), (1, -1, -1)], "omaps": [(1, -1, -1)]}
    search = run("gated_mlp", griddims=[(64, 1, 1), (128, 1, 1)], **asked)
    assert search.best
    for m, k in kernels(search):
        for b in blocks(k):
            names = [d.name for d in b.grid if maps.tile_count(m, d) > 1]
            for _, s in statements(b):
                if isinstance(s, Load):
                    assert [maps.imap(b, s)[n] for n in names] in ([None], [1])
                elif isinstance(s, Store):
                    assert [maps.omap(b, s)[n] for n in names] == [1]
    # columns are never the first dimension of the output
    assert run("gated_mlp", griddims=[(64, 1, 1)], omaps=[(0, -1, -1)]).best == []
    assert run("gated_mlp", griddims=[(64, 1, 1)], imaps=[(-1, -1, -1)]).best == []


def test_dimensions_that_loops_cut():
    def cuts(search: Search) -> set[int]:
        found = set()
        for _, k in kernels(search):
            for b in blocks(k):
                found |= {
                    -1 if maps.fmap(b, loop, s) is None else maps.fmap(b, loop, s)
                    for loop, s in statements(b) if loop is not None and isinstance(s, Load)
                }  # fmt: skip
        return found

    assert cuts(run("gated_mlp")) == {0, 1}
    assert cuts(run("gated_mlp", fmaps=[0, 1])) == {0, 1}
    assert all(not cuts(run("gated_mlp", fmaps=[f])) for f in (-1, 0))  # X is cut along 1, W along 0


NONSENSE = [
    {"griddims": []},
    {"griddims": (2, 16, 1)},
    {"griddims": [(2, 16)]},
    {"griddims": [(2, 0, 1)]},
    {"griddims": [(2, 16.0, 1)]},
    {"griddims": [(1, 70000, 1)]},
    {"griddims": "2 16 1"},
    {"blockdims": [(100, 1, 1)]},
    {"blockdims": [(96, 1, 1)]},
    {"blockdims": [(1024, 2, 1)]},
    {"imaps": [(0, -2, 1)]},
    {"imaps": [0, 1]},
    {"omaps": [(True, -1, -1)]},
    {"fmaps": [-2]},
    {"fmaps": [(0,)]},
    {"franges": [0]},
    {"franges": 4},
    {"clusters": [3]},
    {"clusters": [16]},
    {"griddim": [(2, 16, 1)]},
]


@pytest.mark.parametrize("given", NONSENSE, ids=str)
def test_nonsense_is_refused(given):
    with pytest.raises(BadSearchParameter) as caught:
        Narrowing.of(**given)
    assert caught.value.code == "MIR110" and next(iter(given)) in caught.value.message


def test_sense_is_taken():
    given = Narrowing.of(griddims=[[2, 16, 1], (2, 16, 1)], blockdims=[(128, 1, 1)], imaps=[(0, -1, 1)], fmaps=[-1, 1])
    assert (
        given.griddims == ((2, 16, 1),)
        and given.warps == (4,)
        and given.names == ("griddims", "blockdims", "imaps", "fmaps")
    )
    assert given and not Narrowing.of() and not Narrowing.of(griddims=None)


def test_narrowed_graphs_are_distinct_and_verified():
    search = run("rmsnorm_linear", keep=12, griddims=[(64, 1, 1), (64, 4, 1)], franges=[4, 8, 16])
    assert len({canonical(c.mugraph) for c in search.best}) == len(search.best) >= 8
    for c in search.best[::3]:
        assert schedule_opinion(search.problem.t, search.problem.outputs, c.mugraph).word == "TESTED"


def test_another_name_is_no_other_graph():
    m = run("gated_mlp", keep=2, griddims=[(64, 1, 1)]).best[0].mugraph
    renamed = replace(m, name="other", kernels=tuple(replace(k, name=k.name + "_x") for k in m.kernels))
    assert canonical(renamed) == canonical(m)
    wider = replace(m, kernels=tuple(replace(k, warps=2 * k.warps) for k in m.kernels))
    assert canonical(wider) != canonical(m)


def seed_attention() -> Problem:
    t = Terms({"b": 2, "g": 256, "d": 64, "s": 4096, "e": 64})
    q, k, v = (tensor(t, name, axes) for name, axes in (("Q", "bgd"), ("K", "bds"), ("V", "bse")))
    p = t.exp(t.sum("d", t.mul(q, k)))
    y = t.sum("s", t.mul(p, t.inv(t.sum("s", p)), v))
    inputs = tuple(
        DTensor(n, "fp16", tuple((a,) for a in axes)) for n, axes in (("Q", "bgd"), ("K", "bds"), ("V", "bse"))
    )
    return Problem("attention", t, inputs, (Target("O", y, (("b",), ("g",), ("e",)), "fp16"),), "fp16")


def test_attention_within_two_grids_has_69_distinct_graphs():
    given = Narrowing.of(griddims=[(2, 16, 1), (2, 16, 4)])
    bounds = Bounds(keep=96, per_kernel=200, structures=64, tilings=64, given=given)
    search = Search(seed_attention(), size_of, bounds=bounds)
    list(search.run())
    assert len({canonical(c.mugraph) for c in search.best}) >= 69
    assert {wide(m, k) for m, k in kernels(search)} == {(2, 16), (2, 16, 4)}
    assert all(broken_rule(c.mugraph) is None for c in search.best)
    p = search.problem
    first: dict[str, MuGraph] = {}
    for c in search.best:
        first.setdefault(c.structure, c.mugraph)
    for m in list(first.values())[:3]:
        assert schedule_opinion(p.t, p.outputs, m, draws=4).word == "TESTED"
