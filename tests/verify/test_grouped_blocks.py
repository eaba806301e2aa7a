"""Blocks that start in groups: what the emitter writes of them is proved and accepted, and each other way to take the number of a
block apart is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mutants.bases import module_of
from workloads.hand import BUILDERS
from workloads.hand_targets import targets

from mirage.mugraph.check import check
from mirage.mugraph.grammar import BlockGraph, CustomKernel, MuGraph
from mirage.mugraph.resized import like, shrink, tiny_sizes
from mirage.mugraph.walk import each_block
from mirage.plan import plan
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.text_opinion import launch_tiles, text_opinion
from mirage.verify.memory.text_opinion import text_memory_opinion

Run = Callable[[str, dict[str, Any]], dict[str, Any]]


def grouped(name: str, dim: str, group: int, **sizes: int) -> MuGraph:
    """A hand-written µGraph whose blocks along a dim start in groups."""

    def change(b: BlockGraph) -> BlockGraph:
        return replace(b, dims=tuple(replace(d, group=group if d.name == dim else 0) for d in b.dims))

    m = each_block(BUILDERS[name](**sizes).mugraph, change)
    check(m)
    return m


LINEAR = grouped("rmsnorm_linear", "m", 4, m=185, k=160, n=200, tm=16, tk=32, tn=16)  # 12 by 13 blocks
HEADS = grouped("attention_split", "h", 2, h=4, q=40, t=300)  # of three grid dims, the first


def memory(m: MuGraph, module: str) -> Any:
    return text_memory_opinion(m, module, [t.name for t in m.inputs])


@pytest.mark.parametrize("m", [LINEAR, HEADS], ids=["two dims", "three dims"])
def test_grouped_blocks_are_proved_and_give_the_programs_values(m: MuGraph, run: Run) -> None:
    module = module_of(m)
    assert memory(m, module).word == "PROVED"
    t, outputs = targets(m)
    e = text_opinion(EmittedModule(t, outputs, m, module, [i.name for i in m.inputs]), run, draws=8)
    assert e.word == "TESTED", e.summary


WRONG = [
    (r"pid_m_in_group = pid % GROUP_M", "pid_m_in_group = pid % (GROUP_M - 1)"),
    (r"pid_rest = pid // GROUP_M", "pid_rest = pid // (GROUP_M + 1)"),
    (r"pid_rest = pid // GROUP_M", "pid_rest = pid % GROUP_M"),
    (r"\* GROUP_M \+ pid_m_in_group", "* GROUP_M"),
    (r"\* GROUP_M \+ pid_m_in_group", "+ pid_m_in_group"),
    (r"\* GROUP_M \+ pid_m_in_group", "* GROUP_M + pid_m_in_group + 1"),
    (r"\* GROUP_M \+ pid_m_in_group", "* (GROUP_M - 1) + pid_m_in_group"),
    (r"pid_n = pid_rest % blocks_n", "pid_n = pid_rest % (blocks_n - 1)"),
    (r"pid_m = pid_rest // blocks_n", "pid_m = pid_rest % blocks_n"),
]


@pytest.mark.parametrize("old,new", WRONG, ids=[new for _, new in WRONG])
def test_another_way_to_take_a_blocks_number_apart_is_refused(old: str, new: str) -> None:
    module = module_of(LINEAR)
    bad = re.sub(old, new, module, count=1)
    assert bad != module
    e = memory(LINEAR, bad)
    assert e.word == "REJECTED" and ("written" in e.summary or "out of bounds" in e.summary), e.summary


def test_places_that_depend_on_each_other_are_proved_by_nothing() -> None:
    """With 13 blocks along n the edit below still gives each pair of places once; with 12 it does not."""
    for n, word in ((208, "TESTED"), (192, "REJECTED")):
        m = grouped("rmsnorm_linear", "m", 4, m=185, k=160, n=n, tm=16, tk=32, tn=16)
        bad = module_of(m).replace("pid_n = pid_rest % blocks_n", "pid_n = pid % blocks_n")
        assert memory(m, bad).word == word


def test_another_group_than_the_mugraphs_is_refused(run: Run) -> None:
    module = module_of(LINEAR)
    bad = module.replace('"m.group": 4', '"m.group": 6')
    t, outputs = targets(LINEAR)
    assert memory(LINEAR, bad).word == "PROVED"  # every element once all the same: another µGraph's text
    e = text_opinion(EmittedModule(t, outputs, LINEAR, bad, [i.name for i in LINEAR.inputs]), run, draws=2)
    assert bad != module and e.word == "REJECTED" and "TILES" in e.summary
    uneven = module.replace('"m.group": 4', '"m.group": 5')
    assert memory(LINEAR, uneven).word == "REJECTED"


def test_small_launches_have_several_groups() -> None:
    for seed in range(5):
        g = shrink(LINEAR, *tiny_sizes(LINEAR, seed))
        row = launch_tiles(g)["fused"]
        blocks = -(-g.size("m") // row["m"])
        assert 1 < row["m.group"] < blocks and blocks % row["m.group"] == 0
    other = like(LINEAR, {"m": 80})  # five blocks: no group divides them
    assert launch_tiles(other)["fused"]["m.group"] == 1


def test_large_products_start_in_groups_and_small_ones_do_not() -> None:
    def groups(m: int) -> list[int]:
        (k,) = plan(BUILDERS["gated_mlp"](m=m, k=8192, n=8192, tm=128, tk=64, tn=64).mugraph).kernels
        assert isinstance(k, CustomKernel)
        return [d.group for d in k.block.grid]

    assert max(groups(4096)) > 1
    assert groups(128) == groups(16) == [0, 0]
