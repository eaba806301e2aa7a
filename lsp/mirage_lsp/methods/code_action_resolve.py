"""`codeAction/resolve`: the edit of a chosen action, against the very version of the text that it was offered for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage.errors import MirageError
from mirage_lsp import actions
from mirage_lsp.errors import StaleEdit
from mirage_lsp.protocol import ContentModified, RequestFailed

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer

_EDITS = {"replace": actions.replace, "restore": actions.restore}


async def handle(ls: MirageServer, action: types.CodeAction) -> types.CodeAction:
    data = action.data if isinstance(action.data, Mapping) else {}
    document = ls.session.documents.get(str(data.get("uri")))
    make, version = _EDITS.get(str(data.get("action"))), data.get("version")
    if document is None or make is None or not isinstance(version, int):
        return action
    try:
        edit = make(document, str(data.get("function")), version)
    except StaleEdit as error:
        ls.say(error)
        raise ContentModified(message=str(error)) from None
    except MirageError as error:
        ls.say(error)
        raise RequestFailed(message=str(error)) from None
    action.edit = ls.workspace_edit(document, edit)
    return action
