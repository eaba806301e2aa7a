"""`mirage verify A B`: the verdict on whether two programs compute the same: functions, modules, µGraphs, results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirage.cli import named_text
from mirage.cli.command_options import taking, target_of
from mirage.cli.named_text import NamedText
from mirage.errors import InPlaceEdit, MirageError, MugraphUnknown, SignatureMismatch
from mirage.isolate.imported_ahead import REHEARSAL, RUNNING, TRACING

if TYPE_CHECKING:
    from mirage.cli.judged_row import JudgedRow
    from mirage.cli.verify_subjects import Subject
    from mirage.cli.worker_queue import WorkerQueue
    from mirage.isolate.runner import Worker
    from mirage.isolate.task_table import Caller
    from mirage.mugraph.grammar import MuGraph
    from mirage.results.verdict import Concrete, Verdict
    from mirage.verify.judge import Case
    from mirage.verify.output_terms import OutputTerm
    from mirage.verify.proof.user_rules import Rules
    from mirage.verify.worker_tasks import RunTask

TASK_S = 180.0
# Tensors are small: a thread each for their operators costs twice the time of one, here as in the worker
THREADS = {"OMP_NUM_THREADS": "1"}
WORKER = {"TRITON_INTERPRET": "1", **THREADS}
GRAPH_FILES = "mirage.graph_files"


@dataclass(frozen=True)
class VerifyOptions:
    """What `mirage verify` is asked; the options below say what each field means."""

    a: str
    b: str | None
    mugraphs: str | None
    text: bool
    as_json: bool
    page: str | None
    script: str | None
    target: str
    rules_file: str | None
    overflow: bool
    undefined: bool
    certificate: str | None
    lean: str | None
    no_daemon: bool


@dataclass(frozen=True)
class MayDiffer:
    """What the user allows of the two sides: that one alone overflows; that where the function gives NaN the other gives a number."""

    overflow: bool = False
    undefined: bool = False


NOTHING = MayDiffer()


@click.command()
@click.argument("a", metavar="A[::FUNCTION]")
@click.argument("b", metavar="B[::FUNCTION]", required=False)
@click.option("--mugraphs", metavar="FILE", help="In B's place: every graph of a file that the original Mirage saved.")
@click.option("--text", is_flag=True, help="With --mugraphs: emit each graph and judge its text too.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.option("--html", "page", metavar="FILE", help="Write a report as one HTML file.")
@click.option("--counterexample", "script", metavar="FILE", help="Where they differ: write a script that shows it.")
@click.option(
    "--target", callback=target_of, default="sm_90", show_default=True, help="The GPU whose limits µGraphs must keep."
)
@click.option("--rules", "rules_file", metavar="FILE", help="Laws of yours that proofs may use, tested first.")
@click.option(
    "--overflow-may-differ",
    "overflow",
    is_flag=True,
    help="Of two functions: one may overflow where the other does not.",
)
@click.option(
    "--nan-may-differ",
    "undefined",
    is_flag=True,
    help="Of a module without a µGraph: it may give numbers where the function gives NaN.",
)
@click.option(
    "--certificate", metavar="FILE", help="Where the algebra is proved: write a certificate that can be replayed."
)
@click.option("--lean", metavar="FILE", help="With --certificate: write its steps as Lean 4 text, too.")
@click.option("--no-daemon", is_flag=True, help="Judge in this process, though a daemon runs.")
@taking(VerifyOptions)
def verify(asked: VerifyOptions) -> None:
    """Say whether A and B compute the same; exit code 3 if that was not shown.

    Each is a file with a decorated function, a module that `mirage optimize` wrote, a µGraph (text or JSON), or what
    `mirage optimize --json` printed. A function says what is wanted, and the other one is judged.

    With --mugraphs each graph of the file gets a verdict against A, a function or a module; exit code 3 if one is not accepted.
    """
    if (asked.b is None) == (asked.mugraphs is None):
        raise click.UsageError("give B, or --mugraphs FILE")
    if asked.mugraphs is not None:
        if asked.page or asked.script or asked.rules_file or asked.certificate:
            raise click.UsageError("--mugraphs goes with --json and --text alone")
        return graph_files_reader()(asked.a, asked.mugraphs, asked.as_json, asked.text, asked.target)
    assert asked.b is not None
    if asked.lean and not asked.certificate:
        raise click.UsageError("--lean goes with --certificate")
    if asked.text:
        raise click.UsageError("--text goes with --mugraphs")
    verdicts = every_verdict(asked, asked.b)
    if asked.certificate:
        from mirage.cli.write_certificate import written

        verdicts = replace(verdicts, certificate=written(verdicts, asked.certificate, asked.lean))
    show(verdicts, asked)
    if not verdicts.weakest.accepted:
        raise SystemExit(3)


def every_verdict(asked: VerifyOptions, b: str) -> JudgedRow:
    """By a running daemon, whose workers have their imports behind them; else, and with what it is not asked for, here."""
    sides, may = (NamedText.of(asked.a), NamedText.of(b)), MayDiffer(asked.overflow, asked.undefined)
    if not (asked.no_daemon or asked.rules_file or asked.certificate or os.environ.get("PYTHONPATH")):
        from mirage.cli.verify_by_daemon import by_daemon

        found = by_daemon(*sides, asked.target, may)
        if found is not None:
            return found
    return judged_here(sides, asked.target, asked.rules_file, may)


def every_row(a: str, b: str, target: str, rules_file: str | None, may: MayDiffer = NOTHING) -> JudgedRow:
    """A verdict for each row of sizes that both sides have."""
    return judged_here((NamedText.of(a), NamedText.of(b)), target, rules_file, may)


def judged_here(sides: tuple[NamedText, NamedText], target: str, rules_file: str | None, may: MayDiffer) -> JudgedRow:
    """As `every_row`, by a worker of this process."""
    from mirage.isolate.runner import Worker

    os.environ.update({k: v for k, v in THREADS.items() if k not in os.environ})  # numpy reads it once, at its import
    with Worker(env=WORKER) as worker:
        if any(x.path.endswith(".py") for x in sides):
            worker.warm(*TRACING, calls=[REHEARSAL])  # while the imports below are done here
        from mirage.cli import place_argument

        return rows_of_sides(sides, worker, target, place_argument.rules(rules_file), may)


def rows_of_sides(
    sides: tuple[NamedText, NamedText], worker: Worker, target: str, rules: Rules | None, may: MayDiffer
) -> JudgedRow:
    """As `every_row`. The worker has run nothing of a user's."""
    from mirage.cli import before_trace, verify_by_size, verify_subjects
    from mirage.cli.judged_row import JudgedRow
    from mirage.cli.traces_ahead import TracesAhead
    from mirage.cli.worker_queue import WorkerQueue
    from mirage.devices.table import device
    from mirage.mugraph.check import Limits
    from mirage.pipeline.request import TRACE_S
    from mirage.verify import cases, two_programs  # noqa: F401 - what `decided` imports: time for it is before the traces
    from mirage.verify.counterexamples import float_search  # noqa: F401

    limits = Limits.of(device(target))
    with WorkerQueue(worker, TASK_S) as queue:
        tracing = TracesAhead(queue)
        texts = [x.text for x in sides if x.path.endswith(".py")]
        for text in texts:
            before_trace.read(text, limits, lambda original: tracing.begin(original.payload, TRACE_S))
        if any("mirage:begin kernels" in x for x in texts):
            queue(imported, RUNNING)  # while children of the worker, which need none of it, trace
        lefts, rights = (verify_subjects.rows_of_text(x, tracing, limits) for x in sides)
        if lefts[-1].kind == "kernels" or (rights[-1].kind == "function" and lefts[-1].kind != "function"):
            lefts, rights = rights, lefts
        both, missing = verify_by_size.pairs(lefts, rights)
        rows = tuple((verify_by_size.shapes(x), judged(x, y, worker, rules, queue, may)) for x, y in both)
    return JudgedRow(lefts[-1].label, rights[-1].label, rows, tuple(missing), tuple(both))


def imported(run_task: RunTask, modules: Sequence[str]) -> None:
    """Lets a worker import them."""
    run_task("warm", {"modules": list(modules)})


def show(verdicts: JudgedRow, asked: VerifyOptions) -> None:
    """Print the verdicts, and write the files that are asked for."""
    from mirage.verify import report

    shown = (e.counterexample for e in verdicts.weakest.evidence if e.counterexample is not None)
    code = next((x.concrete.script for x in shown if x.concrete is not None), "")
    if asked.script and code:
        named_text.write_text(Path(asked.script), code)
    if asked.page:
        named_text.write_text(Path(asked.page), report.html(verdicts.whole, verdicts.left, verdicts.right))
    if asked.as_json:
        click.echo(json.dumps({"left": verdicts.left, "right": verdicts.right, **verdicts.to_dict()}, indent=1))
        return
    click.echo("\n".join(verdicts.lines()))
    if asked.script and code:
        click.echo(f"  written  {asked.script}")


def graph_files_reader() -> Callable[[str, str, bool, bool, str], None]:
    """What reads the files of `--mugraphs`: another package's, by entry point."""
    found = next(iter(metadata.entry_points(group=GRAPH_FILES)), None)
    if found is None:
        raise click.UsageError("no package that reads files of graphs is installed here")
    reader: Callable[[str, str, bool, bool, str], None] = found.load()
    return reader


def judged(
    left: Subject, right: Subject, worker: Caller, rules: Rules | None = None, queue: WorkerQueue | None = None,
    may: MayDiffer = NOTHING,
) -> Verdict:  # fmt: skip
    """The verdict, with floats beside each counterexample. Through a `queue` before the worker the text's runs begin ahead."""
    from mirage.verify.counterexamples.float_search import with_concrete

    task, forget = _tasks(worker, queue)
    verdict, case = decided(left, right, worker, rules, queue, may)
    undecided = verdict.word == "UNDECIDED"
    searched = any(
        e.opinion == "float" and (e.word == "TESTED" or e.counterexample is not None) for e in verdict.evidence
    )
    if verdict.accepted or is_written(left, right) or (undecided and searched):
        return verdict
    forget()
    concrete = in_floats(left, right, case, verdict, task)
    return verdict if undecided and concrete.note else with_concrete(verdict, concrete)


def decided(
    left: Subject, right: Subject, worker: Caller, rules: Rules | None = None, queue: WorkerQueue | None = None,
    may: MayDiffer = NOTHING,
) -> tuple[Verdict, Case | None]:  # fmt: skip
    """The verdict without a search for floats that show a difference, and what was judged where that has a µGraph."""
    from mirage.cli import verify_subjects
    from mirage.results.verdict import Verdict
    from mirage.verify import cases
    from mirage.verify.judge import judge
    from mirage.verify.two_programs import check_signatures, compare

    task, _ = _tasks(worker, queue)
    if right.refused is not None:
        return Verdict((right.refused,)), None
    if left.program is not None and right.program is not None and left.writes != right.writes:
        return Verdict((verify_subjects.other_writes(left.writes, right.writes, list(left.inputs)),)), None
    if is_written(left, right):
        if left.writes is not None:
            raise InPlaceEdit(
                f"{left.label} writes to its inputs, and {right.label} carries no µGraph", path=left.label
            )
        return of_kernels(left, right, task, may.undefined), None
    if left.program is not None and right.kind == "function":
        assert right.program is not None
        return compare(left.program, right.program, rules, may.overflow), None
    if left.program is not None and right.program is not None:
        check_signatures(left.program, right.program)
    graph = structure_of(left, right) if right.kind == "module" else right.mugraph
    assert graph is not None
    if left.program is not None:
        case = cases.of_program(left.program, graph, right.module, left.text, left.function)
    else:
        assert left.mugraph is not None
        case = cases.of_mugraph(left.mugraph, graph, right.module)
    return judge(replace(case, rules=rules), task, ahead=queue), case


def is_written(left: Subject, right: Subject) -> bool:
    """Is the right side Triton text of which nothing says a µGraph: a person's, or a module whose µGraph was taken out?"""
    return right.kind == "kernels" or (right.kind == "module" and right.mugraph is None and left.program is not None)


def _tasks(worker: Caller, queue: WorkerQueue | None) -> tuple[RunTask, Callable[[], object]]:
    """What runs a task, and what drops those that have been asked and not begun."""
    return (partial(worker.call, timeout_s=TASK_S), bool) if queue is None else (queue.run, queue.forget)


def of_kernels(left: Subject, right: Subject, task: RunTask, undefined: bool = False) -> Verdict:
    """The verdict on Triton text without a µGraph, whose function of the same name (or the one named) is to compute the left side."""
    from mirage.verify.real_sizes.opinion import judge_written

    if left.program is None:
        raise MugraphUnknown(f"{right.label} carries no µGraph, and {left.label} is no function", path=right.label)
    public = right.program.name if right.program is not None else right.function or left.program.name
    return judge_written(left.program, left.text, left.function, right.module, public, task, undefined)


def structure_of(left: Subject, right: Subject) -> MuGraph:
    """The µGraph that a module is judged against: the one that it carries, else the left side where that is one. It must be the
    one that the module launches; whether it computes what the left side says is the judge's question."""
    from mirage.cli.verify_subjects import tables
    from mirage.verify import cases

    sizes, tiles = tables(right.module, right.label)
    if left.program is None and left.mugraph is not None:
        if not cases.matches(left.mugraph, sizes, tiles):
            raise SignatureMismatch(f"the SIZES and TILES of {right.label} are not those of {left.label}")
        if right.mugraph is None:
            return left.mugraph
    assert right.mugraph is not None  # without one the text is judged as it stands (`is_written`)
    if not cases.matches(right.mugraph, sizes, tiles):
        raise MugraphUnknown(f"{right.label} carries another µGraph than that of its SIZES and TILES", path=right.label)
    return right.mugraph


def in_floats(left: Subject, right: Subject, case: Case | None, verdict: Verdict, task: RunTask) -> Concrete:
    """Floats that show the difference, or the reason why there are none."""
    from mirage.results.verdict import Concrete
    from mirage.verify.counterexamples import float_search
    from mirage.verify.counterexamples.float_search import RunnableSide

    if all(e.opinion == "structure" for e in verdict.rejections):  # a search would take a rounding for the difference
        return Concrete(note="the text was read: it shows nothing else in what was run")
    targets: Sequence[OutputTerm]
    try:
        if case is None:
            t, targets, launches = float_search.of_programs(left.program, right.program)  # type: ignore[arg-type]
            judged = RunnableSide(right.label, right.text, right.function)
        else:
            t, targets, launches = case.t, case.targets, float_search.of_case(case, verdict)
            text = right.module or float_search.module_of(case, left.text, left.function, case.mugraph)
            judged = RunnableSide(right.label, text)
        if left.program is not None:
            wanted = RunnableSide(left.label, left.text, left.function)
        else:
            wanted = RunnableSide(left.label, float_search.module_of(case, "", "", left.mugraph))  # type: ignore[arg-type]
    except MirageError as e:
        return Concrete(note=f"it cannot be run in floats: {e.message}")
    return float_search.search(wanted, judged, launches, task, t, targets)
