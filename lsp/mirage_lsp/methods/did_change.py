"""`textDocument/didChange`: the text is brought up to date now, what follows from it waits for a quiet moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import text_edits
from mirage_lsp.changed_text import TextChange

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.DidChangeTextDocumentParams) -> None:
    document = ls.session.documents.get(params.text_document.uri)
    if document is None:
        return
    changes = [c if isinstance(c, TextChange) else text_edits.change_of(c) for c in params.content_changes]
    ls.session.change(document.uri, changes, params.text_document.version)
