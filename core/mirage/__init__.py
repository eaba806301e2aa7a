"""Mirage: a superoptimizer for tensor programs. `@mirage.optimize` marks a function; `mirage optimize` does the work.

Importing this is light: neither torch nor triton nor the search is loaded until something needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mirage.errors import MirageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

    from mirage.dynamo.explain import explain
    from mirage.results.progress import CancelToken, Progress
    from mirage.results.result import Result
    from mirage.runtime.any_size import any
    from mirage.runtime.decorator import optimize

__version__ = "0.1.0"

# Names that are loaded at their first use, and the module that each comes from.
_LAZY = {
    "CancelToken": "mirage.results.progress",
    "Progress": "mirage.results.progress",
    "Result": "mirage.results.result",
    "any": "mirage.runtime.any_size",
    "explain": "mirage.dynamo.explain",
    "optimize": "mirage.runtime.decorator",
}
GROUP = "mirage.names"  # the entry points by which other packages add names

__all__ = ["CancelToken", "MirageError", "Progress", "Result", "__version__", "any", "explain", "optimize"]


def _added() -> Iterable[EntryPoint]:
    from importlib import metadata  # takes longer than all else here

    return metadata.entry_points(group=GROUP)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    else:
        added = [] if name.startswith("_") else [e for e in _added() if e.name == name]
        if not added:
            raise AttributeError(f"module 'mirage' has no attribute {name!r}")
        value = added[0].load()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *(e.name for e in _added())})
