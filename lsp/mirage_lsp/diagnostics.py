"""Diagnostics: what cannot be optimized and why, each with its code, its page and the next step."""

from __future__ import annotations

import functools

import attrs
from lsprotocol import types

from mirage.errors import MirageError, MissingShape, SymbolWithoutSize
from mirage.results import documentation
from mirage_lsp import observed_shapes, one_line_texts
from mirage_lsp.document import Document, FunctionEntry, View
from mirage_lsp.errors import EditedByHand
from mirage_lsp.reading import ReadBlock, ReadFunction
from mirage_lsp.text_edits import line_range

_SEVERITY = types.DiagnosticSeverity
# By the hundreds of the code: what the user wrote is a warning; what happened here while it ran is for information.
_BY_HUNDRED = {"1": _SEVERITY.Warning, "2": _SEVERITY.Warning}
# Other tools report syntax errors better, and at every keystroke.
_BY_CODE = {"MIR101": _SEVERITY.Information, EditedByHand.code: _SEVERITY.Warning}


def diagnostics(document: Document, related: bool = True) -> list[types.Diagnostic]:
    """All diagnostics of a document as it is now, at its own lines; `related`: with the other places that matter."""
    lines = document.lines
    found: list[types.Diagnostic] = []
    whole = document.reading.error
    if whole is not None:
        found.append(_of_error(whole, lines, 1))
    for function in document.functions:
        entry = document.entries.get(function.name)
        if entry is None:
            continue
        if entry.error is not None and not (whole and entry.error.code == whole.code):
            found.append(_of_error(entry.error, lines, function.line))
        elif entry.learned:
            found.append(_learned(entry, lines, function.line))
        elif entry.state == "kept" and not entry.stale:
            found.append(_kept(entry, lines, function.line))
        else:
            continue
        if related:
            found[-1].related_information = _related(document, function, entry) or None
    found += [_of_error(_edited(block), lines, block.line + 1) for block in document.blocks if block.edited]
    return found


def _edited(block: ReadBlock) -> MirageError:
    return EditedByHand(f"`{block.name}` was edited by hand: its verdict is void")


def shown(diagnostic: types.Diagnostic, view: View) -> types.Diagnostic:
    """A diagnostic of a document where a view shows it."""
    return attrs.evolve(diagnostic, range=_moved(diagnostic.range, view.first)) if view.first else diagnostic


def _moved(found: types.Range, up: int) -> types.Range:
    start, end = (types.Position(line=max(0, p.line - up), character=p.character) for p in (found.start, found.end))
    return types.Range(start=start, end=end)


def _related(
    document: Document, function: ReadFunction, entry: FunctionEntry
) -> list[types.DiagnosticRelatedInformation]:
    """The decorator, where it is the place to say what is missing, or where the error stands elsewhere; what the search
    remarked."""
    view = document.view_at(function.decorator_line - 1)
    if view is None:
        return []
    at = types.Location(uri=view.uri, range=view.line_range(function.decorator_line - 1))
    said: list[str] = []
    if isinstance(entry.error, MissingShape) or entry.learned:
        said.append("or say it here: inputs=[...]")
    elif isinstance(entry.error, SymbolWithoutSize):
        said.append("sizes are given here: dims={...}")
    elif entry.error is not None and entry.error.line not in (None, function.line):
        said.append(f"found while optimizing `{function.name}`")
    if entry.seen:
        said.append(f"it was called with {observed_shapes.shown(entry.seen)}")
    if entry.error is None and entry.result is not None:
        said += [r.text for r in entry.result.remarks]
    return [types.DiagnosticRelatedInformation(location=at, message=one) for one in said]


@functools.lru_cache(maxsize=4)
def page(name: str) -> str:
    """The URI of a page of the documentation, "" where it is not installed."""
    path = documentation.page(name)
    return path.as_uri() if path else ""


def _described(name: str, anchor: str) -> types.CodeDescription | None:
    return types.CodeDescription(href=f"{page(name)}#{anchor}") if page(name) else None


def _of_error(error: MirageError, lines: list[str], otherwise: int) -> types.Diagnostic:
    at = line_range(lines, (error.line or otherwise) - 1, error.column or 0)
    severity = _BY_CODE.get(error.code) or _BY_HUNDRED.get(error.code[3:4], _SEVERITY.Information)
    return types.Diagnostic(
        range=at,
        message=f"{error.message}\nNext step: {error.next_step}",
        severity=severity,
        code=error.code,
        code_description=_described("errors", error.code),
        source="mirage",
        data={"code": error.code},
    )


def _kept(entry: FunctionEntry, lines: list[str], line: int) -> types.Diagnostic:
    said = "keep yours" if entry.result is None else one_line_texts.headline(entry.result)
    return types.Diagnostic(
        range=line_range(lines, line - 1),
        message=f"`{entry.name}`: {said}",
        severity=_SEVERITY.Hint,
        code="kept",
        code_description=_described("editor.md", "keep-yours"),
        source="mirage",
        data={"code": "kept"},
    )


def _learned(entry: FunctionEntry, lines: list[str], line: int) -> types.Diagnostic:
    """The text says no shapes, and a run did: a hint, so that they can be written down."""
    return types.Diagnostic(
        range=line_range(lines, line - 1),
        message=f"`{entry.name}` says no shapes: it is optimized for {observed_shapes.shown(entry.learned)}, its last call's",
        severity=_SEVERITY.Hint,
        code=MissingShape.code,
        code_description=_described("errors", MissingShape.code),
        source="mirage",
        data={"code": MissingShape.code},
    )
