"""Mirage: a superoptimizer for tensor programs. `@mirage.optimize` marks a function; `mirage optimize` does the work.

Importing this is light: neither torch nor triton nor the search is loaded until something needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mirage.errors import MirageError

if TYPE_CHECKING:
    from mirage.result import CancelToken, Progress, Result
    from mirage.runtime.decorator import optimize

__version__ = "0.1.0"

# Names that are loaded at their first use, and the module that each comes from.
_LAZY = {
    "CancelToken": "mirage.result",
    "Progress": "mirage.result",
    "Result": "mirage.result",
    "optimize": "mirage.runtime.decorator",
}

__all__ = ["CancelToken", "MirageError", "Progress", "Result", "__version__", "optimize"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
        return value
    raise AttributeError(f"module 'mirage' has no attribute {name!r}")
