"""Positions and text edits. This is the only file that knows UTF-16, LSP's line endings and document versions.

Offsets are indices into a Python string. LSP ends a line at LF, CRLF or CR, and nowhere else (`str.splitlines` also
stops at form feeds and Unicode separators, so it is not used). A position past the end of a line is its end, one inside
a surrogate pair is before the character.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types

from mirage_lsp.changed_text import TextChange, apply_changes, column_of
from mirage_lsp.text_lines import line_end_of as line_end_of
from mirage_lsp.text_lines import split_end as split_end
from mirage_lsp.text_lines import split_lines as split_lines


def utf16_length(text: str) -> int:
    return len(text) + sum(c > "\uffff" for c in text)


def offset_of(lines: Sequence[str], position: types.Position) -> int:
    """The offset of a position in the text that `lines` join to."""
    if position.line >= len(lines):
        return sum(map(len, lines))
    text, _ = split_end(lines[position.line])
    return sum(map(len, lines[: position.line])) + column_of(text, position.character)


def position_of(lines: Sequence[str], offset: int) -> types.Position:
    """The position of an offset; an offset within a line end is the end of that line."""
    for number, line in enumerate(lines):
        if offset < len(line) or number == len(lines) - 1:
            text, _ = split_end(line)
            return types.Position(line=number, character=utf16_length(text[: min(offset, len(text))]))
        offset -= len(line)
    return types.Position(line=0, character=0)


def place(lines: Sequence[str], line: int, column: int) -> types.Position:
    """The position of a 0-based line and a column in characters, both drawn into the text."""
    line = max(0, min(line, len(lines) - 1))
    text, _ = split_end(lines[line])
    return types.Position(line=line, character=utf16_length(text[: max(0, column)]))


def line_range(lines: Sequence[str], line: int, column: int = 0) -> types.Range:
    """From a column (in characters) of a 0-based line to the end of that line's text."""
    start = place(lines, line, column)
    text, _ = split_end(lines[start.line])
    return types.Range(start=start, end=types.Position(line=start.line, character=utf16_length(text.rstrip())))


def apply_change(text: str, change: types.TextDocumentContentChangeEvent) -> str:
    """The text after one change of `textDocument/didChange`, incremental or whole."""
    return apply_changes(text, [change_of(change)])


def change_of(change: types.TextDocumentContentChangeEvent) -> TextChange:
    """A change as LSP has it."""
    if isinstance(change, types.TextDocumentContentChangePartial):
        start, end = change.range.start, change.range.end
        return TextChange(change.text, (start.line, start.character, end.line, end.character))
    return TextChange(change.text)


def replacement(text: str, start: int, end: int, new: str) -> types.TextEdit:
    """The edit that puts `new` between two offsets."""
    lines = split_lines(text)
    span = types.Range(start=position_of(lines, start), end=position_of(lines, end))
    return types.TextEdit(range=span, new_text=new)


def versioned(
    uri: str,
    version: int | None,
    edits: Sequence[types.TextEdit],
    note: tuple[str, str, bool] | None = None,
    module: tuple[Path, str] | None = None,
) -> types.WorkspaceEdit:
    """Edits that the client refuses if the document is no longer at `version`. `note`: id and label of what the client
    says of them, and whether it asks before it applies them. `module`: a file to write, with its text."""
    ident = note[0] if note else None
    changes: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    if module is not None:
        path, text = module
        options = types.CreateFileOptions(overwrite=True)
        start = types.Position(line=0, character=0)
        whole = types.TextEdit(range=types.Range(start=start, end=start), new_text=text)
        changes.append(types.CreateFile(uri=path.as_uri(), options=options, annotation_id=ident))
        changes.append(_of_document(path.as_uri(), None, [whole], ident))
    changes.append(_of_document(uri, version, edits, ident))
    annotation = {note[0]: types.ChangeAnnotation(label=note[1], needs_confirmation=note[2])} if note else None
    return types.WorkspaceEdit(document_changes=changes, change_annotations=annotation)


def _of_document(
    uri: str, version: int | None, edits: Sequence[types.TextEdit], ident: str | None
) -> types.TextDocumentEdit:
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    noted: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = list(edits)
    if ident is not None:
        noted = [types.AnnotatedTextEdit(annotation_id=ident, range=e.range, new_text=e.new_text) for e in edits]
    return types.TextDocumentEdit(text_document=document, edits=noted)
