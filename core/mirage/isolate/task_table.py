"""The table of worker tasks, the only things that a worker can be asked to do: name -> "module:function".

Other packages add theirs by the entry point group `mirage.tasks`.

A task is `function(payload) -> value`, or `function(payload, emit) -> value` where `emit(event)` sends an event to the
parent. All are dicts of plain data (None, bool, int, float, str, bytes, list, dict); tuples become lists.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib import metadata
from typing import Any, Protocol, cast

from mirage.errors import ProtocolError
from mirage.isolate.early_library import loading, modules_by_name
from mirage.results.progress import CancelToken

Payload = Mapping[str, object]
Value = dict[str, Any]  # plain data; its form is the task's own, and known to whoever calls it
Emit = Callable[[Value], None]
Task = Callable[[Value, Emit], Value]


class Caller(Protocol):
    """Whatever does a worker's tasks."""

    def call(self, task: str, payload: Payload, *, timeout_s: float, cancel: CancelToken | None = None) -> Value: ...


TASKS: dict[str, str] = {
    "trace": "mirage.program.trace_task:trace_task",
    "whole_function": "mirage.program.trace_task:whole_task",
    "written_inputs": "mirage.program.trace_task:writes_task",
    "field_text": "mirage.verify.field.worker:run_in_field",
    "float": "mirage.verify.floats.worker:run_on_floats",
    "real_sizes": "mirage.verify.real_sizes.worker:judge_at_real_sizes",
    "float_on_device": "mirage.verify.floats.device_worker:run_on_device",
    "rerun": "mirage.verify.counterexamples.worker:difference",
    "compile": "mirage.profile.compiler_facts:facts_of_module",
    "measure": "mirage.profile.gpu_timing:times_of_module",
    "tune": "mirage.profile.tune:tune_modules",
    "warm_gpu": "mirage.profile.tune:warm_gpu",
    "optimize": "mirage.pipeline.job_task:optimize_task",
    "search": "mirage.pipeline.search_task:search_task",
    "warm": "mirage.isolate.task_table:warm",
    "forked": "mirage.isolate.forked_task:run_forked",
    "begin_forked": "mirage.isolate.forked_task:begin_forked",
    "collect_forked": "mirage.isolate.forked_task:collect_forked",
    "recheck": "mirage.pipeline.recheck_task:recheck_task",
    "verify": "mirage.cli.verify_task:verify_task",
    "prepare_verify": "mirage.cli.verify_task:prepare_task",
    "selftest": "mirage.isolate.worker_selftest:selftest_task",
}
GROUP = "mirage.tasks"


def warm(payload: Payload) -> Value:
    """Import what takes long ({"modules": names}, PyTorch and Triton if none), and do the "calls" ({"task", "payload"}) as a rehearsal,
    so that the next call does not wait for it. What stands before PyTorch is imported while its library is loaded."""
    names = cast(Sequence[str], payload.get("modules") or ("torch", "triton"))
    before = names[: names.index("torch")] if "torch" in names else ()
    gc.disable()  # imports make a million objects that stay: looking through them again and again takes a tenth of the time
    try:
        with loading() if before else nullcontext():
            seconds = {name: _import(name) for name in before}
        with modules_by_name():
            seconds |= {name: _import(name) for name in names[len(before) :]}
        for call in cast(Sequence[Value], payload.get("calls") or ()):
            resolve(call["task"])(call["payload"], lambda event: None)
        return {"seconds": seconds}
    finally:
        gc.freeze()
        gc.enable()


def _import(name: str) -> float:
    began = time.monotonic()
    importlib.import_module(name)
    return time.monotonic() - began


def resolve(name: str) -> Task:
    """The task's function, imported now; ProtocolError for a name that is neither in the table nor added."""
    place = TASKS.get(name) or next((e.value for e in metadata.entry_points(group=GROUP) if e.name == name), None)
    if place is None:
        raise ProtocolError(f"unknown worker task {name[:40]!r}")
    module, _, function = place.partition(":")
    found: Callable[..., Value] = getattr(importlib.import_module(module), function)
    if len(inspect.signature(found).parameters) >= 2:
        return found
    return lambda payload, emit: found(payload)
