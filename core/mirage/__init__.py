"""Mirage: a superoptimizer for tensor programs. `@mirage.optimize` marks a function; `mirage optimize` does the work.

Importing this is light: neither torch nor triton nor the search is loaded until something needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mirage.errors import MirageError

if TYPE_CHECKING:
    from mirage.results.progress import CancelToken, Progress
    from mirage.results.result import Result
    from mirage.runtime.decorator import optimize
    from mirage_original.block_builder import TBGraph, new_threadblock_graph
    from mirage_original.graph_builder import KNGraph, new_graph, new_kernel_graph
    from mirage_original.module_calls import (
        bypass_compile_errors,
        convert_dtype_to_torch_type,
        convert_torch_type_to_dtype,
        generate_cuda_program,
        generate_nki_program,
        generate_triton_program,
        set_gpu_device_id,
    )
    from mirage_original.superoptimize import superoptimize
    from mirage_original.tensors import (
        bfloat16,
        float8,
        float8_e4m3,
        float16,
        float32,
        float64,
        int8,
        int32,
        int64,
    )

__version__ = "0.1.0"

# Names that are loaded at their first use, and the module that each comes from.
_LAZY = {
    "CancelToken": "mirage.results.progress",
    "Progress": "mirage.results.progress",
    "Result": "mirage.results.result",
    "optimize": "mirage.runtime.decorator",
    # the original's Python API
    "superoptimize": "mirage_original.superoptimize",
    **dict.fromkeys(("KNGraph", "new_graph", "new_kernel_graph"), "mirage_original.graph_builder"),
    **dict.fromkeys(("TBGraph", "new_threadblock_graph"), "mirage_original.block_builder"),
    **dict.fromkeys(
        (
            "bypass_compile_errors",
            "convert_dtype_to_torch_type",
            "convert_torch_type_to_dtype",
            "generate_cuda_program",
            "generate_nki_program",
            "generate_triton_program",
            "set_gpu_device_id",
        ),
        "mirage_original.module_calls",
    ),
    **dict.fromkeys(
        ("float16", "bfloat16", "float32", "float64", "float8", "float8_e4m3", "int8", "int32", "int64"),
        "mirage_original.tensors",
    ),
}


__all__ = [
    "CancelToken",
    "KNGraph",
    "MirageError",
    "Progress",
    "Result",
    "TBGraph",
    "__version__",
    "bfloat16",
    "bypass_compile_errors",
    "convert_dtype_to_torch_type",
    "convert_torch_type_to_dtype",
    "float8",
    "float8_e4m3",
    "float16",
    "float32",
    "float64",
    "generate_cuda_program",
    "generate_nki_program",
    "generate_triton_program",
    "int8",
    "int32",
    "int64",
    "new_graph",
    "new_kernel_graph",
    "new_threadblock_graph",
    "optimize",
    "set_gpu_device_id",
    "superoptimize",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
        return value
    raise AttributeError(f"module 'mirage' has no attribute {name!r}")
