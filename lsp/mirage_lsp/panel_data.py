"""Data for clients that draw their own views: the states of a document's functions, and one function's result."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lsprotocol import types

from mirage.errors import MirageError
from mirage.results.codec import unstructure
from mirage.results.result import Result
from mirage.verify.report import shown
from mirage_lsp import actions, edited_block, one_line_texts, text_edits
from mirage_lsp.document import Document, FunctionEntry, View
from mirage_lsp.errors import NoKernel
from mirage_lsp.reading import ReadBlock

_MARKS = {"PROVED": "proved", "TESTED": "tested", "UNDECIDED": "rejected", "REJECTED": "rejected"}


def states(view: View) -> dict[str, Any]:
    """The parameters of `mirage/states`: where each function and each block is (0-based lines), and how it stands."""
    document, up = view.document, view.first
    functions = [
        {"line": f.decorator_line - 1 - up, "endLine": f.end_line - 1 - up, "block": False, "edited": False,
         **_state(document.entry(f))}
        for f in view.functions
    ]  # fmt: skip
    blocks = [
        {"line": b.line - up, "endLine": b.last_line - up, "block": True, "edited": b.by_hand,
         **_of_block(_state(_entry(document, b.name)), b)}
        for b in view.blocks
    ]  # fmt: skip
    return {"uri": view.uri, "version": view.version, "functions": functions + blocks}


def _entry(document: Document, name: str) -> FunctionEntry:
    return document.entries.get(name) or FunctionEntry(name)


def _of_block(state: dict[str, Any], block: ReadBlock) -> dict[str, Any]:
    if not block.by_hand:
        return state
    return {
        **state,
        "mark": "warning" if block.edited else _MARKS[block.edited_word],
        "title": one_line_texts.by_hand(block),
    }


def mark(entry: FunctionEntry) -> str:
    """running, proved, tested, warning (accepted, and may overflow where the function does not), rejected, kept, or "" where
    nothing is known, and where PyTorch's own runs: nothing is verified."""
    if entry.running:
        return "running"
    if entry.error is not None:
        return "rejected"
    if entry.result is None or entry.stale:
        return ""
    if entry.result.answer == "keep":
        return "kept"
    verdict = entry.result.verdict
    if verdict is None:
        return ""
    return "warning" if verdict.accepted and one_line_texts.overflows(verdict) else _MARKS[verdict.word]


def result(view: View, name: str) -> dict[str, Any]:
    """The answer of `mirage.result`. Raises NoKernel while the function has no result."""
    entry = view.document.entries.get(name)
    if entry is None or entry.result is None:
        raise NoKernel(f"there is no result for `{name}` yet")
    before, after = _texts(view, name, entry)
    state = {"headline": headline(view, name, entry.result), "stale": stale(view, entry), "state": entry.state}
    told = {"result": unstructure(entry.result), "refused": refused(entry.result), **_pictures(entry.result)}
    return {**state, **told, "before": before, "after": after}


def headline(view: View, name: str, result: Result) -> str:
    """The result in one line; of a block whose code a person changed, how that code stands: the result is not about it."""
    block = edited_block.by_hand(view, name)
    return one_line_texts.headline(result) if block is None else one_line_texts.by_hand(block)


def stale(view: View, entry: FunctionEntry) -> bool:
    """Whether the text says something else than what the result is about."""
    return entry.stale or edited_block.by_hand(view, entry.name) is not None


def _state(entry: FunctionEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "state": entry.state,
        "mark": mark(entry),
        "title": one_line_texts.lens(entry),
        "kernel": actions.replaceable(entry),
        "result": entry.result is not None,
    }


def refused(result: Result) -> list[dict[str, Any]]:
    """Each opinion that refuses the kernel, with its counterexample in words."""
    return [
        {
            "link": e.link,
            "opinion": e.opinion,
            "says": e.summary,
            "shown": [] if e.counterexample is None else shown(e.counterexample),
        }
        for e in (() if result.verdict is None else result.verdict.rejections)
    ]


def _pictures(result: Result) -> dict[str, Any]:
    """Each µGraph as SVG, and as nested boxes ({"level", "title", "content"}) for those who draw themselves."""
    from mirage.mugraph import draw, json_form

    graphs = [json_form.from_json(graph) for graph in result.mugraphs]
    return {"svg": [draw.svg(g) for g in graphs], "pictures": [asdict(draw.picture(g)) for g in graphs]}


def _texts(view: View, name: str, entry: FunctionEntry) -> tuple[str, str]:
    """The document's text with the original and with the kernel; the same twice where there is no kernel for it."""
    text = view.text if view.raw is None else view.raw
    try:
        if any(f.name == name for f in view.functions) and actions.replaceable(entry):
            return text, _applied(text, actions.replace(view, name))
        if any(b.name == name for b in view.blocks):
            return _applied(text, actions.restore(view, name)), text
    except MirageError:
        return text, text  # what is wrong is said when the edit itself is asked for
    return text, text


def _applied(text: str, edit: types.TextEdit) -> str:
    return text_edits.apply_change(text, types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text))
