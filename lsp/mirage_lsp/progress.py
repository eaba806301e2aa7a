"""Work-done progress: a job in the client's status bar, with a button that cancels it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import one_line_texts
from mirage_lsp.document import FunctionEntry

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


class WorkDone:
    """One job's progress. The client is asked for a token first; what happens until it agrees is shown at once then."""

    def __init__(self, server: MirageServer, token: str, entry: FunctionEntry, shown: bool) -> None:
        self.entry = entry
        self.on_end: Callable[[], object] = lambda: None
        self._server, self._token, self._begun, self._ended, self._last = server, token, False, False, ""
        if shown:
            params = types.WorkDoneProgressCreateParams(token=token)
            server.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params).add_done_callback(self._created)

    def report(self, entry: FunctionEntry) -> None:
        message = one_line_texts.progress(entry)
        if self._begun and not self._ended and message != self._last:
            self._last = message
            self._notify(types.WorkDoneProgressReport(message=message, cancellable=True))

    def end(self, entry: FunctionEntry) -> None:
        if self._begun and not self._ended:
            self._notify(types.WorkDoneProgressEnd(message=one_line_texts.lens(entry)))
        self._ended = True
        self.on_end()

    def _created(self, answer: asyncio.Future[object]) -> None:
        if self._ended or answer.cancelled() or answer.exception() is not None:
            return
        self._begun, self._last = True, one_line_texts.progress(self.entry)
        title = f"Mirage: {self.entry.name}"
        self._notify(types.WorkDoneProgressBegin(title=title, cancellable=True, message=self._last))

    def _notify(self, value: object) -> None:
        self._server.protocol.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))
