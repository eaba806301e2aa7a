"""`window/workDoneProgress/cancel`: the user stops a job from its progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: types.WorkDoneProgressCancelParams) -> None:
    ls.cancelled(params.token)
