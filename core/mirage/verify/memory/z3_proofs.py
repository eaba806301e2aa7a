"""Proofs about where programs read and write, by z3: in bounds, each element once, everything covered.

An access is one load or store with its conditions, for all blocks, iterations and lanes at once. Everything is linear
(`linear_forms.py`): a quotient by a constant becomes two integers with x = by * q + r. Nothing here is quantified twice: that
every element is written is shown by naming the writer of an element, which is guessed from the strides and then checked.
A question that takes more work than is allowed gives no verdict; work is counted and never timed, so that a slow or loaded
machine says the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from mirage.verify.memory import linear_forms
from mirage.verify.memory.linear_forms import Atom, Cond, LinearForm, Quotient, Var

if TYPE_CHECKING:
    from z3 import ArithRef, BoolRef, ModelRef

AccessKind = Literal["load", "store", "atomic"]
WORK = 4_000_000  # of one question, in z3's units, of which it does about 1.5 million a second; no question of the tests takes 120,000


class Undecided(Exception):
    """It is not decided: a question took too much work, or something is not an index arithmetic that is understood."""


class MemoryFault(Exception):
    """A memory fault: what, and the point at which it happens (variables, and `element`)."""

    def __init__(self, what: str, at: tuple[tuple[str, int], ...] = ()) -> None:
        super().__init__(what)
        self.what, self.at = what, at

    @property
    def text(self) -> str:
        place = ", ".join(f"{n} = {v}" for n, v in self.at)
        return f"{self.what}{f' (at {place})' if place else ''}"


@dataclass(frozen=True)
class Access:
    """One load or store. `shape` is the tile's, whose lanes are the variables lane0, lane1, ...; `when` says for which
    values of the variables it happens. `group` (of what the last block to arrive runs): blocks with an equal value of
    it do it once together."""

    tensor: str
    kind: AccessKind
    offset: LinearForm
    when: Cond
    own: tuple[Var, ...]  # the variables of which each value is one access
    where: str
    group: LinearForm | None = None
    wide: bool = True  # 64-bit offsets

    @property
    def said(self) -> str:
        return f"{self.where}: the {self.kind} of {self.tensor}"


@dataclass
class ProofScope:
    """One copy of the variables in z3, with what defines them. `given` atoms have a value already."""

    z3: ModuleType
    tag: str = ""
    given: dict[Atom, ArithRef] = field(default_factory=dict)
    facts: list[BoolRef] = field(default_factory=list)
    made: dict[Atom, ArithRef] = field(default_factory=dict)

    def atom(self, a: Atom) -> ArithRef:
        if a in self.given:
            return self.given[a]
        if a in self.made:
            return self.made[a]
        if isinstance(a, Var):
            self.made[a] = x = self.z3.Int(a.name + self.tag)
            self.facts += [x >= a.low, x <= a.high]
            return x
        q, r = (self.z3.FreshInt(n) for n in "qr")
        self.facts += [self.form(a.form) == a.by * q + r, r >= 0, r < a.by]
        self.made[Quotient(a.form, a.by)], self.made[Quotient(a.form, a.by, True)] = q, r
        return self.made[a]

    def form(self, x: LinearForm) -> ArithRef | int:
        return linear_forms.translate(x, self.atom)

    def cond(self, c: Cond) -> BoolRef:
        if c.kind in ("<=", "=="):
            x = self.form(c.form)
            x = self.z3.IntVal(x) if isinstance(x, int) else x
            return x <= 0 if c.kind == "<=" else x == 0
        parts = [self.cond(p) for p in c.parts]
        if c.kind == "not":
            return self.z3.Not(parts[0])
        return (self.z3.And if c.kind == "and" else self.z3.Or)(*parts)


class AccessProver:
    """Asks z3; `questions` counts, `work` in z3's units a question. Raises MemoryFault or Undecided, or returns."""

    def __init__(self, work: int = WORK) -> None:
        import z3

        self.z3, self.work, self.questions = z3, work, 0

    def model(self, *wanted: BoolRef) -> ModelRef | None:
        """A model, or None if there is none."""
        self.questions += 1
        solver = self.z3.Solver()
        solver.set("rlimit", self.work)
        solver.add(*wanted)
        said = solver.check()
        if said == self.z3.unknown:
            raise Undecided("a question took too much work")
        return solver.model() if said == self.z3.sat else None

    def point(self, model: ModelRef, scope: ProofScope, own: Iterable[Var]) -> tuple[tuple[str, int], ...]:
        out = []
        for v in own:
            if v in scope.made:
                out.append((v.name, model.eval(scope.made[v], model_completion=True).as_long()))
        return tuple(out)

    # ---- one access
    def in_bounds(self, a: Access, elements: int) -> None:
        """0 <= offset < elements whenever it happens; and 32-bit offsets suffice."""
        low, high = linear_forms.span(a.offset)
        limit = elements if a.wide else min(elements, 2**31)
        if low >= 0 and high < limit:
            return
        s = ProofScope(self.z3)
        at = s.form(a.offset)
        at = self.z3.IntVal(at) if isinstance(at, int) else at
        outside = self.z3.And(s.cond(a.when), self.z3.Or(at < 0, at >= limit))
        model = self.model(outside, *s.facts)
        if model is not None:
            element = model.eval(at, model_completion=True).as_long()
            words = "is out of bounds" if limit == elements else "needs 64-bit offsets"
            raise MemoryFault(
                f"{a.said} {words}: element {element} of {elements}",
                (*self.point(model, s, a.own), ("element", element)),
            )

    # ---- two accesses
    def apart(self, a: Access, b: Access) -> None:
        """No element is written twice by `a` and `b` (which may be one)."""
        s, t = ProofScope(self.z3), ProofScope(self.z3, "'")
        asked = [s.cond(a.when), t.cond(b.when), s.form(a.offset) == t.form(b.offset)]
        if a is b:
            pairs = [
                (s.atom(v), t.atom(v)) for v in a.own if not (a.group and v in set(linear_forms.variables(a.group)))
            ]
            if a.group is not None:
                pairs.append((s.form(a.group), t.form(a.group)))
            if not pairs:
                return
            asked.append(self.z3.Or(*(x != y for x, y in pairs)))
        model = self.model(*asked, *s.facts, *t.facts)
        if model is None:
            return
        at, other = self.point(model, s, a.own), self.point(model, t, b.own)
        x = s.form(a.offset)
        element = x if isinstance(x, int) else model.eval(x, model_completion=True).as_long()
        twice = tuple((f"{n}'", v) for n, v in other)
        words = f"{a.tensor}: element {element} is written more than once: by {a.where} and by {b.where}"
        raise MemoryFault(words, (*at, *twice, ("element", element)))

    def same_for_group(self, a: Access) -> None:
        """Proves that the actions of the last block depend on its group alone."""
        assert a.group is not None
        s, t = ProofScope(self.z3), ProofScope(self.z3, "'")
        mine = set(linear_forms.variables(a.group))
        equal = [s.atom(v) == t.atom(v) for v in a.own if v not in mine]
        equal.append(s.form(a.group) == t.form(a.group))
        differs = self.z3.Or(s.cond(a.when) != t.cond(a.when), s.form(a.offset) != t.form(a.offset))
        model = self.model(*equal, differs, *s.facts, *t.facts)
        if model is not None:
            raise MemoryFault(f"{a.said} depends on which block of its group arrives last", self.point(model, s, a.own))

    def same_group(self, load: Access, store: Access) -> None:
        """Proves that a block of its own group wrote what the last block reads."""
        s, t = ProofScope(self.z3), ProofScope(self.z3, "'")
        assert load.group is not None
        mine, theirs = s.form(load.group), t.form(load.group)
        model = self.model(
            s.cond(load.when),
            t.cond(store.when),
            s.form(load.offset) == t.form(store.offset),
            mine != theirs,
            *s.facts,
            *t.facts,
        )
        if model is not None:
            raise MemoryFault(f"{load.said} reads what another group of blocks stores", self.point(model, s, load.own))

    # ---- all stores of a tensor
    def covered(self, tensor: str, stores: Sequence[Access], elements: int) -> None:
        """Every element in [0, elements) is written by one of the stores."""
        e = self.z3.Int("element")
        asked = [e >= 0, e < elements]
        for a in stores:
            guess = _writer(self.z3, a, e, elements)
            if guess is None:
                raise Undecided(f"the writer of an element of {tensor} is not found from its strides")
            scope, held = guess
            here = [*held, scope.cond(a.when), scope.form(a.offset) == e]
            for v in sorted({*a.own, *_all(a)}, key=lambda v: v.name):
                x = scope.atom(v)
                here += [x >= v.low, x <= v.high]
            asked += [*scope.facts, self.z3.Not(self.z3.And(*here))]
        model = self.model(*asked)
        if model is None:
            return
        element = model.eval(e, model_completion=True).as_long()
        for a in stores:  # the guess may have been a bad one: is there another writer?
            s = ProofScope(self.z3)
            if self.model(s.cond(a.when), s.form(a.offset) == element, *s.facts) is not None:
                raise Undecided(f"the writer of an element of {tensor} is not found from its strides")
        raise MemoryFault(f"{tensor}: element {element} of {elements} is never written", (("element", element),))


def _all(a: Access) -> set[Var]:
    found = set(linear_forms.variables(a.offset))

    def walk(c: Cond) -> None:
        found.update(linear_forms.variables(c.form))
        for p in c.parts:
            walk(p)

    walk(a.when)
    return found


def _writer(z3: ModuleType, a: Access, e: ArithRef, elements: int) -> tuple[ProofScope, list[BoolRef]] | None:
    """(the variables that write element `e`, in terms of fresh digits of e; what has yet to hold of them), or None.

    The offset is read as an index with strides: terms with coefficients c, c * n, c * n * m ... whose ranges are n, m, ...
    are one dense index. The digits of e in those strides are the indices. Any e has such digits, so that assuming them
    loses nothing, and all else is checked."""
    scope = ProofScope(z3)
    held: list[BoolRef] = []
    rest: list[tuple[LinearForm, ArithRef]] = [(a.offset, e)]
    done: set[Atom] = set()
    zero = _zero(a.when)
    quotients: dict[tuple[LinearForm, int], dict[bool, ArithRef]] = {}
    while rest:
        x, value = rest.pop()
        groups = _dense(x, zero)
        if groups is None:
            return None
        value = value - x.constant
        digits = _digits(z3, scope, value, [g[0][1] for g in groups], elements)
        for group, digit in zip(groups, digits, strict=True):
            base = group[0][1]
            inner = _digits(z3, scope, digit, [c // base for _, c in group], None)
            for (atom, _), d in zip(group, inner, strict=True):
                if atom in done:
                    held.append(scope.given[atom] == d)
                    continue
                done.add(atom)
                scope.given[atom] = d
                if isinstance(atom, Quotient):
                    quotients.setdefault((atom.form, atom.by), {})[atom.rest] = d
        if not rest:
            # the outermost first: a quotient of a quotient is complete only when all its parts are
            for (form, by), have in sorted(quotients.items(), key=lambda x: -len(repr(x[0]))):
                q, r = have.get(False), have.get(True)
                q, r = (z3.IntVal(0) if q is None else q), (z3.IntVal(0) if r is None else r)
                held += [r >= 0, r < by]
                scope.given[Quotient(form, by)], scope.given[Quotient(form, by, True)] = q, r
                rest.append((form, by * q + r))
                del quotients[form, by]
                break
    for v in {*a.own, *_all(a)} - done:  # what does not matter to the place: its first value
        scope.given[v] = z3.IntVal(v.low)
    return scope, held


def _zero(when: Cond) -> set[Atom]:
    """The variables that are 0 whenever a condition holds: the lanes of a tile that is cut to one element."""
    if when.kind == "and":
        return set[Atom]().union(*map(_zero, when.parts))
    if when.kind == "<=" and when.form.constant == 0 and len(when.form.terms) == 1:
        ((atom, c),) = when.form.terms
        if c > 0 and linear_forms.atom_span(atom)[0] == 0:
            return {atom}
    return set()


def _dense(x: LinearForm, zero: Set[Atom]) -> list[list[tuple[Atom, int]]] | None:
    """The terms by rising coefficient, in groups that are dense, without those that are `zero`; None if a coefficient is not
    positive."""
    terms = sorted(x.terms, key=lambda t: t[1])
    terms = [t for t in terms if t[0] not in zero and linear_forms.atom_span(t[0]) != (0, 0)]
    groups: list[list[tuple[Atom, int]]] = []
    reach = 0
    for atom, c in terms:
        low, high = linear_forms.atom_span(atom)
        if c <= 0 or low != 0:
            return None
        if groups and c == reach:
            groups[-1].append((atom, c))
        elif groups and c % groups[-1][0][1]:
            return None
        else:
            groups.append([(atom, c)])
        reach = c * (high + 1)
    return groups


def _digits(
    z3: ModuleType, scope: ProofScope, value: ArithRef, bases: Sequence[int], elements: int | None
) -> list[ArithRef]:
    """Fresh integers d with value = sum of d * base, each but the last within the next base's ratio. The value has them
    because each base divides the next (and the first is one; where it is not, the value must be a multiple of it)."""
    if not bases:
        return []
    if len(bases) == 1 and bases[0] == 1:
        return [value]
    out = [z3.FreshInt("d") for _ in bases]
    rest: ArithRef = z3.IntVal(0)
    if bases[0] != 1:
        rest = z3.FreshInt("rest")
        scope.facts += [rest >= 0, rest < bases[0]]
    scope.facts.append(value == sum((b * d for b, d in zip(bases, out, strict=True)), start=rest))
    for d, b, c in zip(out, bases, bases[1:]):
        scope.facts += [d >= 0, d < c // b]
    return out


def once_and_covered(p: AccessProver, tensors: Mapping[str, int], accesses: Sequence[Access]) -> None:
    """Every element of each tensor of `tensors` (name -> elements) is written exactly once by the accesses' stores."""
    for name, elements in tensors.items():
        stores = [a for a in accesses if a.tensor == name and a.kind == "store"]
        if elements and not stores:
            raise MemoryFault(f"{name} is never written", (("element", 0),))
        for i, a in enumerate(stores):
            for b in stores[i:]:
                p.apart(a, b)
        p.covered(name, stores, elements)
