"""One graph of a saved file, listed and judged: what a worker is asked by `judge_saved.py`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES, Device, device
from mirage.errors import MirageError, SavedGraphInvalid, SignatureMismatch
from mirage.ir.json_value import json_text
from mirage.ir.program import Program
from mirage.isolate.task_table import Value, resolve
from mirage.mugraph import json_form
from mirage.mugraph.check import Limits, check
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.structure import canonical
from mirage.plan import plan
from mirage.program.lower import lower
from mirage.results.codec import unstructure
from mirage.results.verdict import Verdict
from mirage.verify import cases
from mirage.verify.judge import Case, judge
from mirage.verify.output_terms import Output
from mirage_original import list_saved, saved_files
from mirage_original.hand_graph_terms import against, same_signature
from mirage_original.two_links import two_links

if TYPE_CHECKING:
    from mirage.verify.judge import Case
    from mirage_original.graph_builder import KNGraph

_verdicts: dict[tuple[str, ...], Value] = {}  # of this worker, by µGraph and program


def task(payload: Value) -> Value:
    """{"graph": data of a file's form, "index", "path", "wanted": {"program", "text", "function"} or None, "text": judge the
    emitted text too, "target": the device's name} -> {"row": a `ListedGraph` as data, "verdict": a `Verdict` as data or None};
    or, for a µGraph of this project, {"mugraph": its JSON form, "wanted", "target"} -> {"verdict"}. Raises MugraphSyntax,
    InvalidMugraph, SignatureMismatch for that."""
    dev = device(payload["target"])
    if "mugraph" in payload:
        return {"verdict": unstructure(_own(payload["mugraph"], payload["wanted"], dev))}
    (read,) = saved_files.entries([payload["graph"]], payload["path"])
    entry = replace(read, index=payload["index"])
    try:
        row, graph, made = list_saved.row(entry, payload["path"], Limits.of(dev))
    except RecursionError:
        why = f"graph {entry.index}: its operators are nested too deeply"
        return {
            "row": list_saved.ListedGraph(entry.index, code=SavedGraphInvalid.code, why=why).to_dict(),
            "verdict": None,
        }
    wanted, verdict = payload["wanted"], None
    if wanted is not None and graph is not None and made is not None:
        try:
            verdict = _verdict(graph, made, wanted, payload["text"], dev)
        except (RecursionError, MemoryError) as e:
            what = "levels of operators" if isinstance(e, RecursionError) else "memory"
            why = f"graph {entry.index}: its verdict needs more {what} than one graph is given, so nothing was shown of it"
            row = replace(row, code=SavedGraphInvalid.code, why=why, valid=False)
    return {"row": row.to_dict(), "verdict": verdict}


def _own(data: object, wanted: Mapping[str, object], dev: Device) -> Verdict:
    made = json_form.from_json(data)
    check(made, Limits.of(dev))
    program = program_of(json.dumps(wanted["program"], sort_keys=True))
    return judge(
        cases.of_program(program, made, "", json_text(wanted["text"]), json_text(wanted["function"])), run_task
    )


def run_task(name: str, data: Value) -> Value:
    """A task of the judge's, in this worker."""
    return resolve(name)(data, lambda event: None)


def _verdict(graph: KNGraph, made: MuGraph, wanted: Mapping[str, object], text: bool, dev: Device) -> Value:
    form = json.dumps(json_form.to_json(canonical(made)), sort_keys=True)
    program = json.dumps(wanted["program"], sort_keys=True)
    key = (hashlib.sha256(form.encode()).hexdigest(), program, str(text), dev.target)
    if key not in _verdicts:
        _verdicts[key] = unstructure(judged(graph, program_of(program), wanted, text, dev))
    return _verdicts[key]


@lru_cache(maxsize=4)
def program_of(text: str) -> Program:
    return Program.from_dict(json.loads(text))


def judged(
    graph: KNGraph, program: Program, wanted: Mapping[str, object], text: bool, dev: Device = DEVICES["sm_90"]
) -> Verdict:
    """The verdict on the graph for a device; REJECTED, with the reason as a note, where it takes or gives other tensors, or where its
    kernels cut the program's dims in ways that do not fit together."""
    try:
        case, axes = case_of(graph, program, json_text(wanted["text"]), json_text(wanted["function"]), dev)
        if not text:
            return two_links(case, program.key, axes)
        return judge(with_module(case, dev), run_task)
    except MirageError as e:
        return Verdict((), notes=(f"{e.code} {e.message}",))


def case_of(
    graph: KNGraph, program: Program, text: str, function: str, dev: Device
) -> tuple[Case, dict[str, tuple[str, ...]]]:
    """What the judge is asked, and how the program's axes are cut for it."""
    same_signature(graph, [i.type for i in program.inputs], [program.type_of(o) for o in program.outputs])
    lowered = lower(program)
    if lowered.calls:
        called = ", ".join(k.op for k in lowered.calls)
        raise SignatureMismatch(f"{program.name} calls {called} as it is, for which no graph is judged")
    names = [f"out{i}" if len(lowered.outputs) > 1 else "out" for i in range(len(lowered.outputs))]
    targets = [Output(n, term, dims) for n, (term, dims) in zip(names, lowered.outputs, strict=True)]
    found, outputs = against(graph, lowered.terms, lowered.tensors, targets, program.name, Limits.of(dev))
    return Case(lowered.terms, outputs, found.mugraph, "", program, text, function), found.axes


def with_module(case: Case, dev: Device) -> Case:
    """With the module that is emitted for the µGraph, as it is planned for a device."""
    made = plan(case.mugraph, dev)
    module = emit_module(case.program, made, case.slice, function=case.function, header={"made by": "mirage"})
    return replace(case, mugraph=made, module=module)
