"""`workspace/didChangeWorkspaceFolders`: saves in other folders are looked at from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    ls.folders.look()
