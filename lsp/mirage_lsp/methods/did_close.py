"""`textDocument/didClose`: the jobs of the text are no longer wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.DidCloseTextDocumentParams) -> None:
    ls.session.close(params.text_document.uri)
