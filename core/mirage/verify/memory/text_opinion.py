"""The memory opinion on the emitted text: proved by z3 on its own index arithmetic, at the sizes that it launches with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from mirage.mugraph.grammar import MuGraph
from mirage.results.details import MemoryDetails
from mirage.results.verdict import Counterexample, Evidence, Word
from mirage.verify.memory.kernel_reader import KernelAccesses
from mirage.verify.memory.launcher_reader import Launches, LibraryCall, Sizes, Tiles, read_launches
from mirage.verify.memory.linear_forms import evaluate
from mirage.verify.memory.z3_proofs import WORK, Access, AccessProver, MemoryFault, Undecided, once_and_covered

MOST_BLOCKS = 1 << 24  # of a grid whose groups are counted one by one
Question = Callable[[], None]  # raises MemoryFault or Undecided
CLAIM = "in bounds, every element written exactly once and before it is read"


def text_memory_opinion(
    mugraph: MuGraph,
    module: str,
    parameters: Sequence[str],
    *,
    sizes: Sizes | None = None,
    tiles: Tiles | None = None,
    work: int = WORK,
) -> Evidence:
    """Proves that every access of the emitted module is in bounds, and every element written once, before it is read.

    `mugraph`: at the sizes of the launch (a shrunk one with the `sizes` and `tiles` that it was shrunk to); `parameters`:
    the function's tensor parameters in order. `details.proved` says whether all of it is proved for these sizes; what
    is not (with the reason in `details.unproved`) only the run of the text in the field looks at. REJECTED names the
    block, the iteration, the lane and the element."""
    start = time.perf_counter()
    prover = AccessProver(work)
    accesses = 0
    unproved: list[str] = []
    fault: MemoryFault | None = None
    try:
        shapes = {t.name: mugraph.shape(t) for t in mugraph.tensors}
        launches = read_launches(module, shapes, parameters, sizes, tiles)
        accesses = sum(len(s.accesses) for s in launches.steps if isinstance(s, KernelAccesses))
        fault = first_fault(prover, launches, unproved)
    except MemoryFault as f:  # an order that the text itself shows to be missing
        fault = f
    except Undecided as e:
        unproved.append(str(e))
    told = MemoryDetails(
        sizes=dict(mugraph.axes), accesses=accesses, questions=prover.questions, unproved=tuple(unproved)
    )

    def evidence(word: Word, text: str, told: MemoryDetails, shown: Counterexample | None = None) -> Evidence:
        return Evidence(
            link="text", opinion="memory", word=word, summary=text, bound=0.0 if word == "PROVED" else None,
            seconds=time.perf_counter() - start, details=told, counterexample=shown,
        )  # fmt: skip

    if fault is not None:
        shown = Counterexample("memory", 0, tuple(v for _, v in fault.at), CLAIM, fault.text, dict(mugraph.axes))
        return evidence("REJECTED", fault.text, replace(told, at=dict(fault.at)), shown)
    if unproved:
        text = f"not proved ({unproved[0]}): tested by the run of the text alone"
        return evidence("TESTED", text, told)
    return evidence("PROVED", f"{CLAIM}: proved for these sizes", replace(told, proved=True))


def first_fault(p: AccessProver, found: Launches, unproved: list[str]) -> MemoryFault | None:
    """The first fault of a launch; questions without an answer are noted in `unproved`."""
    questions: list[Question] = []
    written: set[str] = {n for n, t in found.tensors.items() if t.content == "input"}
    for step in found.steps:
        if isinstance(step, LibraryCall):
            questions.append(partial(_call, step, set(written)))
            written.add(step.writes)
            continue
        questions += [partial(p.in_bounds, a, found.tensors[a.tensor].elements) for a in step.accesses]
        questions += _kernel(p, step, found, set(written))
        written |= {a.tensor for a in step.accesses if a.kind == "store"}
    questions += _coverage(p, found)
    for ask in questions:
        try:
            ask()
        except MemoryFault as f:
            return f
        except Undecided as e:
            unproved.append(str(e))
    return None


def _call(step: LibraryCall, written: set[str]) -> None:
    missing = sorted(set(step.reads) - written)
    if missing:
        raise MemoryFault(f"{step.name} reads {missing[0]} before anything is written to it")


def _coverage(p: AccessProver, found: Launches) -> list[Question]:
    """Questions about who writes each tensor: one kernel or one library call, all of it, each element once."""
    out: list[Question] = []
    calls = [s.writes for s in found.steps if isinstance(s, LibraryCall)]
    accesses = [a for s in found.steps if isinstance(s, KernelAccesses) for a in s.accesses]
    # two kernels that write one tensor are two stores of it as well
    sizes = {n: t.elements for n, t in found.tensors.items() if t.content == "nothing" and n not in calls}
    out.append(partial(once_and_covered, p, sizes, accesses))
    for name in calls:
        stores = [a for a in accesses if a.tensor == name and a.kind == "store"]
        out.append(partial(_alone, name, stores, calls.count(name)))
    for a in accesses:
        if a.kind == "store" and found.tensors[a.tensor].content != "nothing":
            out.append(partial(_no_store, a))
    return out


def _alone(name: str, stores: list[Access], calls: int) -> None:
    if stores or calls > 1:
        raise MemoryFault(f"{name} is written more than once")


def _no_store(a: Access) -> None:
    raise MemoryFault(f"{a.said}: it is not the kernel's to write")


def _kernel(p: AccessProver, k: KernelAccesses, found: Launches, written: set[str]) -> list[Question]:
    """Questions about what one kernel reads, and about its last blocks."""
    out: list[Question] = []
    own = {a.tensor for a in k.accesses if a.kind == "store"}
    for a in k.accesses:
        if a.group is not None:
            out.append(partial(p.same_for_group, a))
        if a.kind != "load" or (a.tensor in written and a.tensor not in own):
            continue
        stores = [b for b in k.accesses if b.tensor == a.tensor and b.kind == "store"]
        if a.group is None or not stores or any(b.group is not None for b in stores):
            out.append(partial(_early, a))
        else:
            out += [partial(p.same_group, a, b) for b in stores]
    if k.group is not None:
        out.append(partial(_groups, k))
    return out


def _early(a: Access) -> None:
    raise MemoryFault(f"{a.said}: it is read before every block has written it")


def _groups(k: KernelAccesses) -> None:
    """Each group has as many blocks as its last one waits for, and leaves its counter as it was found."""
    import numpy as np

    if k.counter is not None and k.counter.content == "kept" and not k.cleared:
        raise MemoryFault(f"{k.name}: the last block of a group does not set its counter back to zero")
    blocks = 1
    for n in k.grid:
        blocks *= n
    if len(k.grid) > 1 or blocks > MOST_BLOCKS or k.group is None:
        raise Undecided(f"{k.name}: the blocks of its groups are too many to count")
    counts = np.bincount(np.broadcast_to(evaluate(k.group, {"block": np.arange(blocks)}), (blocks,)))
    wrong = np.argwhere((counts != k.parts) & (counts > 0))
    if len(wrong):
        g = int(wrong[0][0])
        raise MemoryFault(
            f"{k.name}: group {g} has {counts[g]} blocks, its last one waits for {k.parts}", (("group", g),)
        )
