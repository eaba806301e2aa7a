"""A search that is cancelled or reaches a bound ends soon, says why, and keeps what it has."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from workloads.whole_searches import FEW, search, whole

from mirage.errors import Cancelled
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.results.progress import CancelToken, Progress
from mirage.search.engine import Bounds, Search
from mirage.search.limits import Guard, Stopped, resident
from mirage.search.subproblems import operators
from mirage.verify.proof.opinion import proof_opinion

ROOT = Path(__file__).resolve().parents[2]


class Looks(CancelToken):
    """Counts the looks at it. At the first, and at each whose number is a power of two, the process forks, and the child's
    token is cancelled from there on; `children` are their ids, `at` is a child's look."""

    def __init__(self) -> None:
        super().__init__()
        self.looks, self.longest, self.last = 0, 0.0, time.process_time()
        self.children: list[int] = []
        self.at: int | None = None

    @property
    def cancelled(self) -> bool:
        self.longest = max(self.longest, time.process_time() - self.last)
        if self.at is None and self.looks & (self.looks - 1) == 0:
            child = os.fork()
            if child:
                self.children.append(child)
            else:
                self.at = self.looks
        self.looks += 1
        self.last = time.process_time()
        return self.at is not None


ENDED, NOT_AT_ONCE, NOT_AT_ALL = 0, 1, 2  # how a child's search went


@pytest.mark.parametrize("name", ["qknorm_attention", "attention_block"])
def test_the_token_is_looked_at_all_the_time(name):
    token, said = Looks(), NOT_AT_ALL
    try:
        list(search(name, cancel=token).run())
    except Cancelled:
        said = ENDED if token.at is not None and token.looks == token.at + 1 else NOT_AT_ONCE
    finally:
        if token.at is not None:
            os._exit(said)
    assert token.longest < 0.1
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in token.children]
    assert set(statuses) == {ENDED}  # it ends at once, whatever it was doing
    assert len(statuses) > 8 and token.looks < 2 ** (len(statuses) - 1)


def test_cancelled_from_another_thread():
    token = CancelToken()
    timer = threading.Timer(0.2, token.cancel)
    timer.start()
    with pytest.raises(Cancelled):
        while True:
            list(search("qknorm_attention", Bounds(), cancel=token).run())
    timer.join()


def test_time_is_looked_at_within_a_part():
    s = search("attention_block", replace(FEW, seconds=0.0))
    list(s.run())
    assert s.best and not s.counts.exhaustive and "0 s" in s.counts.limits
    assert s.counts.parts < whole("attention_block").search.counts.parts
    proof = proof_opinion(s.problem.t, {o.tensor: (o.term, o.dims) for o in s.problem.outputs}, s.best[0].mugraph)
    assert proof is not None and proof.word == "PROVED"


def test_memory_ends_a_search_that_keeps_what_it_has():
    """A program with a product of choices, under bounds that would let it grow for hours."""
    wide = Bounds(systems=10**9, reductions=10**9, lean=False, seconds=600.0, memory=8)
    s = search("attention_block", wide)
    start, before = time.process_time(), resident()
    list(s.run())
    assert "8 MiB of memory" in s.counts.limits and not s.counts.exhaustive
    assert s.best and all(broken_rule(c.mugraph) is None for c in s.best)
    assert resident() - before < 200 << 20 and time.process_time() - start < 60


def test_what_no_bound_reached_is_exhaustive():
    s = search("rmsnorm_linear", Bounds(cuts=9, cut_candidates=99, structures=99, spellings=99))
    list(s.run())
    own = {"no further cuts: the last one did not help", "cuts whose best estimate is more than 2.5 times the best"}
    assert set(s.counts.limits) <= own
    assert s.counts.exhaustive is (s.counts.limits == [])


def test_a_guard_stops_once_and_then_only_cancels():
    token = CancelToken()
    guard = Guard(token, 0.0, 1 << 60)
    time.sleep(0.001)
    with pytest.raises(Stopped, match="0 s"):
        guard.check()
    guard.check()
    token.cancel()
    with pytest.raises(Cancelled):
        guard.check()
    Guard(CancelToken(), 0.0, 1 << 60, armed=False).check()
    with pytest.raises(Stopped, match="MiB of memory"):
        Guard(CancelToken(), 60.0, -1).check()


def own(m: MuGraph) -> list[CustomKernel]:
    return [k for k in m.kernels if isinstance(k, CustomKernel)]


@pytest.mark.parametrize("most", [7, 8, 9])
def test_the_bound_on_operators_bounds(most):
    free, bound = search("rmsnorm_linear"), search("rmsnorm_linear", replace(FEW, operators=most))
    list(free.run()), list(bound.run())

    def largest(s: Search) -> int:
        return max(
            (operators(b) for c in s.best for k in own(c.mugraph) for b in (k.block, k.tail) if b is not None),
            default=0,
        )

    assert largest(bound) <= most < largest(free)
    assert f"at most {most} operators in a block graph" in bound.counts.limits
    assert not any("operators" in x for x in free.counts.limits)


def test_progress_counts_grow():
    seen: list[Progress] = []
    s = search("norm_mlp", progress=seen.append)
    list(s.run())
    for name in ("values", "systems", "parts", "cut_sets", "mugraphs"):
        counts = [getattr(p.counts, name) for p in seen]
        assert counts == sorted(counts) and counts[-1] > 0
    assert seen[-1].counts.parts == s.counts.parts and seen[-1].best


ORDER = """
import sys
sys.path[:0] = ["core", "tests"]
from workloads.whole_searches import whole
for name in sys.argv[1:]:
    w = whole(name)
    print([(c.us, c.mugraph) for c in w.found], [(c.us, c.label, c.structure, c.mugraph) for c in w.search.best])
"""


def test_two_processes_find_the_same_in_the_same_order():
    """Strings hash differently in each: the other's seed is never this one's."""
    names, seed = ("qknorm_attention", "attention_block"), "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = subprocess.run(
        [sys.executable, "-c", ORDER, *names], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True,
        text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    here = [
        f"{[(c.us, c.mugraph) for c in w.found]} {[(c.us, c.label, c.structure, c.mugraph) for c in w.search.best]}"
        for w in map(whole, names)
    ]
    assert other == here and all(len(line) > 1000 for line in here)
