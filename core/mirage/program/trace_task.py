"""The worker task `trace`: from a slice's text and its inputs to the program, both as JSON data."""

from __future__ import annotations

from mirage.ir.json_value import JsonObject
from mirage.ir.tensor_spec import TensorSpec
from mirage.isolate.task_table import Value
from mirage.program.trace import trace_generic


def trace_task(payload: Value) -> JsonObject:
    """{"text", "function", "inputs": [{"name", "shape", "dtype", "names"}], "path", "constants", "lines"} -> {"program"}.

    Executes the user's function on meta tensors; only a worker may call it.
    """
    inputs = [
        TensorSpec(i["name"], tuple(i["shape"]), i["dtype"], None, tuple(i.get("names") or ()))
        for i in payload["inputs"]
    ]
    lines = {int(k): int(v) for k, v in (payload.get("lines") or {}).items()}
    program = trace_generic(
        payload["text"], payload["function"], inputs, payload.get("constants"), path=payload.get("path"), lines=lines
    )
    return {"program": program.to_dict()}
