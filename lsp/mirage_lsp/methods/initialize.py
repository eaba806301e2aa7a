"""`initialize`: the client says what it can do and what it wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp.settings import Settings

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.InitializeParams) -> None:
    ls.begin(Settings.read(params.initialization_options))
