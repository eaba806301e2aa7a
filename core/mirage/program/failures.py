"""What PyTorch's exceptions while tracing mean for the user: a table of texts, first match wins."""

from __future__ import annotations

import re

from mirage.errors import (
    DataDependentBranch,
    DtypeMix,
    MirageError,
    RankMismatch,
    SideEffect,
    SourceSyntaxError,
    TraceFailed,
    UnknownOperator,
    UnsupportedOperands,
)
from mirage.operators.entry import DtypeError, OperandsError, ShapeError

_LONGEST = 300

_TEXTS: tuple[tuple[str, type[MirageError]], ...] = (
    (r"value out of a tracing tensor|cannot be called on meta|data.dependent|_local_scalar_dense|Cannot copy out of meta",
     DataDependentBranch),
    (r"convert meta device type tensor to numpy|meta tensor.*numpy", SideEffect),
    (r"same (reduction )?dtype|expected .*dtype|scalar type|dtypes? .*(match|mismatch)|must have the same dtype", DtypeMix),
    (r"register_meta function|meta kernel|not implemented for|Could not run 'aten", UnknownOperator),
    (r"not compiled with CUDA|No CUDA|[Uu]nhandled device|different device", SideEffect),
    (r"shape|size|dimension|broadcast|dims?\b|reduction dim|expand|1D|2D|3D|subscript|number of channels|sizes",
     RankMismatch),
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
    text = " ".join(str(error).split())[:_LONGEST] or type(error).__name__
    for kind, mended in _TYPES:
        if isinstance(error, kind):
            return mended(text)
    if isinstance(error, (RuntimeError, IndexError, NotImplementedError, TypeError, AssertionError, ValueError)):
        for pattern, mended in _TEXTS:
            if re.search(pattern, text):
                return mended(text)
    return TraceFailed(f"{type(error).__name__}: {text}")
