"""PyTorch's own operators on a GPU, each beside the model's idea of it: what `profile/roofline.py` says of eager programs.

    python benchmarks/eager.py [--json]

Rows: us/OPERATOR SHAPES (median, CUDA graphs, inputs that are not in L2) and model/OPERATOR SHAPES (estimate over time).
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core")]

from mirage.devices.table import device  # noqa: E402
from mirage.ir.program import Operation, Program  # noqa: E402
from mirage.ir.tensor_spec import TensorSpec, TensorType  # noqa: E402
from mirage.profile.roofline import baseline  # noqa: E402

Shape = tuple[int, ...]
# operator, shapes of its tensors, shape of its result; float16 throughout
CASES: tuple[tuple[str, tuple[Shape, ...], Shape], ...] = (
    ("matmul", ((16, 4096), (4096, 4096)), (16, 4096)),
    ("matmul", ((8, 4096), (4096, 4096)), (8, 4096)),
    ("matmul", ((16, 4096), (4096, 16)), (16, 16)),
    ("matmul", ((16, 16), (16, 4096)), (16, 4096)),
    ("matmul", ((2, 8, 128), (2, 128, 8192)), (2, 8, 8192)),
    ("matmul", ((2, 8, 8192), (2, 8192, 128)), (2, 8, 128)),
    ("matmul", ((2, 256, 64), (2, 64, 4096)), (2, 256, 4096)),
    ("matmul", ((2, 256, 4096), (2, 4096, 64)), (2, 256, 64)),
    ("matmul", ((32, 1, 4096), (32, 4096, 128)), (32, 1, 128)),
    ("matmul", ((4096, 4096), (4096, 4096)), (4096, 4096)),
    ("softmax", ((128, 4096),), (128, 4096)),
    ("softmax", ((2, 8, 8192),), (2, 8, 8192)),
    ("softmax", ((4096, 4096),), (4096, 4096)),
    ("rms_norm", ((16, 4096), (4096,)), (16, 4096)),
    ("rms_norm", ((32, 4096, 128), (128,)), (32, 4096, 128)),
    ("layer_norm", ((16, 4096), (4096,), (4096,)), (16, 4096)),
    ("layer_norm", ((32, 4096, 128), (128,), (128,)), (32, 4096, 128)),
    ("add", ((16, 4096), (16, 4096)), (16, 4096)),
    ("mul", ((4096, 4096), (4096, 4096)), (4096, 4096)),
    ("silu", ((16, 4096),), (16, 4096)),
    ("scaled_dot_product_attention", ((8, 1024, 64),) * 3, (8, 1024, 64)),
    ("scaled_dot_product_attention", ((1, 8, 1024, 64),) * 3, (1, 8, 1024, 64)),
    ("scaled_dot_product_attention", ((16, 4096, 64),) * 3, (16, 4096, 64)),
)


def functions() -> dict[str, Callable[..., Any]]:
    import torch
    import torch.nn.functional as F

    return {
        "matmul": torch.matmul,
        "softmax": lambda x: torch.softmax(x, dim=-1),
        "rms_norm": lambda x, g: F.rms_norm(x, (x.shape[-1],), g, 1e-6),
        "layer_norm": lambda x, g, b: F.layer_norm(x, (x.shape[-1],), g, b, 1e-5),
        "add": torch.add,
        "mul": torch.mul,
        "silu": F.silu,
        "scaled_dot_product_attention": F.scaled_dot_product_attention,
    }


def modelled(op: str, shapes: tuple[Shape, ...], out: Shape) -> float:
    """The model's µs of the program of one operator."""
    inputs = tuple(TensorSpec(f"x{i}", s, "fp16") for i, s in enumerate(shapes))
    node = Operation(op, tuple(range(len(shapes))), (), TensorType(out, "fp16"))
    return baseline(Program(op, inputs, (node,), (len(shapes),)), device("sm_90"))


def rows_of(op: str, shapes: tuple[Shape, ...], out: Shape) -> list[dict[str, Any]]:
    import torch

    from mirage.profile.gpu_timing import measure, random_tensor

    def inputs(seed: int) -> list[Any]:
        generator = torch.Generator("cuda").manual_seed(seed)
        return [random_tensor(s, torch.float16, generator) for s in shapes]

    us = measure({"eager": functions()[op]}, inputs, repetitions=5)["eager"].cold
    name = f"{op} {' '.join('x'.join(map(str, s)) for s in shapes)}"
    model = modelled(op, shapes, out)
    rows = [(f"us/{name}", us, "us"), (f"model/{name}", model / us, "x")]
    return [{"name": n, "value": round(v, 4), "unit": u, "bound": None, "ok": True} for n, v, u in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    from mirage.errors import MirageError
    from mirage.profile.gpu_timing import require_gpu

    try:
        require_gpu()
    except MirageError as e:
        print(e, file=sys.stderr)
        return 1
    import torch
    import triton

    rows = [r for case in CASES for r in rows_of(*case)]
    report = {
        "bench": "eager", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__}, "rows": rows,
    }  # fmt: skip
    if args.json:
        print(json.dumps(report))
    else:
        for r in rows:
            print(f"{r['name']:64} {r['value']:10.3f} {r['unit']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
