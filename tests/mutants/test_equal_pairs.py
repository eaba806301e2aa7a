"""Known-equal pairs are proved or tested; the same pairs with one side broken are not."""

from __future__ import annotations

import pytest
from mutants.equal_pairs import BEYOND, GROUPS, judged, pairs
from mutants.facts import EXPRESSIONS, holds

PAIRS = list(pairs())


@pytest.mark.parametrize("group", GROUPS)
def test_equal_pairs(group: str) -> None:
    words = {name: judged(a, b) for g, name, a, b in PAIRS if g == group}
    refused = [n for n, w in words.items() if w not in ("proved", "tested")]
    assert len(words) >= 3
    assert not refused
    if group in BEYOND:  # the field has no say there
        assert set(words.values()) == {"proved"}, [n for n, w in words.items() if w != "proved"]


def test_most_pairs_are_proved() -> None:
    words = [judged(a, b) for _, _, a, b in PAIRS[::3]]
    assert words.count("proved") >= 0.95 * len(words)


@pytest.mark.parametrize("first", range(3))
def test_broken_pairs_are_refused(first: int) -> None:
    accepted = [name for _, name, a, b in PAIRS[first::9] if judged(a, f"({b}) * 2 + 3") != "rejected"]
    assert not accepted


@pytest.mark.parametrize("name,left,right,equal", EXPRESSIONS, ids=[e[0] for e in EXPRESSIONS])
def test_statements(name: str, left: str, right: str, equal: bool) -> None:
    assert holds(left, right, equal)
    assert not holds(left, right, not equal)


def test_there_are_pairs_enough() -> None:
    assert len({name for _, name, _, _ in PAIRS}) == len(PAIRS) >= 200
