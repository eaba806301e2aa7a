"""Random programs of up to four operators: what the search answers for them, and that the original graph is among it."""

import pytest
from workloads.rebuild import copied
from workloads.small import small_program
from workloads.terms import WORKLOADS, problem

from mirage.devices.table import DEVICES
from mirage.meaning.fingerprint import Fingerprints
from mirage.meaning.terms import Terms
from mirage.profile.roofline import estimate
from mirage.results.progress import CancelToken
from mirage.search.engine import Bounds, Problem, Search
from mirage.search.kernel_pieces import KernelSpace
from mirage.verify.proof.opinion import proof_opinion

pytestmark = pytest.mark.usefixtures("well_formed")

FEW = Bounds(keep=12, tilings=3, cuts=1)


def cost(g):
    return estimate(g, DEVICES["sm_90"])


def original(p: Problem, leave_out: int = 0) -> bool:
    """Is the set of the program's own reductions, each as it is written, one of the systems?"""
    target = p.outputs[0]
    own = sorted(p.t.closure(target.term))
    space = KernelSpace(p.t, target, CancelToken())
    common, memo = Terms(dict(p.t.sizes)), {}

    def shape(r):
        n = p.t.reduction(r)
        return n.op, n.axis, copied(p.t, common, n.body, memo)

    wanted = [shape(r) for r in own]
    systems = [[shape(r) for r in s.reductions] for s in space.systems[leave_out:]]
    prints = Fingerprints(common)

    def meaning(shapes):
        return {(op, axis, prints.of(x)) for op, axis, x in shapes}

    return meaning(wanted) in [meaning(s) for s in systems]


@pytest.mark.parametrize("seed", range(60))
def test_the_original_is_among_the_systems(seed):
    assert original(small_program(seed))


def test_its_absence_would_be_seen():
    assert any(not original(small_program(seed), leave_out=1) for seed in range(10))


@pytest.mark.parametrize("seed", range(24))
def test_every_answer_is_proved(seed):
    p = small_program(seed)
    search = Search(p, cost, bounds=FEW)
    list(search.run())
    assert search.best
    for c in search.best:
        proof = proof_opinion(p.t, {o.tensor: (o.term, o.dims) for o in p.outputs}, c.mugraph)
        assert proof is not None and proof.word == "PROVED", c.label


@pytest.mark.parametrize("name", WORKLOADS)
def test_lean_moves_lose_nothing(name):
    best = []
    for lean in (True, False):
        search = Search(problem(name), cost, bounds=Bounds(lean=lean, cuts=1, keep=4))
        list(search.run())
        best.append(search.best[0].us)
    assert best[0] == best[1]


def test_the_full_moves_are_more():
    systems = [
        len(KernelSpace(p.t, p.outputs[0], CancelToken(), lean=lean).systems)
        for lean in (True, False)
        for p in [problem("attention")]
    ]
    assert systems[0] < systems[1]
