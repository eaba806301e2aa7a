"""`textDocument/codeLens`: above each function how far its job is, and what can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import actions, texts
from mirage_lsp.edits import place, split_lines
from mirage_lsp.session import Document, Entry

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


async def handle(ls: MirageServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    document = ls.session.documents.get(params.text_document.uri)
    if document is None:
        return []
    lines = split_lines(document.text)
    lenses: list[types.CodeLens] = []
    for function in document.scan.functions:
        if document.function(function.name) is function:
            at = place(lines, function.decorator_line - 1, 0)
            lenses += [_lens(at, c) for c in _commands(document, document.entry(function))]
    for found in document.blocks:
        at = place(lines, found.line, 0)
        lenses.append(_lens(at, types.Command(title="Mirage: replaced by its kernel", command="")))
        lenses.append(_lens(at, _command("Restore the original", "mirage.restore", document, found.name)))
        entry = document.entries.get(found.name)
        if entry is not None and entry.result is not None and entry.result.get("mugraphs"):
            lenses.append(_lens(at, _command("Show the µGraph", "mirage.showMugraph", document, found.name)))
    return lenses


def _commands(document: Document, entry: Entry) -> list[types.Command]:
    """The state (a title without a command), then what can be done."""
    commands = [types.Command(title=texts.lens(entry), command="")]
    if entry.running:
        commands.append(_command("Stop", "mirage.stop", document, entry.name))
        return commands
    if actions.replaceable(entry):
        commands.append(_command("Replace with the kernel", "mirage.replace", document, entry.name))
    if entry.result is not None and entry.result.get("mugraphs"):
        commands.append(_command("Show the µGraph", "mirage.showMugraph", document, entry.name))
    if actions.optimizable(entry):
        commands.append(_command("Optimize", "mirage.optimize", document, entry.name))
    return commands


def _command(title: str, command: str, document: Document, name: str) -> types.Command:
    # No version: a lens is clicked long after it was shown, and the command computes its edit against the text of then.
    return types.Command(title=title, command=command, arguments=[document.uri, name])


def _lens(at: types.Position, command: types.Command) -> types.CodeLens:
    return types.CodeLens(range=types.Range(start=at, end=at), command=command)
