"""What a kernel is timed beside on a GPU: the function as written, by torch.compile in each mode, with each backend of fused attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirage.profile.gpu_timing import Function, Tensors
from mirage.results.baselines import BASELINES, EAGER

if TYPE_CHECKING:
    import torch
    from torch.nn.attention import SDPBackend


def attention_backends(function: Function, inputs: Tensors) -> dict[str, Function]:
    """The function with each backend of PyTorch's fused attention that takes these inputs; none where it calls no
    attention (all backends give the same kernels there, so one that cannot run says nothing)."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def with_backend(backend: SDPBackend) -> Function:
        def run(*tensors: torch.Tensor) -> object:
            with sdpa_kernel(backend):
                return function(*tensors)

        return run

    found: dict[str, Function] = {}
    for name, row in BASELINES.items():
        if not row.backend:
            continue
        run = with_backend(SDPBackend.__members__[row.backend])
        try:
            run(*inputs)
        except RuntimeError:  # the backend refuses: "No available kernel"
            continue
        found[name] = run
    return found


def baselines(original: Function, inputs: Tensors, *, compiled: bool, attention: bool) -> dict[str, Function]:
    """What a user would run instead: the function as written, compiled in two ways, with each backend of attention."""
    import torch

    found: dict[str, Function] = {EAGER: original}
    if attention:
        found |= attention_backends(original, inputs)
    if compiled:
        # its processes would ask CUDA which GPU is there, and CUDA does not start in a child of this sandbox
        torch._inductor.config.compile_threads = 1
        for name, row in BASELINES.items():
            if row.mode:
                found[name] = torch.compile(original, dynamic=False, mode=row.mode)
    return found
