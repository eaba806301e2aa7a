"""What an editor has to know of a text: its decorated functions, what is wrong with them, its blocks. Plain data, which
another process may have read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mirage.errors import MirageError, SymbolWithoutSize, UnsupportedFunctionKind
from mirage.source import detect, shapes
from mirage.source.statements import try_parse
from mirage_lsp import kernel_block

WORD = "mirage"  # a text without it has nothing to read


@dataclass(frozen=True)
class ReadFunction:
    """A decorated function, places as `detect.Decorated` has them. `identity` is what a result depends on (its meaning and
    its shapes), `problem` why it cannot be submitted. `dims`: the sizes that the decorator gives; `unsized`: the names of
    its shapes without a size, `dim_names` the names of each parameter's dimensions (both only where that is the problem)."""

    name: str
    line: int
    end_line: int
    col: int
    decorator_line: int
    identity: str
    problem: MirageError | None = None
    has_inputs: bool = False
    dims: tuple[tuple[str, tuple[int, ...]], ...] = ()
    unsized: tuple[str, ...] = ()
    dim_names: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class ReadBlock:
    """A block of `kernel_block`: its name, its first and its last line, 0-based. `edited`: its text is not the one that was
    written there, or verified since. `edited_word`: the verdict (PROVED, TESTED) on code that a person had changed there."""

    name: str
    line: int
    last_line: int
    edited: bool = False
    edited_word: str = ""

    @property
    def by_hand(self) -> bool:
        """Whether a person changed its code: what is known of the kernel (its time, its proof) is not about this code."""
        return self.edited or bool(self.edited_word)


@dataclass(frozen=True)
class Reading:
    """`functions` in the order of the text, of several with one name the last, as in Python; `error` is what is wrong with
    the text as a whole."""

    functions: tuple[ReadFunction, ...] = ()
    blocks: tuple[ReadBlock, ...] = ()
    error: MirageError | None = None

    @cached_property
    def by_name(self) -> dict[str, ReadFunction]:
        return {f.name: f for f in self.functions}

    def to_data(self) -> list[Any]:
        """As msgpack takes it."""
        functions = [
            [f.name, f.line, f.end_line, f.col, f.decorator_line, f.identity, _told(f.problem), f.has_inputs, f.dims,
             f.unsized, f.dim_names] for f in self.functions
        ]  # fmt: skip
        return [
            functions,
            [[b.name, b.line, b.last_line, b.edited, b.edited_word] for b in self.blocks],
            _told(self.error),
        ]

    @staticmethod
    def from_data(data: Any) -> Reading:
        """The reading that `to_data` gave, unpacked with tuples for arrays."""
        functions, blocks, error = data
        return Reading(
            tuple(_function(*f) for f in functions),
            tuple(ReadBlock(*b) for b in blocks),
            _heard(error),
        )


def _function(
    name: str, line: int, end_line: int, col: int, decorator_line: int, identity: str, problem: Any, *rest: Any
) -> ReadFunction:
    return ReadFunction(name, line, end_line, col, decorator_line, identity, _heard(problem), *rest)


def _told(error: MirageError | None) -> dict[str, Any] | None:
    return None if error is None else error.to_dict()


def _heard(data: dict[str, Any] | None) -> MirageError | None:
    return None if data is None else MirageError.from_dict(data)


class ReadingStopped(Exception):
    """The text is read no further: there is a newer one."""


@dataclass
class TextReader:
    """Reads the texts of one document, one after the other. What was read of a function is kept as long as nothing that it
    depends on changes."""

    _known: dict[str, tuple[bytes, str, bool]] = field(
        default_factory=dict
    )  # digest of the sources, identity, whether sound
    _sound: frozenset[bytes] = frozenset()  # digests of statements that are known to parse

    def read(self, text: str, path: str, stopped: Callable[[], bool] = lambda: False) -> Reading:
        """Everything about a text. Raises ReadingStopped once `stopped` says so."""
        if WORD not in text:
            return Reading()
        scan = detect.find(text, path)
        last = {f.name: f for f in scan.functions}
        functions = []
        for found in scan.functions:
            if stopped():
                raise ReadingStopped
            if last[found.name] is found:
                functions.append(self._function(found))
        blocks = kernel_block.find(text) if kernel_block.MARK in text else []
        if stopped():
            raise ReadingStopped
        error = self._look_for_error(scan)
        return Reading(
            tuple(functions),
            tuple(ReadBlock(b.name, b.line, b.last_line, kernel_block.edited(b), b.edited_word) for b in blocks),
            error,
        )

    def _function(self, found: detect.Decorated) -> ReadFunction:
        """What is known of it, at its present place; read where its sources have changed. A problem has a place of its own,
        so it is looked for each time."""
        sources = _digest("\0".join(found.sources))
        known = self._known.get(found.name)
        if known is None or known[0] != sources:
            rows, problem = _shapes(found)
            known = self._known[found.name] = (sources, _identity(found, rows), problem is None)
        else:
            problem = None if known[2] else _shapes(found)[1]
        unsized, names = shapes.unsized(found) if isinstance(problem, SymbolWithoutSize) else ((), {})
        return ReadFunction(
            found.name, found.line, found.end_line, found.col, found.decorator_line, known[1], problem,
            found.options.inputs is not None, found.options.dims, unsized, tuple(names.items()),
        )  # fmt: skip

    def _look_for_error(self, scan: detect.Scan) -> MirageError | None:
        """What is wrong with the text as a whole. Only statements that were not seen before are parsed, and the whole text
        when one of them does not parse."""
        chunks = scan.chunks
        before = chunks.text[: chunks.all[0].start] if chunks.all else chunks.text
        sources = {_digest(s): s for s in (before, *(chunks.source(c) for c in chunks.all))}
        for digest in sources.keys() - self._sound:
            if isinstance(try_parse(sources[digest]), BaseException):
                return chunks.syntax_error
        self._sound = frozenset(sources)
        return None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _identity(found: detect.Decorated, rows: str) -> str:
    return f"{found.digest}:{_digest(rows).hex()[:16]}"


def _shapes(found: detect.Decorated) -> tuple[str, MirageError | None]:
    """The shapes as a text, and why they cannot be read."""
    try:
        return repr(shapes.rows(found)), None
    except MirageError as error:
        return "unreadable", error
    except RecursionError:
        return "unreadable", UnsupportedFunctionKind(f"`{found.name}` is nested too deeply", line=found.line)
