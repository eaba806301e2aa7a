"""The memory opinion on µGraphs: maps and masks are proved, at all sizes where indices are whole axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mutants.bases import NAMES, base
from test_schedule import edited
from workloads.hand import BUILDERS, small

from mirage.ir.index import DimIndex
from mirage.mugraph.grammar import Load, MuGraph, Store
from mirage.verify.memory.mugraph_accesses import accesses_of, any_size, whole_axes
from mirage.verify.memory.mugraph_opinion import memory_opinion
from mirage.verify.memory.text_opinion import first_fault
from mirage.verify.memory.z3_proofs import AccessProver, Undecided

CASES = small()


@pytest.mark.parametrize("name", BUILDERS)
def test_hand_written_mugraphs_are_proved_for_all_sizes(name: str) -> None:
    for graph in (CASES[name].mugraph, BUILDERS[name]().mugraph):
        e = memory_opinion(graph, launches=1)
        assert (e.word, e.details.scope) == ("PROVED", "all sizes"), e.summary


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("search/")][:4])
def test_found_mugraphs_are_proved(name: str) -> None:
    e = memory_opinion(base(name).mugraph, launches=1)
    assert e.word == "PROVED" and e.details.scope == "all sizes"


def moved(name: str, dim: int, by: int) -> Callable[[Any], Any]:
    def edit(s: Any) -> Any:
        if isinstance(s, Load | Store) and s.tensor == name:
            return replace(s, index=tuple(replace(d, offset=by) if i == dim else d for i, d in enumerate(s.index)))
        return s

    return edit


def faults(graph: MuGraph) -> str:
    """What z3 alone says."""
    unproved: list[str] = []
    found = first_fault(AccessProver(), accesses_of(graph), unproved)
    assert found is not None or not unproved
    return found.text if found is not None else ""


def with_dim(graph: MuGraph, kernel: str, dim: str, **change: Any) -> MuGraph:
    def each(k: Any) -> Any:
        if k.name != kernel:
            return k
        dims = tuple(replace(d, **change) if d.name == dim else d for d in k.block.dims)
        return replace(k, block=replace(k.block, dims=dims))

    return replace(graph, kernels=tuple(each(k) for k in graph.kernels))


def drop_axis(name: str, dim: int) -> Callable[[Any], Any]:
    def edit(s: Any) -> Any:
        if isinstance(s, Store) and s.tensor == name:
            return replace(s, index=tuple(DimIndex() if i == dim else d for i, d in enumerate(s.index)))
        return s

    return edit


BROKEN: list[tuple[str, MuGraph, str]] = [
    ("a store that is moved", edited(CASES["gated_mlp"].mugraph, moved("O", 0, 1)), "is never written"),
    ("blocks that write the same rows", edited(CASES["gated_mlp"].mugraph, drop_axis("O", 0)), "written more than once"),
    ("parts that write one place", edited(CASES["attention_split"].mugraph, drop_axis("Lp", 0)), "Lp: element"),
    ("a resident tile too small", with_dim(CASES["attention_split"].mugraph, "combine", "e", tile=16), "is never written"),
    ("a partial that is not stored", edited(
        CASES["attention_split"].mugraph, lambda s: None if isinstance(s, Store) and s.tensor == "Lp" else s
    ), "Lp"),
    ("a tail that reads another group", edited(CASES["attention_tail"].mugraph, moved("Mp", 2, 1)), "Mp"),
]  # fmt: skip


@pytest.mark.parametrize("graph,said", [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_broken_maps_are_refused_with_an_index(graph: MuGraph, said: str) -> None:
    assert said in faults(graph)
    e = memory_opinion(graph)
    assert e.word == "REJECTED" and said in e.summary and e.counterexample is not None


def test_an_offset_takes_the_claim_on_all_sizes_away() -> None:
    graph = CASES["gated_mlp"].mugraph
    assert whole_axes(graph)
    assert not whole_axes(edited(graph, moved("X", 0, 1)))
    rigid = replace(graph, tensors=tuple(replace(t, rigid=(21, None)) if t.name == "X" else t for t in graph.tensors))
    assert not whole_axes(rigid)


def test_a_lemma_that_is_not_asked_is_not_claimed() -> None:
    graph = CASES["attention_split"].mugraph
    many = with_dim(graph, "partial", "s", parts=100)
    with pytest.raises(Undecided, match="100 shares"):
        any_size(AccessProver(), many)
