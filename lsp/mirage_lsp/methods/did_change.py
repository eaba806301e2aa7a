"""`textDocument/didChange`: the text is brought up to date now, what follows from it waits for a quiet moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import text_edits

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.DidChangeTextDocumentParams) -> None:
    document = ls.session.documents.get(params.text_document.uri)
    if document is None:
        return
    text = document.text
    for change in params.content_changes:
        text = text_edits.apply_change(text, change)
    ls.session.change(document.uri, text, params.text_document.version)
