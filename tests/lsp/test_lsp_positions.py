"""Positions in UTF-16 against a reckoning in bytes, and changes against the strings that they make."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsp_client import offset
from lsprotocol import types

from mirage_lsp import text_edits

TEXTS = st.text(alphabet=st.sampled_from("ab \t\n\r\x0c\x85é\u2028中😀𝔐"), max_size=60)


def as_dict(position: types.Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}


@given(TEXTS)
@settings(max_examples=500, deadline=None)
def test_lines_join_to_the_text(text: str) -> None:
    lines = text_edits.split_lines(text)
    assert "".join(lines) == text
    assert all(text_edits.split_end(line)[1] for line in lines[:-1]) and not text_edits.split_end(lines[-1])[1]
    assert not any(c in text_edits.split_end(line)[0] for line in lines for c in "\r\n")


@given(TEXTS, st.integers(0, 60))
@settings(max_examples=1000, deadline=None)
def test_offsets_and_positions_are_inverse(text: str, at: int) -> None:
    at = min(at, len(text))
    lines = text_edits.split_lines(text)
    position = text_edits.position_of(lines, at)
    inside_crlf = text[max(0, at - 1) : at + 1] == "\r\n" and at > 0
    if not inside_crlf:
        assert text_edits.offset_of(lines, position) == at
        assert offset(text, as_dict(position)) == at
    else:
        assert text_edits.offset_of(lines, position) == at - 1


@given(TEXTS, st.integers(0, 60), st.integers(0, 60), TEXTS)
@settings(max_examples=500, deadline=None)
def test_an_edit_made_here_is_the_edit_applied_there(text: str, start: int, end: int, new: str) -> None:
    start, end = sorted((min(start, len(text)), min(end, len(text))))
    if any(0 < at < len(text) and text[at - 1 : at + 1] == "\r\n" for at in (start, end)):
        return  # LSP has no position between CR and LF
    edit = text_edits.replacement(text, start, end, new)
    change = types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
    assert text_edits.apply_change(text, change) == text[:start] + new + text[end:]


@given(TEXTS, st.integers(0, 8), st.integers(0, 40))
def test_no_position_raises(text: str, line: int, character: int) -> None:
    at = text_edits.offset_of(text_edits.split_lines(text), types.Position(line=line, character=character))
    assert 0 <= at <= len(text)


def test_within_a_surrogate_pair_is_before_the_character() -> None:
    assert text_edits.offset_of(["a😀b"], types.Position(line=0, character=2)) == 1
    assert text_edits.offset_of(["a😀b"], types.Position(line=0, character=3)) == 2


def test_form_feeds_and_separators_end_no_line() -> None:
    assert text_edits.split_lines("a\x0cb\u2028c\x85\nd") == ["a\x0cb\u2028c\x85\n", "d"]


@pytest.mark.parametrize(
    ("text", "expected"), [("a\nb\r\nc\r\n", "\r\n"), ("a\nb\r\n", "\n"), ("", "\n"), ("a\r", "\n")]
)
def test_the_line_end_that_a_text_uses(text: str, expected: str) -> None:
    assert text_edits.line_end_of(text) == expected


def test_a_reversed_range_repeats_nothing() -> None:
    reverse = types.Range(start=types.Position(line=0, character=3), end=types.Position(line=0, character=1))
    assert text_edits.apply_change("abcd", types.TextDocumentContentChangePartial(range=reverse, text="X")) == "abcXd"
