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
from mirage_lsp import actions, apply_edit, edited_block, hover_text, panel_data
from mirage_lsp.daemon_jobs import Ask
from mirage_lsp.document import View
from mirage_lsp.errors import NoKernel, StaleEdit

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


async def _applied(ls: MirageServer, view: View, change: types.TextEdit, label: str) -> Answer:
    """An edit of one place, as the client takes it."""
    edit = ls.workspace_edit(view, [change], label)
    answer = await ls.ask(types.WORKSPACE_APPLY_EDIT, types.ApplyWorkspaceEditParams(edit=edit, label=label))
    return {"applied": answer.applied, "reason": answer.failure_reason or ""}


_restore_function = _editing("restore")


@_command
async def restore(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    """Of code that was edited by hand the user is asked what comes back; with a version the choice is made already."""
    if version is not None or edited_block.by_hand(view, name) is None:
        return await _restore_function(ls, view.uri, name, version)
    ways: dict[str, Command] = {"Restore the function": _restore_function, "Restore the kernel": restore_kernel}
    asked = types.ShowMessageRequestParams(
        type=types.MessageType.Warning,
        message=f"Mirage: `{name}` was edited by hand. Restoring loses the edit.",
        actions=[types.MessageActionItem(title=title) for title in (*ways, "Keep the edit")],
    )
    chosen = await ls.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, asked)
    if chosen is None or chosen.title not in ways:
        return {"applied": False, "reason": "the edit is kept"}
    return await ways[chosen.title](ls, view.uri, name)


@_command
async def restore_kernel(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    block = edited_block.block_of(view, name, version)
    back, entry = edited_block.restored(view, block), view.document.entries.get(name)
    identity = next((f.identity for f in back.view.document.functions if f.name == name), "")
    known = entry.result if entry is not None and entry.result_identity == identity else None
    if known is None:
        given, document = ls.session.settings, back.view.document
        known = await ls.session.jobs.lookup(Ask(document.text, document.path, name, given.target, given.interpreter))
    if known is None:
        raise NoKernel(f"the cache has no kernel for `{name}`", next_step="restore the function, and optimize it again")
    change = edited_block.kernel_again(view, edited_block.block_of(view, name, view.version), known)
    return await _applied(ls, view, change, f"Mirage: restore the kernel of `{name}`")


@_command
async def verify_again(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    """Runs `mirage verify` on the code as it is now; if that accepts it, the block is marked as verified."""
    if not ls.session.settings.trusted:
        raise UntrustedWorkspace("nothing was verified")
    block, key = edited_block.block_of(view, name, version), (view.document.uri, name)
    given = ls.session.settings
    ls.session.verifying.add(key)
    ls.changed(view.document)
    try:
        verdict = await edited_block.verify(view, block, given.interpreter, given.target)
    finally:
        ls.session.verifying.discard(key)
        ls.changed(view.document)
    now = await ls.session.shown(view.uri)
    if now is None or edited_block.block_of(now, name).lines != block.lines:
        raise StaleEdit(f"`{name}` was edited while it was verified", next_step="verify it again")
    word = str(verdict["word"])
    change = edited_block.seal(now, edited_block.block_of(now, name), word)
    answer = await _applied(ls, now, change, f"Mirage: `{name}` is verified")
    said = f"Mirage: `{name}` as it was edited: {verdict.get('headline', word)}"
    ls.window_show_message(types.ShowMessageParams(type=types.MessageType.Info, message=said))
    return {**answer, "word": word}


_MORE = {
    "Show the µGraph": "mirage.showMugraph",
    "Show the proof": "mirage.showProof",
    "Write the kernel to a module": "mirage.writeModule",
    "Measure again": "mirage.measure",
}


@_command
async def more(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    """What a lens has no room for, as a question to the user."""
    entry = view.document.entries.get(name)
    if entry is None or entry.result is None:
        raise NoKernel(f"there is no result for `{name}` yet")
    can = (
        bool(entry.result.mugraphs),
        entry.result.verdict is not None,
        actions.replaceable(entry),
        ls.session.settings.trusted,
    )
    titles = [title for title, there in zip(_MORE, can, strict=True) if there]
    asked = types.ShowMessageRequestParams(
        type=types.MessageType.Info,
        message=f"Mirage: `{name}`: {panel_data.headline(view, name, entry.result)}",
        actions=[types.MessageActionItem(title=title) for title in titles],
    )
    chosen = await ls.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, asked)
    if chosen is None or chosen.title not in titles:
        return {"chosen": ""}
    return {"chosen": chosen.title, "answer": await COMMANDS[_MORE[chosen.title]](ls, view.uri, name)}


@_command
async def show_mugraph(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    entry = view.document.entries.get(name)
    if entry is None or entry.result is None or not entry.result.mugraphs:
        raise NoKernel(f"there is no µGraph for `{name}`")
    text = hover_text.mugraph_text(entry.result)
    _open(ls, f"{name}.mugraph.txt", text)
    return {"text": text, "mugraphs": list(entry.result.mugraphs), "stale": panel_data.stale(view, entry)}


@_command
async def show_proof(ls: MirageServer, view: View, name: str, version: int | None) -> Answer:
    entry = view.document.entries.get(name)
    if entry is None or entry.result is None or entry.result.verdict is None:
        raise NoKernel(f"there is no proof for `{name}`")
    text = hover_text.proof_text(entry.name, entry.result)
    _open(ls, f"{name}.proof.md", text)
    data = unstructure(entry.result)
    found = {key: data[key] for key in ("derivation", "verdict", "remarks")}
    return {"text": text, **found, "stale": panel_data.stale(view, entry)}


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
    "mirage.more": more,
    "mirage.verifyAgain": verify_again,
    "mirage.restoreKernel": restore_kernel,
    **{f"mirage.{action}": _editing(action) for action in apply_edit.ACTIONS},
    "mirage.restore": restore,
}
