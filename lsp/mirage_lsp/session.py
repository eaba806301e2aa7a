"""What the server knows: open documents, the decorated functions in them, and how far each one's job is.

A result belongs to a function's identity (its meaning and its shapes). When the text moves on, the last result stays
and is shown as stale; when the text comes back, so does the result, without a question to the daemon.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pygls.uris import to_fs_path

from mirage.errors import DaemonUnavailable, MirageError
from mirage.link.protocol import FINAL, Event
from mirage.source import detect, shapes
from mirage_lsp import block
from mirage_lsp.jobs import Answer, Ask, Jobs
from mirage_lsp.settings import Settings

REMEMBERED = 256  # answers kept for texts that may come back


class Follower(Protocol):
    """Told how a job goes (work-done progress)."""

    def report(self, entry: Entry) -> None: ...

    def end(self, entry: Entry) -> None: ...


@dataclass
class Entry:
    """One function's job. `state` is one of `protocol.STATES`, or idle, away, untrusted. `identity` is the text that
    the state is about; `result_identity` the one that `result` is about (an older one when the result is stale)."""

    name: str
    identity: str = ""
    asked: str = ""  # the identity that the daemon was last asked about
    state: str = "idle"
    counts: dict[str, int] = field(default_factory=dict)
    best: str = ""
    result: dict[str, Any] | None = None
    result_identity: str = ""
    error: MirageError | None = None
    task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def stale(self) -> bool:
        return self.result is not None and self.result_identity != self.identity


@dataclass
class Document:
    """An open text. `functions` and `blocks` are read from it when they are asked for, once for each text."""

    uri: str
    text: str
    version: int
    entries: dict[str, Entry] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None
    _scan: detect.Scan | None = None
    _blocks: list[block.Block] | None = None
    _identities: dict[str, str] = field(default_factory=dict)

    def set(self, text: str, version: int) -> None:
        self.text, self.version, self._scan, self._blocks = text, version, None, None
        self._identities.clear()

    @property
    def path(self) -> str:
        return to_fs_path(self.uri) or os.path.basename(self.uri)

    @property
    def scan(self) -> detect.Scan:
        if self._scan is None:
            self._scan = detect.find(self.text, self.path)
        return self._scan

    @property
    def blocks(self) -> list[block.Block]:
        if self._blocks is None:
            self._blocks = block.find(self.text)
        return self._blocks

    def function(self, name: str) -> detect.Decorated | None:
        """The function of that name, the last one where several have it (as in Python)."""
        return next((f for f in reversed(self.scan.functions) if f.name == name), None)

    def entry(self, function: detect.Decorated) -> Entry:
        """The function's entry, its identity brought up to this text."""
        entry = self.entries.setdefault(function.name, Entry(function.name))
        entry.identity = self.identity(function)
        return entry

    def identity(self, function: detect.Decorated) -> str:
        """What a result for a function depends on: its meaning, and its shapes."""
        if function.name not in self._identities:
            self._identities[function.name] = _identity(function)
        return self._identities[function.name]


def problem(function: detect.Decorated) -> MirageError | None:
    """Why a function cannot be submitted, or None."""
    try:
        shapes.rows(function)
    except MirageError as error:
        return error
    return None


def _identity(function: detect.Decorated) -> str:
    try:
        rows = repr(shapes.rows(function))
    except MirageError:
        rows = "unreadable"
    return f"{function.digest}:{hashlib.sha256(rows.encode()).hexdigest()[:16]}"


class Session:
    """All documents of one client. `changed` is called when what is shown of a document has changed; `follow` makes a
    follower for a job that begins."""

    def __init__(
        self,
        jobs: Jobs,
        settings: Settings,
        changed: Callable[[Document], None],
        follow: Callable[[Document, Entry], Follower],
    ) -> None:
        self.jobs, self.settings, self.documents = jobs, settings, dict[str, Document]()
        self._changed, self._follow = changed, follow
        self._known: OrderedDict[tuple[str, str], Answer] = OrderedDict()
        self.tokens = itertools.count(1)

    def open(self, uri: str, text: str, version: int) -> None:
        document = self.documents[uri] = Document(uri, text, version)
        self._settle(document)

    def change(self, uri: str, text: str, version: int) -> None:
        document = self.documents.get(uri)
        if document is None:
            return
        document.set(text, version)
        if document.timer is not None:
            document.timer.cancel()
        delay = self.settings.debounce_ms / 1000
        document.timer = asyncio.get_running_loop().call_later(delay, self._settle, document)

    def close(self, uri: str) -> None:
        document = self.documents.pop(uri, None)
        if document is None:
            return
        if document.timer is not None:
            document.timer.cancel()
        for entry in document.entries.values():
            self.stop(entry)
        document.set("", document.version)
        self._changed(document)

    def stop(self, entry: Entry) -> bool:
        """Cancel an entry's job; whether one ran."""
        if not entry.running or entry.task is None:
            return False
        return entry.task.cancel()

    async def end(self) -> None:
        """Stop all work, quickly; nothing of it is waited for longer than the cancellations take to send."""
        tasks = [
            e.task for d in self.documents.values() for e in d.entries.values() if e.task is not None and e.running
        ]
        for document in self.documents.values():
            if document.timer is not None:
                document.timer.cancel()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        await self.jobs.close()

    def optimize(self, document: Document, function: detect.Decorated) -> Entry:
        """Start a job for a function, unless one runs for this very text or its answer is known."""
        entry = document.entry(function)
        entry.asked = entry.identity
        answer = self._known.get((function.name, entry.identity))
        if answer is not None:
            self.stop(entry)
            entry.task = None
            self._settled(entry, entry.identity, answer)
            self._changed(document)
            return entry
        self.stop(entry)
        ask = Ask(document.text, document.path, function.name, self.settings.target, self.settings.interpreter)
        entry.state, entry.counts, entry.best, entry.error = "queued", {}, "", None
        work = self._work if self.settings.trusted else self._look_up
        entry.task = asyncio.ensure_future(work(document, entry, entry.identity, ask))
        self._changed(document)
        return entry

    def _settle(self, document: Document) -> None:
        """The text has been quiet for a while: submit what is new, stop what is no longer in it."""
        document.timer = None
        present = {f.name: f for f in document.scan.functions}
        for gone in document.entries.keys() - present.keys():
            self.stop(document.entries[gone])
        for function in present.values():
            entry = document.entry(function)
            trouble = problem(function)
            if trouble is not None:
                self.stop(entry)
                entry.task, entry.asked, entry.state, entry.error = None, "", "idle", trouble
                continue
            waits = entry.state == "away" and not entry.running
            if self.settings.auto and (waits or entry.asked != entry.identity):
                self.optimize(document, function)
        self._changed(document)

    def grant_trust(self) -> None:
        """The user trusts the workspace now: what was only looked up is worked on."""
        self.settings = replace(self.settings, trusted=True)
        for document in self.documents.values():
            for entry in document.entries.values():
                if entry.state == "untrusted":
                    entry.asked = ""
            self._settle(document)

    async def _work(self, document: Document, entry: Entry, identity: str, ask: Ask) -> None:
        follower = self._follow(document, entry)
        me = asyncio.current_task()

        def on_event(event: Event) -> None:
            if event.state not in FINAL and entry.task is me:
                entry.state, entry.counts, entry.best = event.state, dict(event.counts), event.best
                follower.report(entry)
                self._changed(document)

        def on_away() -> None:
            entry.state = "away"
            follower.report(entry)
            self._changed(document)

        answer = Answer("cancelled")
        try:
            answer = await self.jobs.optimize(ask, on_event, on_away)
        except DaemonUnavailable:
            answer = Answer("away")
        except MirageError as error:
            answer = Answer("failed", error=error.to_dict())
        except UnicodeEncodeError as error:  # a lone surrogate: the text is not one that a file can hold
            answer = Answer("failed", error=MirageError(f"the text cannot be sent: {error}").to_dict())
        finally:
            if entry.task is me:
                entry.task = None
                self._settled(entry, identity, answer)
            follower.end(entry)
            self._changed(document)

    async def _look_up(self, document: Document, entry: Entry, identity: str, ask: Ask) -> None:
        answer = Answer("untrusted")
        try:
            result = await self.jobs.lookup(ask)
            if result is not None:
                answer = Answer("done" if result.get("answer") == "kernel" else "kept", result)
        except MirageError:
            answer = Answer("untrusted")  # the daemon is away or has no answer; either way nothing may run
        finally:
            if entry.task is asyncio.current_task():
                entry.task = None
                self._settled(entry, identity, answer)
            self._changed(document)

    def _settled(self, entry: Entry, identity: str, answer: Answer) -> None:
        entry.state, entry.counts, entry.best = answer.state, {}, ""
        entry.error = MirageError.from_dict(answer.error) if answer.error else None
        if answer.result is not None:
            entry.result, entry.result_identity = answer.result, identity
            self._known[entry.name, identity] = answer
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)


__all__ = ["Document", "Entry", "Session"]
