"""A checkpoint that lies with the parent of the process that searches: what was sent is not searched again."""

import pytest
from workloads.terms import problem

from mirage.job import Sent
from mirage.profile.devices import DEVICES
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search


def search(known, sent, bounds=None):
    found = Search(
        problem("gated_mlp"), lambda g: estimate(g, DEVICES["sm_90"]), bounds=bounds, checkpoint=Sent(known, sent.append)
    )  # fmt: skip
    list(found.run())
    return found


@pytest.fixture(scope="module")
def whole():
    sent = []
    return search({}, sent), [e["part"] for e in sent]


def as_known(parts):
    known = {}
    for p in parts:
        known.setdefault(p["search"], {})[p["name"]] = p["line"]
    return known


@pytest.mark.parametrize("share", [0, 1, 3, None])
def test_what_was_sent_is_not_searched_again_and_the_end_is_the_same(whole, share):
    first, parts = whole
    assert len(parts) == first.counts.parts > 3 and first.counts.resumed == 0
    sent = []
    again = search(as_known(parts[:share]), sent)
    assert again.counts.resumed == len(parts[:share])
    assert [e["part"] for e in sent] == parts[len(parts[:share]) :]
    assert again.best == first.best


def test_parts_of_another_search_or_broken_ones_are_not_taken(whole):
    _, parts = whole
    sent = []
    assert search(as_known(parts), sent, Bounds(systems=7)).counts.resumed == 0 and sent
    broken = [{**p, "line": p["line"][:-8]} for p in parts[:2]]
    assert search(as_known([*broken, *parts[2:]]), []).counts.resumed == len(parts) - 2
