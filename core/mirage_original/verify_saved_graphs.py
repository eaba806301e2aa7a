"""`mirage verify PROGRAM --mugraphs FILE`: a verdict for each graph of a file that the original saved."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from mirage.cli import verify_subjects
from mirage.cli.verify_subjects import Subject
from mirage.devices.table import device
from mirage.errors import SignatureMismatch
from mirage.isolate.runner import Worker
from mirage.mugraph.check import Limits
from mirage.pipeline.request import Request, read, trace
from mirage.results.progress import CancelToken
from mirage_original import rebuild_saved, saved_files
from mirage_original.judge_saved import Wanted, judged
from mirage_original.searched_graph import NAME

if TYPE_CHECKING:
    from mirage.cli.verify_subjects import Subject
    from mirage.isolate.runner import Worker
    from mirage_original.judge_saved import JudgedGraph

WORDS = ("PROVED", "TESTED", "REJECTED", "INVALID")


def verify(program: str, file: str, as_json: bool, text: bool, target: str) -> None:
    """Prints each graph's verdict for the device `target`. Raises UnknownTarget, and SystemExit(3) where one is not accepted."""
    limits = Limits.of(device(target))
    entries = saved_files.read(file)  # first: a file that cannot be read costs nothing
    with Worker(env={"TRITON_INTERPRET": "1"}) as worker:
        rows = (
            [kernel_graph(program, worker)]
            if program.endswith(".json")
            else verify_subjects.rows(program, worker, limits)
        )
    wanted = [Wanted(x.program, x.text, x.function) for x in rows if x.program is not None]
    if not wanted:
        raise SignatureMismatch(
            f"{program} is no program", path=program, next_step="give a file with a decorated function"
        )
    began, found = time.monotonic(), []
    for j in judged(entries, file, wanted, text=text, target=target):
        found.append(j)
        if not as_json:
            click.echo(line(j))
    seconds = time.monotonic() - began
    links = ["algebra", "schedule", *(["text"] if text else [])]
    counts = {w: sum(j.word == w for j in found) for w in WORDS}
    if as_json:
        data = {
            "program": rows[-1].label, "file": file, "links": links, "counts": counts, "seconds": round(seconds, 3),
            "graphs": [j.to_dict() for j in found],
        }  # fmt: skip
        click.echo(json.dumps(data, indent=1))
    else:
        said = ", ".join(f"{n} {w}" for w, n in counts.items() if n)
        click.echo(
            f"{len(found)} graphs{': ' if said else ''}{said}; links judged: {', '.join(links)}; {seconds:.1f} s"
        )
    if not all(j.accepted for j in found):
        raise SystemExit(3)


def kernel_graph(path: str, worker: Worker) -> Subject:
    """The program that a file of the original's has: `graph.to_json(path)`, or a checkpoint of May 2024."""
    graph = rebuild_saved.build(saved_files.program(path), "the program", path)
    function = read(Request(graph.source(NAME), path, NAME))
    return Subject("function", path, trace(function, path, worker, CancelToken()), function.slice.text, NAME)


def line(j: JudgedGraph) -> str:
    """`graph 3: TESTED (bound 1.0e-20), as graph 1`, or why not."""
    if j.verdict is None:
        return f"graph {j.row.index}: INVALID {j.row.code} {j.row.why}"
    as_other = f", as graph {j.same_as}" if j.same_as is not None else ""
    links = ", ".join(f"{x.name} {x.word}" for x in j.verdict.links)
    judged = f" ({links})" if j.accepted else ""
    return f"graph {j.row.index}: {j.verdict.headline}{judged}{as_other}{reason(j)}"


def reason(j: JudgedGraph) -> str:
    """Why a graph was rejected, from its first opinion that says so."""
    verdict = j.verdict
    if verdict is None or verdict.accepted:
        return ""
    said = [f"{e.link}: {e.summary}" for e in verdict.rejections] or verdict.notes
    return f": {said[0]}" if said else ""
