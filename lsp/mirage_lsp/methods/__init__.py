"""One file for each LSP method.

A handler is quick, and `async` where the client may cancel it: it reads the session or
tells it something, and the daemon does the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp.methods import (
    code_action,
    code_action_resolve,
    code_lens,
    did_change,
    did_change_configuration,
    did_change_workspace_folders,
    did_close,
    did_open,
    did_rename_files,
    execute_command,
    hover,
    initialize,
    initialized,
    inlay_hint,
    notebook_did_change,
    notebook_did_close,
    notebook_did_open,
    shutdown,
    trust,
    work_done_progress_cancel,
)

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer

# Method -> (handler, options for the capability).
METHODS: dict[str, tuple[Callable[..., object], object]] = {
    types.INITIALIZE: (initialize.handle, None),
    types.INITIALIZED: (initialized.handle, None),
    types.TEXT_DOCUMENT_DID_OPEN: (did_open.handle, None),
    types.TEXT_DOCUMENT_DID_CHANGE: (did_change.handle, None),
    types.TEXT_DOCUMENT_DID_CLOSE: (did_close.handle, None),
    types.NOTEBOOK_DOCUMENT_DID_OPEN: (notebook_did_open.handle, None),
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: (notebook_did_change.handle, None),
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: (notebook_did_close.handle, None),
    types.WORKSPACE_DID_RENAME_FILES: (did_rename_files.handle, did_rename_files.OPTIONS),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: (did_change_configuration.handle, None),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (did_change_workspace_folders.handle, None),
    types.TEXT_DOCUMENT_CODE_LENS: (code_lens.handle, types.CodeLensOptions(resolve_provider=False)),
    types.TEXT_DOCUMENT_HOVER: (hover.handle, None),
    types.TEXT_DOCUMENT_CODE_ACTION: (code_action.handle, code_action.OPTIONS),
    types.TEXT_DOCUMENT_INLAY_HINT: (inlay_hint.handle, types.InlayHintOptions(resolve_provider=False)),
    types.CODE_ACTION_RESOLVE: (code_action_resolve.handle, None),
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: (work_done_progress_cancel.handle, None),
    types.SHUTDOWN: (shutdown.handle, None),
    trust.METHOD: (trust.handle, None),
}


def register(server: MirageServer) -> None:
    """Give the server all methods and commands."""
    for method, (handler, options) in METHODS.items():
        server.feature(method, options)(handler)
    for name, command in execute_command.COMMANDS.items():
        server.command(name)(command)
