"""Notebooks over stdio: cells are one text to read, and documents of their own to show and edit."""

from __future__ import annotations

from typing import Any

from lsp_client import FULL, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import FUNCTION, HEAD, result
from waiting import wait_until

BOOK = "file:///project/book.ipynb"
FIRST, TEXT, SECOND = (f"vscode-notebook-cell:/project/book.ipynb#{n}" for n in ("a", "b", "c"))
CAPABILITIES = {**FULL, "notebookDocument": {"synchronization": {"dynamicRegistration": False}}}
TYPED = "%matplotlib inline\n!pip list 😀\n" + FUNCTION.removesuffix("\n")  # no newline at the cell's end
LINE = 2  # of the decorator in the second code cell


def cell(uri: str, code: bool = True) -> dict[str, Any]:
    return {"kind": 2 if code else 1, "document": uri}


def item(uri: str, text: str) -> dict[str, Any]:
    return {"uri": uri, "languageId": "python", "version": 1, "text": text}


def open_book(editor: Editor, typed: str = TYPED) -> None:
    editor.initialize(capabilities=CAPABILITIES, trusted=True)
    editor.texts |= {FIRST: HEAD, SECOND: typed}
    editor.versions |= {FIRST: 1, SECOND: 1}
    cells = [cell(FIRST), cell(TEXT, code=False), cell(SECOND)]
    book = {"uri": BOOK, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
    texts = [item(FIRST, HEAD), item(TEXT, "# words"), item(SECOND, typed)]
    editor.notify("notebookDocument/didOpen", {"notebookDocument": book, "cellTextDocuments": texts})


def change(editor: Editor, uri: str, text: str) -> None:
    """As the editor's own `change`, for a cell."""
    editor.texts[uri] = text
    editor.versions[uri] += 1
    content = {"document": {"uri": uri, "version": editor.versions[uri]}, "changes": [{"text": text}]}
    book = {"uri": BOOK, "version": editor.versions[uri]}
    editor.notify(
        "notebookDocument/didChange", {"notebookDocument": book, "change": {"cells": {"textContent": [content]}}}
    )


def test_initialize_offers_notebooks(editor: Editor) -> None:
    offered = editor.initialize(capabilities=CAPABILITIES)["capabilities"]["notebookDocumentSync"]
    assert offered["notebookSelector"] == [{"cells": [{"language": "python"}]}]


def test_a_cell_uses_what_another_imports(editor: Editor, daemon: FakeDaemon) -> None:
    open_book(editor)
    asked = daemon.wait("submit")
    assert asked["function"] == "double" and asked["path"] == "/project/book.ipynb"
    assert "import mirage" in asked["text"] and "#matplotlib inline" in asked["text"] and "# words" not in asked["text"]
    daemon.wait("subscribe")
    daemon.finish("job-1", "done", result())
    assert "Replace" in editor.wait_title("1.8x", SECOND)
    assert editor.lenses(SECOND)[0]["range"]["start"] == {"line": LINE, "character": 0}
    assert editor.lenses(FIRST) == [] and editor.hover(LINE, FIRST) is None
    assert "1.8x" in (editor.hover(LINE, SECOND) or "")
    assert editor.lenses(BOOK) == []


def test_replace_and_restore_in_a_cell(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(), "error": None}
    open_book(editor)
    editor.wait_title("Replace", SECOND)
    editor.change = lambda text, uri="": change(editor, uri, text)  # type: ignore[method-assign]
    assert editor.command("mirage.replace", SECOND, "double")["applied"] is True
    assert editor.texts[SECOND].startswith("%matplotlib inline\n!pip list 😀\n# mirage:begin double")
    assert editor.texts[FIRST] == HEAD
    lenses = editor.wait_title("Mirage: replaced", SECOND)
    assert "Restore" in lenses
    assert editor.command("mirage.restore", SECOND, "double", 1)["error"]["code"] == "MIR600"
    assert editor.command("mirage.restore", SECOND, "double", 2)["applied"] is True
    assert editor.texts[SECOND] == TYPED


def test_names_of_other_cells_are_not_taken(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(), "error": None}
    open_book(editor)
    editor.wait_title("Replace", SECOND)
    change(editor, FIRST, HEAD + "math = 3\n")
    assert editor.command("mirage.replace", SECOND, "double")["error"]["code"] == "MIR602"


def test_a_problem_stands_in_its_cell_and_goes_with_it(editor: Editor, daemon: FakeDaemon) -> None:
    open_book(editor, TYPED.replace('Float16[Tensor, "16 64"]', "Tensor"))
    (found,) = wait_until(lambda: editor.problems(SECOND), "a diagnostic")
    assert found["code"] == "MIR105" and found["range"]["start"]["line"] == LINE + 1
    assert editor.problems(FIRST) == []
    structure = {"array": {"start": 2, "deleteCount": 1}, "didClose": [{"uri": SECOND}]}
    book = {"uri": BOOK, "version": 2}
    editor.notify(
        "notebookDocument/didChange", {"notebookDocument": book, "change": {"cells": {"structure": structure}}}
    )
    wait_until(lambda: not editor.problems(SECOND), "no diagnostic")
    assert editor.lenses(SECOND) == []


def test_cells_come_and_move(editor: Editor, daemon: FakeDaemon) -> None:
    open_book(editor)
    daemon.wait("submit")
    new = SECOND + "2"
    editor.texts[new], editor.versions[new] = FUNCTION.replace("double", "twice"), 1
    structure = {
        "array": {"start": 0, "deleteCount": 3, "cells": [cell(FIRST), cell(new), cell(SECOND)]},
        "didOpen": [item(new, editor.texts[new])],
    }
    book = {"uri": BOOK, "version": 2}
    editor.notify(
        "notebookDocument/didChange", {"notebookDocument": book, "change": {"cells": {"structure": structure}}}
    )
    assert daemon.wait("submit", 2)["function"] == "twice"
    assert editor.titles(new)[0] == "Mirage: queued" and editor.lenses(new)[0]["range"]["start"]["line"] == 0
    assert editor.lenses(SECOND)[0]["range"]["start"]["line"] == LINE
    editor.notify("notebookDocument/didClose", {"notebookDocument": {"uri": BOOK}, "cellTextDocuments": []})
    daemon.wait("cancel", 2)
    assert editor.lenses(new) == []


def test_a_cell_in_another_language_is_not_read(editor: Editor, daemon: FakeDaemon) -> None:
    open_book(editor, "%%bash\n" + FUNCTION)
    change(editor, FIRST, HEAD + FUNCTION.replace("double", "first"))
    assert daemon.wait("submit")["function"] == "first"
    assert editor.lenses(SECOND) == []
