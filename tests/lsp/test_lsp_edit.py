"""Replace and restore through the server, with a scripted editor that reckons UTF-16 by itself."""

from __future__ import annotations

from typing import Any

import pytest
from lsp_client import URI, Editor, Refused
from lsp_daemon import FakeDaemon
from lsp_samples import FUNCTION, HEAD, LINE, TEXT, result
from waiting import wait_until

ASTRAL = HEAD + "NOTE = '𝔐irage 😀'  # 😀😀\n" + FUNCTION + "\nLAST = '😀'\n"
TEXTS = {
    "lf": TEXT,
    "crlf": TEXT.replace("\n", "\r\n"),
    "cr": TEXT.replace("\n", "\r"),
    "mixed": TEXT.replace('"""Twice x."""\n', '"""Twice x."""\r\n'),
    "no final newline": TEXT.removesuffix("\n"),
    "no final newline, crlf": TEXT.replace("\n", "\r\n").removesuffix("\r\n"),
    "tabs": TEXT.replace("    ", "\t"),
    "blanks at line ends": TEXT.replace('"""Twice x."""\n', '"""Twice x."""  \n\n    \n'),
    "astral": ASTRAL,
    "form feed": HEAD + "\x0c\n" + FUNCTION.replace("# ", "\x0c# "),
    "line separator in a string": TEXT.replace("Twice x.", "Twice\u2028x\x85."),
    "code behind it": TEXT + "\n\nprint(double.__name__)\n",
    "decorator over lines": TEXT.replace("@mirage.optimize\n", "@mirage.optimize(\n    dims={},\n)\n"),
    "byte order mark": "\ufeff" + TEXT,
    "another name of the decorator": TEXT.replace("import mirage\n", "from mirage import optimize as opt\n").replace(
        "@mirage.optimize", "@opt"
    ),
    "a name in other letters": TEXT.replace("(x:", "(𝑥:").replace("x + x", "𝑥 + 𝑥"),
    "one line": HEAD + '@mirage.optimize\ndef double(x: Float16[Tensor, "16 64"]) -> Tensor: return x + x\n',
    "a block's end in a string": TEXT.replace("Twice x.", "Twice\n# mirage:end double\nx."),
    "a kept line in a string": TEXT.replace("Twice x.", "Twice\n# mirage:original | y\nx."),
    "all of a block's end in a string": TEXT.replace(
        "Twice x.", "Twice\n# mirage:original | y\n# fmt: on\n# mirage:end double\nx."
    ),
    "comment behind the decorator": TEXT.replace("@mirage.optimize\n", "@mirage.optimize  # 😀 yes\n"),
}


def ready(editor: Editor, daemon: FakeDaemon, text: str = TEXT, capabilities: Any = None, **changes: Any) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(**changes), "error": None}
    editor.initialize(capabilities=capabilities, trusted=True)
    editor.open(text)
    editor.wait_title("Replace")


def action(editor: Editor, part: str, line: int = LINE) -> dict[str, Any]:
    found = [a for a in editor.actions(line) if part in a["title"]]
    assert len(found) == 1
    return found[0]


def test_restore_gives_the_bytes_back(editor: Editor, daemon: FakeDaemon) -> None:
    """All texts in one editor, each in a document of its own."""
    daemon.at_once["double"] = {"state": "done", "result": result(), "error": None}
    editor.initialize(trusted=True)
    for number, (name, text) in enumerate(TEXTS.items()):
        uri = f"file:///project/{number}.py"
        editor.open(text, uri)
        editor.wait_title("Replace", uri)
        assert editor.command("mirage.replace", uri, "double") == {"applied": True, "reason": ""}, name
        assert "@mirage.optimize" not in [line.strip() for line in editor.texts[uri].splitlines()], name
        assert "Restore" in editor.wait_title("Mirage: replaced", uri), name
        lines = [lens["range"]["start"]["line"] for lens in editor.lenses(uri)]
        assert "1.8x" in (editor.hover(lines[0], uri) or ""), name
        assert editor.command("mirage.restore", uri, "double") == {"applied": True, "reason": ""}, name
        assert editor.texts[uri].encode() == text.encode(), name


def test_what_could_not_be_given_back_is_not_taken(editor: Editor, daemon: FakeDaemon) -> None:
    """A block's first line in a string: where the block ends could no longer be told."""
    begin = f"# mirage:begin other sha256={'0' * 64}"
    text = TEXT.replace("Twice x.", f"Twice\n{begin}\nx.")
    ready(editor, daemon, text)
    assert editor.command("mirage.replace", URI, "double")["error"]["code"] == "MIR602"
    assert editor.texts[URI] == text


def test_the_edit_itself(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    ready(editor, daemon, ASTRAL)
    chosen = action(editor, "replace", ASTRAL[: ASTRAL.index("@mirage")].count("\n"))
    assert "edit" not in chosen
    edit = editor.request("codeAction/resolve", chosen)["edit"]
    assert edit["documentChanges"][0]["textDocument"] == {"uri": URI, "version": 1}
    assert editor.apply(edit)
    golden("lsp/replaced.py", editor.texts[URI])


def test_the_actions_offered(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    titles = [a["title"] for a in editor.actions(LINE)]
    said = "1.8x (estimated for sm_90) · 80% of speed of light · TESTED (bound 2.0e-20)"
    edits = [
        f"Mirage: replace `double` with the kernel, {said}",
        "Mirage: write the kernel of `double` to a module and import it",
    ]
    assert titles == [*edits, "Mirage: measure `double` again"]
    assert [a["title"] for a in editor.actions(LINE, only=["refactor"])] == edits
    assert editor.actions(LINE, only=["quickfix"]) == [] and editor.actions(0) == []


def test_a_client_without_resolve_gets_commands(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon, capabilities={"workspace": {"applyEdit": True}})
    chosen = action(editor, "replace")
    assert chosen["command"]["arguments"] == [URI, "double", 1]
    assert editor.command(chosen["command"]["command"], *chosen["command"]["arguments"])["applied"] is True
    assert "changes" in editor.sent("workspace/applyEdit")[0]["edit"]
    assert "# mirage:begin double sha256=" in editor.texts[URI]


def test_a_stale_action_is_refused(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    chosen = action(editor, "replace")
    editor.change("# one more line\n" + TEXT)
    with pytest.raises(Refused) as refused:
        editor.request("codeAction/resolve", chosen)
    assert refused.value.code == -32801 and "MIR600" in str(refused.value)
    wait_until(lambda: editor.sent("window/showMessage"), "a message")
    assert editor.command("mirage.replace", URI, "double", 1)["error"]["code"] == "MIR600"
    assert editor.command("mirage.replace", URI, "double", 2)["applied"] is True


def test_an_edit_that_crosses_a_keystroke_changes_nothing(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    editor.before_edit = lambda: editor.change(TEXT + "# typed meanwhile\n")
    answer = editor.command("mirage.replace", URI, "double")
    assert answer == {"applied": False, "reason": "the text has changed"}
    assert editor.texts[URI] == TEXT + "# typed meanwhile\n"


def test_a_changed_original_is_not_given_back(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    editor.command("mirage.replace", URI, "double")
    editor.wait_title("Mirage: replaced")
    editor.change(editor.texts[URI].replace("# mirage:original |     return x + x", "# mirage:original |     return x"))
    assert editor.command("mirage.restore", URI, "double")["error"]["code"] == "MIR601"


def test_restore_survives_edits_of_the_kernel_and_around_it(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    editor.command("mirage.replace", URI, "double")
    editor.change("# above 😀\n" + editor.texts[URI].replace("[v + v for", "[2 * v for") + "# below\n")
    editor.choice = "Restore the function"
    editor.command("mirage.restore", URI, "double")
    assert editor.texts[URI] == "# above 😀\n" + TEXT + "# below\n"


def test_nothing_to_replace_or_restore(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    assert editor.command("mirage.replace", URI, "other")["error"]["code"] == "MIR603"
    assert editor.command("mirage.restore", URI, "double")["error"]["code"] == "MIR603"
    assert editor.command("mirage.replace", "file:///elsewhere.py", "double")["error"]["code"] == "MIR108"
    assert editor.command("mirage.replace")["error"]["code"] == "MIR108"
    assert editor.sent("workspace/applyEdit") == []


def test_a_module_that_does_not_fit_is_refused(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon, source="def double(x):\n    return x\n")
    assert editor.command("mirage.replace", URI, "double")["error"]["code"] == "MIR602"
    assert editor.texts[URI] == TEXT


def test_typing_in_parts_keeps_the_text_right(editor: Editor, daemon: FakeDaemon) -> None:
    """Incremental changes behind astral characters, counted in UTF-16 units."""
    ready(editor, daemon, ASTRAL)
    line = ASTRAL[: ASTRAL.index("LAST")].count("\n")
    at = {"line": line, "character": 10}  # behind LAST = '😀
    changes = [{"range": {"start": at, "end": at}, "text": "!"}]
    document = {"uri": URI, "version": 2}
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
    editor.texts[URI], editor.versions[URI] = ASTRAL.replace("LAST = '😀", "LAST = '😀!"), 2
    editor.command("mirage.replace", URI, "double")
    editor.command("mirage.restore", URI, "double")
    assert editor.texts[URI] == ASTRAL.replace("LAST = '😀", "LAST = '😀!")
