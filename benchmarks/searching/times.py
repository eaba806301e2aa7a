"""How long the search takes: to the structure fixpoint, to 64 checked µGraphs, and to the first candidate.

The workloads are those of tests/workloads/terms.py, searched under the default bounds. The fixpoint is every reduction
system of every kernel of every cut set that the search tries. Bounds hold for processor seconds; wall seconds are given
beside them, because another process may share the cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from workloads.terms import problem

from mirage.devices.table import Device
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Problem, Search
from mirage.search.kernel_pieces import KernelSpace
from searching.rows import Clock, Row, at_most, row

SMALL, MIDDLE, LARGE = (1.0, 5.0, 0.3), (3.0, 10.0, 1.0), (20.0, 60.0, 5.0)  # fixpoint, 64 µGraphs, first candidate
WORKLOADS: dict[str, tuple[float, float, float]] = {
    "rmsnorm_linear": SMALL,
    "rmsnorm_linear_with_gain": SMALL,
    "gated_mlp": SMALL,
    "low_rank_adapter": SMALL,
    "grouped_query_attention": SMALL,
    "qknorm_attention": SMALL,
    "normalized_step": MIDDLE,
    "layernorm_linear": MIDDLE,
    "norm_mlp": MIDDLE,
    "attention_block": LARGE,
}


def fixpoint(p: Problem, tried: list[tuple[int, ...]]) -> tuple[tuple[float, float], int]:
    """The seconds to every reduction system of the kernels of the cut sets `tried`, and how many systems there are."""
    clock = Clock()
    search = Search(p, lambda _: 0.0)
    seen, found = set(), 0
    for chosen in tried:
        every = search.work.groupings(search.problem.t, [c for c in search.cuts if c.number in chosen])
        for target in chain.from_iterable(every):
            key = (target.term, target.dims)
            if key not in seen:
                seen.add(key)
                found += len(KernelSpace(search.problem.t, target, search.cancel, limit=search.bounds.systems).systems)
    return clock.read(), found


def of_workload(
    name: str, bounds: tuple[float, float, float], device: Device, make: Callable[[str], Problem] = problem
) -> Iterator[Row]:
    p, fresh = make(name), make(name)
    clock = Clock()
    search = Search(p, lambda g: estimate(g, device), bounds=Bounds(seconds=60.0))
    first: tuple[float, float] | None = None
    for _ in search.run():
        first = first or clock.read()
    whole = clock.read()
    base, systems = fixpoint(fresh, search.tried)
    for what, (cpu, wall), most in zip(
        ("structure fixpoint", "64 µGraphs", "first candidate"), (base, whole, first or whole), bounds, strict=True
    ):
        yield at_most(f"{name}: {what}", cpu, "s", most)
        yield row(f"{name}: {what}, wall", wall, "s")
    yield row(f"{name}: reduction systems", systems)
    yield row(f"{name}: structures", search.counts.structures)
    distinct = len({c.mugraph for c in search.best})
    yield row(f"{name}: µGraphs", distinct, "", "== 64", distinct == 64)
    yield row(
        f"{name}: best estimate", search.best[0].us if search.best else float("inf"), "us", "< inf", bool(search.best)
    )


def rows(device: Device) -> Iterator[Row]:
    for name, bounds in WORKLOADS.items():
        yield from of_workload(name, bounds, device)


def table(found: list[Row]) -> str:
    """A line for each workload, processor seconds (wall seconds), as docs/search.md shows them."""
    by_name = {r["name"]: r for r in found}
    lines = [
        "| workload | systems | structures | fixpoint | 64 µGraphs | first candidate |", "|---|---|---|---|---|---|"
    ]  # fmt: skip
    for name in dict.fromkeys(r["name"].split(":")[0] for r in found):
        cells = [str(int(by_name[f"{name}: {w}"]["value"])) for w in ("reduction systems", "structures")]
        for what in ("structure fixpoint", "64 µGraphs", "first candidate"):
            r, wall = by_name[f"{name}: {what}"], by_name[f"{name}: {what}, wall"]
            cells.append(f"{r['value']:.2f} ({wall['value']:.2f}){'' if r['ok'] else ' **missed**'}")
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines)
