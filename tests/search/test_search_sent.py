"""A checkpoint that lies with the parent of the process that searches: what was sent is not searched again."""

import base64
import json
import zlib
from dataclasses import replace
from types import SimpleNamespace

import pytest
from workloads.terms import problem
from workloads.traced import trace

from mirage.devices.table import DEVICES
from mirage.mugraph.grammar import CustomKernel
from mirage.pipeline.attempt import Attempt
from mirage.pipeline.job_task import STOPPED, Sent
from mirage.pipeline.request import Request
from mirage.pipeline.search_problems import problems
from mirage.profile.roofline import estimate
from mirage.results.progress import CancelToken
from mirage.search.checkpoint import decode, encode
from mirage.search.engine import Bounds, Search
from mirage.search.subproblems import Part


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


def test_every_search_of_a_program_is_kept_and_counted():
    """One row: the program is searched twice (`search/one_row.py`), and goes on from both."""
    inputs = [("x", (1, 96), "fp16"), ("w", (96, 80), "fp16")]
    program = trace("def f(x, w):\n    return x @ w\n", "f", inputs)
    posed, bounds = problems(program), Bounds(keep=6, tilings=2, structures=3)
    assert len(posed) == 2

    def searched(known, sent, shown):
        request = Request("", "f.py", "f", checkpoint=Sent(known, sent.append))
        tools = SimpleNamespace(gpu=None)
        attempt = Attempt(request, None, program, DEVICES["sm_90"], shown.append, CancelToken(), tools)
        return attempt, [attempt.searched(p, bounds).best for p in posed]

    sent, shown = [], []
    first, best = searched({}, sent, shown)
    parts = [e["part"] for e in sent]
    assert len({p["search"] for p in parts}) == 2
    assert first.counts.parts == len(parts) and first.counts.resumed == 0
    counts = [p.counts.parts for p in shown]
    assert counts == sorted(counts) and counts[-1] == len(parts)  # what is shown never goes back
    sent.clear()
    again, same = searched(as_known(parts), sent, [])
    assert not sent and again.counts.resumed == len(parts) and same == best
    half, same = searched(as_known(parts[:-1]), sent, [])
    assert len(sent) == 1 and half.counts.resumed == len(parts) - 1 and same == best


class CutShort:
    """An executor whose part number `n` is cut short by a bound."""

    def __init__(self, n):
        self.left = n

    def parts(self, work, keys, guard):
        for key in keys:
            self.left -= 1
            part = work.search(key, guard)
            yield replace(part, pieces=part.pieces[:3], stopped="9 s") if self.left == 0 else part

    def close(self):
        pass


def cut_short(n, *, whole):
    sent = []
    found = Search(
        problem("gated_mlp"), lambda g: estimate(g, DEVICES["sm_90"]), checkpoint=Sent({}, sent.append, whole=whole),
        executor=CutShort(n),
    )  # fmt: skip
    list(found.run())
    return found, [e["part"] for e in sent]


@pytest.mark.parametrize("n", [1, 3])
def test_a_search_that_a_bound_ended_elsewhere_ends_there_here_too(whole, n):
    first, parts = cut_short(n, whole=True)
    assert "9 s" in first.counts.limits and [p["name"] for p in parts][-1] == STOPPED and len(parts) == n + 1
    sent = []
    again = search(as_known(parts), sent)
    assert not sent and again.best == first.best and again.counts.limits == first.counts.limits
    again = search(as_known([*parts[: n - 1], parts[-1]]), sent)  # the bound alone: that part was not begun
    assert not sent and again.guard.stopped == "9 s"


def test_what_a_bound_cut_short_is_kept_for_no_later_run_here(whole):
    first, parts = cut_short(3, whole=False)
    assert first.guard.stopped and len(parts) == 2
    sent = []
    assert search(as_known(parts), sent).best == whole[0].best and sent


def packed(**more):
    return base64.b64encode(
        zlib.compress(json.dumps({"counts": [0] * 4, "limits": [], "bodies": [], "pieces": [], **more}).encode())
    ).decode()


def test_a_part_of_another_machine_has_lines_of_text_and_bounded_bytes(monkeypatch):
    assert decode(packed(limits=["tiles"], stopped="20 s")) == Part(limits=("tiles",), stopped="20 s")
    for wrong in ({"limits": ["a\nb"]}, {"stopped": "\x1b[2J"}, {"limits": ["x" * 3000]}):
        assert decode(packed(**wrong)) is None
    long = packed(limits=["x"] * 10_000)
    assert decode(long) is not None
    monkeypatch.setattr("mirage.search.checkpoint.MOST_BYTES", 10_000)
    assert decode(long) is None and decode(packed()) is not None


def test_a_body_that_many_graphs_share_is_read_once_and_as_strictly(whole):
    _, parts = whole
    part = decode(parts[0]["line"])
    again = decode(encode(part))
    assert again == part
    bodies = [k.block.body for _, p in again.pieces for k in p.kernels if isinstance(k, CustomKernel)]
    assert len(set(map(id, bodies))) < len(bodies)
    data = json.loads(zlib.decompress(base64.b64decode(parts[0]["line"])))
    for wrong in ("{}", '[{"node": "Nothing"}]', "7", "null"):
        assert decode(packed(**{**data, "bodies": [wrong, *data["bodies"][1:]]})) is None
