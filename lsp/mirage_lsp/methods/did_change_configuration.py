"""`workspace/didChangeConfiguration`: settings under `mirage` take effect at once. Trust is none of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


async def handle(ls: MirageServer, params: types.DidChangeConfigurationParams) -> None:
    given = params.settings
    if isinstance(given, Mapping) and isinstance(given.get("mirage"), Mapping):
        _take(ls, given["mirage"])
    else:
        await pull(ls)


async def pull(ls: MirageServer) -> None:
    """Ask the client for its settings, if it can be asked."""
    if ls.supports(lambda c: c.workspace.configuration):  # type: ignore[union-attr]
        params = types.ConfigurationParams(items=[types.ConfigurationItem(section="mirage")])
        answer = ls.ask(types.WORKSPACE_CONFIGURATION, params)
        answer.add_done_callback(lambda done: _answered(ls, done))


def _answered(ls: MirageServer, done: asyncio.Future[object]) -> None:
    found = None if done.cancelled() or done.exception() is not None else done.result()
    if isinstance(found, (list, tuple)) and found and isinstance(found[0], Mapping):
        _take(ls, found[0])


def _take(ls: MirageServer, given: Mapping[str, object]) -> None:
    ls.session.configure(ls.session.settings.changed(given))
    ls.folders.look()
    ls.refresh()
