"""`textDocument/codeLens`: above each function how far its job is, and what can be done."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import actions, one_line_texts
from mirage_lsp.document import FunctionEntry, View
from mirage_lsp.reading import ReadBlock

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
        lenses += [_lens(at, c) for c in _of_block(view, found, entry, ls.session.verifying)]
    return lenses


def _commands(view: View, entry: FunctionEntry) -> list[types.Command]:
    """The state (a title without a command), then what can be done."""
    commands = [types.Command(title=one_line_texts.lens(entry), command="")]
    if entry.running:
        commands.append(_command("Stop", "mirage.stop", view, entry.name))
        return commands
    if actions.replaceable(entry):
        commands.append(_command("Replace", "mirage.replace", view, entry.name))
    if actions.optimizable(entry):
        commands.append(_command("Optimize", "mirage.optimize", view, entry.name))
    if entry.result is not None:
        commands.append(_command("More", "mirage.more", view, entry.name))
    return commands


def _of_block(
    view: View, block: ReadBlock, entry: FunctionEntry | None, verifying: Container[tuple[str, str]]
) -> list[types.Command]:
    """Of a replaced function: whether the text is still what was verified, and the way back."""
    if block.by_hand:
        if (view.document.uri, block.name) in verifying:
            return [types.Command(title="Mirage: verifying the edited code", command="")]
        again = [_command("Verify again", "mirage.verifyAgain", view, block.name)] if block.edited else []
        state = types.Command(title=one_line_texts.by_hand(block), command="")
        return [state, *again, _command("Restore", "mirage.restore", view, block.name)]
    known = "" if entry is None or entry.result is None else f", {one_line_texts.short(entry.result)}"
    commands = [types.Command(title=f"Mirage: replaced{known}", command="")]
    commands.append(_command("Restore", "mirage.restore", view, block.name))
    if known:
        commands.append(_command("More", "mirage.more", view, block.name))
    return commands


def _command(title: str, command: str, view: View, name: str) -> types.Command:
    # No version: a lens is clicked long after it was shown, and the command computes its edit against the text of then.
    return types.Command(title=title, command=command, arguments=[view.uri, name])


def _lens(at: types.Position, command: types.Command) -> types.CodeLens:
    return types.CodeLens(range=types.Range(start=at, end=at), command=command)
