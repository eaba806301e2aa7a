"""An open text, the decorated functions in it, and how far each one's job is."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from lsprotocol import types
from pygls.uris import to_fs_path

from mirage.errors import MirageError, MissingShape
from mirage.results.progress import ProgressCounts
from mirage.results.result import Result
from mirage.source import detect
from mirage_lsp import text_edits
from mirage_lsp.changed_text import TextChange, apply_changes
from mirage_lsp.errors import NoKernel
from mirage_lsp.observed_shapes import Seen
from mirage_lsp.reading import ReadBlock, ReadFunction, Reading, TextReader

MANY_CHANGES = 256
MAX_EDITED = 512 << 10  # characters of a text that is parsed in the loop, for an edit


@dataclass
class FunctionEntry:
    """One function's job. `state` is one of `protocol.STATES`, or idle, away, untrusted. `identity` is the text that
    the state is about; `result_identity` the one that `result` is about (an older one when the result is stale)."""

    name: str
    identity: str = ""
    asked: str = ""  # the identity that the daemon was last asked about
    state: str = "idle"
    counts: ProgressCounts = field(default_factory=ProgressCounts)
    best: str = ""
    result: Result | None = None
    result_identity: str = ""
    error: MirageError | None = None
    seen: Seen = ()  # what it was called with at run time
    learned: Seen = ()  # the same where the text says no shapes: what it is optimized for
    task: asyncio.Task[None] | None = None
    stopped: bool = False  # the task was cancelled by the user
    home: Document | None = field(default=None, repr=False)  # where it is shown

    @property
    def running(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def stale(self) -> bool:
        return self.result is not None and self.result_identity != self.identity


@dataclass(frozen=True)
class View:
    """What one URI shows of a document: all of a file, or one cell of a notebook. `first` is the document's 0-based line
    where it begins, `count` its lines; `text` and `elsewhere` (the rest of the document) are as detection reads them."""

    document: Document
    uri: str
    version: int
    first: int
    count: int
    text: str
    elsewhere: str = ""
    raw: str | None = None  # the text as the client has it, where that is another

    def holds(self, line: int) -> bool:
        """Whether a 0-based line of the document is shown here."""
        return self.first <= line < self.first + self.count

    def place(self, line: int, column: int = 0) -> types.Position:
        """The position here of a 0-based line and a column in characters of the document."""
        at = text_edits.place(self.document.lines, line, column)
        return types.Position(line=max(0, at.line - self.first), character=at.character)

    def line_range(self, line: int, column: int = 0) -> types.Range:
        """The range here from a column of a line of the document to the end of the line's text."""
        found = text_edits.line_range(self.document.lines, line, column)
        start, end = found.start, found.end
        start.line, end.line = max(0, start.line - self.first), max(0, end.line - self.first)
        return found

    @property
    def functions(self) -> list[ReadFunction]:
        """The functions shown here; of several with one name the last, as in Python."""
        return [f for f in self.document.functions if self.holds(f.line - 1)]

    @property
    def blocks(self) -> list[ReadBlock]:
        return [b for b in self.document.blocks if self.holds(b.line)]


@dataclass
class Document:
    """An open text. What is read from it is `reading`, which a session sets when it has been read elsewhere: until then it
    is that of an earlier text. Without a session (`alone`) it is read here, when it is asked for."""

    uri: str
    text: str
    version: int
    entries: dict[str, FunctionEntry] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None
    alone: bool = True
    pending: list[TextChange] = field(default_factory=list)  # what `text` lacks
    task: asyncio.Task[None] | None = None  # reads the text
    due: bool = False  # what follows from the text is decided once it is read
    _reader: TextReader = field(default_factory=TextReader)
    _reading: Reading | None = None
    _latest: Reading = field(default_factory=Reading)
    _lines: list[str] | None = None

    def set(self, text: str, version: int) -> None:
        self.text = text
        self.pending.clear()
        self._outdated(version)

    def edit(self, changes: Sequence[TextChange], version: int) -> None:
        """Changes of the text. Many are applied beside the loop, before the text is read; until then it is the one before."""
        if len(self.pending) + len(changes) > MANY_CHANGES:
            self.pending += changes
            self._outdated(version)
        else:
            self.set(apply_changes(self.text, (*self.pending, *changes)), version)

    def apply(self, text: str) -> None:
        """The pending changes have given this text."""
        self.text, self._lines = text, None
        self.pending.clear()

    def _outdated(self, version: int) -> None:
        self.version = version
        self._reading = self._lines = None
        self.due = False
        if self.task is not None:
            self.task.cancel()
            self.task = None

    def take(self, reading: Reading) -> None:
        """The text has been read."""
        self._reading = self._latest = reading

    @property
    def fresh(self) -> bool:
        """Whether the reading is that of the text."""
        return self._reading is not None

    @property
    def reading(self) -> Reading:
        if self._reading is None and self.alone:
            self.take(self._reader.read(self.text, self.path))
        return self._latest

    @property
    def views(self) -> list[View]:
        """What is shown of it, in order."""
        return [View(self, self.uri, self.version, 0, len(self.lines), self.text)]

    def view_at(self, line: int) -> View | None:
        """The view that shows a 0-based line."""
        return next((v for v in self.views if v.holds(line)), None)

    @property
    def path(self) -> str:
        return to_fs_path(self.uri) or os.path.basename(self.uri)

    @property
    def lines(self) -> list[str]:
        if self._lines is None:
            self._lines = text_edits.split_lines(self.text)
        return self._lines

    @property
    def functions(self) -> tuple[ReadFunction, ...]:
        """The decorated functions, of several with one name the last, as in Python."""
        return self.reading.functions

    @property
    def blocks(self) -> tuple[ReadBlock, ...]:
        return self.reading.blocks

    def parsed(self, name: str) -> detect.Decorated | None:
        """A function with its syntax tree, for an edit that the user asked for. Raises NoKernel for a text over MAX_EDITED."""
        if len(self.text) > MAX_EDITED:
            raise NoKernel(
                f"a text of more than {MAX_EDITED >> 10} Ki characters is not edited",
                next_step=f"put `{name}` into a file of its own",
            )
        return next((f for f in reversed(detect.find(self.text, self.path).functions) if f.name == name), None)

    def entry(self, function: ReadFunction) -> FunctionEntry:
        """The function's entry, its identity brought up to this text."""
        entry = self.entries.get(function.name)
        if entry is None:
            entry = self.entries[function.name] = FunctionEntry(function.name, home=self)
        entry.identity, entry.learned = function.identity, ()
        if entry.seen and isinstance(function.problem, MissingShape):
            entry.learned = entry.seen
            entry.identity += f":{hashlib.sha256(repr(entry.seen).encode()).hexdigest()[:16]}"
        return entry
