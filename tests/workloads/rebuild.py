"""A term built again in an arena of its own, in another order: other ids, other operand orders, the same meaning."""

from __future__ import annotations

import random
from dataclasses import replace

from mirage.meaning.nodes import Add, Apply, Mul, Node, Reduce
from mirage.meaning.terms import Terms
from mirage.search.engine import Problem


def shuffled(problem: Problem, seed: int) -> Problem:
    """The same problem with its operators made in a random order that respects their operands, themselves shuffled."""
    rng = random.Random(seed)
    old, new = problem.t, Terms(dict(problem.t.sizes))
    new.bool_inputs |= old.bool_inputs
    for _ in range(rng.randint(0, 5)):
        new.const(rng.randint(100, 1000))  # ids begin elsewhere
    roots = [o.term for o in problem.outputs]
    todo = sorted({y for x in roots for y in old.walk(x)})
    made: dict[int, int] = {}
    while todo:
        ready = [y for y in todo if all(k in made for k in old.kids(y))]
        y = rng.choice(ready)
        todo.remove(y)
        kids = [made[k] for k in old.kids(y)]
        n = old.node(y)
        if isinstance(n, (Add, Mul)):
            rng.shuffle(kids)
        if kids:
            made[y] = rebuilt(new, n, tuple(kids))
        else:
            made[y] = new.make(n, old.dims(y), ())
    outputs = tuple(replace(o, term=made[o.term]) for o in problem.outputs)
    return replace(problem, t=new, outputs=outputs)


def rebuilt(t: Terms, n: Node, kids: tuple[int, ...]) -> int:
    match n:
        case Reduce(op, axis):
            return (t.sum if op == "sum" else t.max)(axis, *kids)
        case Apply(name):
            return t.fn(name, *kids)
    return {"add": t.add, "mul": t.mul, "inv": t.inv, "exp": t.exp, "sqrt": t.sqrt}[n.kind](*kids)


def copied(old: Terms, new: Terms, x: int, memo: dict[int, int]) -> int:
    """`x` in another arena; a carried reduction as what it computes."""
    if x not in memo:
        n, kids = old.node(x), tuple(copied(old, new, k, memo) for k in old.kids(x))
        memo[x] = rebuilt(new, n, kids) if kids else new.make(n, old.dims(x), ())
    return memo[x]
