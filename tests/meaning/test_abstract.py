"""The relation of abstract expressions: what a solver proves from the axioms the lookup affirms, the typed relation is
contained in it, and small programs have the same solutions under either."""

import random
import re

import pytest
import z3
from workloads.abstract_terms import EQUAL, PART, form, of_term, part_of
from workloads.brute import Brute, Small, Step, random_small
from workloads.pruned import TYPED, UNTYPED, Relations
from workloads.typed_terms import Typed

from mirage.meaning.terms import Terms

E = z3.DeclareSort("E")
N = z3.DeclareSort("N")  # numbers of elements
FUNCTIONS = {
    "add": z3.Function("add", E, E, E), "mul": z3.Function("mul", E, E, E), "div": z3.Function("div", E, E, E),
    "exp": z3.Function("exp", E, E), "sqrt": z3.Function("sqrt", E, E), "sum": z3.Function("sum", N, E, E),
    "times": z3.Function("times", N, N, N),
}  # fmt: skip
WITHIN = z3.Function("within", E, E, z3.BoolSort())
ONE = z3.Const("one", N)


def parsed(text: str):
    """An axiom's side: names and calls."""
    words = re.findall(r"\w+|[()]", text)

    def go():
        name = words.pop(0)
        if words[:1] != ["("]:
            return ONE if name == "one" else z3.Const(name, N if name in "ij" else E)
        words.pop(0)
        args = []
        while words[0] != ")":
            args.append(go())
        words.pop(0)
        return FUNCTIONS[name](*args)

    return go()


def variables(*texts: str):
    names = sorted({w for t in texts for w in re.findall(r"\b[a-z]\b", t)})
    return [z3.Const(n, N if n in "ij" else E) for n in names]


def axioms():
    out = []
    for left, right in EQUAL:
        pair = parsed(left), parsed(right)
        patterns = [p for p in pair if p.num_args() and p.decl().name() != "one" and not z3.is_const(p)]
        out.append(z3.ForAll(variables(left, right), pair[0] == pair[1], patterns=patterns[:1]))
    i, j, k = z3.Consts("i j k", N)
    times = FUNCTIONS["times"]
    out.append(z3.ForAll([i, j], times(i, j) == times(j, i)))
    out.append(z3.ForAll([i, j, k], times(i, times(j, k)) == times(times(i, j), k)))
    x, y, z = z3.Consts("x y z", E)
    for left, right in PART:
        out.append(z3.ForAll(variables(left, right), WITHIN(parsed(left), parsed(right)), patterns=[parsed(right)]))
    out.append(z3.ForAll([x], WITHIN(x, x), patterns=[WITHIN(x, x)]))
    out.append(z3.ForAll([x, y, z], z3.Implies(z3.And(WITHIN(x, y), WITHIN(y, z)), WITHIN(x, z)),
                         patterns=[z3.MultiPattern(WITHIN(x, y), WITHIN(y, z))]))  # fmt: skip
    return out


def to_z3(e):
    if e[0] == "in":
        return z3.Const("input_" + e[1], E)
    if e[0] == "sum":
        out = to_z3(e[2])
        for a in e[1]:
            out = FUNCTIONS["sum"](z3.Const("size_" + a, N), out)
        return out
    return FUNCTIONS[e[0]](*map(to_z3, e[1:]))


def solver_proves(p, q, ms: int = 250) -> bool:
    s = z3.Solver()
    s.set("rlimit", 500 * ms)  # steps, not seconds: the same on every machine
    s.set("random_seed", 0)
    s.add(axioms())
    s.add(z3.Not(WITHIN(to_z3(p), to_z3(q))))
    return s.check() == z3.unsat


INPUTS = [("in", n) for n in "XYZ"]


def expression(rng: random.Random, depth: int):
    if depth == 0:
        return rng.choice(INPUTS)
    op = rng.choice(["add", "mul", "mul", "div", "exp", "sqrt", "sum", "sum"])
    if op == "sum":
        return ("sum", (rng.choice("kr"),), expression(rng, depth - 1))
    if op in ("exp", "sqrt"):
        return (op, expression(rng, depth - 1))
    return (op, expression(rng, depth - 1), expression(rng, rng.randrange(depth)))


def inside(rng: random.Random, e):
    """A part of `e` as it is written."""
    kids = [k for k in e[1:] if isinstance(k, tuple) and k and k[0] in (*FUNCTIONS, "in")] if e[0] != "in" else []
    return e if not kids or rng.random() < 0.3 else inside(rng, rng.choice(kids))


def rewritten(rng: random.Random, e):
    """`e` after steps of commutativity and distributivity."""
    if e[0] in ("add", "mul") and rng.random() < 0.5:
        e = (e[0], e[2], e[1])
    if e[0] == "mul" and e[1][0] == "add":
        e = ("add", ("mul", e[1][1], e[2]), ("mul", e[1][2], e[2]))
    if e[0] == "sum" and e[2][0] == "mul":
        e = ("mul", ("sum", e[1], e[2][1]), e[2][2])
    return e


def pairs(count: int):
    rng = random.Random(5)
    for i in range(count):
        q = expression(rng, 3)
        p = rewritten(rng, inside(rng, q)) if i % 2 else expression(rng, rng.choice((1, 2)))
        yield p, rewritten(rng, q)


def test_what_the_solver_proves_the_lookup_affirms():
    proved = denied = 0
    for p, q in pairs(20):
        affirmed = part_of(p, q)
        if solver_proves(p, q):
            proved += 1
            assert affirmed, (p, q)
        denied += not affirmed
    assert proved >= 8 and denied >= 3  # neither side is empty


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_the_lookup_knows_every_equality(left, right):
    def made(text, swap):
        words = re.findall(r"\w+|[()]", text.replace("times(i, j)", "both"))

        def go():
            name = words.pop(0)
            if words[:1] != ["("]:
                return swap.get(name, name)
            words.pop(0)
            args = []
            while words[0] != ")":
                args.append(go())
            words.pop(0)
            return (name, *args)

        return go()

    for seed in range(5):
        rng = random.Random(seed)
        values = {n: expression(rng, 2) for n in "xyz"}
        values |= {"i": ("k",), "j": ("r",), "both": ("k", "r"), "one": ()}
        assert form(made(left, values)) == form(made(right, values))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (("mul", INPUTS[0], INPUTS[0]), ("mul", INPUTS[0], INPUTS[1])),
        (("sum", ("k",), INPUTS[0]), ("mul", INPUTS[0], INPUTS[1])),
        (("exp", INPUTS[0]), ("mul", INPUTS[0], INPUTS[1])),
        (("add", INPUTS[0], INPUTS[1]), ("mul", INPUTS[0], INPUTS[1])),
        (INPUTS[1], ("div", ("mul", INPUTS[0], INPUTS[2]), INPUTS[2])),
    ],
)
def test_what_is_no_part(p, q):
    assert not part_of(p, q)
    assert not solver_proves(p, q, 200)


def random_program(seed: int) -> Small:
    rng = random.Random(seed)
    inputs = (("X", "mk"), ("W", "kn"))
    choices = ["dot k 0 1", "mul 0 0", "sum k 0", "sigmoid 0", "exp 0"]
    first = rng.choice(choices)
    words = first.split()
    steps = [Step(" ".join(w for w in words if not w.isdigit()), tuple(int(w) for w in words if w.isdigit()))]
    second = rng.choice([Step("dot k", (0, 1)), Step("mul", (0, 2)), Step("add", (0, 2)), Step("div", (0, 2))])
    steps.append(second)
    return Small(inputs, tuple(steps))


def both(program: Small, of: Small) -> tuple[bool, bool]:
    """Is the value of `program` part of that of `of`: typed, untyped?"""
    t = Terms({"m": 4, "k": 8, "n": 4, "r": 4})
    x, y = program.term(t), of.term(t)
    return Typed(t).part_of(x, y) is True, part_of(of_term(t, x), of_term(t, y))


PROGRAMS = [
    Small((("X", "mk"), ("W", "kn")), (Step("dot k", (0, 0)), Step("div", (0, 2)), Step("dot k", (3, 1)))),
    Small((("X", "mk"), ("Y", "mk"), ("W", "kn")), (Step("dot k", (0, 2)), Step("dot k", (1, 2)), Step("add", (3, 4)))),
    Small((("X", "mk"), ("A", "kr"), ("B", "rn")), (Step("dot k", (0, 1)), Step("dot r", (3, 2)))),
    Small((("X", "mk"),), (Step("exp", (0,)), Step("sum k", (1,)), Step("div", (1, 2)))),
    Small((("X", "mk"), ("W", "kn")), (Step("sum k", (0,)), Step("mul", (0, 2)), Step("dot k", (3, 1)))),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_typed_relation_is_contained_in_the_untyped(program):
    """Over every value of an enumeration without pruning."""
    seen = {"typed": 0, "untyped alone": 0}

    def watch(prefix: Small) -> bool:
        typed, untyped = both(prefix, program)
        assert untyped or not typed, prefix.steps
        seen["typed"] += typed
        seen["untyped alone"] += untyped and not typed
        return True

    Brute(program, 2, keep=watch).run()
    assert seen["typed"]


def test_the_typed_relation_is_the_smaller():
    """sum_d(Q) * K looks like a part of sum_d(Q * K) without indices."""
    inputs = (("X", "mk"), ("W", "kn"))
    wrong = Small(inputs, (Step("sum k", (0,)), Step("mul", (2, 1))))
    assert both(wrong, Small(inputs, (Step("dot k", (0, 1)),))) == (False, True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_relations_give_the_same_solutions(program):
    relations = Relations(program)
    typed, untyped = (relations.solutions(4, which) for which in (TYPED, UNTYPED))
    assert set(typed.classes) == set(untyped.classes) and typed.classes
    everything = Brute(program, 3)
    everything.run()
    assert set(everything.classes) <= set(typed.classes)
    assert relations.solutions(3, TYPED).visited <= relations.solutions(3, UNTYPED).visited <= everything.visited


def test_both_relations_give_the_same_solutions_of_random_programs():
    """Up to four operators; the whole run is `./dev bench search --only complete`."""
    some = 0
    for seed in range(12):
        relations = Relations(random_small(seed))
        typed, untyped = (relations.solutions(4, which) for which in (TYPED, UNTYPED))
        assert set(typed.classes) == set(untyped.classes), seed
        some += bool(typed.classes)
    assert some >= 10


def test_a_relation_that_drops_what_is_needed_is_seen():
    program = PROGRAMS[0]
    pruned = Brute(program, 3, keep=lambda prefix: not prefix.steps[-1].op.startswith("dot")).run()
    assert set(pruned) != set(Brute(program, 3).run())
