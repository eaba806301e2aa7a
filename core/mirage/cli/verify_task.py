"""The task `verify`: `mirage verify` in a worker of the project's interpreter, for the daemon."""

from __future__ import annotations

from mirage.cli.named_text import NamedText
from mirage.cli.verify import MayDiffer, rows_of_sides
from mirage.isolate.task_table import Emit, Value
from mirage.pipeline.job_task import make_spare, tools_of_a_job
from mirage.results.codec import unstructure


def verify_task(payload: Value, emit: Emit) -> Value:
    """{"a", "b": the fields of NamedText, "target", "overflow", "undefined"} -> {"left", "right", "rows": verdicts by size, "missing"}.
    {"warm": True} as for the task `optimize`. As there, this process runs nothing of a user's, and the worker that does is a fresh one."""
    a, b = (NamedText(**payload[side]) for side in ("a", "b"))
    may = MayDiffer(payload["overflow"], payload["undefined"])
    with tools_of_a_job(bool(payload.get("warm")), compiles=False) as tools:
        found = rows_of_sides((a, b), tools.runner, payload["target"], None, may)
    rows = [{"inputs": shapes, "verdict": unstructure(v)} for shapes, v in found.rows]
    return {"left": found.left, "right": found.right, "rows": rows, "missing": [list(x) for x in found.missing]}


def prepare_task(payload: Value, emit: Emit) -> Value:
    """Begins with what the first `verify` of this process would wait for: to import this module was a part of it."""
    make_spare(compiles=False)
    return {}
