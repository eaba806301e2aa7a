"""`textDocument/codeAction`: what can be done with the function or the block under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import actions, texts
from mirage_lsp.session import Document, Entry

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


_REWRITE, _EMPTY = types.CodeActionKind.RefactorRewrite, types.CodeActionKind.Empty
OPTIONS = types.CodeActionOptions(code_action_kinds=[_REWRITE], resolve_provider=True)


async def handle(ls: MirageServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    document = ls.session.documents.get(params.text_document.uri)
    if document is None:
        return []
    first, last = params.range.start.line + 1, params.range.end.line + 1
    lazy = ls.supports(lambda c: "edit" in c.text_document.code_action.resolve_support.properties)  # type: ignore[union-attr]
    offered: list[types.CodeAction] = []
    for function in document.scan.functions:
        if (
            function.decorator_line <= last
            and first <= function.end_line
            and document.function(function.name) is function
        ):
            offered += _for_function(document, document.entry(function), lazy)
    for found in document.blocks:
        if found.line + 1 <= last and first <= found.last_line + 1:
            offered.append(_edit(f"Mirage: restore the original `{found.name}`", "restore", document, found.name, lazy))
    return [a for a in offered if _wanted(a, params.context.only)]


def _for_function(document: Document, entry: Entry, lazy: bool) -> list[types.CodeAction]:
    if entry.running:
        return [_command(f"Mirage: stop the search for `{entry.name}`", "mirage.stop", document, entry.name)]
    offered: list[types.CodeAction] = []
    if actions.replaceable(entry) and entry.result is not None:
        title = f"Mirage: replace `{entry.name}` with the kernel, {texts.headline(entry.result)}"
        offered.append(_edit(title, "replace", document, entry.name, lazy))
    if entry.result is not None and entry.result.get("mugraphs"):
        offered.append(
            _command(f"Mirage: show the µGraph of `{entry.name}`", "mirage.showMugraph", document, entry.name)
        )
    if actions.optimizable(entry):
        offered.append(_command(f"Mirage: optimize `{entry.name}`", "mirage.optimize", document, entry.name))
    return offered


def _edit(title: str, action: str, document: Document, name: str, lazy: bool) -> types.CodeAction:
    """An action whose edit is computed when it is chosen; a client that cannot ask for it gets the command instead."""
    if not lazy:
        command = types.Command(
            title=title, command=f"mirage.{action}", arguments=[document.uri, name, document.version]
        )
        return types.CodeAction(title=title, kind=_REWRITE, command=command)
    data = {"action": action, "uri": document.uri, "function": name, "version": document.version}
    return types.CodeAction(title=title, kind=_REWRITE, data=data)


def _command(title: str, command: str, document: Document, name: str) -> types.CodeAction:
    made = types.Command(title=title, command=command, arguments=[document.uri, name])
    return types.CodeAction(title=title, kind=_EMPTY, command=made)


def _wanted(action: types.CodeAction, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """`refactor` asks for `refactor.rewrite` too."""
    kind = str(getattr(action.kind, "value", action.kind))
    asked = [str(getattr(k, "value", k)) for k in only or ()]
    return not asked or any(not k or kind == k or kind.startswith(f"{k}.") for k in asked)
