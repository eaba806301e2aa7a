"""`notebookDocument/didOpen`: the code cells of a notebook appear, as one text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp.notebook import Cell, Notebook

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.DidOpenNotebookDocumentParams) -> None:
    given = params.notebook_document
    notebook = Notebook(given.uri, "", given.version)
    texts = {item.uri: item for item in params.cell_text_documents}
    for cell in given.cells:
        item = texts.get(cell.document)
        code = item is not None and cell.kind == types.NotebookCellKind.Code
        notebook.cells.append(Cell(item.uri, item.text, item.version) if item is not None and code else None)
    notebook.refresh(given.version)
    ls.session.notebooks.update({cell.uri: notebook for cell in notebook.code})
    ls.session.add(notebook)
