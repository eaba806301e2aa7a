"""`workspace/executeCommand`: everything that can be done, for every editor.

Arguments: the document's URI, the
function's name (optional for optimize and stop: all of them), the version that an edit was meant for (optional).

A command answers with an object; what went wrong is under "error", and shown to the user. Commands end quickly: pygls
cannot cancel one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage.errors import FunctionNotFound, MirageError, UnknownEntry, UntrustedWorkspace
from mirage.results.codec import unstructure
from mirage_lsp import apply_edit, pages, panel_data
from mirage_lsp.document import View
from mirage_lsp.errors import NoKernel

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer

LISTED = 100  # results of the cache, the latest used first
Answer = Mapping[str, object]
Command = Callable[..., Awaitable[Answer]]
Body = Callable[["MirageServer", View, str, "int | None"], Awaitable[Answer]]


def _command(body: Body) -> Command:
    """Arguments checked, mistakes shown and answered."""

    async def run(ls: MirageServer, *arguments: object) -> Answer:
        try:
            uri, name, version = _arguments(arguments)
            view = await ls.session.shown(uri)
            if view is None:
                raise FunctionNotFound(f"the document is not open: {uri}", next_step="open it")
            return await body(ls, view, name, version)
        except MirageError as error:
            ls.say(error)
            return {"error": error.to_dict()}

    run.__annotations__.clear()  # pygls evaluates them, and the server's class is not imported here when this runs
    return run


def _arguments(given: tuple[object, ...]) -> tuple[str, str, int | None]:
    uri, name, version = (*given, None, None, None)[:3]
    if not isinstance(uri, str) or not isinstance(name, (str, type(None))):
        raise FunctionNotFound("the arguments are a document's URI and a function's name")
    return uri, name or "", version if isinstance(version, int) else None


@_command
async def optimize(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    return _start(ls, view, name, fresh=False)


@_command
async def measure(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    return _start(ls, view, name, fresh=True)


def _start(ls: MirageServer, view: View, name: str, fresh: bool) -> Answer:
    if not ls.session.settings.trusted:
        raise UntrustedWorkspace("nothing was started")
    document = view.document
    functions = [f for f in document.functions if name in ("", f.name)]
    if not functions:
        raise FunctionNotFound(f"the text has no decorated function {name}".rstrip())
    troubles = {f.name: None if document.entry(f).learned else f.problem for f in functions}
    trouble = troubles.get(name)
    if trouble is not None:
        raise trouble
    ready = [f for f in functions if troubles[f.name] is None]
    return {"started": [ls.session.optimize(document, f, fresh).name for f in ready]}


@_command
async def stop(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    entries = [e for e in view.document.entries.values() if name in ("", e.name)]
    return {"stopped": [e.name for e in entries if ls.session.stop(e, by_user=True)]}


def _editing(action: str) -> Command:
    """The command that has an action's edit applied."""

    @_command
    async def apply(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
        edit = apply_edit.edit(ls, action, view, name, version)
        params = types.ApplyWorkspaceEditParams(edit=edit, label=apply_edit.label(action, name))
        answer = await ls.ask(types.WORKSPACE_APPLY_EDIT, params)
        return {"applied": answer.applied, "reason": answer.failure_reason or ""}

    return apply


@_command
async def show_mugraph(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    entry = view.document.entries.get(name)
    if entry is None or entry.result is None or not entry.result.mugraphs:
        raise NoKernel(f"there is no µGraph for `{name}`")
    text = pages.mugraph_text(entry.result)
    _open(ls, f"{name}.mugraph.txt", text)
    return {"text": text, "mugraphs": list(entry.result.mugraphs), "stale": entry.stale}


@_command
async def show_proof(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    entry = view.document.entries.get(name)
    if entry is None or entry.result is None or entry.result.verdict is None:
        raise NoKernel(f"there is no proof for `{name}`")
    text = pages.proof_text(entry.name, entry.result)
    _open(ls, f"{name}.proof.md", text)
    data = unstructure(entry.result)
    found = {key: data[key] for key in ("derivation", "verdict", "remarks")}
    return {"text": text, **found, "stale": entry.stale}


def _open(ls: MirageServer, name: str, text: str) -> None:
    """Show a text in a client that opens files for a server."""
    if ls.supports(lambda c: c.window.show_document.support):  # type: ignore[union-attr]
        path = Path(tempfile.mkdtemp(prefix="mirage-")) / name
        path.write_text(text + "\n", encoding="utf-8")
        ls.ask(types.WINDOW_SHOW_DOCUMENT, types.ShowDocumentParams(uri=path.as_uri(), take_focus=True))


@_command
async def result(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    return panel_data.result(view, name)


def _of_daemon(ask: Callable[..., Awaitable[Answer]]) -> Command:
    """A question about all projects; "error" while no daemon runs. Nothing is shown: views ask it again and again."""

    async def run(ls: MirageServer, *arguments: object) -> Answer:
        try:
            return await ask(ls, *arguments[:1])
        except MirageError as error:
            return {"error": error.to_dict()}

    run.__annotations__.clear()  # as above
    return run


@_of_daemon
async def jobs(ls: MirageServer, *_: object) -> Answer:
    return await ls.session.jobs.status()


@_of_daemon
async def cache(ls: MirageServer, *_: object) -> Answer:
    rows = await ls.session.jobs.results()
    latest = sorted(rows, key=lambda row: -float(row["used"]))
    return {"results": latest[:LISTED], "more": max(0, len(rows) - LISTED)}


@_of_daemon
async def cached(ls: MirageServer, key: object = None) -> Answer:
    if not isinstance(key, str):
        raise UnknownEntry("the argument is a key of the cache")
    return await ls.session.jobs.cached(key)


COMMANDS: dict[str, Command] = {
    "mirage.optimize": optimize,
    "mirage.measure": measure,
    "mirage.stop": stop,
    "mirage.showMugraph": show_mugraph,
    "mirage.showProof": show_proof,
    "mirage.result": result,
    "mirage.jobs": jobs,
    "mirage.cache": cache,
    "mirage.cached": cached,
    **{f"mirage.{action}": _editing(action) for action in apply_edit.ACTIONS},
}
