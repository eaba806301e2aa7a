"""Tiles that a device copies by tensor descriptors: what the emitter writes of them is accepted, and a descriptor or an offset that is
not the µGraph's is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mutants.bases import module_of
from workloads.hand import BUILDERS
from workloads.hand_targets import targets

from mirage.mugraph import json_form
from mirage.mugraph.check import broken_rule, check
from mirage.mugraph.descriptors import refused, where_they_fit, with_loads
from mirage.mugraph.grammar import Load, MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.resized import like
from mirage.mugraph.structure import structure_key
from mirage.mugraph.text import to_text
from mirage.mugraph.walk import each_block, parts, sites
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.text_opinion import text_opinion
from mirage.verify.memory.text_opinion import text_memory_opinion
from mirage.verify.structure.loadable import loading_fault

Run = Callable[[str, dict[str, Any]], dict[str, Any]]


def copied(name: str, **sizes: int) -> MuGraph:
    """A hand-written µGraph that copies by descriptors what it can."""
    m = each_block(BUILDERS[name](**sizes).mugraph, lambda b: with_loads(b, lambda s: replace(s, by="descriptor")))
    m = where_they_fit(m)
    check(m)
    return m


def how(m: MuGraph) -> dict[str, str]:
    return {s.statement.tensor: s.statement.by for p in parts(m) for s in sites(p) if isinstance(s.statement, Load)}


MLP = copied("gated_mlp", m=40, k=72, n=104)
HEADS = copied("attention_split", h=2, q=24, t=88, d=32, e=16)


def memory(m: MuGraph, module: str) -> Any:
    return text_memory_opinion(m, module, [t.name for t in m.inputs])


def field(m: MuGraph, module: str, run: Run, draws: int = 4) -> Any:
    t, outputs = targets(m)
    return text_opinion(EmittedModule(t, outputs, m, module, [i.name for i in m.inputs]), run, draws=draws)


@pytest.mark.parametrize("m", [MLP, HEADS], ids=["rows and columns", "heads of rows"])
def test_copied_tiles_are_proved_and_give_the_programs_values(m: MuGraph, run: Run) -> None:
    module = module_of(m)
    assert "TensorDescriptor(" in module and "_desc.load([" in module
    assert memory(m, module).word == "PROVED"
    e = field(m, module, run)
    assert e.word == "TESTED", e.summary
    assert loading_fault(module) is None


def test_what_has_no_descriptor_keeps_its_pointers() -> None:
    assert how(HEADS)["K"] == how(HEADS)["V"] == "descriptor"
    assert set(how(copied("gated_mlp", m=40, k=70, n=104)).values()) == {"pointers", "descriptor"}  # rows of 140 bytes
    one_off = like(MLP, {"k": 71})
    assert how(one_off) == {"X": "pointers", "W1": "descriptor", "W2": "descriptor"}
    assert how(like(MLP, {"k": 80})) == how(MLP)


BROKEN = [
    ("input X fp16 [m, k]", "input X bool [m, k]", "a descriptor of"),
    ("load X[m, k] by", "load X[m, k] pad 1.0 by", "reads 0 beyond"),
    ("block cluster 1", "block cluster 2", "of a cluster"),
    ("axes m=40 k=72", "axes m=40 k=70", "multiples of 16 bytes"),
    ("dim k (k) loop tile 32", "dim k (k) loop tile 4", "at least 16 bytes"),
    ("dim m (m) grid tile 16", "dim m (m) grid tile 512", "at most 256"),
    ("input X fp16 [m, k]", "input X fp16 [m, k] sizes [_, 72]", "whole tile dims"),
]


@pytest.mark.parametrize("old,new,said", BROKEN, ids=[b[2] for b in BROKEN])
def test_a_load_that_no_device_copies_is_refused(old: str, new: str, said: str) -> None:
    text = to_text(MLP)
    assert text.count(old) == 1
    found = broken_rule(parse(text.replace(old, new)))
    assert found is not None and found[0] == "descriptors" and said in found[1].message, found


def test_the_forms_say_how_a_tile_is_loaded() -> None:
    assert "load X[m, k] by descriptor" in to_text(MLP)
    assert parse(to_text(MLP)) == MLP and json_form.from_json(json_form.to_json(MLP)) == MLP
    plain = BUILDERS["gated_mlp"](m=40, k=72, n=104).mugraph
    assert structure_key(plain) == structure_key(MLP) and plain != MLP
    assert "by" not in str(json_form.to_json(plain))
    load = next(s.statement for p in parts(plain) for s in sites(p) if isinstance(s.statement, Load))
    assert not refused(plain, plain.kernels[0].block, load)  # type: ignore[union-attr]


X = '[sizes["m"], sizes["k"]],\n        [sizes["k"], 1],\n        [tiles["fused"]["m"], tiles["fused"]["k"]],'
AT = "X_desc.load([pid_m * BLOCK_M, tile_k * BLOCK_K])"
WRONG = {  # what is broken of the text: what stands there, and what instead
    "a stride": (X, X.replace('[sizes["k"], 1]', '[sizes["n"], 1]')),
    "a stride too long": (X, X.replace('[sizes["k"], 1]', '[sizes["k"] + 8, 1]')),
    "strides the other way round": (X, X.replace('[sizes["k"], 1]', '[1, sizes["k"]]')),
    "rows too many": (X, X.replace('[sizes["m"], sizes', '[sizes["m"] + 1, sizes')),
    "columns too many": (X, X.replace('sizes["k"]],', 'sizes["k"] + 1],', 1)),
    "columns too few": (X, X.replace('sizes["k"]],', 'sizes["k"] - 1],', 1)),
    "the shape the other way round": (X, X.replace('[sizes["m"], sizes["k"]]', '[sizes["k"], sizes["m"]]')),
    "the block the other way round": (X, X.replace('["m"], tiles["fused"]["k"]', '["k"], tiles["fused"]["m"]')),
    "another block": (X, X.replace('tiles["fused"]["k"]', '2 * tiles["fused"]["k"]')),
    "a dim less": (X, '[sizes["m"] * sizes["k"]],\n        [1],\n        [tiles["fused"]["m"] * tiles["fused"]["k"]],'),
    "offsets the other way round": (AT, "X_desc.load([tile_k * BLOCK_K, pid_m * BLOCK_M])"),
    "an offset by one": (AT, "X_desc.load([pid_m * BLOCK_M, tile_k * BLOCK_K + 1])"),
    "an offset of another dim": (AT, "X_desc.load([pid_n * BLOCK_M, tile_k * BLOCK_K])"),
    "an offset in tiles": (AT, "X_desc.load([pid_m, tile_k * BLOCK_K])"),
    "the same tile again": (AT, "X_desc.load([pid_m * BLOCK_M, 0])"),
    "an offset below": (AT, "X_desc.load([pid_m * BLOCK_M - 1, tile_k * BLOCK_K])"),
    "an offset less": (AT, "X_desc.load([pid_m * BLOCK_M])"),
    "descriptors exchanged": ("        W1_desc,\n        W2_desc,\n", "        W2_desc,\n        W1_desc,\n"),
    "another tensor": ("TensorDescriptor(\n        W1,", "TensorDescriptor(\n        W2,"),
    "a part of the tensor": ("TensorDescriptor(\n        X,", "TensorDescriptor(\n        X[1:],"),
    "NaN beyond the tensor": (X, X + '\n        padding="nan",'),
}  # fmt: skip
OUTSIDE = ("a stride too long", "rows too many")  # of these the proof itself gives a place


@pytest.mark.parametrize("what", WRONG)
def test_another_descriptor_or_offset_is_refused(what: str, run: Run) -> None:
    old, new = WRONG[what]
    module = module_of(MLP)
    assert module.count(old) == 1
    bad = module.replace(old, new)
    if what in OUTSIDE:
        e = memory(MLP, bad)
        assert e.word == "REJECTED" and "out of bounds" in e.summary, e.summary
    e = field(MLP, bad, run, draws=2)
    assert e.word == "REJECTED", e.summary


@pytest.mark.parametrize("old,new", [
    ("        if t.data_ptr() % 16:\n            return False\n", ""),
    ("if t.data_ptr() % 16:", "if t.data_ptr() % 8:"),
], ids=["no guard", "half of it"])  # fmt: skip
def test_a_guard_that_takes_what_begins_elsewhere_is_refused(old: str, new: str, run: Run) -> None:
    module = module_of(MLP)
    assert module.count(old) == 1
    e = field(MLP, module.replace(old, new), run, draws=2)
    assert e.word == "REJECTED", e.summary


def test_an_address_is_asked_for_by_the_guard_alone() -> None:
    module = module_of(MLP)
    for old, new in (
        ("if t.data_ptr() % 16:", "if t.data_ptr() % 4096:"),
        ("    grid = (", "    print(X.data_ptr())\n    grid = ("),
        ("_desc.load(", "_desc.load.__self__.load("),
    ):
        bad = module.replace(old, new, 1)
        assert bad != module and loading_fault(bad) is not None
