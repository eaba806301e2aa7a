"""Remarks for people on why an answer is not fused further, with the figures of the cost model or the rule that stopped it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from itertools import islice

from mirage.devices.table import Device
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Program
from mirage.meaning.terms import Terms
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import (
    CustomKernel,
    LibraryKernel,
    MuGraph,
    TileDim,
)
from mirage.profile.inductor_estimate import inductor_estimate
from mirage.profile.roofline import Times, estimate, kernel_times
from mirage.program.library_variants import OPERATORS
from mirage.results.result import Remark
from mirage.search.block_builder import KernelOutput
from mirage.search.engine import Candidate, Search
from mirage.search.kernel_pieces import (
    MAX_BLOCK,
    MAX_TILE,
    KernelSpace,
    Piece,
    Structure,
    Target,
    fits,
    held_elements,
    warps_for,
)
from mirage.search.problem import assemble, fork
from mirage.search.subproblems import SharedWork
from mirage.search.tile_sizes import MAX_RESIDENT, tilings

RESOURCES = ("memory", "l2", "tensor", "arithmetic", "special", "chain", "fixed")
WORDS = {
    "memory": "moves more bytes through device memory",
    "l2": "reads the same bytes again in each of its blocks",
    "tensor": "does more matrix products, or has them on narrow tiles",
    "arithmetic": "computes the same values again in each of its blocks",
    "special": "computes the same exponentials again in each of its blocks",
    "chain": "walks longer chains of loop iterations, one after the other",
    "fixed": "needs more waves of blocks",
}
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
AGAIN = 1.5  # a tensor that is requested this many times as often as in the answer is named
NEAR = 1.05  # times that are equal as far as the model can tell
STRUCTURES, TILINGS = 12, 6  # looked at to find what stops a fused kernel


def number(n: int) -> str:
    return NUMBERS[n] if n < len(NUMBERS) else str(n)


def kernels(n: int) -> str:
    return f"{number(n)} kernel{'s' if n != 1 else ''}"


def stages(c: Candidate) -> int:
    """How many values the kernels of a candidate make, the outputs among them; the parts of a split are none."""
    return c.structure.count("|") + 1


def resources(mugraph: MuGraph, device: Device) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """µs by resource; bytes requested, and bytes touched, of each tensor; all kernels together."""
    us: Counter[str] = Counter()
    requested: Counter[str] = Counter()
    touched: dict[str, float] = {}
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            t, w = kernel_times(k, mugraph, device)
            us.update({r: asdict(t)[r] for r in RESOURCES})
            requested.update(w.reads)
            for name, size in w.touched.items():
                touched[name] = max(touched.get(name, 0.0), size)
    return dict(us), dict(requested), touched


def limit(mugraph: MuGraph, device: Device) -> tuple[str, float]:
    """The resource that the slowest kernel waits for longest, and its µs."""
    slowest: Times | None = None
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            t, _ = kernel_times(k, mugraph, device)
            slowest = t if slowest is None or t.total > slowest.total else slowest
    if slowest is None:
        return "memory", 0.0
    table = asdict(slowest)
    name = max(RESOURCES, key=lambda r: float(table[r]))
    return name, float(table[name])


def against(chosen: Candidate, other: Candidate, device: Device) -> Remark:
    """Why `other`, with fewer values kept in memory, was not taken."""
    mine, wanted, _ = resources(chosen.mugraph, device)
    its, requested, touched = resources(other.mugraph, device)
    worst = max(RESOURCES, key=lambda r: its.get(r, 0.0) - mine.get(r, 0.0))
    figures: dict[str, float | str] = {
        "values": stages(chosen), "us": chosen.us, "other_values": stages(other), "other_us": other.us,
        "resource": worst, "resource_us": mine.get(worst, 0.0), "other_resource_us": its.get(worst, 0.0),
    }  # fmt: skip
    why = WORDS[worst]
    more = {x: n - wanted.get(x, 0.0) for x, n in requested.items() if n > AGAIN * max(wanted.get(x, 0.0), touched[x])}
    if more:
        name = max(sorted(more), key=lambda x: more[x])
        times = requested[name] / touched[name]
        figures |= {"tensor": name, "reads": times, "bytes": requested[name], "own_bytes": wanted.get(name, 0.0)}
        why = f"reads {name} {times:.0f} times ({requested[name] / 1e6:.0f} MB)"
        if worst not in ("memory", "l2"):
            why += f" and {WORDS[worst]}"
    keeps, instead = kernels(len(chosen.mugraph.kernels)), kernels(len(other.mugraph.kernels))
    text = f"keeps {keeps}: the fusion into {instead} {why}; "
    text += f"{other.us:.1f} µs estimated against {chosen.us:.1f} µs"
    return Remark("slower-fused", text, figures)


def explain(search: Search, chosen: Candidate | None, base: float, device: Device) -> tuple[Remark, ...]:
    """The remarks on an answer: `chosen`, or nothing; `base` µs as written."""
    out: list[Remark] = []
    if chosen is None:
        return () if search.best else tuple(refused(search, 0, 0))
    n, least = stages(chosen), len(search.targets(())) if search.problem.calls else 1
    fewer = {k: c for k, c in search.by_stages.items() if k < n}
    slower = [c for c in fewer.values() if c.us >= chosen.us]
    if slower:
        out.append(against(chosen, min(slower, key=lambda c: c.us), device))
    quicker = [c for c in fewer.values() if c.us < chosen.us]
    if quicker:
        c = min(quicker, key=lambda c: c.us)
        text = f"keeps {kernels(len(chosen.mugraph.kernels))}: the fusion into {kernels(len(c.mugraph.kernels))}, "
        text += f"{c.us:.1f} µs estimated, passed no verification or no compiler"
        out.append(
            Remark("not-verified", text, {"values": n, "us": chosen.us, "other_values": stages(c), "other_us": c.us})
        )
    if n > least and least not in fewer:
        out += refused(search, n, len(chosen.mugraph.kernels))
    for k in chosen.mugraph.kernels:
        if isinstance(k, LibraryKernel):
            out.append(library(search, chosen, k, device))
    if chosen.us >= base:
        resource, us = limit(chosen.mugraph, device)
        text = f"keep yours: the best kernels take {chosen.us:.1f} µs by the estimate, {us:.1f} µs of it "
        text += f"({resource}) in the slowest one, and yours {base:.1f} µs"
        out.append(
            Remark("not-faster", text, {"us": chosen.us, "base_us": base, "resource": resource, "resource_us": us})
        )
    return tuple(out)


def compiled_instead(program: Program, us: float, device: Device) -> Remark:
    """What torch.compile of the function would take by the model, beside the `us` of the answer: nobody has measured either."""
    other = inductor_estimate(program, device)
    text = f"torch.compile of the function as written: {other.us:.1f} µs in {kernels(other.kernels)} by the estimate"
    if other.us <= us * NEAR:
        text += "; by that it is as fast as this answer or faster: let a GPU measure both before you choose"
    return Remark("torch-compile", text, {"us": us, "other_us": other.us, "kernels": other.kernels})


def library(search: Search, chosen: Candidate, k: LibraryKernel, device: Device) -> Remark:
    """Why one of the kernels is PyTorch's own call: the best kernel for the same tensor beside it, or that there can be none."""
    us = estimate(replace(chosen.mugraph, kernels=(k,)), device)
    if k.op in OPERATORS:
        text = f"{OPERATORS[k.op]} stays PyTorch's own call: {us:.1f} µs estimated; {', '.join(k.args)} and {k.out} go through "
        text += "device memory, and all kernels in its place are slower together"
        return Remark("library-kernel", text, {"operator": k.op, "kernel": k.name, "tensor": k.out, "us": us})
    if is_call(k.op):
        text = f"{k.op} stays PyTorch's own call, for which the operator table has no meaning: "
        text += f"{', '.join(k.args)} and {k.out} go through device memory, {us:.1f} µs estimated"
        return Remark("own-call", text, {"operator": k.op, "kernel": k.name, "tensor": k.out, "us": us})
    own = search.best_kernels(k.out)
    figures: dict[str, float | str] = {"operator": k.op, "kernel": k.name, "tensor": k.out, "us": us}
    if own is None:
        text = f"{k.out} stays a library kernel ({k.op}): no kernel was found for it"
    else:
        figures["other_us"] = own
        text = f"{k.out} stays a library kernel ({k.op}): {us:.1f} µs estimated, {own:.1f} µs by the best kernel found"
    return Remark("library-kernel", text, figures)


def refused(search: Search, n: int, launched: int) -> list[Remark]:
    """Why there is no single kernel: the search was in parts, or every structure that was looked at breaks a rule."""
    keeps = f"keeps {kernels(launched)}" if launched else "no kernels"
    if search.partitioned:
        why = next((x for x in search.counts.limits if "in parts" in x), "searched in parts")
        return [Remark("searched-in-parts", f"{keeps}: one kernel for all was not searched ({why})", {"values": n})]
    reasons = stops(search)
    if not reasons:
        return []
    total = sum(count for count, _ in reasons.values())
    rule = max(sorted(reasons), key=lambda r: reasons[r][0])
    count, why = reasons[rule]
    text = f"{keeps}: one kernel does not hold: {why}"
    return [Remark("does-not-fit", text, {"values": n, "tried": total, "stopped": count, "rule": rule})]


def stops(search: Search) -> dict[str, tuple[int, str]]:
    """The rules that stop the structures of a single kernel: how many tilings each stopped, and the first one's words."""
    work, t = search.work, fork(search.problem.t)
    found: dict[str, tuple[int, str]] = {}
    for target in work.targets(t, ()):
        space = work.space(t, target, search.cancel)
        for s in islice(space.structures(), STRUCTURES):
            tiled = list(islice(tilings(s.layout, t.sizes, s.loops, work.bounds.given), TILINGS))
            for rule, why in [stop(work, t, target, space, s, d) for d in tiled] or [too_long(t, s)]:
                count, first = found.get(rule, (0, why))
                found[rule] = count + 1, first
    return found


def too_long(t: Terms, s: Structure) -> tuple[str, str]:
    long = max((a for a in s.layout.inner if a not in s.loops), key=lambda a: t.sizes[a], default=None)
    if long is None:
        return "tiles", "no tiles are within what is asked"
    return "resident", f"a block would hold all {t.sizes[long]} elements of axis {long} ({MAX_RESIDENT} fit)"


def stop(
    work: SharedWork, t: Terms, target: Target, space: KernelSpace, s: Structure, dims: tuple[TileDim, ...]
) -> tuple[str, str]:
    """The rule that one tiling of a structure breaks."""
    block = space.build(dims, s, [KernelOutput(target.tensor, s.system.output, target.index)], s.system.reductions)
    if block is None:
        return "order", "no order of its loops has every value before it is read"
    if not fits(block):
        largest, held = held_elements(block)
        if largest > MAX_TILE:
            return "registers", f"a block would hold a tile of {largest} elements ({MAX_TILE} fit)"
        return "registers", f"the accumulators of a block would hold {held} elements ({MAX_BLOCK} fit)"
    piece = Piece((CustomKernel("main", block, warps=warps_for(block)),), (), (), "", s.key)
    broken = broken_rule(assemble(work.problem, t, [target], [piece], alone=True), work.limits)
    if broken is not None:
        return broken[0], broken[1].message
    return "bounds", "the bounds on kernels, loops or operators"
