"""The worker's task: trace a slice. {"text", "function", "inputs": [{"name", "shape", "dtype", "names"}], "path"} -> {"program"}."""

from __future__ import annotations

from typing import Any


def trace(payload: dict[str, Any]) -> dict[str, Any]:
    """Executes the user's function on meta tensors; only a worker may call it."""
    from mirage.program.trace import trace_generic

    inputs = [(i["name"], tuple(i["shape"]), i["dtype"], tuple(i["names"])) for i in payload["inputs"]]
    program = trace_generic(payload["text"], payload["function"], inputs, path=payload.get("path"))
    return {"program": program.to_dict()}
