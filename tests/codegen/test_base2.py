"""Exponentials in base 2: which tiles are kept times log2(e), and that the kernels are right. That wrong ones are rejected is in
tests/verify/test_text.py."""

from __future__ import annotations

from dataclasses import replace

import pytest
from workloads import hand

from mirage.codegen.exp2 import Base2, only_exponents
from mirage.codegen.tile_uses import Uses
from mirage.mugraph.decisions import decide
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text

ATTENTION = hand.small()["attention_split"].mugraph


def kept(mugraph: MuGraph) -> set[str]:
    graph = mugraph.kernels[0].block
    return {name for _, name in Base2(mugraph, graph, Uses(graph, decide(graph, 4))).kept}


def changed(old: str, new: str) -> MuGraph:
    text = to_text(ATTENTION)
    assert old in text, text
    return parse(text.replace(old, new))


def test_the_scores_and_all_that_follows_them_are_kept_so():
    assert kept(ATTENTION) == {"score", "seen", "m_part", "m", "shift", "drop", "z"}
    base = Base2(
        ATTENTION, ATTENTION.kernels[0].block, Uses(ATTENTION.kernels[0].block, decide(ATTENTION.kernels[0].block, 4))
    )
    assert [name for _, name in base.factor] == ["score"]


@pytest.mark.parametrize(
    "old,new",
    [
        ("score[h, q, t] = mul(qk, scale)", "score[h, q, t] = add(qk, scale)"),  # nothing takes the number
        ("l_part[h, q] = sum(p; dim=t)", "l_part[h, q] = sum(score; dim=t)"),  # the scores themselves are added up
        ("ez[h, q, t] = exp(z)", "ez[h, q, t] = sigmoid(z)"),  # one reader is no exponential
        ("z[h, q, t] = sub(score, shift)", "z[h, q, t] = sub(score, in_t)"),  # 1 is not 1 times log2(e)
        (
            "z[h, q, t] = sub(score, shift)",
            "z[h, q, t] = mul(score, shift)",
        ),  # both have the number: it would count twice
        ("m[h, q] max= m_part", "m[h, q] += m_part"),
    ],
)
def test_what_is_read_otherwise_stays_as_it_is(old, new):
    assert "score" not in kept(changed(old, new))


def test_a_maximum_that_is_more_than_a_shift_stays_as_it_is():
    assert only_exponents(ATTENTION, "Mp")
    assert not only_exponents(ATTENTION, "Lp")  # a sum
    used = changed("fo[s, h, q, e] = mul(f, os)", "fo[s, h, q, e] = mul(f, os, ms)")
    assert not only_exponents(used, "Mp")
    assert "score" not in kept(used)
    output = replace(
        ATTENTION, tensors=tuple(replace(t, kind="output") if t.name == "Mp" else t for t in ATTENTION.tensors)
    )
    assert not only_exponents(output, "Mp")
    assert "score" not in kept(output)
