"""A term built again in an arena of its own, in another order: other ids, other operand orders, the same meaning."""

from __future__ import annotations

import random
from dataclasses import replace

from mirage.meaning.nodes import Node
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
        if n[0] in ("add", "mul"):
            rng.shuffle(kids)
        if n[0] == "fn":
            made[y] = new.fn(n[1], *kids)
        elif kids:
            made[y] = rebuilt(new, n, tuple(kids))
        else:
            made[y] = new.make(n, old.dims(y), ())
    outputs = tuple(replace(o, term=made[o.term]) for o in problem.outputs)
    return replace(problem, t=new, outputs=outputs)


def rebuilt(t: Terms, n: Node, kids: tuple[int, ...]) -> int:
    build = {"add": t.add, "mul": t.mul, "inv": t.inv, "exp": t.exp, "sqrt": t.sqrt}
    if n[0] == "red":
        return (t.sum if n[1] == "sum" else t.max)(str(n[2]), kids[0])
    return build[str(n[0])](*kids)


def copied(old: Terms, new: Terms, x: int, memo: dict[int, int]) -> int:
    """`x` in another arena; a carried reduction as what it computes."""
    if x not in memo:
        n, kids = old.node(x), tuple(copied(old, new, k, memo) for k in old.kids(x))
        if not kids:
            memo[x] = new.make(n, old.dims(x), ())
        else:
            memo[x] = new.fn(str(n[1]), *kids) if n[0] == "fn" else rebuilt(new, n, kids)
    return memo[x]
