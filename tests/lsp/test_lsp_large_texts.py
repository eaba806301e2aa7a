"""Texts and changes that once held up the whole server: other requests are answered meanwhile, and what is read is right."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest
from lsp_client import URI, Editor
from lsp_samples import HEAD, TEXT

from mirage_lsp import changed_text
from mirage_lsp.changed_text import TextChange, apply_changes
from mirage_lsp.document import Document
from mirage_lsp.errors import TextTooCostly
from mirage_lsp.reader import Reader
from mirage_lsp.reading import Reading, TextReader
from mirage_lsp.text_lines import split_end, split_lines

FUNCTION = (
    '@mirage.optimize(dims={{"b": {dim}}})\ndef f{i}(x: Float16[Tensor, "b 64"]) -> Tensor:\n    return {body}\n\n\n'
)
# A name for 7 ** (16 ** 5): seconds for each more, in a few lines.
POWERS = HEAD + "A0 = 7\n" + "".join(f"A{i} = A{i - 1}**16\n" for i in range(1, 7))
POWERS += FUNCTION.format(i=0, dim="A6 % 7 + 8", body="x")
# Every quote looks for its end up to the end of the line: quadratic.
QUOTES = HEAD + TEXT + "y = " + '\\"' * 120_000 + '"""\n'


def closures(count: int, uses: int) -> str:
    """Functions that each refer to the same helpers."""
    helpers = "".join(f"def h{i}(x):\n    return x * {i}.5 + 1\n\n\n" for i in range(uses))
    body = " + ".join(f"h{i}(x)" for i in range(uses))
    return HEAD + helpers + "".join(FUNCTION.format(i=i, dim=8, body=body) for i in range(count))


def seconds(text: str) -> float:
    """Processor time of reading a text anew."""
    begin = time.process_time()
    Document("file:///project/model.py", text, 1).reading  # noqa: B018
    return time.process_time() - begin


def test_powers_of_powers_are_no_sizes() -> None:
    begin = time.process_time()
    (found,) = Document("file:///project/model.py", POWERS, 1).functions
    assert found.problem is not None and found.problem.code == "MIR104", found.problem
    assert time.process_time() - begin < 2.0  # 13 s when it was reckoned out
    (small,) = Document("file:///project/model.py", POWERS.replace("A6 % 7 + 8", "A1 % 7 + 8"), 1).functions
    assert small.problem is None  # a power that is a number of usual length is a size as before


@pytest.mark.parametrize("value", ["(A, A)", "f'{A}{A}'", "A * A"])
def test_doubling_ends(value: str) -> None:
    names = "A0 = 1 + 2**62\n" + "".join(f"A{i} = {value.replace('A', f'A{i - 1}')}\n" for i in range(1, 40))
    begin = time.process_time()
    (found,) = Document(
        "file:///project/model.py", HEAD + names + FUNCTION.format(i=0, dim="A39", body="x"), 1
    ).functions
    assert found.problem is not None
    assert time.process_time() - begin < 2.0


def test_functions_over_the_same_helpers_cost_what_their_texts_cost() -> None:
    once = min(seconds(closures(1, 60)) for _ in range(3))
    many = min(seconds(closures(40, 60)) for _ in range(2))
    assert (
        many < 40 * once
    )  # each helper is read once; when each function read all of them it took several times as much
    assert {f.problem for f in Document("file:///project/model.py", closures(3, 60), 1).functions} == {None}


def test_a_closure_has_an_end() -> None:
    found = TextReader().read(closures(1, 1100), "model.py").functions[0]
    fewer = TextReader().read(closures(1, 900), "model.py").functions[0]
    assert found.identity != fewer.identity


def naive(text: str, change: TextChange) -> str:
    """One change, reckoned from the whole text."""
    if change.span is None:
        return change.text
    lines = split_lines(text)

    def offset(line: int, character: int) -> int:
        if line >= len(lines):
            return len(text)
        return sum(map(len, lines[:line])) + changed_text.column_of(split_end(lines[line])[0], character)

    start, end = offset(*change.span[:2]), offset(*change.span[2:])
    return text[:start] + change.text + text[max(start, end) :]


@pytest.mark.parametrize("block", [2, 3, 256])
def test_changes_in_one_pass_give_what_one_after_the_other_gives(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_text, "BLOCK", block)
    rng = random.Random(block)
    for _ in range(2000):
        text = "".join(rng.choice(["a", "b😀", "\n", "\r", "\r\n", "x"]) for _ in range(rng.randrange(12)))
        changes = [
            TextChange(
                "".join(rng.choice(["a", "\n", "\r", "\r\n", ""]) for _ in range(rng.randrange(3))),
                (rng.randrange(6), rng.randrange(4), rng.randrange(6), rng.randrange(4))
                if rng.random() < 0.95
                else None,
            )
            for _ in range(rng.randrange(1, 7))
        ]
        expected = text
        for change in changes:
            expected = naive(expected, change)
        assert apply_changes(text, changes) == expected, (text, changes)


def test_ten_times_the_changes_cost_ten_times_as_much() -> None:
    """In a text of 20,000 lines, each with a new line: not the lines times the changes."""
    text, rng = "x = 1\n" * 20_000, random.Random(3)

    def cost(count: int) -> float:
        changes = [TextChange("\n", (line, 0, line, 1)) for line in (rng.randrange(19_000) for _ in range(count))]
        begin = time.process_time()
        apply_changes(text, changes)
        return time.process_time() - begin

    one = TextChange("y", (3, 0, 3, 1))
    begin = time.process_time()
    for _ in range(20):
        naive(text, one)
    alone = (time.process_time() - begin) / 20
    assert min(cost(2000) for _ in range(3)) < 2000 * alone / 10


async def _read(text: str) -> Reading:
    reader = Reader()
    try:
        return await reader.read("file:///project/model.py", "model.py", text)
    finally:
        await reader.close()


def test_another_process_reads_the_same() -> None:
    text = TEXT + closures(3, 2) + FUNCTION.format(i=9, dim="4", body="x + nothing") + "def broken(:\n"
    here, there = TextReader().read(text, "model.py"), asyncio.run(_read(text))
    assert [(f.name, f.line, f.identity, str(f.problem), f.dims) for f in here.functions] == [
        (f.name, f.line, f.identity, str(f.problem), f.dims) for f in there.functions
    ]
    assert str(here.error) == str(there.error) and here.error is not None and len(here.functions) > 3


def test_a_text_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from mirage_lsp import reader

    monkeypatch.setattr(reader, "QUICK_S", 0.3)
    monkeypatch.setattr(reader, "SLOW_S", 0.5)
    with pytest.raises(TextTooCostly):
        asyncio.run(_read(QUOTES))


def answered(editor: Editor, uri: str) -> None:
    """Another document's hover, before anything else."""
    assert "double" in str(editor.hover(len(HEAD.splitlines()), uri)) or editor.lenses(uri)


@pytest.mark.parametrize("text", [POWERS, QUOTES, HEAD + "y = " + "[" * 90_000], ids=["powers", "quotes", "nested"])
def test_a_hostile_text_holds_up_nobody(editor: Editor, text: str) -> None:
    """Another document is answered for before the hostile one is, though that one was asked for first."""
    other = "file:///project/other.py"
    editor.initialize()
    editor.open(TEXT, other)
    editor.wait_title("", other)
    editor.open(text)
    slow = editor.start_request("textDocument/codeLens", {"textDocument": {"uri": URI}})
    begin = time.perf_counter()
    for _ in range(5):
        answered(editor, other)
    taken = time.perf_counter() - begin
    assert taken < 5.0, taken  # the text took 13 s and more
    deadline = time.perf_counter() + 60
    while not any("method" not in m and m.get("id") == slow for m in list(editor.messages)):
        assert time.perf_counter() < deadline
        time.sleep(0.05)


def test_ten_thousand_changes_in_one_message(editor: Editor) -> None:
    other = "file:///project/other.py"
    editor.initialize()
    editor.open(TEXT, other)
    editor.wait_title("", other)
    editor.open(TEXT + "\n\n# " + "x" * 12_000 + "\n" + "y = 1\n" * 20_000)
    line = TEXT.count("\n") + 2
    at: dict[str, Any] = {"start": {"line": line, "character": 2}, "end": {"line": line, "character": 3}}
    changes = [{"range": at, "text": ""} for _ in range(10_000)]
    changes += [{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "\n"}]
    lenses = editor.lenses()
    editor.versions[URI] += 1
    document = {"uri": URI, "version": editor.versions[URI]}
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
    answered(editor, other)
    moved = editor.lenses()
    (before,), (after,) = ({x["range"]["start"]["line"] for x in found} for found in (lenses, moved))
    assert after == before + 1


@pytest.mark.parametrize("bad", [{"text": 3}, {"range": {"start": 1}, "text": ""}, 7])
def test_many_changes_that_do_not_fit_change_nothing(editor: Editor, bad: Any) -> None:
    editor.initialize()
    editor.open(TEXT)
    editor.wait_title("")
    good = {"text": "nothing"}
    document = {"uri": URI, "version": 2}
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [*[good] * 100, bad]})
    assert editor.titles() != []  # the text is still there
