"""The schedule link: the hand-written µGraphs are accepted, and each with one thing broken is rejected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from workloads.hand import BUILDERS, small
from workloads.hand_targets import targets

from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, CustomKernel, Load, Loop, MuGraph, Store
from mirage.verify.field.arithmetic import random_field
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.memory.mugraph_opinion import memory_opinion
from mirage.verify.proof.opinion import proof_opinion
from mirage.verify.semantics.evaluate_terms import evaluate_mugraph, evaluate_terms
from mirage.verify.semantics.float64 import Floats

CASES = small()
Edit = Callable[[object], object]


def edit_block(block: BlockGraph, edit: Edit) -> BlockGraph:
    """Every statement through `edit`, which gives one, None (left out) or a list."""

    def each(items: tuple[object, ...]) -> tuple[object, ...]:
        out: list[object] = []
        for s in items:
            s = edit(replace(s, body=each(s.body)) if isinstance(s, Loop) else s)  # type: ignore[arg-type]
            out += s if isinstance(s, list) else [] if s is None else [s]
        return tuple(out)

    return replace(block, body=each(block.body))  # type: ignore[arg-type]


def edited(graph: MuGraph, edit: Edit, kernel: str | None = None) -> MuGraph:
    kernels = []
    for k in graph.kernels:
        assert isinstance(k, CustomKernel)
        if kernel in (None, k.name):
            k = replace(k, block=edit_block(k.block, edit), tail=k.tail and edit_block(k.tail, edit))
        kernels.append(k)
    out = replace(graph, kernels=tuple(kernels))
    assert out != graph, "the mutation changed nothing"
    return out


def on(out: str, change: Callable[[object], object]) -> Edit:
    """Changes the statement that binds `out`."""
    return lambda s: change(s) if getattr(s, "out", None) == out else s


def args(*names: str) -> Callable[[object], object]:
    return lambda s: replace(s, args=names)  # type: ignore[type-var]


def plain(s: object) -> object:
    return replace(s, update=())  # type: ignore[type-var]


def swap_store(s: object) -> object:
    if isinstance(s, Store) and s.tensor == "O":
        return replace(s, index=(*s.index[:-2], *reversed(s.index[-2:])))
    return s


def const(s: object, value: str) -> object:
    return replace(s, attrs=(("value", value),))  # type: ignore[type-var]


def fewer_tiles(s: object) -> object:
    """The loop's index is one tile late, so the first tile is never seen."""
    if isinstance(s, Load) and any(d.axes == ("k",) for d in s.index):
        return replace(s, index=tuple(replace(d, offset=4) if d.axes == ("k",) else d for d in s.index))
    return s


MUTANTS: list[tuple[str, str, Edit, str | None]] = [
    (
        "attention_split",
        "l is rescaled, o is not",
        on("o", lambda s: plain(s) if isinstance(s, Accumulate) else s),
        None,
    ),
    (
        "attention_split",
        "o is rescaled, l is not",
        on("l", lambda s: plain(s) if isinstance(s, Accumulate) else s),
        None,
    ),
    ("attention_split", "splits combined without the shift's factor", on("fo", args("os", "in_s")), "combine"),
    ("attention_split", "the sums of splits without the shift's factor", on("fl", args("ls", "in_s")), "combine"),
    ("attention_split", "a padded key counts", on("p", args("ez")), None),
    ("attention_split", "the scale is forgotten", on("score", args("qk")), None),
    ("attention_split", "rescaled the wrong way", on("drop", args("m", "m@old")), None),
    ("attention_split", "not divided by l", on("out", lambda s: replace(s, op="mul")), None),  # type: ignore[type-var]
    ("attention_tail", "the tail forgets a factor", on("fo", args("os", "in_s")), None),
    ("attention_tail", "a padded key counts", on("p", args("ez")), None),
    (
        "rmsnorm_linear",
        "sum / 4096 for the mean",
        on("count", lambda s: Compute("count", "const", (), (), (("value", "4096"),))),
        None,
    ),
    ("rmsnorm_linear", "another epsilon", on("eps", lambda s: const(s, "1/100000")), None),
    ("rmsnorm_linear", "the root is forgotten", on("scale", lambda s: replace(s, op="inv")), None),  # type: ignore[type-var]
    ("rmsnorm_linear", "a tile is dropped", fewer_tiles, None),
    ("rmsnorm_linear", "the gain is squared", on("xg", args("x", "g", "g")), None),
    ("layernorm_linear", "the padding is not masked", on("d", args("centred")), None),
    ("layernorm_linear", "the mean is not subtracted", on("centred", args("x", "sx")), None),
    ("gated_mlp", "the gate is the other one", on("gate", args("b")), None),
    ("gated_mlp", "silu is sigmoid", on("o", args("gate", "b")), None),
    (
        "cluster_linear",
        "relu is left out",
        on("o", lambda s: Compute("o", "add", ("biased", "zero"), ("m", "n"))),
        None,
    ),
    ("cluster_linear", "the bias is left out", on("biased", args("y")), None),
]


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("seed", [0, 5])
def test_hand_written_mugraphs_are_accepted(name: str, seed: int) -> None:
    graph = CASES[name].mugraph
    t, outputs = targets(graph)
    e = schedule_opinion(t, outputs, graph, seed=seed)
    assert e.word == "TESTED", (e.summary, e.counterexample)
    assert e.details.independent_of_shift in ((True,) if name.startswith("attention") else (None,))
    assert e.bound is not None and e.bound < 1e-9, e.details.theorem
    assert memory_opinion(graph, seed=seed).word == "PROVED"


@pytest.mark.parametrize("name,what,edit,kernel", MUTANTS, ids=[f"{m[0]}: {m[1]}" for m in MUTANTS])
def test_broken_mugraphs_are_rejected(name: str, what: str, edit: Edit, kernel: str | None) -> None:
    graph = edited(CASES[name].mugraph, edit, kernel)
    t, outputs = targets(graph)
    e = schedule_opinion(t, outputs, graph)
    assert e.word == "REJECTED", what
    assert e.counterexample is not None and e.counterexample.expected != e.counterexample.actual


MALFORMED: list[tuple[str, Edit]] = [
    ("an operand is missing", on("same", args("m"))),
    ("an operand is not there", on("z", args("score", "nothing"))),
    ("a statement is left out", on("score", lambda s: None)),
]


@pytest.mark.parametrize("what,edit", MALFORMED, ids=[m[0] for m in MALFORMED])
def test_malformed_mugraphs_are_rejected_and_not_proved(what: str, edit: Edit) -> None:
    good = CASES["attention_split"].mugraph
    graph = edited(good, edit)
    t, outputs = targets(good)
    wanted = {o.tensor: (o.term, o.dims) for o in outputs}
    assert schedule_opinion(t, outputs, graph).word == "REJECTED", what
    assert proof_opinion(t, wanted, graph) is None


def test_permuted_outputs_are_rejected() -> None:
    graph = edited(CASES["gated_mlp"].mugraph, swap_store)
    t, outputs = targets(graph)
    sizes = {"m": 9, "k": 7, "n": 9}
    tiles = {"fused": {"m": 4, "n": 4, "k": 2}}
    assert schedule_opinion(t, outputs, graph, sizes=sizes, tiles=tiles).word == "REJECTED"
    same = CASES["gated_mlp"].mugraph
    assert schedule_opinion(t, outputs, same, sizes=sizes, tiles=tiles).word == "TESTED"


def without_last_block(s: object) -> object:
    if isinstance(s, Store) and s.tensor == "O":
        return replace(s, index=tuple(replace(d, offset=1) if i == 0 else d for i, d in enumerate(s.index)))
    return s


def twice(s: object) -> object:
    return [s, s] if isinstance(s, Store) else s


@pytest.mark.parametrize("edit,said", [(without_last_block, "never written"), (twice, "more than once")])
def test_every_element_is_written_exactly_once(edit: Edit, said: str) -> None:
    good = CASES["gated_mlp"].mugraph
    bad = edited(good, edit)
    t, outputs = targets(good)
    assert memory_opinion(good).word == "PROVED"
    e = memory_opinion(bad)
    assert e.word == "REJECTED" and said in e.summary
    assert schedule_opinion(t, outputs, bad).word == "REJECTED"


def test_a_combine_that_reads_what_is_not_written_is_rejected() -> None:
    graph = edited(CASES["attention_split"].mugraph, lambda s: None if isinstance(s, Store) and s.tensor == "Lp" else s)
    e = memory_opinion(graph)
    assert e.word == "REJECTED" and "Lp" in e.summary


@pytest.mark.parametrize("name", BUILDERS)
def test_the_evaluator_agrees_with_float64(name: str) -> None:
    case = CASES[name]
    inputs = {t.name: x[None] for t, x in zip(case.mugraph.inputs, case.inputs(1))}
    outcome = evaluate_mugraph(case.mugraph, inputs, Floats())
    want = case.reference(*(x[0] for x in inputs.values()))
    assert not outcome.faults
    np.testing.assert_allclose(outcome.outputs["O"][0], want, rtol=1e-9, atol=1e-9)
    t, outputs = targets(case.mugraph)
    axes = tuple(a for d in outputs[0].dims for a in d)
    (value,) = evaluate_terms(t, [(outputs[0].term, axes)], inputs, Floats())
    np.testing.assert_allclose(value[0], want, rtol=1e-9, atol=1e-9)


def test_a_free_shift_shows_a_result_that_depends_on_the_maximum() -> None:
    graph = CASES["attention_split"].mugraph
    f = random_field(1, 4)
    inputs = {t.name: f.random(graph.shape(t)) for t in graph.inputs}
    normal = evaluate_mugraph(graph, inputs, f).outputs["O"]
    assert f.same(normal, evaluate_mugraph(graph, inputs, f, free_shift=True).outputs["O"]).all()
    broken = edited(graph, on("rescale", lambda s: replace(s, op="where", args=("same", "one", "one"))))  # type: ignore[type-var]
    a = evaluate_mugraph(broken, inputs, f, free_shift=True).outputs["O"]
    assert not f.same(normal, a).all()
