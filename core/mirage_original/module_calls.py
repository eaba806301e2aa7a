"""Module-level calls of the original beside its graphs: the code of a graph, dtypes, and settings that mean nothing here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from mirage.ir.dtypes import BY_TORCH_NAME
from mirage.program.torch_dtypes import to_torch
from mirage_original.arguments import shown
from mirage_original.graph_builder import KNGraph
from mirage_original.mistakes import mistake
from mirage_original.tensors import GRAPH_DTYPES, dtype

if TYPE_CHECKING:
    import torch

_said: set[str] = set()


def without_meaning(name: str, why: str) -> None:
    """Says once that `name` has no meaning here."""
    if name not in _said:
        _said.add(name)
        print(f"mirage: {name} has no meaning here: {why}", file=sys.stderr)


def set_gpu_device_id(device_id: int) -> None:
    """Accepted: kernels run where their tensors are."""
    without_meaning("set_gpu_device_id", "kernels run on the device of their tensors")


def bypass_compile_errors(value: bool = True) -> None:
    """Accepted: nothing is compiled that could fail."""
    without_meaning("bypass_compile_errors", "a graph that is given has its kernels")


def generate_triton_program(graph: KNGraph, *, target_cc: int | None = None) -> dict[str, str | list[list[int]]]:
    """The Triton module of a graph that a search found or that has block graphs ("code"), and its outputs' shapes. Triton
    compiles for the GPU that is there, whatever `target_cc` is."""
    found = graph.kernels() if isinstance(graph, KNGraph) else None
    if found is None:
        raise mistake("this graph was not found by a search", "call superoptimize first")
    return {"code": found.text, "output_shapes": [list(t.shape) for t in graph.outputs]}


def generate_cuda_program(graph: KNGraph, **_: object) -> NoReturn:
    """Refused: kernels are Triton's."""
    raise mistake("there is no CUDA code", "take generate_triton_program's")


def generate_nki_program(graph: KNGraph, **_: object) -> NoReturn:
    """Refused: kernels are Triton's."""
    raise mistake("there is no NKI code", "take generate_triton_program's")


def convert_dtype_to_torch_type(kind: dtype) -> torch.dtype:
    """torch's dtype. Raises GraphMistake for what is no dtype of a graph."""
    if not isinstance(kind, dtype):
        raise mistake(f"{shown(kind)} is no dtype of a graph", "give mirage.float16 or another of its own")
    return to_torch(kind.short)


def convert_torch_type_to_dtype(kind: object) -> dtype:
    """The dtype of a torch one. Raises GraphMistake for one that graphs do not take."""
    found = GRAPH_DTYPES.get(BY_TORCH_NAME.get(str(kind).removeprefix("torch."), ""))
    if found is None:
        raise mistake(f"{kind} is no dtype of a graph", "cast the tensor")
    return found
