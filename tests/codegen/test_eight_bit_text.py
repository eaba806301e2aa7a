"""How emitted kernels read 8-bit floats: in the other operand's dtype, and exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mutants.bases import module_of
from workloads.hand import small

CASE = small()["cluster_linear"].mugraph


def product(**dtypes: str) -> str:
    """The line of the product, with inputs of these dtypes."""
    out = "fp16" if "fp32" not in dtypes.values() else "fp32"
    tensors = tuple(replace(t, dtype=dtypes.get(t.name, "fp16" if t.kind == "input" else out)) for t in CASE.tensors)
    (line,) = (x.strip() for x in module_of(replace(CASE, tensors=tensors)).splitlines() if "tl.dot(" in x)
    return line


@pytest.mark.parametrize(
    "x,w,want",
    [
        ("fp16", "fp16", "tl.dot(x, w, "),
        ("fp16", "fp8e4m3", "tl.dot(x, w.to(x.dtype), "),
        ("bf16", "fp8e4m3", "tl.dot(x, w.to(x.dtype), "),
        ("fp16", "fp8e5m2", "tl.dot(x, w.to(x.dtype), "),
        (
            "bf16",
            "fp8e5m2",
            "tl.dot(x, w.to(tl.float32).to(x.dtype), ",
        ),  # Triton's direct way turns infinity into 65536
        ("fp8e4m3", "fp16", "tl.dot(x.to(w.dtype), w, "),
        ("fp8e4m3", "fp8e4m3", "tl.dot(x.to(tl.float16), w.to(tl.float16), "),
        ("fp8e5m2", "fp8e4m3", "tl.dot(x.to(tl.float16), w.to(tl.float16), "),
        ("fp32", "fp8e4m3", 'tl.dot(x, w.to(tl.float32), y, input_precision="ieee")'),
    ],
)
def test_operands_of_a_product(x: str, w: str, want: str) -> None:
    assert want in product(X=x, W=w)
