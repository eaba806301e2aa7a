"""Counts of progress add up, are told without those that say nothing, and are read strictly."""

import pytest

from mirage.errors import ProtocolError
from mirage.link.protocol import Event
from mirage.results.codec import structure, unstructure
from mirage.results.progress import Progress, ProgressCounts


def test_counts_add_up_one_by_one():
    both = ProgressCounts(values=2, parts=1) + ProgressCounts(values=3, retries=1)
    assert both == ProgressCounts(values=5, parts=1, retries=1)
    assert both.told() == {"values": 5, "parts": 1, "retries": 1} and ProgressCounts().told() == {}


def test_progress_is_the_same_after_the_wire():
    sent = Progress("tuning", ProgressCounts(checked=3, right=2), "1.2 µs")
    assert structure(unstructure(sent), Progress) == sent
    told = {"job": "1", "state": "tuning", "counts": sent.counts.told(), "best": sent.best}
    assert structure(told, Event) == Event("1", "tuning", sent.counts, sent.best)


@pytest.mark.parametrize("counts", [{"tuned": 3}, {"values": "3"}, {"values": True}, {"values": 1.5}, 3, None])
def test_counts_that_nobody_sends_are_refused(counts):
    with pytest.raises(ProtocolError):
        structure({"job": "1", "state": "tuning", "counts": counts}, Event)
