"""The proof opinion on the algebra link: the program and the µGraph with its sizes erased have one normal form."""

from __future__ import annotations

import time

from mirage.meaning.normal import Normalizer
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import MuGraph
from mirage.verify.denote import NotDenoted, denote, same_axes, split_axis
from mirage.verify.verdict import Evidence

Targets = dict[str, tuple[int, tuple[tuple[str, ...], ...]]]  # output tensor -> (term, axes of its dims)


def proof_opinion(t: Terms, targets: Targets, mugraph: MuGraph) -> Evidence | None:
    """PROVED, or None where the normal form is silent: it never rejects, since different forms prove nothing.

    Carried accumulators must satisfy their update laws for free old and new values (any shift, not the maximum alone)."""
    start = time.monotonic()
    normal = Normalizer(t)
    try:
        meaning = denote(t, mugraph)
        pairs = []
        for name, (target, dims) in targets.items():
            term, have = meaning.outputs[name]
            for axis, (part, rest) in meaning.splits.items():
                target = split_axis(t, target, axis, part, rest)
            pairs.append((target, same_axes(t, term, have, dims)))
    except NotDenoted:
        return None
    pairs += [(o.left, o.right) for o in meaning.obligations]
    if any(normal.equal(a, b) is None for a, b in pairs):
        return None
    laws = len(meaning.obligations)
    return Evidence(
        "proof", "PROVED", 0.0, time.monotonic() - start,
        f"equal normal forms{f', {laws} update laws' if laws else ''}",
        {"outputs": len(targets), "update_laws": laws, "splits": {a: list(p) for a, p in meaning.splits.items()}},
    )  # fmt: skip
