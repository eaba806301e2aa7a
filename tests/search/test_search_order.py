"""What the search finds does not depend on the order in which the program names its operators and operands."""

from dataclasses import replace

import pytest
from workloads.rebuild import copied, shuffled
from workloads.terms import WORKLOADS, problem

from mirage.meaning.exp_shift import insert_shifts
from mirage.meaning.fingerprint import Fingerprints
from mirage.meaning.terms import Terms
from mirage.results.progress import CancelToken
from mirage.search.engine import Problem
from mirage.search.kernel_pieces import KernelSpace
from mirage.search.reduction_moves import Moves

pytestmark = pytest.mark.usefixtures("well_formed")


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
            n = t.reduction(r)
            atoms = [(copied(t, common, c.atom, memo), c.action) for c in map(t.change_of, n.changes)]
            copies[r] = n.op, n.axis, copied(t, common, n.body, memo), atoms
        found.append((copies, [(s.system.reductions, s.streamed) for s in space.structures()]))
    prints = Fingerprints(common)

    def shape(copy: tuple[str, str, int, list[tuple[int, str]]]) -> object:
        op, axis, body, atoms = copy
        return op, axis, prints.of(body), frozenset((prints.of(x), action) for x, action in atoms)

    return [{(frozenset(shape(copies[r]) for r in rs), streamed) for rs, streamed in each} for copies, each in found]


def tables(problems: list[Problem]) -> list[tuple[object, ...]]:
    """The whole table of each problem: for each value that a reduction gives, every way found to compute it (operator, axis,
    body, which running values it reads and how it is updated), and every system as its reductions and its output."""
    common, found = Terms(dict(problems[0].t.sizes)), []
    for p in problems:
        t, target, memo = p.t, p.outputs[0], {}
        term, _ = insert_shifts(t, target.term)
        space = KernelSpace(t, replace(target, term=term), CancelToken(), lean=False)
        reductions = sorted({r for s in space.systems for r in s.reductions})
        rows = {}
        for r in reductions:
            n = t.reduction(r)
            atoms = [(copied(t, common, c.atom, memo), c.action) for c in map(t.change_of, n.changes)]
            whole = copied(t, common, n.body, memo), copied(t, common, r, memo)
            rows[r] = n.op, n.axis, *whole, atoms, n.updates
        systems = [(s.reductions, copied(t, common, s.output, memo)) for s in space.systems]
        found.append((rows, systems, space.counts.values))
    prints = Fingerprints(common)
    out = []
    for rows, systems, values in found:
        ways: dict[object, set[object]] = {}
        name = {}
        for r, (op, axis, body, value, atoms, update) in rows.items():
            read = frozenset((prints.of(x), action) for x, action in atoms)
            name[r] = (
                op,
                axis,
                prints.of(body),
                read,
                frozenset(prints.of(rows[x][3]) for _, x in update if x is not None),
            )
            name[r] += (len(update),)
            ways.setdefault(prints.of(value), set()).add(name[r])
        whole = {(frozenset(name[r] for r in rs), prints.of(x)) for rs, x in systems}
        out.append((ways, whole, values, len(systems)))
    return out


@pytest.mark.parametrize("name", WORKLOADS)
def test_shuffled_operators_give_an_identical_table(name):
    expected, *others = tables([problem(name), *(shuffled(problem(name), seed) for seed in range(3))])
    assert expected[0] and expected[1]
    for other in others:
        assert other == expected


def test_tables_of_other_programs_differ():
    first, second = tables([problem("rmsnorm_linear"), problem("layernorm_linear")])
    assert first != second and not first[1] & second[1]


def test_a_table_without_a_way_is_seen(monkeypatch):
    expected, _ = tables([problem("attention"), problem("attention")])
    monkeypatch.setattr(Moves, "carried", lambda *_: None)
    without, _ = tables([problem("attention"), problem("attention")])
    assert without[0] != expected[0]


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
