"""Diagnostics: what cannot be optimized and why, each with its code, its page and the next step."""

from __future__ import annotations

import functools
from pathlib import Path

from lsprotocol import types

import mirage
from mirage.errors import MirageError
from mirage_lsp import texts
from mirage_lsp.edits import line_range, split_lines
from mirage_lsp.session import Document, Entry

_SEVERITY = types.DiagnosticSeverity
# By the hundreds of the code: what the user wrote is a warning; what happened here while it ran is for information.
_BY_HUNDRED = {"1": _SEVERITY.Warning, "2": _SEVERITY.Warning}
# Other tools report syntax errors better, and at every keystroke.
_BY_CODE = {"MIR101": _SEVERITY.Information}


def diagnostics(document: Document) -> list[types.Diagnostic]:
    """All diagnostics of a document as it is now."""
    lines = split_lines(document.text)
    found: list[types.Diagnostic] = []
    whole = document.scan.chunks.syntax_error if document.scan.functions or "mirage" in document.text else None
    if whole is not None:
        found.append(_of_error(whole, lines, 1))
    for function in document.scan.functions:
        entry = document.entries.get(function.name)
        if entry is None or document.function(function.name) is not function:
            continue
        if entry.error is not None and not (whole and entry.error.code == whole.code):
            found.append(_of_error(entry.error, lines, function.line))
        elif entry.state == "kept" and not entry.stale:
            found.append(_kept(entry, lines, function.line))
    return found


@functools.lru_cache(maxsize=1)
def pages() -> str:
    """The URI of the page that documents the codes, "" where it is not installed."""
    page = Path(mirage.__file__).resolve().parents[2] / "docs" / "errors.md"
    return page.as_uri() if page.is_file() else ""


def _of_error(error: MirageError, lines: list[str], otherwise: int) -> types.Diagnostic:
    at = line_range(lines, (error.line or otherwise) - 1, error.column or 0)
    severity = _BY_CODE.get(error.code) or _BY_HUNDRED.get(error.code[3:4], _SEVERITY.Information)
    return types.Diagnostic(
        range=at,
        message=f"{error.message}\nNext step: {error.next_step}",
        severity=severity,
        code=error.code,
        code_description=types.CodeDescription(href=f"{pages()}#{error.code}") if pages() else None,
        source="mirage",
        data={"code": error.code},
    )


def _kept(entry: Entry, lines: list[str], line: int) -> types.Diagnostic:
    message = f"`{entry.name}`: {texts.headline(entry.result or {})}"
    return types.Diagnostic(
        range=line_range(lines, line - 1), message=message, severity=_SEVERITY.Hint, code="kept", source="mirage"
    )
