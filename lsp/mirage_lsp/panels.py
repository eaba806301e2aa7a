"""What a client that draws for itself is given: plain data about a document and about one function's result."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lsprotocol import types

from mirage.errors import MirageError
from mirage_lsp import actions, edits, texts
from mirage_lsp.errors import NoKernel
from mirage_lsp.session import Document, Entry

_MARKS = {"PROVED": "proved", "TESTED": "tested", "REJECTED": "rejected"}


def states(document: Document) -> dict[str, Any]:
    """The parameters of `mirage/states`: where each function and each block is (0-based lines), and how it stands."""
    functions = [
        {"line": f.decorator_line - 1, "endLine": f.end_line - 1, "block": False, **_state(document.entry(f))}
        for f in document.scan.functions
        if document.function(f.name) is f
    ]
    blocks = [
        {"line": b.line, "endLine": b.last_line, "block": True, **_state(document.entries.get(b.name) or Entry(b.name))}
        for b in document.blocks
    ]
    return {"uri": document.uri, "version": document.version, "functions": functions + blocks}


def mark(entry: Entry) -> str:
    """running, proved, tested, rejected, kept, or "" where nothing is known."""
    if entry.running:
        return "running"
    if entry.error is not None:
        return "rejected"
    if entry.result is None or entry.stale:
        return ""
    if entry.result.get("answer") != "kernel":
        return "kept"
    return _MARKS.get(str((entry.result.get("verdict") or {}).get("word")), "")


def result(document: Document, name: str) -> dict[str, Any]:
    """The answer of `mirage.result`. Raises NoKernel while the function has no result."""
    entry = document.entries.get(name)
    if entry is None or entry.result is None:
        raise NoKernel(f"there is no result for `{name}` yet")
    before, after = _texts(document, name, entry)
    shown = {"headline": texts.headline(entry.result), "stale": entry.stale, "state": entry.state}
    return {**shown, "result": entry.result, **_pictures(entry), "before": before, "after": after}


def _state(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "state": entry.state,
        "mark": mark(entry),
        "title": texts.lens(entry),
        "kernel": actions.replaceable(entry),
        "result": entry.result is not None,
    }


def _pictures(entry: Entry) -> dict[str, Any]:
    """Each µGraph as SVG, and as nested boxes ({"level", "title", "content"}) for those who draw themselves."""
    from mirage.mugraph import draw, jsonform  # only here: nothing else of the server draws

    graphs = [jsonform.from_json(graph) for graph in (entry.result or {}).get("mugraphs") or ()]
    return {"svg": [draw.svg(g) for g in graphs], "pictures": [asdict(draw.picture(g)) for g in graphs]}


def _texts(document: Document, name: str, entry: Entry) -> tuple[str, str]:
    """The document's text with the original and with the kernel; the same twice where there is no kernel for it."""
    text = document.text
    try:
        if document.function(name) is not None and actions.replaceable(entry):
            return text, _applied(text, actions.replace(document, name))
        if any(b.name == name for b in document.blocks):
            return _applied(text, actions.restore(document, name)), text
    except MirageError:
        return text, text  # what is wrong is said when the edit itself is asked for
    return text, text


def _applied(text: str, edit: types.TextEdit) -> str:
    return edits.apply_change(text, types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text))
