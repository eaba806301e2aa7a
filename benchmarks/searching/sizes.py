"""Search cost against size: RMSNorm+Linear with at most 5, 6, ... 11 operators in a block graph, beside the published times
(Mirage, OSDI 2025: many threads and one) and beside graphs without pruning, which are stopped at a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mirage.devices.table import Device
from mirage.search.engine import Bounds
from searching.graphs import enumerate_graphs
from searching.rows import Clock, Row, at_least, at_most, row, search_for

NAME = "rmsnorm_linear_with_gain"
SIZES = range(5, 12)
PAPER_MANY = (11, 16, 22, 24, 26, 26, 28)  # seconds at each size
PAPER_ONE = (58, 93, 150, 152, 166, 166, 183)
PAPER_UNPRUNED = (768, 19934)  # then more than ten hours
UNPRUNED_S = 20.0  # a run without pruning is stopped here
LARGER = (13, 16, 0)  # beyond the published sizes; 0: no bound
PLOT = Path(__file__).resolve().parents[2] / "docs" / "search-size.svg"


def rows(device: Device) -> Iterator[Row]:
    ours, graphs, whole = [], [], []
    for most in (*SIZES, *LARGER):
        clock = Clock()
        search = search_for(NAME, device, Bounds(operators=most))
        list(search.run())
        cpu, wall = clock.read()
        text = f"at most {most} operators" if most else "any number of operators"
        if most in SIZES:
            ours.append(cpu)
            yield at_most(f"size: {text}", cpu, "s", PAPER_MANY[most - SIZES[0]])
        else:
            yield row(f"size: {text}", cpu, "s")
        yield row(f"size: {text}, wall", wall, "s")
        yield row(f"size: {text}, structures in the answer", len({c.structure for c in search.best}))
        one = [c for c in search.best if len(c.mugraph.kernels) == 1]
        if most == SIZES[-1]:  # the published optimum has this size
            yield at_least(f"size: {text}, µGraphs of one kernel", len(one), "", 1)
        else:
            yield row(f"size: {text}, µGraphs of one kernel", len(one))
    stopped = False
    for most in SIZES:
        if stopped:
            break
        found = enumerate_graphs(NAME, most, UNPRUNED_S)
        graphs.append(found.seconds)
        whole.append(found.whole)
        stopped = not found.whole
        end = "" if found.whole else f", stopped at {UNPRUNED_S:g} s"
        yield row(f"size: without pruning, at most {most} operators{end}", found.seconds, "s")
        yield row(f"size: without pruning, at most {most} operators, graphs{end}", found.graphs)
        yield row(f"size: without pruning, at most {most} operators, found the program{end}", found.hits)
    PLOT.write_text(plot(ours, graphs, whole), encoding="utf-8")


def plot(ours: Sequence[float], graphs: Sequence[float], whole: Sequence[bool]) -> str:
    """The curves as SVG: operators across, seconds up, in powers of ten."""
    left, right, top, bottom, low, high = 70, 560, 20, 300, -2, 5

    def at(i: int, seconds: float) -> tuple[float, float]:
        from math import log10

        x = left + (right - left) * i / (len(SIZES) - 1)
        return x, bottom - (bottom - top) * (min(max(log10(max(seconds, 1e-9)), low), high) - low) / (high - low)

    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 350" font-family="sans-serif" font-size="13">',
        '<rect width="800" height="350" fill="white"/>',
    ]
    for power in range(low, high + 1):
        y = at(0, 10.0**power)[1]
        out.append(f'<path d="M{left} {y:.1f}H{right}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    for i, n in enumerate(SIZES):
        out.append(f'<text x="{at(i, 1)[0]:.1f}" y="{bottom + 18}" text-anchor="middle">{n}</text>')
    out.append(
        f'<text x="{(left + right) / 2}" y="{bottom + 38}" text-anchor="middle">operators in a block graph</text>'
    )
    series: list[tuple[str, str, Sequence[float]]] = [
        ("published, without pruning", "#e377c2", PAPER_UNPRUNED),
        ("published, one thread", "#8c564b", PAPER_ONE),
        ("published, many threads", "#d62728", PAPER_MANY),
        ("graphs without pruning", "#7f7f7f", graphs),
        ("this search, one process", "#1f77b4", ours),
    ]
    for i, (label, colour, values) in enumerate(series):
        points = [at(j, v) for j, v in enumerate(values)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = top + 10 + 22 * i
        out.append(f'<path d="M{right + 15} {y - 4}h20" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{right + 40}" y="{y}">{label}</text>')
        if values is graphs and whole and not whole[-1]:
            x, y = points[-1]
            out.append(f'<text x="{x + 6:.1f}" y="{y - 6:.1f}" fill="{colour}">stopped</text>')
    return "\n".join([*out, "</svg>", ""])
