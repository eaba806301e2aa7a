"""A sample of the mutants of `./dev bench verify`: none is accepted, in any link; what is equal is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from mutants import suite
from mutants.bases import NAMES, base
from mutants.certify import RunTask, wrong_module, wrong_mugraph, wrong_term

from mirage.mugraph.grammar import CustomKernel
from mirage.verify.proof.opinion import proof_opinion

SAMPLE = {"algebra": 4, "schedule": 4, "text": 3}
MAPS = tuple(n for n in NAMES if n not in ("hand/attention_split", "hand/attention_tail"))  # these take seconds each
TERMS = (
    "hand/gated_mlp",
    "hand/layernorm_linear",
    "hand/cluster_linear",
    "hand/attention_split",
    "search/normalized_step",
)
CASES = [*(("algebra", n) for n in TERMS), *(("schedule", n) for n in MAPS)]
TEXTS = ("hand/rmsnorm_linear", "hand/cluster_linear", "search/rmsnorm_linear", "search/normalized_step")


def nothing(name: str, payload: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError("this link runs no text")


@pytest.mark.parametrize("link,name", CASES)
def test_no_mutant_of_terms_and_maps_is_accepted(link: str, name: str) -> None:
    found = suite.run(base(name), link, SAMPLE[link], nothing, seed=1)
    assert len(found.rows) == SAMPLE[link]
    assert not [(r.operator, r.what) for r in found.rows if r.accepted]


@pytest.mark.parametrize("name", TEXTS)
def test_no_mutant_of_a_module_is_accepted(name: str, run: RunTask) -> None:
    found = suite.run(base(name), "text", SAMPLE["text"], run, seed=1)
    assert len(found.rows) == SAMPLE["text"]
    assert not [(r.operator, r.what) for r in found.rows if r.accepted]
    assert all(r.caught[suite.READ] for r in found.rows)


def test_what_is_equal_is_not_certified_as_wrong(run: RunTask) -> None:
    b = base("hand/rmsnorm_linear")
    term = b.targets[0].term
    assert wrong_term(b.t, term, term) == "equivalent"
    assert wrong_mugraph(b, b.mugraph) == "equivalent"
    assert wrong_module(b, b.module, run) == "equivalent"


def test_what_is_equal_is_accepted(run: RunTask) -> None:
    b = base("hand/rmsnorm_linear")
    term = b.targets[0].term
    looks = {
        "algebra": suite.look_algebra(b, term), "schedule": suite.look_schedule(b, b.mugraph),
        "text": suite.look_text(b, b.module, run, 0),
    }  # fmt: skip
    assert not [link for link, caught in looks.items() if suite.refused(link, caught)], looks
    assert not looks["text"][suite.READ]


def test_what_is_caught_by_reading_alone_counts_as_accepted() -> None:
    assert not suite.refused("text", {"field": False, "memory": False, suite.READ: True})
    assert suite.refused("text", {"field": False, "memory": True, suite.READ: False})


def test_a_split_of_a_dim_that_is_not_there_is_no_proof() -> None:
    b = base("hand/attention_split")
    (partial, combine) = b.mugraph.kernels
    assert isinstance(partial, CustomKernel)
    dims = tuple(replace(d, splits="nowhere") if d.role == "split" else d for d in partial.block.dims)
    bad = replace(b.mugraph, kernels=(replace(partial, block=replace(partial.block, dims=dims)), combine))
    targets = {o.tensor: (o.term, o.dims) for o in b.targets}
    assert proof_opinion(b.t, targets, b.mugraph) is not None and proof_opinion(b.t, targets, bad) is None


def test_there_are_operators_enough_in_each_link() -> None:
    for link in suite.LINKS:
        found = {name for n in NAMES[:6] for name, _ in suite.candidates(base(n), link)}
        assert len(found) >= 20, (link, sorted(found))


def test_the_original_primes_accept_what_ours_refuse() -> None:
    """A constant that is congruent modulo 227 and 113: the suite bites."""
    b = base("hand/layernorm_linear")
    mutants = [m for name, m in suite.candidates(b, "algebra") if "congruent" in name]
    assert mutants
    seen = [suite.look_algebra(b, m) for m in mutants]
    assert all(s["field"] and s["proof"] for s in seen)
    assert not all(s[suite.WEAK] for s in seen)
