"""One file for each LSP method.

A handler is quick, and `async` where the client may cancel it: it reads the session or
tells it something, and the daemon does the work. What a handler needs is imported once `initialize` is answered:
with the first message of its kind, or while the client is quiet.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, cast

from lsprotocol import types

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


@dataclass(frozen=True)
class Method:
    """`module` of this package has the method's `handle`, a coroutine function if it `waits`; `options` of the capability."""

    module: str
    waits: bool = False
    options: object = None


_RENAMED = types.FileOperationRegistrationOptions(
    filters=[
        types.FileOperationFilter(scheme="file", pattern=types.FileOperationPattern(glob=glob, matches=kind))
        for glob, kind in (
            ("**/*.{py,ipynb}", types.FileOperationPatternKind.File),
            ("**", types.FileOperationPatternKind.Folder),
        )
    ]
)
_ACTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite], resolve_provider=True
)
TRUST = "mirage/didGrantTrust"
METHODS: dict[str, Method] = {
    types.INITIALIZE: Method("initialize"),
    types.INITIALIZED: Method("initialized", waits=True),
    types.TEXT_DOCUMENT_DID_OPEN: Method("did_open"),
    types.TEXT_DOCUMENT_DID_CHANGE: Method("did_change"),
    types.TEXT_DOCUMENT_DID_CLOSE: Method("did_close"),
    types.NOTEBOOK_DOCUMENT_DID_OPEN: Method("notebook_did_open"),
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: Method("notebook_did_change"),
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: Method("notebook_did_close"),
    types.WORKSPACE_DID_RENAME_FILES: Method("did_rename_files", options=_RENAMED),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: Method("did_change_configuration", waits=True),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: Method("did_change_workspace_folders"),
    types.TEXT_DOCUMENT_CODE_LENS: Method(
        "code_lens", waits=True, options=types.CodeLensOptions(resolve_provider=False)
    ),
    types.TEXT_DOCUMENT_HOVER: Method("hover", waits=True),
    types.TEXT_DOCUMENT_CODE_ACTION: Method("code_action", waits=True, options=_ACTIONS),
    types.TEXT_DOCUMENT_INLAY_HINT: Method(
        "inlay_hint", waits=True, options=types.InlayHintOptions(resolve_provider=False)
    ),
    types.CODE_ACTION_RESOLVE: Method("code_action_resolve", waits=True),
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: Method("work_done_progress_cancel"),
    types.SHUTDOWN: Method("shutdown", waits=True),
    TRUST: Method("trust"),
}
# Those of `execute_command`, in its order: what can be done is said in the answer to `initialize`.
COMMANDS = (
    "mirage.optimize",
    "mirage.measure",
    "mirage.stop",
    "mirage.showMugraph",
    "mirage.showProof",
    "mirage.result",
    "mirage.jobs",
    "mirage.cache",
    "mirage.cached",
    "mirage.more",
    "mirage.verifyAgain",
    "mirage.restoreKernel",
    "mirage.replace",
    "mirage.restore",
    "mirage.writeModule",
    "mirage.giveSizes",
    "mirage.annotate",
    "mirage.giveInputs",
)

OF_SESSION = ("daemon_jobs", "session", "workspace_folders", "progress")  # what the server makes a session of


def register(server: MirageServer) -> None:
    """Give the server all methods and commands."""
    for name, method in METHODS.items():
        server.feature(name, method.options)(_deferred(method))
    for name in COMMANDS:
        server.command(name)(_deferred_command(name))


def _deferred(method: Method) -> Callable[..., object]:
    if not method.waits:
        return lambda ls, *given: cast("object", _module(method.module).handle(ls, *given))

    async def handle(ls: MirageServer, *given: object) -> object:
        return await _module(method.module).handle(ls, *given)

    return handle


def _deferred_command(name: str) -> Callable[..., object]:
    async def run(ls: MirageServer, *arguments: object) -> object:
        return await _module("execute_command").COMMANDS[name](ls, *arguments)

    run.__annotations__.clear()  # pygls evaluates them, and the server's class is not imported here when this runs
    return run


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")


async def import_all() -> None:
    """Imports what handlers need, a module at a time: what the client asks meanwhile is answered in between."""
    handlers = [f"{__name__}.{m.module}" for m in METHODS.values()]
    for name in [*handlers, f"{__name__}.execute_command", *(f"mirage_lsp.{x}" for x in OF_SESSION)]:
        gc.disable()  # while classes are made that stay
        import_module(name)
        gc.enable()
        await asyncio.sleep(0)
    gc.freeze()
