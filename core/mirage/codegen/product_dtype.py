"""The dtype in which a matrix product reads its operands."""

from __future__ import annotations

from mirage.ir.dtypes import DTYPES, computing_dtypes
from mirage.mugraph.grammar import MuGraph

DOT_TYPES = {name: DTYPES[name].torch for name in ("fp16", "bf16")}  # as Triton's language names them


def product_dtype(storage: tuple[str, str], wide: bool, mugraph: MuGraph) -> str:
    """That of the loaded operands (`storage`: "" of a computed one), else of the function's first float input; float32 for
    `wide` operands. 8-bit floats are read in a wider one: what adds up their own products has fewer bits than float32."""
    loaded = {s for s in storage if s in ("fp32", *DOT_TYPES)}
    if wide and not all(storage):
        return "fp32"
    if len(loaded) > 1 or "fp32" in loaded:
        return "fp32"
    if loaded:
        return next(iter(loaded))
    if all(storage):
        return "fp16"  # it holds every 8-bit float
    floats = computing_dtypes((t.dtype for t in mugraph.inputs), (t.dtype for t in mugraph.outputs))
    return floats[0] if floats[0] in DOT_TYPES else "fp32"
