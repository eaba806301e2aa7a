"""The padding rule: what is reduced over a dim is neutral in that dim's padding, whatever the sizes are.

Tiles reach beyond their dim where its size is no multiple of the tile. What stands there is followed from the loads
(their `pad`) through every operator (`operators/padding.py`), for each set of dims that an element may be outside of. A sum and a
dot want zero there, a maximum -inf; a dot also wants its other operand not infinite, since 0 * inf is NaN.
The rule holds for every size, also for one that the tile divides: the same text runs at other sizes.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from mirage.mugraph import old_value
from mirage.mugraph.block_facts import OfBody
from mirage.mugraph.grammar import Accumulate, Compute, Load, Loop, MuGraph, Statement, Store, ThreadGraph
from mirage.mugraph.rules.breach import Breach, Limits
from mirage.mugraph.text import statement_text
from mirage.mugraph.walk import PlacedBlock, computes, parts, sites
from mirage.operators.block_operators import BLOCK, state_of
from mirage.operators.padding import State, add, join, mul, of_number, reduce

Outside = frozenset[str]  # the dims whose padding an element is in
INSIDE: Outside = frozenset()


class TileStates:
    """What is known of a tile: a state for each set of dims, and whether its values are 0/1."""

    def __init__(self, states: dict[Outside, State], flag: bool = False) -> None:
        self.states, self.flag = states, flag

    def at(self, where: Outside) -> State:
        """The state of the elements outside exactly the dims `where` (dims that the tile lacks do not matter)."""
        return self.states[where & self.dims]

    @property
    def dims(self) -> Outside:
        return frozenset().union(*self.states)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TileStates) and (self.states, self.flag) == (other.states, other.flag)

    __hash__ = None  # type: ignore[assignment]


def _settle(where: Outside, state: State) -> State:
    """Inside every dim nothing is padding: what is not a known constant is data. In the padding there is no data: an
    operator there may meet arguments that it never meets inside."""
    if where == INSIDE:
        return "data" if state in ("finite", "huge", "any") else state
    return "finite" if state == "data" else state


def constant(text: str) -> State:
    """The state of a `const`'s value."""
    if text == "-inf":
        return of_number(float("-inf"))
    return of_number(float(text[1:]) if text.startswith("~") else float(Fraction(text)))


class Follower:
    """Follows the tiles of one part. `report` collects the breaches; loops run until what is known is stable."""

    def __init__(self, part: PlacedBlock) -> None:
        self.part = part
        self.env: dict[str, TileStates] = {}
        self.report: list[tuple[Statement, str]] = []
        # what stands in the padding of a dim that nothing reduces over is never read; tiles of one element have none
        operators = [c for s in sites(part) for c in computes(s.statement)]
        reduced = {c.attr("dim") for c in operators if BLOCK[c.op].form in ("reduce", "dot")}
        self.reduced = {d for d in reduced if part.graph.dim(d).tile > 1}

    def places(self, dims: tuple[str, ...]) -> list[Outside]:
        """Every set of dims, of those that are reduced over somewhere, that an element may be outside of."""
        wanted = [d for d in dims if d in self.reduced]
        return [frozenset(c) for n in range(len(wanted) + 1) for c in combinations(wanted, n)]

    def run(self) -> None:
        for item in self.part.graph.body:
            if isinstance(item, Loop):
                self.loop(item)
            else:
                self.statement(item)

    def loop(self, loop: Loop) -> None:
        accumulators = [x for x in loop.body if isinstance(x, Accumulate)]
        old: dict[str, TileStates] = {}
        for x in accumulators:
            start: State = "zero" if x.op == "sum" else "lowest"
            begin = self.env.get(x.start)
            old[x.out] = TileStates({w: begin.at(w) if begin else start for w in self.places(x.dims)})
        before = list(self.report)
        while True:
            self.report = list(before)
            self.env |= {old_value.old(name): tile for name, tile in old.items()}
            for s in loop.body:
                self.statement(s)
            new = {
                n: TileStates({w: _settle(w, join(a, self.env[n].states[w])) for w, a in t.states.items()})
                for n, t in old.items()
            }
            if new == old:
                return
            old = new

    def statement(self, s: Statement) -> None:
        if isinstance(s, Load):
            pad = of_number(s.pad)
            self.env[s.out] = TileStates({w: pad if w else "data" for w in self.places(s.dims)})
        elif isinstance(s, Compute):
            self.env[s.out] = self.compute(s, s)
        elif isinstance(s, ThreadGraph):
            for c in s.body:
                self.env[c.out] = self.compute(c, s)
        elif isinstance(s, Accumulate):
            self.env[s.out] = self.accumulate(s)
        else:
            assert isinstance(s, Store)

    def accumulate(self, s: Accumulate) -> TileStates:
        arg = self.env[s.arg]
        states: dict[Outside, State] = {}
        for w in self.places(s.dims):
            if s.op == "max":
                states[w] = _settle(w, reduce("max", self.env[old_value.old(s.out)].at(w), arg.at(w)))
                continue
            terms = s.update or (("", ""),)
            past: list[State] = []
            for coef, acc in terms:
                value = self.env[old_value.old(acc or s.out)].at(w)
                past.append(mul(self.env[coef].at(w), value) if coef else value)
            states[w] = _settle(w, add(*past, arg.at(w)))
        return TileStates(states)

    def compute(self, c: Compute, site: Statement) -> TileStates:
        form = BLOCK[c.op].form
        if form == "leaf":
            return self.leaf(c)
        args = [self.env[a] for a in c.args]
        if form == "pointwise":
            return self.pointwise(c, args)
        over = frozenset({c.attr("dim")})
        states: dict[Outside, State] = {}
        for w in self.places(c.dims):
            if form == "dot":
                inside, padding = (mul(args[0].at(x), args[1].at(x)) for x in (w, w | over))
            else:
                inside, padding = args[0].at(w), args[0].at(w | over)
            op = "sum" if form == "dot" else c.op
            neutral: State = "lowest" if op == "max" else "zero"
            if w == INSIDE and padding != neutral and over & self.reduced:
                self.report.append((site, f"in the padding of {c.attr('dim')} it reduces what may not be {neutral}"))
            states[w] = _settle(w, reduce(op, inside, padding))
        return TileStates(states)

    def leaf(self, c: Compute) -> TileStates:
        if c.op == "mask":
            return TileStates({w: "zero" if w else "one" for w in self.places(c.dims)}, flag=True)
        if c.op == "const":
            state = constant(c.attr("value"))
            return TileStates({w: state for w in self.places(c.dims)})
        return TileStates({w: "nonzero" if c.op == "size" else "finite" if w else "data" for w in self.places(c.dims)})

    def pointwise(self, c: Compute, args: list[TileStates]) -> TileStates:
        flags = [a.flag for a in args]
        have = frozenset[str]().union(*(a.dims for a in args))
        states: dict[Outside, State] = {}
        for w in self.places(c.dims):
            own = w & have  # outside dims that no argument has, the element equals one inside
            states[w] = _settle(own, state_of(c.op, [a.at(own) for a in args], flags))
        flag = BLOCK[c.op].flag or (c.op == "mul" and all(flags))
        return TileStates(states, flag)


# What a body reduces wrongly, by the dims that are reduced and have padding: nothing else of its tiles matters.
_reports: OfBody[dict[Outside, tuple[tuple[Statement, str], ...]]] = OfBody(lambda _: {})


def padding(m: MuGraph, limits: Limits) -> None:
    """What is reduced over a dim is neutral in the dim's padding."""
    for part in parts(m):
        follower = Follower(part)
        known, reduced = _reports(part.graph.body), frozenset(follower.reduced)
        if reduced not in known:
            follower.run()
            known[reduced] = tuple(follower.report)
        for statement, message in known[reduced]:
            raise Breach(part.where, message, statement_text(statement).split("\n")[0])
