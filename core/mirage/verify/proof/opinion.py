"""The proof opinion on the algebra link: the program and the µGraph with its sizes erased are one term, or are proved equal.

The axioms prove it for all inputs and all sizes (`prover.py`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mirage.meaning.axis_split import split_axis
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import MuGraph
from mirage.results.details import ProofDetails, ProofStep
from mirage.results.verdict import Evidence
from mirage.verify.proof.prover import Proof, Prover
from mirage.verify.proof.user_rules import Rules, every
from mirage.verify.proof.work_budget import WORK
from mirage.verify.semantics.denote import NotDenoted, denote, same_axes

Targets = dict[str, tuple[int, tuple[tuple[str, ...], ...]]]  # output tensor -> (term, axes of its dims)


def summary(proofs: Iterable[Proof]) -> str:
    """In words: by which routes the pairs were proved."""
    routes = Counter(p.route for p in proofs)
    if set(routes) <= {"normal form"}:
        return "equal normal forms"
    return "equal by " + ", ".join(f"{route} ({n})" for route, n in sorted(routes.items()))


def details(proofs: Sequence[Proof], rules: Rules | None = None) -> ProofDetails:
    """The evidence as data: the route of each pair, the axioms applied or given to z3, the user's rules among them."""
    used = sorted({name for p in proofs for name in p.laws})
    mine = {r.name: r.text for r in rules.trusted} if rules is not None else {}
    return ProofDetails(
        proofs=tuple(ProofStep(p.route, tuple(p.laws), tuple(p.where), p.seconds) for p in proofs),
        axioms=tuple(n for n in used if n not in mine),
        trusted_by_user={n: mine[n] for n in used if n in mine},
    )


def trusted(evidence: Iterable[Evidence | None]) -> tuple[str, ...]:
    """Notes for a verdict that rests on rules of the user's, which are tested and not proved."""
    found = [e.details for e in evidence if e is not None and isinstance(e.details, ProofDetails)]
    rules = {n: text for d in found for n, text in d.trusted_by_user.items()}
    return tuple(f"trusted by the user, tested only: {n}: {text}" for n, text in sorted(rules.items()))


def proof_opinion(
    t: Terms, targets: Targets, mugraph: MuGraph, *, rules: Rules | None = None, work: int = WORK
) -> Evidence | None:
    """PROVED, or None where no proof was found: it never rejects, since that proves nothing.

    Carried accumulators must satisfy their update laws for free old and new values (any shift, not the maximum alone).
    """
    start = time.monotonic()
    prover = Prover(t, rules=every(rules), work=work)
    proofs: list[Proof] = []
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
    for a, b in pairs:
        proof = prover.equal(a, b)
        if proof is None:
            return None
        proofs.append(proof)
    laws = len(meaning.obligations)
    return Evidence(
        link="algebra", opinion="proof", word="PROVED", bound=0.0, seconds=time.monotonic() - start,
        summary=f"{summary(proofs)}{f', {laws} update laws' if laws else ''}",
        details=replace(details(proofs, rules), outputs=len(targets), update_laws=laws, splits=dict(meaning.splits)),
    )  # fmt: skip
