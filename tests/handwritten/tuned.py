"""Modules with tuned kernels where nothing can be timed: each configuration in its turn."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import triton


def tuned(module: ModuleType) -> Iterator[None]:
    """Once for each configuration of the module's tuned kernels, with that one alone."""
    kernels = [x for x in vars(module).values() if isinstance(x, triton.runtime.Autotuner)]
    choices = {kernel: list(kernel.configs) for kernel in kernels}
    for index in range(max((len(x) for x in choices.values()), default=1)):
        for kernel, configs in choices.items():
            kernel.configs = [configs[index % len(configs)]]
        yield
