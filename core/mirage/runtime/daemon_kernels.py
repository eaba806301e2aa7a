"""Kernels that a running program takes from the daemon, made and verified for exactly its text, inputs and versions.

Such a kernel lies in the registry like an installed one, under a name that holds the versions too, so that
a later run finds it without a daemon."""

from __future__ import annotations

import hashlib
import json
import logging
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING

from mirage.errors import MirageError
from mirage.ir.dtypes import dtype_of
from mirage.ir.json_value import JsonObject
from mirage.results.versions import package_versions
from mirage.runtime import installed_kernels
from mirage.runtime.call_types import Function
from mirage.runtime.observed_calls import Inputs

if TYPE_CHECKING:
    from mirage.results.result import Result

log = logging.getLogger("mirage.runtime")
NO_GPU = "sm_90"


versions = lru_cache(maxsize=1)(package_versions)


def target() -> str:
    """The architecture of the GPU that this process uses; where it uses none, the usual one."""
    import torch

    if not torch.cuda.is_initialized():
        return NO_GPU
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def place(digest: str) -> str:
    """The registry's name for a kernel of the slice `digest` that was taken from the daemon: other versions, or another GPU,
    have another one."""
    return f"{digest}-{target()}-{_of_versions()}"


def taken(digest: str) -> dict[str, str]:
    """The names of the kernels that programs took for the slice `digest`, by their architectures: those of this environment's
    versions. Raises UntrustedFolder."""
    parts = [name.split("-") for name in installed_kernels.names(digest)]
    return {p[1]: "-".join(p) for p in parts if len(p) == 3 and p[2] == _of_versions()}


def _of_versions() -> str:
    return hashlib.sha256(json.dumps(versions(), sort_keys=True).encode()).hexdigest()[:16]


def matches(result: Result, name: str, inputs: Inputs) -> bool:
    """Whether a result is a verified kernel, or a call of PyTorch, for this function's name, these inputs, these versions."""
    verified = result.verdict is not None and result.verdict.accepted
    return (
        (verified if result.answer == "kernel" else result.answer != "keep")
        and result.function == name
        and bool(result.source)
        and [(i.name, i.shape, i.dtype) for i in result.inputs]
        == [(n, shape, dtype_of(dtype)) for n, shape, dtype in inputs]
        and result.versions == versions()
    )


def take(function: FunctionType, inputs: Inputs, answer: JsonObject) -> Function | None:
    """The kernel with the function behind it, installed; None where it does not match or cannot be used."""
    from mirage.results.codec import read_result
    from mirage.runtime.decorator import load, with_kernel
    from mirage.runtime.slice_identity import digest_of
    from mirage.verify.structure.loadable import check_loadable

    result = read_result(answer)
    if result is None or not matches(result, function.__name__, inputs):
        return None
    digest = digest_of(function)
    if digest is None:  # what runs is not what the file says
        return None
    try:
        check_loadable(result.source)
        installed_kernels.install(place(digest), result.source)
        kernel = load(place(digest), function.__name__)
        return None if kernel is None else with_kernel(function, kernel)
    except MirageError as e:
        log.warning("the kernel for `%s` is not used: %s", function.__qualname__, e)
    except Exception as e:  # a module may raise anything while it is imported
        log.warning("the kernel for `%s` cannot be imported (%s: %s)", function.__qualname__, type(e).__name__, e)
    return None
