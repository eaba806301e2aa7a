"""`shutdown`: all jobs are cancelled first, so that nothing is in flight when the answer goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


async def handle(ls: MirageServer, params: types.ShutdownRequest | None = None) -> None:
    await ls.end()
