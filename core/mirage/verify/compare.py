"""Do two tensor programs compute the same? Proof by normal form, else the field's opinion, on their terms alone."""

from __future__ import annotations

from collections import defaultdict

from mirage.errors import SignatureMismatch
from mirage.meaning.normal import Normalizer
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DimIndex
from mirage.program.ir import DTYPES, Program
from mirage.program.lower import Lowered, lower
from mirage.verify.algebra import field_opinion
from mirage.verify.verdict import Evidence, Link, Verdict


def check_signatures(a: Program, b: Program) -> None:
    """Same inputs (shapes and dtypes, in order; names may differ) and same outputs, or SignatureMismatch."""
    for what, left, right in (
        ("inputs", [i.type for i in a.inputs], [i.type for i in b.inputs]),
        ("outputs", [a.type_of(o) for o in a.outputs], [b.type_of(o) for o in b.outputs]),
    ):
        mine, other = [(t.shape, t.dtype) for t in left], [(t.shape, t.dtype) for t in right]
        if mine != other:
            raise SignatureMismatch(f"{a.name} and {b.name} have different {what}: {mine} and {other}")


def occurrences(t: Terms, roots: list[int], position: dict[str, int]) -> dict[str, tuple[tuple[int, int, int], ...]]:
    """For each axis where it stands in the inputs: (input, dim, place in the dim)."""
    found: dict[str, set[tuple[int, int, int]]] = defaultdict(set)
    for root in roots:
        for x in t.walk(root):
            n = t.node(x)
            if n[0] == "in":
                for i, d in enumerate(n[2]):
                    for j, a in enumerate(d.axes):
                        found[a].add((position[n[1]], i, j))
    return {a: tuple(sorted(places)) for a, places in found.items()}


def aligned(into: Terms, lowered: Lowered, program: Program) -> list[tuple[int, tuple[tuple[str, ...], ...]]]:
    """The outputs' terms copied into one arena, with names that depend only on where axes stand: outputs first, then the
    places in the inputs; two axes of one name's place are told apart by their order."""
    t = lowered.terms
    position = {i.name: n for n, i in enumerate(program.inputs)}
    roots = [term for term, _ in lowered.outputs]
    names: dict[str, str] = {}
    for o, (_, dims) in enumerate(lowered.outputs):
        for i, d in enumerate(dims):
            for j, a in enumerate(d):
                names.setdefault(a, f"o{o}_{i}_{j}")
    places = occurrences(t, roots, position)
    for a in sorted((a for a in places if a not in names), key=lambda a: (places[a], a)):
        wish = "i" + "_".join(map(str, places[a][0]))
        while wish in names.values():
            wish += "x"
        names[a] = wish
    for a in sorted(t.sizes):
        names.setdefault(a, f"z_{a}")
    into.sizes |= {names[a]: n for a, n in t.sizes.items() if a in names}
    memo: dict[int, int] = {}

    def copy(x: int) -> int:
        if x not in memo:
            n = t.node(x)
            if n[0] == "in":
                index = tuple(DimIndex(tuple(names[a] for a in d.axes), d.offset) for d in n[2])
                memo[x] = into.input(f"x{position[n[1]]}", index, boolean=n[1] in t.bool_inputs)
            elif n[0] == "size":
                memo[x] = into.size(names[n[1]])
            elif n[0] == "index":
                memo[x] = into.index(tuple(names[a] for a in n[1]))
            elif n[0] == "red":
                body = copy(n[3])
                memo[x] = into.sum(names[n[2]], body) if n[1] == "sum" else into.max(names[n[2]], body)
            else:
                kids = tuple(copy(k) for k in t.kids(x))
                memo[x] = rebuilt(into, n, kids)
        return memo[x]

    return [(copy(term), tuple(tuple(names[a] for a in d) for d in dims)) for term, dims in lowered.outputs]


def rebuilt(t: Terms, n: tuple[object, ...], kids: tuple[int, ...]) -> int:
    kind = n[0]
    if kind in ("add", "mul"):
        return (t.add if kind == "add" else t.mul)(*kids)
    if kind in ("inv", "exp", "sqrt"):
        return int({"inv": t.inv, "exp": t.exp, "sqrt": t.sqrt}[str(kind)](kids[0]))
    if kind == "fn":
        return t.fn(str(n[1]), *kids)
    return t.make(n, (), ())  # a number


def compare(a: Program, b: Program) -> Verdict:
    """The verdict on "the two programs compute the same", on the algebra link alone."""
    check_signatures(a, b)
    t = Terms()
    left, right = aligned(t, lower(a), a), aligned(t, lower(b), b)
    evidence: list[Evidence] = []
    normal = Normalizer(t)
    kinds = {
        f"x{n}": "bool" if i.type.dtype == "bool" else "int"
        for n, i in enumerate(a.inputs)
        if not DTYPES[i.type.dtype][1]
    }
    pairs = []
    for (x, dims), (y, other) in zip(left, right, strict=True):
        if dims != other:
            raise SignatureMismatch(f"{a.name} and {b.name} cut their outputs' dims differently")
        pairs.append((x, y))
    if all(normal.equal(x, y) for x, y in pairs):
        evidence.append(Evidence("proof", "PROVED", 0.0, 0.0, "equal normal forms"))
    evidence += [field_opinion(t, x, y, kinds=kinds) for x, y in pairs]
    return Verdict((Link("algebra", tuple(evidence)),), "these sizes")
