"""`textDocument/didOpen`: a text appears on the screen; its functions are submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.DidOpenTextDocumentParams) -> None:
    item = params.text_document
    if item.uri not in ls.session.notebooks:  # some clients open a notebook's cells one by one too
        ls.session.open(item.uri, item.text, item.version)
