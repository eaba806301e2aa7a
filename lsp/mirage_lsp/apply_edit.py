"""Workspace edits of code actions and commands, in the form that the client supports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage.errors import CannotWrite
from mirage_lsp import actions
from mirage_lsp.document import View

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer

_WORDS = {
    "replace": "replace `{}` with its kernel",
    "restore": "restore the original `{}`",
    "writeModule": "write the kernel of `{}` to a module and import it",
    "giveSizes": "give the sizes of `{}`",
    "annotate": "annotate `{}`",
    "giveInputs": "write the inputs of `{}`",
}
ACTIONS = tuple(_WORDS)


def label(action: str, name: str) -> str:
    """What the client's undo calls it."""
    return f"Mirage: {_WORDS[action].format(name)}"


def edit(
    ls: MirageServer, action: str, view: View, name: str, version: int | None, preview: bool = False
) -> types.WorkspaceEdit:
    """The edit of an action. Raises what the action does, and CannotWrite."""
    words = label(action, name)
    if action != "writeModule":
        return ls.workspace_edit(view, actions.EDITS[action](view, name, version), words, preview)
    path, text, change = actions.write_module(view, name, version)
    if ls.creates:
        return ls.workspace_edit(view, [change], words, preview, (path, text))
    _write(path, text)
    return ls.workspace_edit(view, [change], words, preview)


def _write(path: Path, text: str) -> None:
    """For a client whose edits create no files."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise CannotWrite(f"the module cannot be written: {error}", path=str(path)) from None
