"""The task `search` on another machine finishes the very parts that the task `optimize` looks for here."""

from types import SimpleNamespace

import pytest

from mirage.devices.table import DEVICES
from mirage.errors import FunctionNotFound, UnsupportedOperands, UntrustedWorkspace
from mirage.isolate.task_table import resolve
from mirage.pipeline import search_task
from mirage.pipeline.job_task import Sent
from mirage.pipeline.request import Request, read, trace
from mirage.pipeline.searches import asked_bounds, search_all, search_for
from mirage.results.progress import CancelToken

TEXT = """\
import mirage
import torch


@mirage.optimize(inputs=[((1, 256), "fp16"), ((256, 512), "fp16")])
def f(x, w):
    return torch.relu(x @ w)


@mirage.optimize(inputs=[((16, 64), "int64")])
def integers(x):
    return x * x
"""
HERE = SimpleNamespace(call=lambda task, payload, **_: resolve(task)(payload, lambda event: None))


@pytest.fixture(autouse=True)
def tracer(monkeypatch):
    monkeypatch.setattr(search_task, "_tracer", lambda: HERE)


def found(function="f", **more):
    """(the parts by search and name, the states that were told, the task's value)"""
    events, asked = [], {"text": TEXT, "path": "/x/a.py", "function": function, "target": "sm_90", "trusted": True}
    value = search_task.search_task({**asked, **more}, events.append)
    known = {}
    for part in (e["part"] for e in events if "part" in e):
        known.setdefault(part["search"], {})[part["name"]] = part["line"]
    return known, {e["state"] for e in events if "state" in e}, value


def counts_here(known, *, timed=False):
    """The counts of the searches that the task `optimize` does, from those parts; and the parts that it adds."""
    sent = []
    request = Request(TEXT, "/x/a.py", "f", checkpoint=Sent(known, sent.append))
    function = read(request)

    def searched(problem, bounds):
        search = search_for(problem, bounds, request, DEVICES["sm_90"], CancelToken(), lambda p: None)
        list(search.run())
        return search

    program = trace(function, request.path, HERE, CancelToken())
    searches, best = search_all(program, asked_bounds(request, function, timed=timed), searched)
    return [s.counts for s in searches], sent, best


def test_all_that_is_searched_there_is_taken_up_here_and_the_end_is_the_same():
    known, states, value = found()
    counts, sent, best = counts_here(known)
    assert len(counts) > 1 and all(c.parts == c.resumed > 0 for c in counts) and not sent
    assert value == {"parts": sum(c.parts for c in counts)} and states == {"tracing", "searching"}
    alone, _, best_alone = counts_here({})
    assert all(c.resumed == 0 for c in alone) and best == best_alone


def test_it_goes_on_from_parts_that_were_finished_before():
    known, _, _ = found()
    search = next(iter(known))
    more, _, _ = found(checkpoint={search: known[search]})
    assert search not in more and more == {s: parts for s, parts in known.items() if s != search}


def test_a_gpu_has_more_to_choose_from_and_parts_for_another_bound_are_not_taken():
    timed, _, _ = found(timed=True)
    counts, _, _ = counts_here(timed, timed=True)
    assert all(c.parts == c.resumed for c in counts)
    untimed, _, _ = found()
    counts, sent, _ = counts_here(untimed, timed=True)
    assert not set(timed) & set(untimed) and sent and not any(c.resumed for c in counts)


@pytest.mark.parametrize(
    "more, error",
    [
        ({"function": "g"}, FunctionNotFound),
        ({"trusted": False}, UntrustedWorkspace),
        ({"function": "integers"}, UnsupportedOperands),
    ],
)
def test_what_cannot_be_searched_is_said(more, error):
    with pytest.raises(error):
        found(**more)
