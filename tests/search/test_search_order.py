"""What the search finds does not depend on the order in which the program names its operators and operands."""

from dataclasses import replace

import pytest
from workloads.rebuild import copied, shuffled
from workloads.terms import WORKLOADS, problem

from mirage.meaning.fingerprint import Fingerprints
from mirage.meaning.terms import Terms
from mirage.result import CancelToken
from mirage.search.engine import Problem
from mirage.search.kernels import KernelSpace
from mirage.search.shift import insert_shifts


def structures(problems: list[Problem]) -> list[set[object]]:
    """The structures of a single kernel of each problem, by what their reductions mean: all bodies are copied into one
    arena, so that their fingerprints are drawn alike."""
    common, found = Terms(dict(problems[0].t.sizes)), []
    for p in problems:
        t, target, memo = p.t, p.outputs[0], {}
        term, _ = insert_shifts(t, target.term)
        space = KernelSpace(t, replace(target, term=term), CancelToken())
        reductions = {r for s in space.systems for r in s.reductions}
        copies = {}
        for r in reductions:
            _, op, axis, body, deltas, _ = t.node(r)
            atoms = [(copied(t, common, t.node(y)[1], memo), t.node(y)[2]) for y in deltas]
            copies[r] = op, axis, copied(t, common, body, memo), atoms
        found.append((copies, [(s.system.reductions, s.streamed) for s in space.structures()]))
    prints = Fingerprints(common)

    def shape(copy: tuple[str, str, int, list[tuple[int, str]]]) -> object:
        op, axis, body, atoms = copy
        return op, axis, prints.of(body), frozenset((prints.of(x), action) for x, action in atoms)

    return [{(frozenset(shape(copies[r]) for r in rs), streamed) for rs, streamed in each} for copies, each in found]


@pytest.mark.parametrize("name", WORKLOADS)
def test_shuffled_operators_give_the_same_structures(name):
    expected, *others = structures([problem(name), *(shuffled(problem(name), seed) for seed in range(4))])
    assert expected
    for other in others:
        assert other == expected


def test_another_program_gives_other_structures():
    first, second = structures([problem("attention"), problem("attention_without_shift")])
    assert first == second  # the shift is put in
    first, second = structures([problem("rmsnorm_linear"), problem("layernorm_linear")])
    assert first and second and not first & second


def test_the_order_really_changes():
    a = problem("layernorm_linear")
    orders = {a.t.show(a.outputs[0].term, 30)}
    for seed in range(4):
        b = shuffled(a, seed)
        orders.add(b.t.show(b.outputs[0].term, 30))
    assert len(orders) > 2
