"""The worker's half of the text link's field opinion: an emitted module's public function, run in the field."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mirage.codegen.interpreter import load_module
from mirage.ir.dtypes import TORCH_NAMES
from mirage.ir.program import freeze
from mirage.verify.field.arithmetic import Field
from mirage.verify.field.device_memory import Kept, Memory, TextFault, TorchProxy
from mirage.verify.field.public_function import Public
from mirage.verify.field.triton_in_field import field_interpreter
from mirage.verify.semantics.arrays import Array
from mirage.verify.worker_tasks import FieldAnswer, FieldCall, FieldPayload, PackedArray

if TYPE_CHECKING:
    import torch


def encode(x: Array) -> PackedArray:
    return {"shape": list(x.shape), "dtype": str(x.dtype), "data": np.ascontiguousarray(x).tobytes()}


def decode(data: PackedArray) -> Array:
    return np.asarray(np.frombuffer(data["data"], np.dtype(data["dtype"])).reshape(data["shape"]))


def run_in_field(payload: FieldPayload) -> FieldAnswer:
    """Calls the module's public function in the field. Gives outputs as packed arrays, faults in words."""
    os.environ["TRITON_INTERPRET"] = "1"
    module = load_module(payload["module"])
    field = Field(payload["seed"], payload["draws"], payload["opaque"])
    with field_interpreter(field) as memory:
        arguments = {x["name"]: memory.given(decode(x), _dtype(x["type"])) for x in payload["inputs"]}
        inputs = len(memory.regions)
        calls = [_kept(c) for c in payload["calls"]]
        module.__dict__["torch"] = proxy = TorchProxy(memory, calls)
        tables = {"SIZES": dict(module.SIZES), "TILES": {k: dict(v) for k, v in module.TILES.items()}}
        try:
            public = Public(module, payload["module"], payload["sizes"], payload["tiles"])
            outputs = _outputs(public, arguments, proxy, memory)
            if len(proxy.ops.taken) != len(calls):
                return {"outputs": [], "faults": [f"{len(proxy.ops.taken)} of {len(calls)} calls are made"]}
        except TextFault as e:
            return {"outputs": [], "faults": [str(e)], "unevaluated": True}
        except Exception as e:
            said = f"the launch raised {type(e).__name__}: {_innermost(e)}"[:600]
            return {"outputs": [], "faults": [said], "unevaluated": True}
    _writes(memory, inputs)
    return {
        "outputs": [encode(o) for o in outputs],
        "calls": [[encode(x) for x in taken] for taken in proxy.ops.taken],
        "faults": memory.faults,
        "constants": {"SIZES": tables["SIZES"], "TILES": tables["TILES"]},
        "expected": public.expected,
    }


def _outputs(public: Public, arguments: Mapping[str, torch.Tensor], proxy: TorchProxy, memory: Memory) -> list[Array]:
    """The results of the public function; its guard is tried afterwards."""
    with proxy.operators():
        result = public(arguments)
    public.check_guard(arguments)
    return [memory.known(r) for r in (result if isinstance(result, tuple) else (result,))]


def _writes(memory: Memory, inputs: int) -> None:
    """Inputs may not be written, and other elements once."""
    for i, region in enumerate(memory.regions):
        if i < inputs and region.writes.any():
            memory.fault(f"input {i} is written")
        if (region.writes > 1).any():
            n = int((region.writes > 1).sum())
            memory.fault(f"{n} elements of a tensor of shape {tuple(region.tensor.shape)} are written more than once")


def _kept(call: FieldCall) -> Kept:
    attrs = [(name, freeze(value)) for name, value in call["attrs"]]  # on the way lists took the place of tuples
    return Kept(call["op"], attrs, call["arguments"], _dtype(call["type"]), decode(call))


def _dtype(name: str) -> torch.dtype:
    import torch

    return getattr(torch, TORCH_NAMES[name])


def _innermost(e: BaseException) -> str:
    while e.__cause__ is not None:
        e = e.__cause__
    return f"{type(e).__name__}: {e}"
