"""`notebookDocument/didChange`: cells come, go and move, and their texts change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import text_edits
from mirage_lsp.changed_text import apply_changes
from mirage_lsp.notebook import Cell, Notebook

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.DidChangeNotebookDocumentParams) -> None:
    notebook = ls.session.documents.get(params.notebook_document.uri)
    if not isinstance(notebook, Notebook):
        return
    cells = params.change.cells
    if cells is not None:
        if cells.structure is not None:
            _restructure(ls, notebook, cells.structure)
        for content in cells.text_content or ():
            cell = next((c for c in notebook.code if c.uri == content.document.uri), None)
            if cell is not None:
                cell.text = apply_changes(cell.text, map(text_edits.change_of, content.changes))
                cell.version = content.document.version
    notebook.refresh(params.notebook_document.version)
    ls.session.wait(notebook)


def _restructure(ls: MirageServer, notebook: Notebook, structure: types.NotebookDocumentCellChangeStructure) -> None:
    known = {cell.uri: cell for cell in notebook.code}
    known.update({item.uri: Cell(item.uri, item.text, item.version) for item in structure.did_open or ()})
    array = structure.array
    new = [known.get(cell.document) if cell.kind == types.NotebookCellKind.Code else None for cell in array.cells or ()]
    notebook.cells[array.start : array.start + array.delete_count] = new
    here = {cell.uri for cell in notebook.code}
    for uri in known.keys() - here:
        ls.session.notebooks.pop(uri, None)
        ls.forget(uri)
    ls.session.notebooks.update(dict.fromkeys(here, notebook))
