"""A script: calls the functions of written modules in Triton's interpreter and in the evaluation at real sizes, and prints how
far their results are apart, as JSON. It runs in a process of its own, because Triton reads TRITON_INTERPRET on import."""

from __future__ import annotations

import json
import os
import time

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
from written_modules import ADD, ATTENTION, LAYER_NORM, MATMUL, ZOO

from mirage.codegen.interpreter import float_interpreter, load_module
from mirage.verify.real_sizes import module_text
from mirage.verify.real_sizes.comparison import values_of
from mirage.verify.real_sizes.host_run import Host, HostCall
from mirage.verify.real_sizes.tile_values import Precision

GIVEN = {
    "add": (ADD, [((3000,), "float32")] * 2),
    "matmul": (MATMUL, [((70, 40), "float16"), ((40, 72), "float16")]),
    "attention": (ATTENTION, [((1, 2, 80, 32), "float16")] * 3),
    "layer_norm": (LAYER_NORM, [((5, 300), "float32"), ((300,), "float32"), ((300,), "float32")]),
    "zoo": (ZOO, [((48, 64), "float32"), ((48, 64), "bfloat16"), ((48, 64), "float16"), ((48, 64), "int32")]),
}


def tensors(types: list[tuple[tuple[int, ...], str]]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    made = [torch.randn(s) * 3 for s, _ in types]
    return [(x.round() if d == "int32" else x).to(getattr(torch, d)) for x, (_, d) in zip(made, types, strict=True)]


def many(x: object) -> tuple[torch.Tensor, ...]:
    return x if isinstance(x, tuple) else (x,)  # type: ignore[return-value]


def plain(text: str) -> str:
    """Without what the interpreter has not: an autotuner, a device, libdevice; tensors on the CPU."""
    start, end = text.find("@triton.autotune"), text.find("@triton.jit")
    text = text if start < 0 else text[:start] + text[end:]
    lines = [x for x in text.split("\n") if "libdevice" not in x and not x.startswith("DEVICE")]
    text = "\n".join(lines).replace(" and x.is_cuda", "")
    first = "BLOCK_SIZE_M=64, BLOCK_SIZE_N=64, BLOCK_SIZE_K=32, GROUP_SIZE_M=8"
    return text.replace('ACTIVATION="leaky_relu")', f'ACTIVATION="leaky_relu", {first})')


def main() -> None:
    found: dict[str, float] = {}
    for name, (written, types) in GIVEN.items():
        module = load_module(plain(written.module))
        with float_interpreter():
            wanted = [values_of(t) for t in many(getattr(module, name)(*tensors(types)))]
        host = Host(module_text.read(written.module, name))
        session = HostCall(Precision(wide=False), host.text, time.process_time() + 60)
        names = [f"{i}" for i in range(len(types))]
        function = host.names[name]
        host.names[name] = lambda _f=function, **k: _f(*k.values())
        got = [values_of(t) for t in host.call(session, dict(zip(names, tensors(types), strict=True)))]
        for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
            found[f"{name}.{i}"] = float(np.max(np.abs(a - b) / (np.abs(a) + np.sqrt(np.mean(a * a)))))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
