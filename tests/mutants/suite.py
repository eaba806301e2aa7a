"""Runs mutants past the verifier and counts: wrong ones, equivalent ones, what each opinion says of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from mutants import certify, map_ops, term_ops, text_ops
from mutants.bases import Base, program_of

from mirage.errors import MirageError
from mirage.results.verdict import Evidence
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field import algebra_opinion
from mirage.verify.field import arithmetic as field_module
from mirage.verify.field.algebra_opinion import field_opinion
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.field.text_opinion import text_opinion
from mirage.verify.floats.opinion import float_opinion
from mirage.verify.memory.mugraph_opinion import memory_opinion
from mirage.verify.memory.text_opinion import text_memory_opinion
from mirage.verify.proof.opinion import proof_opinion
from mirage.verify.proof.prover import Prover
from mirage.verify.structure.opinion import structure_opinion, syntax_opinion

LINKS = ("algebra", "schedule", "text")
DRAWS = {"algebra": 16, "schedule": 16, "text": 8}
ORIGINAL = (227, 113)
WEAK = "the original's primes, one draw"
READ = (
    "structure"  # the text beside the emitter's own: it would catch every mutant, and hide what the other opinions miss
)
ASIDE = ("algebra's proof", WEAK, READ)  # what does not decide whether a mutant counts as accepted
FLOAT_EVERY = 20  # the float opinion looks at every twentieth mutant that the field has rejected, and at all others


@dataclass
class Row:
    """One wrong mutant: `caught` says of each opinion that looked whether it refused."""

    link: str
    base: str
    operator: str
    accepted: bool
    caught: dict[str, bool]
    what: str = ""  # an accepted mutant, to look at


@dataclass
class Count:
    rows: list[Row] = field(default_factory=list)
    equivalent: int = 0
    no_program: int = 0


def candidates(base: Base, link: str) -> Iterator[tuple[str, Any]]:
    if link == "algebra":
        return term_ops.mutants(base.t, base.targets[0].term)
    return map_ops.mutants(base.mugraph) if link == "schedule" else text_ops.mutants(base.module)


def sampled(base: Base, link: str, seed: int) -> Iterator[tuple[str, Any]]:
    """Mutants in random order, one of each operator in turn, so that no operator crowds out the rest."""
    groups: dict[str, list[Any]] = {}
    seen: set[Any] = set()
    for name, mutant in candidates(base, link):
        if mutant not in seen:
            seen.add(mutant)
            groups.setdefault(name, []).append(mutant)
    rng = random.Random(f"{seed}/{base.name}/{link}")
    names = list(groups)
    for g in groups.values():
        rng.shuffle(g)
    first = True
    while names:
        rng.shuffle(names)
        if first:  # what shows that the suite bites is among the mutants of a short run too
            names.sort(key=lambda n: "congruent" not in n)
            first = False
        for n in list(names):
            yield n, groups[n].pop()
            if not groups[n]:
                names.remove(n)


def different(variants: tuple[tuple[str, ...], ...], known: str) -> tuple[tuple[str, ...], ...]:
    """The variants of opaque functions that are not the same for programs in which only `known` occurs. To look at
    equal ones again would take time and change nothing."""
    shown = {n for n in ("sigmoid", "round", "sqrt") if n in known or (n == "sigmoid" and "tanh" in known)}
    return tuple(dict.fromkeys(tuple(n for n in v if n in shown or n == "products") for v in variants))


def weakly(opinion: Callable[[], Evidence]) -> bool:
    """Does the field opinion refuse with the primes of the original's verifier? It shows whether the suite bites."""
    with patch.object(field_module, "random_pair", lambda seed: ORIGINAL):
        try:
            return opinion().word == "REJECTED"
        except ValueError:  # a constant's denominator is a multiple of one of the primes
            return True


def look_algebra(base: Base, mutant: int) -> dict[str, bool]:
    good = base.targets[0].term
    return {
        "proof": Prover(base.t).equal(good, mutant) is None,
        "field": field_opinion(base.t, good, mutant, draws=DRAWS["algebra"]).word == "REJECTED",
        WEAK: weakly(lambda: field_opinion(base.t, good, mutant, draws=1)),
    }


def look_schedule(base: Base, mutant: Any) -> dict[str, bool]:
    sizes, tiles = base.launches[0]
    known = base.t.show(base.targets[0].term, 99) + repr(mutant)
    with patch.object(algebra_opinion, "OPAQUE", different(algebra_opinion.OPAQUE, known)):

        def opinion(draws: int) -> Evidence:
            return schedule_opinion(base.t, base.targets, mutant, draws, sizes=sizes, tiles=tiles)

        e, weak = opinion(DRAWS["schedule"]), weakly(lambda: opinion(1))
    try:
        proof = proof_opinion(base.t, {o.tensor: (o.term, o.dims) for o in base.targets}, mutant)
    except MirageError:
        proof = None
    return {
        "field": e.word == "REJECTED",
        "memory": memory_opinion(mutant, sizes=sizes, tiles=tiles).word == "REJECTED",
        "algebra's proof": proof is None,
        WEAK: weak,
    }


def look_text(base: Base, mutant: str, run_task: certify.RunTask, number: int) -> dict[str, bool]:
    sizes, tiles = base.launches[0]
    emitted = EmittedModule(base.t, base.targets, base.mugraph, mutant, base.parameters)
    known = base.t.show(base.targets[0].term, 99) + mutant
    with patch.object(algebra_opinion, "OPAQUE_IN_TEXT", different(algebra_opinion.OPAQUE_IN_TEXT, known)):
        e = text_opinion(emitted, run_task, draws=DRAWS["text"], sizes=sizes, tiles=tiles)
    memory = text_memory_opinion(base.mugraph, mutant, base.parameters)
    if e.word != "REJECTED":  # the cheap launch says yes: ask as the judge does, on launches of its own choice
        e = text_opinion(emitted, run_task, draws=DRAWS["text"])
    caught = {"field": e.word == "REJECTED", "memory": memory.word == "REJECTED"}
    if number % FLOAT_EVERY == 0 or not any(caught.values()):
        e = float_opinion(
            emitted,
            run_task,
            sizes=sizes,
            tiles=tiles,
        )
        caught["float"] = e.word == "REJECTED"
    caught[READ] = read_as_wrong(base, mutant)
    return caught


def read_as_wrong(base: Base, mutant: str) -> bool:
    """Is the text refused by reading it?"""
    read = syntax_opinion(mutant)
    if read.word != "REJECTED":
        read = structure_opinion(mutant, program_of(base.mugraph), base.mugraph, "", "", read)
    return read.word == "REJECTED"


def refused(link: str, caught: dict[str, bool]) -> bool:
    """A link is refused as soon as one of its opinions refuses. The proof never does: not to be proved says nothing.
    But a wrong proof of the algebra would be an acceptance."""
    if link == "algebra":
        return caught["field"] and caught["proof"]
    return any(v for k, v in caught.items() if k not in ASIDE)


def run(
    base: Base,
    link: str,
    quota: int,
    run_task: certify.RunTask,
    *,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> Count:
    """Up to `quota` mutants that are certified to be wrong, looked at by the link's opinions."""
    out = Count()
    for operator, mutant in sampled(base, link, seed):
        if len(out.rows) >= quota or stop():
            break
        if link == "algebra":
            word = certify.wrong_term(base.t, base.targets[0].term, mutant)
        elif link == "schedule":
            word = certify.wrong_mugraph(base, mutant)
        else:
            word = certify.wrong_module(base, mutant, run_task)
        if word != "wrong":
            out.equivalent += word == "equivalent"
            out.no_program += word == "no program"
            continue
        if link == "algebra":
            caught = look_algebra(base, mutant)
        elif link == "schedule":
            caught = look_schedule(base, mutant)
        else:
            caught = look_text(base, mutant, run_task, len(out.rows))
        accepted = not refused(link, caught)
        what = "" if not accepted else base.t.show(mutant) if link == "algebra" else str(mutant)
        out.rows.append(Row(link, base.name, operator, accepted, caught, what))
    return out
