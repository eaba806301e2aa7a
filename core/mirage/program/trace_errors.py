"""Errors of tracing: a table from texts of PyTorch's exceptions to what they mean for the user; the first match wins."""

from __future__ import annotations

import re

from mirage.errors import (
    DataDependentBranch,
    DtypeMix,
    MirageError,
    MissingPackage,
    RankMismatch,
    SideEffect,
    SourceSyntaxError,
    TraceFailed,
    UnknownOperator,
    UnsupportedOperands,
)
from mirage.operators.entry import DtypeError, OperandsError, ShapeError

_LONGEST = 300
INSTALL = {  # what tracing itself imports: how to get it
    "torch": "pip install torch (`mirage doctor` says what else is missing)",
    "numpy": "pip install numpy",
}

# (what PyTorch's text matches, the error, our own text or "" for PyTorch's)
_TEXTS: tuple[tuple[str, type[MirageError], str], ...] = (
    (r"value out of a tracing tensor|cannot be called on meta|data.dependent|_local_scalar_dense|Cannot copy out of meta",
     DataDependentBranch, "the value of a tensor decides what is computed"),
    (r"convert meta device type tensor to numpy|meta tensor.*numpy", SideEffect, "a tensor leaves PyTorch for numpy"),
    (r"same (reduction )?dtype|expected .*dtype|scalar type|dtypes? .*(match|mismatch)|must have the same dtype",
     DtypeMix, ""),
    (r"register_meta function|meta kernel|not implemented for|Could not run 'aten", UnknownOperator, ""),
    (r"not compiled with CUDA|No CUDA|[Uu]nhandled device|different device|on device", SideEffect,
     "a tensor is moved to another device"),
    (r"shape|size|dimension|broadcast|dims?\b|reduction dim|expand|1D|2D|3D|subscript|sizes", RankMismatch, ""),
)  # fmt: skip
_TYPES: tuple[tuple[type[BaseException], type[MirageError]], ...] = (
    (ShapeError, RankMismatch),
    (DtypeError, DtypeMix),
    (OperandsError, UnsupportedOperands),
    (SyntaxError, SourceSyntaxError),
)


def explain(error: BaseException) -> MirageError | None:
    """The coded error for what was raised; None for what must pass (a key interrupt, memory)."""
    if isinstance(error, MirageError):
        return error
    if isinstance(error, (KeyboardInterrupt, MemoryError, GeneratorExit)):
        return None
    if isinstance(error, ModuleNotFoundError) and error.name in INSTALL:
        return MissingPackage(f"{error.name} is not installed in this environment", next_step=INSTALL[error.name])
    text = " ".join(str(error).split())[:_LONGEST] or type(error).__name__
    for kind, mended in _TYPES:
        if isinstance(error, kind):
            return mended(text)
    if isinstance(error, (RuntimeError, IndexError, NotImplementedError, TypeError, AssertionError, ValueError)):
        for pattern, mended, ours in _TEXTS:
            if re.search(pattern, text, re.IGNORECASE):
                return mended(ours or text)
    return TraceFailed(f"{type(error).__name__}: {text}")
