"""Mirage: a superoptimizer for tensor programs. `@mirage.optimize` marks a function; `mirage optimize` does the work.

Importing this is light: neither torch nor triton nor the search is loaded until something needs it.
"""

from __future__ import annotations

import importlib
from typing import Any

from mirage.errors import MirageError
from mirage.runtime.decorator import optimize

__version__ = "0.1.0"

# Names that are loaded at their first use, and the module that each comes from.
_LAZY = {"CancelToken": "mirage.result", "Progress": "mirage.result", "Result": "mirage.result"}

__all__ = ["MirageError", "__version__", "optimize", *_LAZY]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'mirage' has no attribute {name!r}")
