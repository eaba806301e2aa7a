"""Every candidate is derived from its program by named laws, and the derivation is replayed; a wrong one is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from workloads.rebuild import shuffled
from workloads.small import small_program
from workloads.term_values import evaluate
from workloads.terms import MORE, WORKLOADS, problem

from mirage.derivation import laws
from mirage.derivation.derive import Derivation, derive, replay
from mirage.derivation.find_steps import DerivationFinder, NoProof
from mirage.derivation.json_form import from_json, lines, to_json
from mirage.derivation.laws import STEPS, Broken
from mirage.devices.table import DEVICES
from mirage.errors import DerivationBroken
from mirage.ir.index import DimIndex
from mirage.meaning import laws as rows
from mirage.meaning.terms import Terms
from mirage.mugraph.check import Limits
from mirage.mugraph.grammar import Accumulate, Loop
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search

pytestmark = pytest.mark.usefixtures("well_formed")

QUICK = Bounds(keep=12, tilings=2)
FEW = Bounds(keep=8, tilings=2, cuts=1)
ALL = Bounds(keep=64, tilings=2, cuts=0)
FOUND: dict[tuple[str, Bounds], Search] = {}


def run(name, bounds=QUICK):
    key = name, bounds
    if key not in FOUND:
        p = small_program(int(name)) if name.isdigit() else problem(name.removesuffix(" whole"))
        FOUND[key] = Search(p, lambda g: estimate(g, DEVICES["sm_90"]), bounds=bounds)
        list(FOUND[key].run())
    return FOUND[key]


def targets(p):
    return {o.tensor: (o.term, o.dims) for o in p.outputs}


def derived(name, which=0):
    s = run(name)
    t, tg, g = s.problem.t, targets(s.problem), s.best[which].mugraph
    return t, tg, g, derive(t, tg, g)


@pytest.mark.parametrize("name", [*WORKLOADS, *MORE])
def test_every_candidate_is_derived(name):
    s = run(name)
    t, tg, prover = s.problem.t, targets(s.problem), DerivationFinder(s.problem.t)
    assert s.best
    for i, c in enumerate(s.best):
        d = derive(t, tg, c.mugraph, prover)
        assert set(replay(t, tg, d, c.mugraph)) >= set(tg)
        assert rows.SAME_FORM not in d.laws  # the steps are laws, not "they are equal"
        if i < 2:
            elsewhere = shuffled(problem(name), i)
            data = json.loads(json.dumps(to_json(t, d)))
            replay(elsewhere.t, targets(elsewhere), from_json(elsewhere.t, data), c.mugraph)


PLAIN_SIBLING = 43  # sum_k (Y sum_k X): carried, the running sum is corrected by a plain one, of Y


@pytest.mark.parametrize("seed", [*range(24), PLAIN_SIBLING])
def test_every_candidate_of_a_random_program_is_derived(seed):
    s = run(str(seed), FEW)
    t, tg, prover = s.problem.t, targets(s.problem), DerivationFinder(s.problem.t)
    for c in s.best:
        replay(t, tg, derive(t, tg, c.mugraph, prover), c.mugraph)


def test_a_sum_corrected_by_another_one_is_derived_as_it_is():
    s = run(str(PLAIN_SIBLING), replace(FEW, keep=256, structures=64, lean=False))
    t, tg, checked = s.problem.t, targets(s.problem), 0
    for g in (c.mugraph for c in s.best):
        k = g.kernels[0]
        loops = [x for x in k.block.body if isinstance(x, Loop)]
        pairs = [(loop, x) for loop in loops for x in loop.body if isinstance(x, Accumulate) and len(x.update) > 1]
        for loop, x in pairs:
            assert x.out in {y.name.split(".")[-1] for y in derive(t, tg, g).goals if y.kind == "online rescale"}
            for wrong in (x.update[:1], x.update[1:], tuple((c, "") for c, _ in x.update)):
                new = replace(loop, body=tuple(replace(y, update=wrong) if y == x else y for y in loop.body))
                body = tuple(new if y == loop else y for y in k.block.body)
                broken = replace(g, kernels=(replace(k, block=replace(k.block, body=body)), *g.kernels[1:]))
                with pytest.raises(DerivationBroken):
                    derive(t, tg, broken)
                checked += 1
    assert checked


def test_the_laws_are_those_of_the_kernels():
    def used(name):
        s = run(name)
        t, tg = s.problem.t, targets(s.problem)
        return {n for c in s.best for n in derive(t, tg, c.mugraph).laws}

    assert rows.PULL in used("rmsnorm_linear")
    assert {rows.SHIFT, rows.EXP, rows.SPLIT} <= used("attention_without_shift")
    assert rows.SHIFT not in used("attention")
    assert rows.ORDER in used("low_rank_adapter")
    assert rows.LET in used("norm_mlp")


def leaves(steps, path=()):
    """The places of the steps that are no groups: (step, part) pairs down to the step's own number."""
    for i, x in enumerate(steps):
        if not x.parts:
            yield (*path, i), x
        for j, part in enumerate(x.parts):
            yield from leaves(part.steps, (*path, (i, j)))


def edited(steps, path, new):
    """The steps with the one at `path` replaced by some."""
    if len(path) == 1:
        return (*steps[: path[0]], *new, *steps[path[0] + 1 :])
    (i, j), rest = path[0], path[1:]
    parts = list(steps[i].parts)
    parts[j] = replace(parts[j], steps=edited(parts[j].steps, rest, new))
    return (*steps[:i], replace(steps[i], parts=tuple(parts)), *steps[i + 1 :])


def with_steps(d: Derivation, goal: int, steps: tuple) -> Derivation:
    g = replace(d.goals[goal], steps=steps)
    return replace(d, goals=(*d.goals[:goal], g, *d.goals[goal + 1 :]))


def broken(t, tg, d, g):
    with pytest.raises(DerivationBroken) as e:
        replay(t, tg, d, g)
    return e.value.message


def longest(name):
    """The candidate with the most steps."""
    s = run(name, ALL)
    t, tg, prover = s.problem.t, targets(s.problem), DerivationFinder(s.problem.t)
    pairs = [(c.mugraph, derive(t, tg, c.mugraph, prover)) for c in s.best]
    return t, tg, *max(pairs, key=lambda p: sum(len(list(leaves(g.steps))) for g in p[1].goals))


TAMPERED = ["attention_without_shift", "layernorm_linear", "normalized_step", "low_rank_adapter"]


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_step_is_refused(name):
    t, tg, g, d = longest(f"{name} whole")
    replay(t, tg, d, g)
    places = [(i, path, x) for i, goal in enumerate(d.goals) for path, x in leaves(goal.steps)]
    assert len(places) >= 4
    for i, path, x in places:
        place = f"{d.goals[i].kind} {d.goals[i].name}: "
        at = path[-1] + 1
        other = next(n for n in STEPS if n not in (x.law, rows.SAME_FORM) and n not in laws.GROUPS)
        for wrong in (
            replace(x, law=other), replace(x, law="it is well known"), replace(x, forward=not x.forward),
            replace(x, before=d.goals[i].end + 10**6), replace(x, args=(*x.args, "?")),
        ):  # fmt: skip
            if wrong.forward != x.forward and x.law == rows.EXCHANGE:
                continue  # holds in both directions
            if wrong.args != x.args and x.law not in (rows.PULL, rows.SHIFT, rows.SPLIT, rows.LET):
                continue  # has no arguments
            said = broken(t, tg, with_steps(d, i, edited(d.goals[i].steps, path, [wrong])), g)
            assert said.startswith(place) and f"step {at} ({wrong.law})" in said
        astray = replace(x, after=d.goals[i].start)
        assert place in broken(t, tg, with_steps(d, i, edited(d.goals[i].steps, path, [astray])), g)
        assert broken(t, tg, with_steps(d, i, edited(d.goals[i].steps, path, [])), g)  # left out
        assert broken(t, tg, with_steps(d, i, edited(d.goals[i].steps, path, [x, x])), g)  # twice


@pytest.mark.parametrize("name", TAMPERED)
def test_swapped_steps_are_refused(name):
    t, tg, g, d = longest(f"{name} whole")
    swaps = 0
    for i, goal in enumerate(d.goals):
        for path, _ in leaves(goal.steps):
            for n in range(1, len(path) + 1):
                place = (*path[: n - 1], path[n - 1] if n == len(path) else path[n - 1][0])
                above = goal.steps
                for a, b in path[: n - 1]:
                    above = above[a].parts[b].steps
                if place[-1] + 1 < len(above):
                    two = [above[place[-1] + 1], above[place[-1]]]
                    steps = edited(edited(goal.steps, place, two), (*place[:-1], place[-1] + 2), [])
                    assert f"step {place[-1] + 1} ({two[0].law})" in broken(t, tg, with_steps(d, i, steps), g)
                    swaps += 1
    assert swaps


def test_a_group_has_its_laws_alone():
    t, tg, g, d = longest("low_rank_adapter whole")
    i, j, x = next((i, j, x) for i, q in enumerate(d.goals) for j, x in enumerate(q.steps) if x.law == rows.INSIDE)
    part = replace(x.parts[0], steps=(replace(x.parts[0].steps[0], law=rows.EXP),))
    group = replace(x, law=rows.ORDER, parts=(part,))
    said = broken(t, tg, with_steps(d, i, edited(d.goals[i].steps, (j,), [group])), g)
    assert f"step {j + 1} ({rows.ORDER})" in said and "may not have" in said
    said = broken(t, tg, with_steps(d, i, edited(d.goals[i].steps, (j,), [replace(x, parts=())])), g)
    assert "without steps" in said


def test_a_missing_goal_is_refused():
    t, tg, g, d = derived("attention")
    assert any(x.kind == "online rescale" for x in d.goals)
    for i in range(len(d.goals)):
        assert broken(t, tg, replace(d, goals=d.goals[:i] + d.goals[i + 1 :]), g)


def test_it_derives_one_graph_alone():
    """The derivation of one candidate is refused for a candidate that computes in another way."""
    s = run("attention whole", ALL)
    t, tg = s.problem.t, targets(s.problem)
    pairs = [(c.mugraph, derive(t, tg, c.mugraph)) for c in s.best]
    kinds = {tuple(x.end for x in d.goals): (g, d) for g, d in pairs}
    assert len(kinds) > 1
    (g, d), (other, _), *_ = kinds.values()
    replay(t, tg, d, g)
    assert broken(t, tg, d, other)


def test_another_program_is_refused():
    t, tg, g, d = derived("gated_mlp")
    (name,) = tg
    wrong = t.add(tg[name][0], t.const(1))
    assert "program" in broken(t, {name: (wrong, tg[name][1])}, d, g)
    with pytest.raises(DerivationBroken, match="no derivation"):
        derive(t, {name: (wrong, tg[name][1])}, g)


@pytest.mark.parametrize("change", ["tile", "count", "law", "size", "padded", "name", "gone", "twice"])
def test_a_wrong_schedule_is_refused(change):
    t, tg, g, d = derived("gated_mlp")
    i, s = next((i, s) for i, s in enumerate(d.schedule) if s.law == "tiles in a loop")
    new = {
        "tile": [replace(s, tile=s.tile * 2)], "count": [replace(s, count=s.count + 1)], "law": [replace(s, law="one tile")],
        "size": [replace(s, size=s.size + 1)], "padded": [replace(s, padded=1)], "name": [replace(s, name="zz")],
        "gone": [], "twice": [s, s],
    }[change]  # fmt: skip
    said = broken(t, tg, replace(d, schedule=(*d.schedule[:i], *new, *d.schedule[i + 1 :])), g)
    assert "schedule step" in said


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {**d, "version": 0},
        lambda d: {k: v for k, v in d.items() if k != "goals"},
        lambda d: {**d, "terms": d["terms"][:-1]},
        lambda d: {**d, "terms": [["mul", 5, 6], *d["terms"]]},
        lambda d: {**d, "terms": [["red", "min", "k", 0], *d["terms"]]},
        lambda d: {**d, "goals": [{**d["goals"][0], "start": 10**6}]},
        lambda d: [],
        lambda d: None,
    ],
)
def test_json_that_is_no_derivation_is_refused(change):
    t, _, _, d = derived("gated_mlp")
    with pytest.raises(DerivationBroken):
        from_json(t, change(to_json(t, d)))


def test_as_text():
    t, tg, g, _ = derived("attention_without_shift")
    text = "\n".join(lines(to_json(t, derive(t, tg, g))))
    assert "shift invariance" in text and "online rescale" in text and "tiles in a loop" in text
    assert "Milakov" in text and "sum_s(" in text


# ---- the laws one by one
SIZES = {"k": 3, "e": 4, "m": 2, "p": 2, "r": 2}


def tensor(t, name, axes):
    return t.input(name, tuple(DimIndex((a,)) for a in axes))


def terms():
    t = Terms(dict(SIZES))
    x = {n: tensor(t, n, a) for n, a in (("A", "mk"), ("B", "ke"), ("C", "m"), ("D", "mk"))}
    return t, x["A"], x["B"], x["C"], x["D"]


def holds(law):
    """A term to which the law applies, and one to which it does not, with arguments."""
    t, a, b, c, d = terms()
    exp_a = t.exp(a)
    top = t.fn("finite", t.max("k", a))
    soft = t.mul(t.sum("k", t.mul(exp_a, b)), t.inv(t.sum("k", exp_a)))
    return t, {
        rows.PULL: ((t.sum("k", t.mul(a, c)), ()), (t.sum("k", t.mul(a, d)), ())),
        rows.LINEAR: ((t.sum("k", t.add(a, d)), ()), (t.max("k", t.add(a, d)), ())),
        rows.EXCHANGE: ((t.sum("k", t.sum("e", t.mul(a, t.exp(b)))), ()), (t.sum("k", t.max("e", b)), ())),
        rows.DISTRIBUTE: ((t.mul(t.add(a, c), d), ()), (t.mul(a, d), ())),
        rows.EXP: ((t.exp(t.add(a, c)), ()), (t.exp(t.mul(a, c)), ())),
        rows.INVERSE: ((t.inv(exp_a), ()), (t.inv(a), ())),
        rows.CANCEL: ((t.mul(a, t.inv(a), c), ()), (t.mul(a, t.inv(d), c), ())),
        rows.GUARD: ((top, ()), (t.fn("finite", a), ())),
        rows.SHIFT: ((soft, (exp_a, top)), (t.sum("k", exp_a), (exp_a, top))),
        rows.SPLIT: ((t.sum("e", b), ("e", "p", "r")), (t.sum("k", b), ("e", "p", "r"))),
        rows.LET: ((t.mul(c, tensor(t, "v", "m")), ("v", t.sum("k", a), "m")), (t.mul(c, tensor(t, "v", "k")), ("v", t.sum("k", a), "m"))),
        rows.SAME_FORM: ((t.mul(t.add(a, c), d), (t.add(t.mul(a, d), t.mul(c, d)),)), (t.mul(a, c), (t.mul(a, d),))),
    }[law]  # fmt: skip


EACH = [n for n in STEPS if n not in laws.GROUPS]


@pytest.mark.parametrize("law", EACH)
def test_a_law_keeps_the_value(law):
    t, ((x, args), _) = holds(law)
    y = STEPS[law].apply(t, x, args)
    assert y != x
    rng = np.random.default_rng(1)
    shapes = {"A": "mk", "B": "ke", "C": "m", "D": "mk"}
    inputs = {n: rng.normal(size=[SIZES[s] for s in axes]) for n, axes in shapes.items()}
    inputs["v"] = inputs["A"].sum(axis=1)
    dims = tuple(sorted(t.dims(x)))
    values = [evaluate(t, z, inputs, dims, {"finite": lambda v: v}) for z in (x, y)]
    np.testing.assert_allclose(*values, rtol=1e-9)
    assert np.abs(values[0]).max() > 1e-3


@pytest.mark.parametrize("law", EACH)
def test_a_law_is_refused_where_it_does_not_hold(law):
    t, (_, (x, args)) = holds(law)
    with pytest.raises(Broken):
        STEPS[law].apply(t, x, args)


def test_a_factor_along_the_axis_does_not_leave_the_sum():
    t, a, _, c, d = terms()
    with pytest.raises(Broken, match="varies along k"):
        STEPS[rows.PULL].apply(t, t.sum("k", t.mul(a, d, c)), (a,))
    with pytest.raises(Broken, match="not there"):
        STEPS[rows.PULL].apply(t, t.sum("k", t.mul(a, d)), (c,))


def test_a_value_along_the_axis_that_is_split_is_named_by_both_axes():
    t, _, b, _, _ = terms()
    e = t.exp(b)
    x = t.mul(e, t.inv(t.sum("e", e)))
    y = STEPS[rows.SPLIT].apply(t, x, ("e", "p", "r"))
    assert t.dims(y) == {"k", "p", "r"}
    inputs = {"B": np.random.default_rng(1).normal(size=[SIZES["k"], SIZES["e"]])}
    whole, parts = (evaluate(t, z, inputs, d, {}) for z, d in ((x, ("k", "e")), (y, ("k", "p", "r"))))
    np.testing.assert_allclose(whole, parts.reshape(whole.shape), rtol=1e-9)
    with pytest.raises(Broken, match="no reduction over e"):
        STEPS[rows.SPLIT].apply(t, e, ("e", "p", "r"))


def test_different_terms_have_no_proof():
    t, a, _, c, d = terms()
    prover = DerivationFinder(t)
    assert prover.prove(t.sum("k", t.mul(a, c)), t.mul(c, t.sum("k", a)))
    for x, y in ((t.sum("k", t.mul(a, d)), t.mul(t.sum("k", a), t.sum("k", d))), (a, d), (t.exp(a), a)):
        with pytest.raises(NoProof):
            prover.prove(x, y)


def test_the_limits_are_the_devices():
    t, tg, g, d = derived("gated_mlp")
    limits = Limits.of(DEVICES["sm_90"])
    replay(t, tg, d, g, limits)
    with pytest.raises(DerivationBroken, match="capacity"):
        replay(t, tg, d, g, replace(limits, shared=1024))
