"""Library kernels: the PyTorch call of each operator that one may be."""

from __future__ import annotations

from mirage.errors import EmissionRefused
from mirage.mugraph.grammar import LibraryKernel

CALLS: dict[str, str] = {
    "matmul": "torch.matmul({0}, {1})",
    "linear": "torch.nn.functional.linear({args})",
    "bmm": "torch.bmm({0}, {1})",
    "softmax": "torch.softmax({args})",
    "log_softmax": "torch.log_softmax({args})",
    "rms_norm": "torch.nn.functional.rms_norm({args})",
    "layer_norm": "torch.nn.functional.layer_norm({args})",
    "scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention({args})",
    "add": "torch.add({0}, {1})",
    "mul": "torch.mul({0}, {1})",
}


def library_call(kernel: LibraryKernel, names: dict[str, str]) -> str:
    """The call's text; `names` gives each device tensor its variable in the launcher."""
    template = CALLS.get(kernel.op)
    if template is None:
        raise EmissionRefused(f"{kernel.op!r} is no library kernel", next_step=f"one of: {', '.join(sorted(CALLS))}")
    arguments = [names[a] for a in kernel.args]
    keywords = [f"{k}={v!r}" for k, v in kernel.attrs]
    text = template.format(*arguments, args=", ".join([*arguments, *keywords]))
    return text
