"""`textDocument/codeLens`: above each function how far its job is, and what can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import actions, one_line_texts
from mirage_lsp.document import FunctionEntry, View

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


async def handle(ls: MirageServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    view = await ls.session.shown(params.text_document.uri)
    if view is None or not ls.session.settings.code_lens:
        return []
    lenses: list[types.CodeLens] = []
    for function in view.functions:
        at = view.place(function.decorator_line - 1)
        lenses += [_lens(at, c) for c in _commands(view, view.document.entry(function))]
    for found in view.blocks:
        at = view.place(found.line)
        entry = view.document.entries.get(found.name)
        result = None if entry is None else entry.result
        new = one_line_texts.instead(result) if result is not None and result.baseline else "its kernel"
        lenses.append(_lens(at, types.Command(title=f"Mirage: replaced by {new}", command="")))
        lenses.append(_lens(at, _command("Restore the original", "mirage.restore", view, found.name)))
        if entry is not None and entry.result is not None and entry.result.mugraphs:
            lenses.append(_lens(at, _command("Show the µGraph", "mirage.showMugraph", view, found.name)))
    return lenses


def _commands(view: View, entry: FunctionEntry) -> list[types.Command]:
    """The state (a title without a command), then what can be done."""
    commands = [types.Command(title=one_line_texts.lens(entry), command="")]
    if entry.running:
        commands.append(_command("Stop", "mirage.stop", view, entry.name))
        return commands
    if entry.result is not None and actions.replaceable(entry):
        new = one_line_texts.instead(entry.result)
        commands.append(_command(f"Replace with {new}", "mirage.replace", view, entry.name))
    if entry.result is not None and entry.result.mugraphs:
        commands.append(_command("Show the µGraph", "mirage.showMugraph", view, entry.name))
    if entry.result is not None and entry.result.derivation:
        commands.append(_command("Show the proof", "mirage.showProof", view, entry.name))
    if actions.optimizable(entry):
        commands.append(_command("Optimize", "mirage.optimize", view, entry.name))
    return commands


def _command(title: str, command: str, view: View, name: str) -> types.Command:
    # No version: a lens is clicked long after it was shown, and the command computes its edit against the text of then.
    return types.Command(title=title, command=command, arguments=[view.uri, name])


def _lens(at: types.Position, command: types.Command) -> types.CodeLens:
    return types.CodeLens(range=types.Range(start=at, end=at), command=command)
