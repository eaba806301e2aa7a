"""An open text, the decorated functions in it, and how far each one's job is."""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import dataclass, field

from lsprotocol import types
from pygls.uris import to_fs_path

from mirage.errors import MirageError, MissingShape, SourceSyntaxError
from mirage.results.progress import ProgressCounts
from mirage.results.result import Result
from mirage.source import detect, shapes
from mirage.source.statements import try_parse
from mirage_lsp import kernel_block, text_edits
from mirage_lsp.observed_shapes import Seen


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
    def functions(self) -> list[detect.Decorated]:
        """The functions shown here; of several with one name the last, as in Python."""
        return [f for f in self.document.functions if self.holds(f.line - 1)]

    @property
    def blocks(self) -> list[kernel_block.Block]:
        return [b for b in self.document.blocks if self.holds(b.line)]


@dataclass
class Document:
    """An open text. What is read from it is read when it is asked for, once for each text; what was read of a function
    is kept as long as nothing that it depends on changes."""

    uri: str
    text: str
    version: int
    entries: dict[str, FunctionEntry] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None
    _scan: detect.Scan | None = None
    _blocks: list[kernel_block.Block] | None = None
    _lines: list[str] | None = None
    _read: dict[str, tuple[tuple[str, ...], str, bool]] = field(default_factory=dict)
    _error: tuple[SourceSyntaxError | None] | None = None
    _sound: frozenset[str] = frozenset()  # statements that are known to parse

    def set(self, text: str, version: int) -> None:
        self.text, self.version = text, version
        self._scan = self._blocks = self._lines = self._error = None

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
    def scan(self) -> detect.Scan:
        if self._scan is None:
            self._scan = detect.find(self.text, self.path)
        return self._scan

    @property
    def functions(self) -> list[detect.Decorated]:
        """The decorated functions, of several with one name the last, as in Python."""
        last = {f.name: f for f in self.scan.functions}
        return [f for f in self.scan.functions if last[f.name] is f]

    @property
    def blocks(self) -> list[kernel_block.Block]:
        if self._blocks is None:
            self._blocks = kernel_block.find(self.text) if kernel_block.MARK in self.text else []
        return self._blocks

    @property
    def syntax_error(self) -> SourceSyntaxError | None:
        """What is wrong with the text as a whole. Only statements that were not seen before are parsed, and the whole
        text when one of them does not parse."""
        if self._error is None:
            self._error = (self._look_for_error(),)
        return self._error[0]

    def _look_for_error(self) -> SourceSyntaxError | None:
        chunks = self.scan.chunks
        before = chunks.text[: chunks.all[0].start] if chunks.all else chunks.text
        sources = frozenset([before, *(chunks.source(c) for c in chunks.all)])
        for source in sources - self._sound:
            if isinstance(try_parse(source), BaseException):
                return chunks.syntax_error
        self._sound = sources
        return None

    def function(self, name: str) -> detect.Decorated | None:
        """The function of that name, the last one where several have it (as in Python)."""
        return next((f for f in reversed(self.scan.functions) if f.name == name), None)

    def entry(self, function: detect.Decorated) -> FunctionEntry:
        """The function's entry, its identity brought up to this text."""
        entry = self.entries.get(function.name)
        if entry is None:
            entry = self.entries[function.name] = FunctionEntry(function.name, home=self)
        entry.identity, entry.learned = self.identity(function), ()
        if entry.seen and isinstance(self.problem(function), MissingShape):
            entry.learned = entry.seen
            entry.identity += f":{hashlib.sha256(repr(entry.seen).encode()).hexdigest()[:16]}"
        return entry

    def identity(self, function: detect.Decorated) -> str:
        """What a result for a function depends on: its meaning, and its shapes."""
        return self._known(function)[1]

    def problem(self, function: detect.Decorated) -> MirageError | None:
        """Why a function cannot be submitted, or None."""
        return None if self._known(function)[2] else trouble(function)

    def _known(self, function: detect.Decorated) -> tuple[tuple[str, ...], str, bool]:
        known = self._read.get(function.name)
        if known is None or known[0] != function.sources:
            known = self._read[function.name] = (function.sources, *_identity(function))
        return known


def trouble(function: detect.Decorated) -> MirageError | None:
    """What is wrong with a function's shapes or kind, or None."""
    try:
        shapes.rows(function)
    except MirageError as error:
        return error
    return None


def _identity(function: detect.Decorated) -> tuple[str, bool]:
    """The identity, and whether the shapes could be read."""
    try:
        rows, sound = repr(shapes.rows(function)), True
    except MirageError:
        rows, sound = "unreadable", False
    return f"{function.digest}:{hashlib.sha256(rows.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}", sound
