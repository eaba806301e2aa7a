"""The worker tasks `trace`, `whole_function` and `written_inputs`: from a slice's text and its inputs to a program, both as JSON data."""

from __future__ import annotations

from mirage.ir.json_value import JsonObject
from mirage.ir.tensor_spec import TensorSpec
from mirage.isolate.task_table import Value
from mirage.program.trace import trace_generic
from mirage.program.whole_function import whole_function
from mirage.program.written_inputs import written_inputs


def trace_task(payload: Value) -> JsonObject:
    """{"text", "function", "inputs": [{"name", "shape", "dtype", "names"}], "path", "constants", "lines"} -> {"program"}.

    Executes the user's function on meta tensors; only a worker may call it.
    """
    inputs = _inputs(payload)
    lines = {int(k): int(v) for k, v in (payload.get("lines") or {}).items()}
    program = trace_generic(
        payload["text"], payload["function"], inputs, payload.get("constants"), path=payload.get("path"), lines=lines
    )
    return {"program": program.to_dict()}


def whole_task(payload: Value) -> JsonObject:
    """The same payload -> {"program"} of one operator, the function itself (`whole_function`)."""
    program = whole_function(payload["text"], payload["function"], _inputs(payload), payload.get("constants"))
    return {"program": program.to_dict()}


def writes_task(payload: Value) -> JsonObject:
    """The same payload -> {"writes"}: what the function does to its inputs."""
    found = written_inputs(payload["text"], payload["function"], _inputs(payload), payload.get("constants"))
    return {"writes": found.to_dict()}


def _inputs(payload: Value) -> list[TensorSpec]:
    return [
        TensorSpec(i["name"], tuple(i["shape"]), i["dtype"], None, tuple(i.get("names") or ()))
        for i in payload["inputs"]
    ]
