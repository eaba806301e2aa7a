"""`codeAction/resolve`: the edit of a chosen action, against the very version of the text that it was offered for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage.errors import MirageError
from mirage_lsp import apply_edit
from mirage_lsp.errors import StaleEdit
from mirage_lsp.pygls_protocol import ContentModified, RequestFailed

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


async def handle(ls: MirageServer, action: types.CodeAction) -> types.CodeAction:
    data = action.data if isinstance(action.data, Mapping) else {}
    view = await ls.session.shown(str(data.get("uri")))
    kind, version = str(data.get("action")), data.get("version")
    if view is None or kind not in apply_edit.ACTIONS or not isinstance(version, int):
        return action
    try:
        action.edit = apply_edit.edit(ls, kind, view, str(data.get("function")), version, bool(data.get("preview")))
    except StaleEdit as error:
        ls.say(error)
        raise ContentModified(message=str(error)) from None
    except MirageError as error:
        ls.say(error)
        raise RequestFailed(message=str(error)) from None
    return action
