"""The only things a worker can be asked to do: name -> "module:function". Other packages add theirs by the entry point
group `mirage.tasks`.

A task is `function(payload: dict) -> dict`, or `function(payload: dict, emit) -> dict` where `emit(dict)` sends an
event to the parent. Payload, events and value are plain data (None, bool, int, float, str, bytes, list, dict); tuples
become lists.
"""

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

from mirage.errors import ProtocolError

Emit = Callable[[dict[str, Any]], None]
Task = Callable[[dict[str, Any], Emit], dict[str, Any]]

TASKS: dict[str, str] = {
    "trace": "mirage.program.trace_task:trace",
    "field_text": "mirage.verify.field.text_opinion:task",
    "float": "mirage.verify.floats.opinion:task",
    "rerun": "mirage.verify.counterexamples.worker:task",
    "compile": "mirage.profile.compiler_facts:task",
    "measure": "mirage.profile.gpu_timing:task",
    "tune": "mirage.profile.tune:task",
    "warm_gpu": "mirage.profile.tune:warm",
    "optimize": "mirage.pipeline.job_task:task",
    "warm": "mirage.isolate.task_table:warm",
    "recheck": "mirage.pipeline.recheck_task:task",
    "selftest": "mirage.isolate.worker_selftest:task",
}
GROUP = "mirage.tasks"


def warm(payload: dict[str, Any]) -> dict[str, Any]:
    """Import what takes long, so that the next call does not wait for it."""
    return {"seconds": {name: _import(name) for name in ("torch", "triton")}}


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
    found: Callable[..., dict[str, Any]] = getattr(importlib.import_module(module), function)
    if len(inspect.signature(found).parameters) >= 2:
        return found
    return lambda payload, emit: found(payload)
