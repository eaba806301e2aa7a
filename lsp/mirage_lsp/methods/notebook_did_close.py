"""`notebookDocument/didClose`: as for a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.DidCloseNotebookDocumentParams) -> None:
    uri = params.notebook_document.uri
    for cell in [c for c, notebook in ls.session.notebooks.items() if notebook.uri == uri]:
        del ls.session.notebooks[cell]
        ls.forget(cell)
    ls.session.close(uri)
