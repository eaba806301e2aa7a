"""The server object: a session, and how it shows itself to the client. The LSP methods are in `methods/`."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from mirage.errors import MirageError
from mirage.link.version import package_version
from mirage_lsp import methods, text_edits, transport
from mirage_lsp.pygls_protocol import Protocol
from mirage_lsp.settings import Settings

if TYPE_CHECKING:
    from mirage_lsp.document import Document, FunctionEntry, View
    from mirage_lsp.progress import WorkDone
    from mirage_lsp.session import Session
    from mirage_lsp.workspace_folders import Folders

log = logging.getLogger(__name__)
REFRESH_S = 0.05  # refreshes and diagnostics are not sent more often; after a quiet time they are sent at once


NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithCells(cells=[types.NotebookCellLanguage(language="python")]),
    ]
)


class MirageServer(LanguageServer):
    """One client's server. `session` is replaced when the client initializes, and made when it is first asked for: most of what it
    imports is needed by no answer to `initialize`."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__(
            "mirage",
            package_version(),
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=NOTEBOOKS,
            protocol_cls=Protocol,
        )
        self.begin(Settings())
        self._progress: dict[int | str, WorkDone] = {}
        self._published: dict[str, types.PublishDiagnosticsParams] = {}
        self._dirty: dict[str, Document] = {}
        self._flush: asyncio.TimerHandle | None = None
        self._told = 0.0  # when the client was last told
        methods.register(self)

    def begin(self, settings: Settings) -> None:
        """From now on a session with these settings; nothing is connected yet."""
        self._settings = settings
        self.__dict__.pop("_work", None)

    @cached_property
    def _work(self) -> tuple[Session, Folders]:
        from mirage_lsp.daemon_jobs import DaemonJobs
        from mirage_lsp.session import Session
        from mirage_lsp.workspace_folders import DaemonLink, Folders

        link = DaemonLink(start_daemon=self._settings.start_daemon)
        session = Session(DaemonJobs(link), self._settings, self.changed, self.follow)
        return session, Folders(link, self._watched)

    @property
    def session(self) -> Session:
        """What is open, and its jobs."""
        return self._work[0]

    @property
    def folders(self) -> Folders:
        """The workspace's folders that the daemon watches."""
        return self._work[1]

    def _watched(self) -> tuple[list[str], str, str]:
        """The workspace's folders, if what is saved there is to be worked on, and for what."""
        from mirage_lsp.workspace_folders import watchable

        given, workspace = self.session.settings, self.workspace
        several = self.supports(lambda c: c.workspace.workspace_folders)  # type: ignore[union-attr]
        uris = list(workspace.folders) if several else [workspace.root_uri or ""]
        paths = [to_fs_path(uri) if uri.startswith("file:") else None for uri in uris]
        wanted = [path for path in paths if path and watchable(path)] if given.trusted and given.auto else []
        return wanted, given.interpreter, given.target

    def supports(self, question: Callable[[types.ClientCapabilities], object]) -> bool:
        """Whether the client said that it can do something; `question` may run into a missing part, which means no."""
        try:
            return bool(question(self.protocol.client_capabilities))
        except AttributeError:
            return False

    def changed(self, document: Document) -> None:
        """What is shown of a document has changed: tell the client, soon, and once for many changes."""
        self._dirty[document.uri] = document
        if self._flush is None:
            loop = asyncio.get_running_loop()
            self._flush = loop.call_at(max(loop.time(), self._told + REFRESH_S), self._tell)

    def _tell(self) -> None:
        self._flush, self._told = None, asyncio.get_running_loop().time()
        documents, self._dirty = list(self._dirty.values()), {}
        for document in documents:
            self.publish(document)
        self.refresh()

    def refresh(self) -> None:
        """Have the client ask again for what it shows."""
        if self.supports(lambda c: c.workspace.code_lens.refresh_support):  # type: ignore[union-attr]
            self.ask(types.WORKSPACE_CODE_LENS_REFRESH, None)
        shown = any(e.seen for d in self.session.documents.values() for e in d.entries.values())
        if shown and self.supports(lambda c: c.workspace.inlay_hint.refresh_support):  # type: ignore[union-attr]
            self.ask(types.WORKSPACE_INLAY_HINT_REFRESH, None)

    def publish(self, document: Document) -> None:
        """Diagnostics, and states for a client that wants them, of all that a document shows."""
        from mirage_lsp import diagnostics, panel_data

        if self.session.documents.get(document.uri) is not document:
            return self.forget(document.uri)
        if not document.fresh:
            return None  # said once it is read
        related = self.supports(lambda c: c.text_document.publish_diagnostics.related_information)  # type: ignore[union-attr]
        found = diagnostics.diagnostics(document, related)
        for view in document.views:
            here = [diagnostics.shown(d, view) for d in found if view.holds(d.range.start.line)]
            params = types.PublishDiagnosticsParams(uri=view.uri, version=view.version, diagnostics=here)
            if self._published.get(view.uri) != params:
                self._published[view.uri] = params
                self.text_document_publish_diagnostics(params)
            if self.session.settings.states:
                self.protocol.notify("mirage/states", panel_data.states(view))

    def forget(self, uri: str) -> None:
        """Nothing is shown under a URI any more."""
        self._published.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))
        if self.session.settings.states:
            self.protocol.notify("mirage/states", {"uri": uri, "version": 0, "functions": []})

    def forget_all_under(self, uri: str) -> None:
        """As `forget`, for what is open under a file's or a folder's URI."""
        for document in self.session.documents.values():
            if document.uri == uri or document.uri.startswith(uri.rstrip("/") + "/"):
                self.forget(document.uri)

    def ask(self, method: str, params: Any) -> asyncio.Future[Any]:
        """A request to the client whose answer nobody has to wait for."""
        answer = cast("asyncio.Future[Any]", self.protocol.send_request_async(method, params))
        answer.add_done_callback(_noted)
        return answer

    def workspace_edit(
        self,
        view: View,
        changes: Sequence[types.TextEdit],
        label: str,
        preview: bool = False,
        module: tuple[Path, str] | None = None,
    ) -> types.WorkspaceEdit:
        """Edits bound to the text's version; without it for a client that does not know versioned edits. `preview`: the
        client shows them before it applies them. `module`: a file that is written along with them."""
        if not self.supports(lambda c: c.workspace.workspace_edit.document_changes):  # type: ignore[union-attr]
            return types.WorkspaceEdit(changes={view.uri: list(changes)})
        annotated = self.previews
        name = "mirage.preview" if preview else "mirage"
        return text_edits.versioned(
            view.uri, view.version, changes, (name, label, preview) if annotated else None, module
        )

    @property
    def previews(self) -> bool:
        """Whether the client can show an edit before it applies it."""
        return self.supports(lambda c: c.workspace.workspace_edit.change_annotation_support)  # type: ignore[union-attr]

    @property
    def creates(self) -> bool:
        """Whether an edit may create a file."""
        create = types.ResourceOperationKind.Create
        return self.supports(
            lambda c: create in (c.workspace.workspace_edit.resource_operations or ())  # type: ignore[union-attr]
        ) and self.supports(lambda c: c.workspace.workspace_edit.document_changes)  # type: ignore[union-attr]

    def say(self, error: MirageError) -> None:
        """Show an error to the user: its code, what is wrong, and the next step."""
        message = f"{error.code}: {error.message}. Next step: {error.next_step}"
        self.window_show_message(types.ShowMessageParams(type=types.MessageType.Warning, message=message))

    def follow(self, document: Document, entry: FunctionEntry) -> WorkDone:
        from mirage_lsp.progress import WorkDone

        token = f"mirage/{next(self.session.tokens)}"
        follower = WorkDone(self, token, entry, shown=self.supports(lambda c: c.window.work_done_progress))  # type: ignore[union-attr]
        self._progress[token] = follower
        follower.on_end = lambda: self._progress.pop(token, None)
        return follower

    def cancelled(self, token: int | str) -> None:
        """The user cancelled a progress."""
        follower = self._progress.get(token)
        if follower is not None:
            self.session.stop(follower.entry, by_user=True)

    async def end(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
        if "_work" in self.__dict__:
            self.folders.stop()
            await self.session.end()


def _noted(answer: asyncio.Future[Any]) -> None:
    if not answer.cancelled() and answer.exception() is not None:
        log.info("the client refused a request: %s", answer.exception())


def serve_stdio() -> None:
    """Serve the client at standard input and output. Does not return."""
    stream_in, stream_out = transport.own_standard_streams()

    async def talk() -> None:
        server = MirageServer()
        transport.leave(await transport.converse(server.protocol, stream_in, stream_out, server.end))

    asyncio.run(talk())


def serve_tcp(port: int, on_listening: Callable[[int], None]) -> None:
    """Serve the first client that connects to `port` of 127.0.0.1 (0: any free one). Does not return."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        on_listening(listener.getsockname()[1])
        connection, _ = listener.accept()
    stream_in, stream_out = connection.makefile("rb"), connection.makefile("wb")

    async def talk() -> None:
        server = MirageServer()
        transport.leave(await transport.converse(server.protocol, stream_in, stream_out, server.end))

    asyncio.run(talk())
