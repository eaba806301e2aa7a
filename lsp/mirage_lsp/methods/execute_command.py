"""`workspace/executeCommand`: everything that can be done, for every editor. Arguments: the document's URI, the
function's name (optional for optimize and stop: all of them), the version that an edit was meant for (optional).

A command answers with an object; what went wrong is under "error", and shown to the user. Commands end quickly: pygls
cannot cancel one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from mirage.errors import FunctionNotFound, MirageError, UntrustedWorkspace
from mirage_lsp import actions, panels, texts
from mirage_lsp.errors import NoKernel
from mirage_lsp.session import Document, problem

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer

Command = Callable[..., Awaitable[dict[str, Any]]]


def _command(body: Command) -> Command:
    """Arguments checked, mistakes shown and answered."""

    async def run(ls: MirageServer, *arguments: Any) -> dict[str, Any]:
        try:
            uri, name, version = _arguments(arguments)
            document = ls.session.documents.get(uri)
            if document is None:
                raise FunctionNotFound(f"the document is not open: {uri}", next_step="open it")
            return await body(ls, document, name, version)
        except MirageError as error:
            ls.say(error)
            return {"error": error.to_dict()}

    run.__annotations__.clear()  # pygls evaluates them, and the server's class is not imported here when this runs
    return run


def _arguments(given: tuple[Any, ...]) -> tuple[str, str, int | None]:
    uri, name, version = (*given, None, None, None)[:3]
    if not isinstance(uri, str) or not isinstance(name, (str, type(None))):
        raise FunctionNotFound("the arguments are a document's URI and a function's name")
    return uri, name or "", version if isinstance(version, int) else None


@_command
async def optimize(ls: MirageServer, document: Document, name: str, version: int | None) -> dict[str, Any]:
    if not ls.session.settings.trusted:
        raise UntrustedWorkspace("nothing was started")
    functions = [f for f in document.scan.functions if document.function(f.name) is f and name in ("", f.name)]
    if not functions:
        raise FunctionNotFound(f"the text has no decorated function {name}".rstrip())
    troubles = {f.name: problem(f) for f in functions}
    trouble = troubles.get(name)
    if trouble is not None:
        raise trouble
    return {"started": [ls.session.optimize(document, f).name for f in functions if troubles[f.name] is None]}


@_command
async def stop(ls: MirageServer, document: Document, name: str, version: int | None) -> dict[str, Any]:
    entries = [e for e in document.entries.values() if name in ("", e.name)]
    return {"stopped": [e.name for e in entries if ls.session.stop(e)]}


@_command
async def replace(ls: MirageServer, document: Document, name: str, version: int | None) -> dict[str, Any]:
    return await _apply(ls, document, actions.replace(document, name, version), f"Mirage: replace {name}")


@_command
async def restore(ls: MirageServer, document: Document, name: str, version: int | None) -> dict[str, Any]:
    return await _apply(ls, document, actions.restore(document, name, version), f"Mirage: restore {name}")


@_command
async def show_mugraph(ls: MirageServer, document: Document, name: str, version: int | None) -> dict[str, Any]:
    entry = document.entries.get(name)
    if entry is None or entry.result is None or not entry.result.get("mugraphs"):
        raise NoKernel(f"there is no µGraph for `{name}`")
    text = texts.mugraph_text(entry.result)
    if ls.supports(lambda c: c.window.show_document.support):  # type: ignore[union-attr]
        path = Path(tempfile.mkdtemp(prefix="mirage-")) / f"{name}.mugraph.txt"
        path.write_text(text + "\n", encoding="utf-8")
        ls.ask(types.WINDOW_SHOW_DOCUMENT, types.ShowDocumentParams(uri=path.as_uri(), take_focus=True))
    return {"text": text, "mugraphs": list(entry.result["mugraphs"]), "stale": entry.stale}


@_command
async def result(ls: MirageServer, document: Document, name: str, version: int | None) -> dict[str, Any]:
    return panels.result(document, name)


async def jobs(ls: MirageServer, *arguments: Any) -> dict[str, Any]:
    """What the daemon does for all projects, and its cache; "error" while none runs."""
    try:
        return await ls.session.jobs.status()
    except MirageError as error:
        return {"error": error.to_dict()}


jobs.__annotations__.clear()  # as above


async def _apply(ls: MirageServer, document: Document, edit: types.TextEdit, label: str) -> dict[str, Any]:
    params = types.ApplyWorkspaceEditParams(edit=ls.workspace_edit(document, edit), label=label)
    answer = await ls.ask(types.WORKSPACE_APPLY_EDIT, params)
    return {"applied": answer.applied, "reason": answer.failure_reason or ""}


COMMANDS: dict[str, Command] = {
    "mirage.optimize": optimize,
    "mirage.stop": stop,
    "mirage.replace": replace,
    "mirage.restore": restore,
    "mirage.showMugraph": show_mugraph,
    "mirage.result": result,
    "mirage.jobs": jobs,
}
