"""The state of a session: open documents, the decorated functions in them, and how far each one's job is.

A result belongs to a function's identity (its meaning and its shapes). When the text moves on, the last result stays
and is shown as stale; when the text comes back, so does the result, without a question to the daemon.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from mirage.errors import DaemonUnavailable, MirageError
from mirage.link.protocol import FINAL, Event
from mirage.results.progress import ProgressCounts
from mirage_lsp.changed_text import TextChange, apply_changes
from mirage_lsp.daemon_jobs import Ask, DaemonJobs, JobEnd
from mirage_lsp.document import Document, FunctionEntry, View
from mirage_lsp.learned_shapes import Learner
from mirage_lsp.notebook import Notebook
from mirage_lsp.reader import Reader
from mirage_lsp.reading import ReadFunction, Reading
from mirage_lsp.settings import Settings

log = logging.getLogger(__name__)
REMEMBERED = 256  # answers kept for texts that may come back
GRACE_S = 0.5  # a closed file's jobs go on for so long: a renamed file is closed and opened again


class ProgressListener(Protocol):
    """Told how a job goes (work-done progress)."""

    def report(self, entry: FunctionEntry) -> None: ...

    def end(self, entry: FunctionEntry) -> None: ...


class Session:
    """All documents of one client. `changed` is called when what is shown of a document has changed; `follow` makes a
    follower for a job that begins."""

    def __init__(
        self,
        jobs: DaemonJobs,
        settings: Settings,
        changed: Callable[[Document], None],
        follow: Callable[[Document, FunctionEntry], ProgressListener],
    ) -> None:
        self.jobs, self.settings, self.documents = jobs, settings, dict[str, Document]()
        self.notebooks: dict[str, Notebook] = {}  # by the URI of a cell
        self._changed, self._follow = changed, follow
        self._known: OrderedDict[tuple[str, str], JobEnd] = OrderedDict()
        self._resting: dict[tuple[str, str], tuple[FunctionEntry, asyncio.TimerHandle]] = {}
        self.verifying: set[tuple[str, str]] = set()  # edited blocks: the document's URI, the function
        self.tokens = itertools.count(1)
        self.learner = Learner(self)
        self.reader = Reader()

    # ---- documents
    def view(self, uri: str) -> View | None:
        """What an open URI, of a file or of a notebook's cell, shows."""
        document = self.documents.get(uri) or self.notebooks.get(uri)
        return next((v for v in document.views if v.uri == uri), None) if document is not None else None

    def open(self, uri: str, text: str, version: int) -> None:
        self.add(Document(uri, text, version))

    def add(self, document: Document) -> None:
        """A document appears, to be read beside the loop. One that is open under its URI already (a renamed file's) gives it its jobs."""
        document.alone = False
        before = self.documents.get(document.uri)
        if before is not None:
            self._drop_timer(before)
            document.entries = before.entries
            for entry in document.entries.values():
                entry.home = document
        self.documents[document.uri] = document
        self._settle(document)

    def change(self, uri: str, changes: Sequence[TextChange], version: int) -> None:
        document = self.documents.get(uri)
        if document is not None:
            document.edit(changes, version)
            self.wait(document)

    def wait(self, document: Document) -> None:
        """The text has changed: settle after a quiet time."""
        self._drop_timer(document)
        delay = self.settings.debounce_ms / 1000
        document.timer = asyncio.get_running_loop().call_later(delay, self._settle, document)

    def close(self, uri: str) -> None:
        document = self.documents.pop(uri, None)
        if document is None:
            return
        self._drop_timer(document)
        for entry in document.entries.values():
            if entry.running:
                key = (entry.name, entry.asked)
                timer = asyncio.get_running_loop().call_later(GRACE_S, self._end_rest, key)
                self._resting[key] = (entry, timer)
        document.set("", document.version)
        self._changed(document)

    def rename(self, old: str, new: str) -> None:
        """A file or a folder has another URI from now on; a document of it that is still open moves with its jobs."""
        for uri, document in list(self.documents.items()):
            if uri == old or uri.startswith(old.rstrip("/") + "/"):
                del self.documents[uri]
                document.uri = new + uri[len(old) :]
                self.documents[document.uri] = document
                document.set(document.text, document.version)
                self._changed(document)

    def _end_rest(self, key: tuple[str, str]) -> None:
        entry, _ = self._resting.pop(key)
        self.stop(entry)

    @staticmethod
    def _drop_timer(document: Document) -> None:
        if document.timer is not None:
            document.timer.cancel()
            document.timer = None

    # ---- jobs
    def stop(self, entry: FunctionEntry, by_user: bool = False) -> bool:
        """Cancel an entry's job; whether one ran. `by_user`: no save is to begin it again."""
        if not entry.running or entry.task is None:
            return False
        entry.stopped = by_user
        return entry.task.cancel()

    async def end(self) -> None:
        """Stop all work, quickly; nothing of it is waited for longer than the cancellations take to send."""
        self.learner.stop()
        resting = [entry for entry, _ in self._resting.values()]
        for _, timer in self._resting.values():
            timer.cancel()
        shown = [e for d in self.documents.values() for e in d.entries.values()]
        tasks = [e.task for e in (*resting, *shown) if e.task is not None and e.running]
        tasks += [d.task for d in self.documents.values() if d.task is not None]
        for document in self.documents.values():
            self._drop_timer(document)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        await self.reader.close()
        await self.jobs.close()

    def optimize(self, document: Document, function: ReadFunction, fresh: bool = False) -> FunctionEntry:
        """Start a job for a function, unless one runs for this very text or its answer is known. `fresh`: though it is
        known, here and to the daemon."""
        entry = document.entry(function)
        entry.asked = entry.identity
        key = (function.name, entry.identity)
        if fresh:
            self._known.pop(key, None)
        answer = self._known.get(key)
        if answer is not None:
            self.stop(entry)
            entry.task = None
            self._settled(entry, entry.identity, answer)
            self._changed(document)
            return entry
        rested = self._resting.pop(key, None)
        if rested is not None and rested[0].running and not entry.running and not fresh:
            return self._take_over(document, *rested)
        self.stop(entry)
        given = self.settings
        ask = Ask(document.text, document.path, function.name, given.target, given.interpreter, fresh)
        entry.state, entry.counts, entry.best, entry.error, entry.stopped = "queued", ProgressCounts(), "", None, False
        work = self._work if self.settings.trusted else self._look_up
        entry.task = asyncio.ensure_future(work(entry, entry.identity, ask))
        self._changed(document)
        return entry

    def _take_over(self, document: Document, rested: FunctionEntry, timer: asyncio.TimerHandle) -> FunctionEntry:
        """A job of a file that was closed goes on for the one that was opened: it has been renamed."""
        timer.cancel()
        rested.home, rested.identity = document, rested.asked
        document.entries[rested.name] = rested
        self._changed(document)
        return rested

    async def shown(self, uri: str, patience_s: float | None = None) -> View | None:
        """As `view`, once the text has been read; after `patience_s` with what an earlier text held."""
        document = self.documents.get(uri) or self.notebooks.get(uri)
        if document is not None:
            await self.ready(document, patience_s)
        return self.view(uri)

    async def ready(self, document: Document, patience_s: float | None = None) -> None:
        """Wait until a document's text has been read, at most for `patience_s`."""
        loop = asyncio.get_running_loop()
        until = None if patience_s is None else loop.time() + patience_s
        while not document.fresh:
            left = None if until is None else max(0.0, until - loop.time())
            done, _ = await asyncio.wait({self._read(document)}, timeout=left)
            if not done:
                return

    def _read(self, document: Document) -> asyncio.Task[None]:
        """The task that reads a document's text."""
        if document.task is None:
            document.task = asyncio.ensure_future(self._reading(document))
        return document.task

    async def _reading(self, document: Document) -> None:
        if document.pending:
            document.apply(await asyncio.to_thread(apply_changes, document.text, tuple(document.pending)))
        try:
            reading = await self.reader.read(document.uri, document.path, document.text)
        except MirageError as error:
            reading = Reading(error=error)
        except Exception as error:  # a mistake of ours with one text: it is said there, and the others go on
            log.exception("a text could not be read")
            reading = Reading(error=MirageError(f"the text could not be read: {type(error).__name__}"))
        document.task = None
        document.take(reading)
        if document.due:
            self._settle(document)

    def _settle(self, document: Document) -> None:
        """The text has been quiet for a while: once it is read, submit what is new, stop what is no longer in it."""
        self._drop_timer(document)
        document.due = not document.fresh
        if document.due:
            self._read(document)
            return
        present = {f.name: f for f in document.functions}
        for gone in document.entries.keys() - present.keys():
            self.stop(document.entries[gone])
        for function in present.values():
            entry = document.entry(function)
            trouble = function.problem
            if trouble is not None and not entry.learned:
                self.stop(entry)
                entry.task, entry.asked, entry.state, entry.error = None, "", "idle", trouble
                continue
            waits = entry.state == "away" and not entry.running
            if self.settings.auto and (waits or entry.asked != entry.identity):
                self.optimize(document, function)
        self._changed(document)
        self.learner.look()

    def settle_again(self, documents: Iterable[Document] | None = None, ask_again: bool = False) -> None:
        """What decides about jobs has changed. `ask_again`: also for functions that have an answer."""
        for document in list(self.documents.values() if documents is None else documents):
            for entry in document.entries.values():
                if ask_again or entry.state == "untrusted":
                    entry.asked = ""
            self._settle(document)

    def grant_trust(self) -> None:
        """The user trusts the workspace now: what was only looked up is worked on."""
        self.settings = replace(self.settings, trusted=True)
        self.settle_again()

    def configure(self, settings: Settings) -> None:
        """Settings of a running server. Answers for another target or interpreter are no answers."""
        before, self.settings = self.settings, settings
        other = (before.target, before.interpreter) != (settings.target, settings.interpreter)
        if other:
            self._known.clear()
        if before != settings:
            self.settle_again(ask_again=other)

    def _show(self, entry: FunctionEntry) -> None:
        if entry.home is not None:
            self._changed(entry.home)

    async def _work(self, entry: FunctionEntry, identity: str, ask: Ask) -> None:
        assert entry.home is not None
        follower = self._follow(entry.home, entry)
        me = asyncio.current_task()

        def on_event(event: Event) -> None:
            if event.state not in FINAL and entry.task is me:
                entry.state, entry.counts, entry.best = event.state, event.counts, event.best
                follower.report(entry)
                self._show(entry)

        def on_away() -> None:
            entry.state, entry.counts, entry.best = "away", ProgressCounts(), ""
            follower.report(entry)
            self._show(entry)

        answer = JobEnd("cancelled")
        try:
            answer = await self.jobs.optimize(ask, on_event, on_away, lambda: entry.stopped)
        except DaemonUnavailable:
            answer = JobEnd("away")
        except MirageError as error:
            answer = JobEnd("failed", error=error.to_dict())
        except UnicodeEncodeError as error:  # a lone surrogate: the text is not one that a file can hold
            answer = JobEnd("failed", error=MirageError(f"the text cannot be sent: {error}").to_dict())
        finally:
            if entry.task is me:
                entry.task = None
                self._settled(entry, identity, answer)
            follower.end(entry)
            self._show(entry)

    async def _look_up(self, entry: FunctionEntry, identity: str, ask: Ask) -> None:
        answer = JobEnd("untrusted")
        try:
            result = await self.jobs.lookup(ask)
            if result is not None:
                answer = JobEnd("kept" if result.answer == "keep" else "done", result)
        except MirageError:
            answer = JobEnd("untrusted")  # the daemon is away or has no answer; either way nothing may run
        finally:
            if entry.task is asyncio.current_task():
                entry.task = None
                self._settled(entry, identity, answer)
            self._show(entry)

    def _settled(self, entry: FunctionEntry, identity: str, answer: JobEnd) -> None:
        entry.state, entry.counts, entry.best = answer.state, ProgressCounts(), ""
        entry.error = MirageError.from_dict(answer.error) if answer.error else None
        if answer.result is not None:
            entry.result, entry.result_identity = answer.result, identity
            self._known[entry.name, identity] = answer
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
