"""What a worker imports and rehearses before anybody asks it, by what it will do."""

from __future__ import annotations

# Before it traces (PyTorch's meta tensors import sympy), and then before it runs kernels
TRACING = (
    "sympy", "torch", "torch.fx.experimental.symbolic_shapes", "mirage.program.trace_task", "mirage.isolate.forked_task"
)  # fmt: skip
RUNNING = ("triton", "triton.experimental.gluon", "mirage.verify.floats.worker", "mirage.verify.field.worker")
# A process makes its first trace slowly: the worker makes one of this text, before its children make those of what is compared
REHEARSAL = {
    "task": "trace",
    "payload": {
        "text": "import torch\n\n\ndef f(x, w):\n    return torch.softmax(x.float() @ w, -1).sum(-1)\n",
        "function": "f",
        "inputs": [{"name": "x", "shape": [2, 3], "dtype": "fp16"}, {"name": "w", "shape": [3, 5], "dtype": "fp32"}],
    },
}
