"""Cut points exposed by rewriting the program: values that only another spelling of it computes.

`(X A) B` computes no product `A B`, and a sum of normalized rows no sum of plain rows; `X (A B)`, and the division after the
contraction, do. Such a cut names the term of the output in which it occurs (`Cut.instead`), and the cuts that occur there
beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from mirage.meaning.exp_shift import substitute, unbounded
from mirage.meaning.terms import Terms
from mirage.results.progress import CancelToken
from mirage.search.cuts import Cut, cut_candidates
from mirage.search.reduction_moves import Moves
from mirage.search.reduction_systems import enumerate_systems


def respelled(
    t: Terms,
    roots: Sequence[int],
    cuts: Sequence[Cut],
    shifted: Collection[int],
    cancel: CancelToken,
    *,
    limit: int,
    most: int,
) -> tuple[list[Cut], bool]:
    """`cuts` with what of them is read in other spellings, and at most `most` further ones; whether that was all of them."""
    moves = Moves(t, lean=False, carry=False, cancel=cancel)
    out, more = list(cuts), list[Cut]()
    numbers = {moves.prints.of(c.term): c.number for c in cuts}
    least: dict[tuple[int, object], int] = {}  # reductions of the output that are left where a value of it is kept
    for root in roots:
        least |= {(root, moves.prints.of(c.term)): left(t, root, c) for c in cuts}
        allowed = {moves.prints.of(x) for x in unbounded(t, moves.prints, root)}
        systems, _ = enumerate_systems(moves, root, cancel, limit)
        for s in systems:
            if s.cancelling or {moves.prints.of(x) for x in unbounded(t, moves.prints, s.output)} - allowed:
                continue
            here = cut_candidates(t, [s.output], shifted)
            known = {c.number: numbers.get(moves.prints.of(c.term)) for c in here}
            fresh: list[Cut] = []
            for c in here:
                number, value = known[c.number], (root, moves.prints.of(c.term))
                if number is not None and c.term not in {out[number].term, *(x for x, _ in out[number].again)}:
                    out[number] = replace(out[number], again=(*out[number].again, (c.term, ())))
                rest = left(t, s.output, c)
                if rest < least.get(value, rest + 1):
                    least[value] = rest
                    fresh.append(c)
            if fresh:
                fresh += [c for c in here if known[c.number] is None and c not in fresh]
                more += numbered(fresh, known, len(cuts) + len(more), (root, s.output))
    return [*out, *more[:most]], len(more) <= most


def numbered(
    fresh: Sequence[Cut], known: Mapping[int, int | None], first: int, instead: tuple[int, int]
) -> Iterator[Cut]:
    """The cuts of another spelling with numbers of their own from `first`, and the cuts that occur there beside each."""
    beside = {n for n in known.values() if n is not None} | set(range(first, first + len(fresh)))
    for i, c in enumerate(fresh):
        own = {first + i, known[c.number]}
        yield replace(c, number=first + i, instead=(instead,), beside=frozenset(n for n in beside if n not in own))


def left(t: Terms, output: int, cut: Cut) -> int:
    """The reductions that an output still needs where a value is kept."""
    hole = t.input("kept", ())
    return len(t.closure(substitute(t, output, dict.fromkeys((cut.term, *(x for x, _ in cut.again)), hole))))
