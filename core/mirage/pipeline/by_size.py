"""One module for every size that a decorator names: the kernels of all rows of `dims=` or `inputs=` behind one table.

Each row was optimized by itself; the module that holds them all is judged again, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirage.codegen import module_header
from mirage.codegen.baseline_module import emit_baselines
from mirage.codegen.emit import emit_rows
from mirage.codegen.size_table import headline, inputs_of, launched
from mirage.ir.program import Program
from mirage.mugraph import json_form
from mirage.pipeline.answer import baseline_header
from mirage.pipeline.request import Function
from mirage.results.baselines import BASELINES, TRUSTED
from mirage.results.result import BySize, KernelFacts, Result
from mirage.results.verdict import Verdict, strength
from mirage.search.engine import Problem
from mirage.source.detect import Decorated
from mirage.source.slice import Slice
from mirage.verify.judge import Case, judge
from mirage.verify.proof.user_rules import Rules
from mirage.verify.worker_tasks import RunTask

KEEP = -1  # the place of a µGraph for what runs as written


@dataclass(frozen=True)
class SizedResult:
    """One size: its program, what the search was asked (None: nothing), and the answer for it alone. One that was not `searched` has
    the answer of another size of its range."""

    program: Program
    problem: Problem | None
    result: Result
    searched: bool = True

    @property
    def shapes(self) -> str:
        return headline(inputs_of(self.program))


@dataclass(frozen=True)
class SharedByRows:
    """What the rows have in common: the function, its slice, the user's rules, a worker's tasks; and where the function works on copies,
    the one that the user wrote."""

    function: Decorated
    slice: Slice
    rules: Rules | None
    run_task: RunTask
    written: Function | None = field(default=None, kw_only=True)

    def module(self, rows: Sequence[SizedResult], header: dict[str, str]) -> str:
        graphs = [(r.program, json_form.from_json(r.result.mugraphs[0])) for r in rows]
        name, doc = self.function.name, self.function.docstring
        return emit_rows(graphs, self.slice.readable, function=name, header=header, docstring=doc)

    def by_baselines(self, rows: Sequence[SizedResult], header: dict[str, str]) -> str:
        """The module in which each row runs its baseline."""
        named = [(r.program, r.result.baseline) for r in rows]
        of, part = (self.function, self.slice) if self.written is None else (self.written.decorated, self.written.slice)
        return emit_baselines(named, part.readable, function=of.name, header=header, docstring=of.docstring)

    def judged(self, row: SizedResult, module: str) -> Verdict:
        """The verdict on one row of a module."""
        assert row.problem is not None  # it has a kernel
        found, graph = row.problem, json_form.from_json(row.result.mugraphs[0])
        text, name = self.slice.text, self.function.name
        case = Case(
            found.t, found.outputs, graph, module, row.program, text, name, self.rules, found.calls, found.returns
        )
        return judge(case, self.run_task)


def no_search(row: int) -> SizedResult:
    """Where every row was searched."""
    raise LookupError(f"row {row} was searched")


def together(
    rows: Sequence[SizedResult], book: SharedByRows, search: Callable[[int], SizedResult] = no_search
) -> Result:
    """The answer for all sizes: one module with a table from the inputs to what runs for them. Its plain names mean the
    last size that has a kernel, and so do the result's program, first µGraph, estimate and first kernels.

    A size whose answer is "keep", or whose kernel is rejected within the module, runs the function as written. So does one
    that PyTorch's own is better for, beside sizes with kernels; without these, the module is of such sizes. Where the kernel of
    another size is rejected for one of a range, `search` gives that size's own answer."""
    rows = list(rows)
    kept = {i: r.result.reason for i, r in enumerate(rows) if r.result.answer != "kernel"}
    verdicts: dict[int, Verdict] = {}
    while len(kept) < len(rows):
        fast = [i for i in range(len(rows)) if i not in kept]
        order = [fast[-1], *fast[:-1]]
        text = book.module([rows[i] for i in order], {})
        verdicts = {i: book.judged(rows[i], text) for i in order}
        bad = {i: f"rejected among the other sizes: {why(v)}" for i, v in verdicts.items() if not v.accepted}
        if not bad:
            return merged(rows, order, verdicts, kept, book)
        kept |= searched_again(rows, bad, search)
    own = [i for i, r in enumerate(rows) if r.result.baseline]
    if own:
        return of_baselines(rows, own, {i: why for i, why in kept.items() if i not in own}, book)
    last = rows[-1].result
    table = tuple(entry(r, KEEP, None) for r in rows)
    return replace(last, answer="keep", source="", by_size=table, notes=(*last.notes, *as_written(rows, kept)))


def searched_again(
    rows: list[SizedResult], bad: Mapping[int, str], search: Callable[[int], SizedResult]
) -> dict[int, str]:
    """The bad rows that have no other kernel, with the reason; one that had another size's gets its own, if there is one."""
    kept = {}
    for i, reason in bad.items():
        if not rows[i].searched:
            rows[i] = search(i)
            reason = rows[i].result.reason if rows[i].result.answer != "kernel" else ""
        if reason:
            kept[i] = reason
    return kept


def of_baselines(rows: Sequence[SizedResult], own: Sequence[int], kept: dict[int, str], book: SharedByRows) -> Result:
    """The result where no size has a kernel, and PyTorch's own is the best for those of `own`."""
    used = [rows[i] for i in (own[-1], *own[:-1])]
    primary = used[0].result
    runs = [f"{rows[i].shapes}: the function as written by {BASELINES[rows[i].result.baseline].words}" for i in own]
    timed = [rows[i] for i in own if rows[i].searched]
    text = book.by_baselines(used, baseline_header(primary.program_key, runs, [timing(r) for r in timed]))
    ratios = gains([r.result for r in timed])
    words = ", ".join(dict.fromkeys(BASELINES[r.result.baseline].words for r in used))
    return replace(
        primary,
        reason=f"{ratios} measured over the function as written by {words} for {len(own)} of {len(rows)} sizes, {TRUSTED}",
        source=text,
        by_size=tuple(replace(entry(r, KEEP, None), baseline=r.result.baseline) for r in rows),
        search=sum((r.result.search for r in rows[1:]), rows[0].result.search),
        notes=(*notes_of([rows[i] for i in own]), *as_written(rows, kept)),
    )


def merged(
    rows: Sequence[SizedResult],
    order: Sequence[int],
    verdicts: dict[int, Verdict],
    kept: dict[int, str],
    book: SharedByRows,
) -> Result:
    """The result of the rows in `order`, which are right within one module."""
    primary = rows[order[0]].result
    weakest = min(verdicts.values(), key=strength)
    said = [module_header.read(rows[i].result.source) for i in order]
    header: dict[str, str] = {
        **{key: said[0][key] for key in ("formula", "laws") if key in said[0]},
        "tiles": "\n".join(x["tiles"] for x in said if "tiles" in x),
        "made by": "mirage",
        "program": primary.program_key[:16],
        "verdict": weakest.headline,
        "time": "\n".join(timing(rows[i]) for i in sorted(order) if rows[i].searched),
    }
    text = book.module([rows[i] for i in order], header)
    graphs, kernels = graphs_and_kernels([rows[i] for i in order], text)
    table = [
        entry(r, graphs.index(r.result.mugraphs[0]) if i in verdicts else KEEP, verdicts.get(i))
        for i, r in enumerate(rows)
    ]
    return replace(
        primary,
        reason=reason(rows, order, weakest),
        verdict=weakest,
        kernels=tuple(kernels),
        source=text,
        mugraphs=tuple(graphs),
        by_size=tuple(table),
        search=sum((r.result.search for r in rows[1:]), rows[0].result.search),
        notes=(*notes_of([rows[i] for i in sorted(order)]), *as_written(rows, kept)),
    )


def graphs_and_kernels(rows: Sequence[SizedResult], text: str) -> tuple[list[Mapping[str, object]], list[KernelFacts]]:
    """The µGraphs of the rows of a module, each once; and the kernels of those that were searched."""
    graphs: list[Mapping[str, object]] = []
    kernels: list[KernelFacts] = []
    for row in rows:
        graphs += [g for g in row.result.mugraphs[:1] if g not in graphs]
        if row.searched:
            names = launched(text, inputs_of(row.program))
            own = [replace(k, name=name) for k, name in zip(row.result.kernels, names, strict=True)]
            kernels += [k for k in own if k not in kernels]
    return graphs, kernels


def entry(row: SizedResult, graph: int, verdict: Verdict | None) -> BySize:
    return BySize(row.result.inputs, graph, verdict, row.result.estimate)


def why(v: Verdict) -> str:
    return next(f"{e.link}: {e.summary}" for e in v.rejections)


def notes_of(rows: Sequence[SizedResult]) -> list[str]:
    """The rows' notes: what all of them say once, the rest with its size."""
    rows = [r for r in rows if r.searched]
    common = [n for n in rows[0].result.notes if all(n in r.result.notes for r in rows)]
    return [*common, *(f"{r.shapes}: {n}" for r in rows for n in r.result.notes if n not in common)]


def as_written(rows: Sequence[SizedResult], kept: dict[int, str]) -> list[str]:
    return [f"{rows[i].shapes} runs as written: {reason}" for i, reason in sorted(kept.items())]


def timing(row: SizedResult) -> str:
    e = row.result.estimate
    assert e is not None  # every kernel has its time
    how = f"measured on {e.device}" if e.measured else f"estimated for {e.device}"
    return f"{row.shapes}: {e.us:.1f} us {how}, {e.baseline_us:.1f} us without"


def reason(rows: Sequence[SizedResult], order: Sequence[int], weakest: Verdict) -> str:
    found = [rows[i].result for i in order if rows[i].searched]
    how = "measured" if all(r.estimate is not None and r.estimate.measured for r in found) else "estimated"
    return f"{gains(found)} {how}, kernels for {len(order)} of {len(rows)} sizes, {weakest.headline}"


def gains(found: Sequence[Result]) -> str:
    """How many times faster the results are, from the least to the most."""
    ratios = sorted(e.baseline_us / e.us for r in found if (e := r.estimate) is not None)
    return f"{ratios[0]:.1f}x" if len(ratios) == 1 else f"{ratios[0]:.1f}x to {ratios[-1]:.1f}x"
