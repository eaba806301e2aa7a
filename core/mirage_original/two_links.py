"""The algebra and schedule links of a verdict for many µGraphs of one program, with the work that they share done once.

A proof of the algebra spares its field, which the schedule's run contains at its sizes. The schedule is looked at on a small
launch that often is the same for µGraphs that differ in sizes and tiles alone: then it is the same computation, and its answer
is kept. What depends on the sizes, as its memory accesses do, is asked of each.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace

from mirage.errors import MirageError
from mirage.mugraph import json_form
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.resized import shrink, tiny_sizes
from mirage.mugraph.structure import structure_key
from mirage.mugraph.walk import parts, size_of
from mirage.results.details import FieldDetails
from mirage.results.verdict import Evidence, Verdict
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.judge import Case, algebra
from mirage.verify.memory.mugraph_opinion import memory_opinion
from mirage.verify.proof.opinion import proof_opinion, trusted
from mirage.verify.size_scope import all_sizes

_launches: dict[str, Evidence] = {}


def two_links(case: Case, program: str, axes: dict[str, tuple[str, ...]]) -> Verdict:
    """The verdict on the algebra and the schedule. `program`: its key; `axes`: how its axes are cut for this µGraph. Both say
    what the case's terms are."""
    began = time.monotonic()
    proof = proof_opinion(case.t, {o.tensor: (o.term, o.dims) for o in case.targets}, case.mugraph)
    found = [proof] if proof is not None else algebra(case)
    if not any(e.word == "REJECTED" for e in found):
        schedule = _schedule(case, program, axes)
        found = found or [
            replace(schedule, link="algebra")
        ]  # without a term of its own: the schedule's run contains it
        found += [schedule, memory_opinion(case.mugraph)] if schedule.word != "REJECTED" else [schedule]
    scope, reasons = all_sizes([case.program], case.t, [o.term for o in case.targets])
    rests = trusted(found)
    return Verdict(tuple(found), len(case.targets), scope, (f"{time.monotonic() - began:.1f} s", *rests, *reasons))


def _schedule(case: Case, program: str, axes: dict[str, tuple[str, ...]]) -> Evidence:
    key = launch_key(case, program, axes)
    if key is not None and key in _launches:
        kept = _launches[key]
        told = replace(kept.details, same_launch=True) if isinstance(kept.details, FieldDetails) else kept.details
        return replace(kept, seconds=0.0, details=told)
    found = schedule_opinion(case.t, case.targets, case.mugraph)
    if key is not None:
        _launches[key] = found
    return found


def launch_key(case: Case, program: str, axes: dict[str, tuple[str, ...]]) -> str | None:
    """What decides the schedule's answer: the program's terms as they are cut, and the small launch with all its names."""
    m = case.mugraph
    try:
        small = shrink(m, *tiny_sizes(m))
    except MirageError:
        return None
    own = dict(m.axes)
    data: list[object] = [
        program, sorted(axes.items()), [(o.tensor, o.dims) for o in case.targets],
        sorted((a, n) for a, n in case.t.sizes.items() if a not in own),
        structure_key(m), divides(m), json_form.to_json(small),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def divides(m: MuGraph) -> list[bool]:
    """For each dim whether its tile divides it: whether the real launch has a tail there."""
    return [size_of(m, d) % d.tile == 0 for p in parts(m) for d in p.graph.dims]
