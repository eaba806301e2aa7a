"""How words and bounds of evidence combine: over opinions, outputs and links."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from mirage.results.verdict import EQUALITY, LINKS, SAYS_NOTHING, STRENGTH, Counterexample, Evidence, Link, Verdict


def told(link="algebra", opinion="field", word="TESTED", bound=None, output=None, shown=None):
    return Evidence(
        link=link, opinion=opinion, word=word, summary="", bound=bound, output=output, counterexample=shown
    )  # fmt: skip


def algebra(*evidence: Evidence, outputs: int) -> Link:
    return Link("algebra", evidence, outputs)


def test_bounds_of_outputs_add_up():
    two = [told(bound=b, output=i) for i, b in enumerate((1e-3, 1e-20))]
    verdict = Verdict(tuple(two), 2)
    assert verdict.bound == math.fsum((1e-3, 1e-20)) >= 1e-3
    assert verdict.headline == "TESTED (bound 1.0e-03)"
    assert Verdict(tuple(reversed(two)), 2).bound == verdict.bound


def test_an_opinion_on_all_outputs_together_counts_once():
    assert algebra(told(bound=1e-3), outputs=5).bound == 1e-3
    assert algebra(told(bound=1e-3), *(told(bound=1e-4, output=i) for i in range(3)), outputs=3).bound == pytest.approx(
        3e-4
    )
    assert algebra(told(bound=1e-4), *(told(bound=1e-3, output=i) for i in range(3)), outputs=3).bound == 1e-4


def test_of_one_output_the_least_bound_counts():
    assert algebra(told(bound=1e-3, output=0), told(opinion="proof", bound=1e-9, output=0), outputs=1).bound == 1e-9


def test_an_output_without_a_bound_leaves_the_link_without_one():
    assert algebra(told(bound=1e-20, output=0), told(output=1), outputs=2).bound is None
    assert algebra(told(bound=1e-20, output=0), told(output=1), told(bound=1e-2), outputs=2).bound == 1e-2


def test_an_output_that_nobody_looked_at_is_refused():
    assert algebra(told(bound=1e-20, output=0), outputs=2).word == "REJECTED"
    assert algebra(told(bound=1e-20, output=0), told(output=1), outputs=2).word == "TESTED"
    assert Verdict((), 1).word == "REJECTED"


def test_proved_needs_every_output_proved():
    first = told(opinion="proof", word="PROVED", bound=0.0, output=0)
    assert algebra(first, told(bound=1e-9, output=1), outputs=2).word == "TESTED"
    assert algebra(first, told(bound=1e-9, output=1), outputs=2).bound == 1e-9
    both = algebra(first, told(opinion="proof", word="PROVED", bound=0.0, output=1), outputs=2)
    assert (both.word, both.bound) == ("PROVED", 0.0)


@pytest.mark.parametrize("opinion", ["memory", "range"])
def test_memory_and_range_refuse_and_never_strengthen(opinion):
    field = told(bound=1e-9)
    assert algebra(field, told(opinion=opinion, word="PROVED", bound=0.0), outputs=1).word == "TESTED"
    assert algebra(field, told(opinion=opinion, word="PROVED", bound=0.0), outputs=1).bound == 1e-9
    assert algebra(field, told(opinion=opinion, word="REJECTED"), outputs=1).word == "REJECTED"
    assert algebra(told(opinion=opinion, word="PROVED", bound=0.0), outputs=1).word == "REJECTED"


def test_what_is_refused_has_no_bound():
    verdict = Verdict((told(bound=1e-20, output=0), told(word="REJECTED", output=1)), 2)
    assert verdict.bound is None and verdict.links[0].bound is None and verdict.headline == "REJECTED"


def test_bounds_that_sum_to_nothing_are_none():
    half = [told(bound=SAYS_NOTHING / 2, output=i) for i in range(2)]
    assert Verdict((half[0],), 1).bound == SAYS_NOTHING / 2
    assert Verdict(tuple(half), 2).bound is None and Verdict(tuple(half), 2).word == "TESTED"


def test_every_rejection_is_kept():
    shown = [Counterexample("field", i, (i,), "1", str(i)) for i in range(2)]
    verdict = Verdict(tuple(told(word="REJECTED", output=i, shown=x) for i, x in enumerate(shown)), 2)
    assert [e.counterexample for e in verdict.rejections] == shown


def test_the_counterexample_of_an_output_names_it():
    shown = Counterexample("field", 0, (3,), "1", "2")
    found = told(word="REJECTED", shown=shown).of_output(4)
    assert (found.output, found.counterexample.output, found.counterexample.index) == (4, 4, (3,))
    assert told().of_output(4).counterexample is None


def drawn(rng: random.Random, outputs: int) -> list[Evidence]:
    out = []
    for _ in range(rng.randint(1, 8)):
        word = rng.choices(("PROVED", "TESTED", "REJECTED"), (3, 8, 1))[0]
        bound = {"PROVED": 0.0, "REJECTED": None}.get(word, rng.choice((None, 1e-3, 1e-9, 0.2)))
        opinion = rng.choice((*EQUALITY, "memory", "range"))
        out.append(told(rng.choice(LINKS), opinion, word, bound, rng.choice((None, *range(outputs)))))
    return out


@pytest.mark.parametrize("seed", range(300))
def test_combining_keeps_its_laws(seed):
    rng = random.Random(seed)
    outputs = rng.randint(1, 3)
    evidence = drawn(rng, outputs)
    whole = Verdict(tuple(evidence), outputs)
    for some in itertools.islice(itertools.permutations(evidence), 6):  # no order matters
        again = Verdict(tuple(some), outputs)
        assert (again.word, again.bound) == (whole.word, whole.bound)
    assert (
        whole.accepted or any(e.word == "REJECTED" for e in evidence) or any(x.word == "REJECTED" for x in whole.links)
    )
    for link in whole.links:
        assert STRENGTH[whole.word] <= STRENGTH[link.word]
        if whole.bound is not None:
            assert link.bound is not None and link.bound <= whole.bound
        single = [min((e.bound for e in link.about(i) if e.bound is not None), default=None) for i in range(outputs)]
        if link.bound is not None:  # never below what an output alone has
            assert link.word != "REJECTED" and all(b is not None and b <= link.bound for b in single)
        if link.word == "PROVED":
            assert link.bound == 0.0 and all(any(e.word == "PROVED" for e in link.about(i)) for i in range(outputs))
    refused = Verdict((*evidence, told(rng.choice(LINKS), rng.choice(EQUALITY), "REJECTED")), outputs)
    assert refused.word == "REJECTED" and refused.bound is None
    more = Verdict((*evidence, told(whole.links[0].name, "proof", "PROVED", 0.0)), outputs)
    assert STRENGTH[more.word] >= STRENGTH[whole.word] or more.word == "REJECTED"
