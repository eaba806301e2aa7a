"""`workspace/didRenameFiles`: files and folders were renamed or moved. What is open under an old name keeps its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.RenameFilesParams) -> None:
    for file in params.files:
        ls.forget_all_under(file.old_uri)
        ls.session.rename(file.old_uri, file.new_uri)
