"""Every method and every command over stdio, one after the other on the same file, its answer as it was written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import FULL, URI, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import FUNCTION, HEAD, LINE, TEXT, kept, result
from waiting import LIMIT_S, wait_until

from mirage.mugraph import grammar, json_form
from mirage_lsp.methods import METHODS
from mirage_lsp.methods.execute_command import COMMANDS

HERE = {"textDocument": {"uri": URI}}
AT = {"line": LINE, "character": 4}
SPAN = {"range": {"start": AT, "end": AT}}
BARE = HEAD + "@mirage.optimize\ndef double(x):\n    return x + x\n"
UNSIZED = HEAD + FUNCTION.replace("16 64", "b 64")
NOTEBOOK = "file:///project/cells.ipynb"
CELL = f"{NOTEBOOK}#1"
Case = Callable[[Editor, FakeDaemon], Any]


def done(daemon: FakeDaemon, **changes: Any) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(**changes), "error": None}


def opened(editor: Editor, daemon: FakeDaemon, text: str = TEXT, **capabilities: Any) -> None:
    """The file on the screen, its job ended with a kernel."""
    done(daemon)
    editor.initialize(capabilities={**FULL, **capabilities}, trusted=True)
    editor.open(text)
    editor.wait_title("Mirage: ")
    wait_until(lambda: not any("queued" in title for title in editor.titles()), "an answer")


def shown(editor: Editor, uri: str = URI) -> dict[str, Any]:
    """What a notification leaves on the screen."""
    return {"lenses": editor.titles(uri), "problems": editor.problems(uri)}


def request(method: str, params: dict[str, Any]) -> Case:
    def case(editor: Editor, daemon: FakeDaemon) -> Any:
        opened(editor, daemon)
        return editor.request(method, params)

    return case


def initialize(editor: Editor, daemon: FakeDaemon) -> Any:
    return editor.initialize()["capabilities"]["positionEncoding"]  # the rest: lsp/initialize.json


def initialized(editor: Editor, daemon: FakeDaemon) -> Any:
    configuration = {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}}
    editor.initialize(capabilities={**FULL, "workspace": {**FULL["workspace"], **configuration}})
    wait_until(lambda: editor.sent("workspace/configuration"), "the question for the configuration")
    return [editor.sent("client/registerCapability"), editor.sent("workspace/configuration")]


def did_open(editor: Editor, daemon: FakeDaemon) -> Any:
    opened(editor, daemon)
    return shown(editor)


def did_change(editor: Editor, daemon: FakeDaemon) -> Any:
    """Behind an astral character of the same line, in UTF-16 units."""
    before = '    note = "😀"; return x + '
    text = TEXT.replace("    return x + ", before)
    opened(editor, daemon, text)
    daemon.at_once["double"] = {"state": "kept", "result": kept("it is as fast"), "error": None}
    line, column = text[: text.index(before)].count("\n"), len(before) + 1
    span = {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + 1}}
    document = {"uri": URI, "version": 2}
    editor.notify(
        "textDocument/didChange", {"textDocument": document, "contentChanges": [{"range": span, "text": "1"}]}
    )
    editor.wait_title("keep yours")
    wait_until(lambda: editor.problems(), "what is said of it")
    return {**shown(editor), "text": daemon.asked("submit")[-1]["text"][len(HEAD) :]}


def did_close(editor: Editor, daemon: FakeDaemon) -> Any:
    opened(editor, daemon, UNSIZED)
    wait_until(lambda: editor.problems(), "the problem")
    editor.notify("textDocument/didClose", HERE)
    wait_until(lambda: not editor.problems(), "no problem")
    return shown(editor)


def notebook_opened(editor: Editor, daemon: FakeDaemon) -> None:
    done(daemon)
    editor.initialize(trusted=True)
    cells = [{"kind": 2, "document": CELL}]
    texts = [{"uri": CELL, "languageId": "python", "version": 1, "text": TEXT}]
    document = {"uri": NOTEBOOK, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
    editor.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": texts})
    editor.wait_title("1.8x", CELL)


def notebook_did_open(editor: Editor, daemon: FakeDaemon) -> Any:
    notebook_opened(editor, daemon)
    return shown(editor, CELL)


def notebook_did_change(editor: Editor, daemon: FakeDaemon) -> Any:
    notebook_opened(editor, daemon)
    text = [{"document": {"uri": CELL, "version": 2}, "changes": [{"text": "# 😀\n" + TEXT}]}]
    document = {"uri": NOTEBOOK, "version": 2}
    editor.notify("notebookDocument/didChange", {"notebookDocument": document, "change": {"cells": {"textContent": text}}})  # fmt: skip
    wait_until(lambda: editor.lenses(CELL)[0]["range"]["start"]["line"] == LINE + 1, "the lens a line below")
    return shown(editor, CELL)


def notebook_did_close(editor: Editor, daemon: FakeDaemon) -> Any:
    notebook_opened(editor, daemon)
    editor.notify("notebookDocument/didClose", {"notebookDocument": {"uri": NOTEBOOK}, "cellTextDocuments": [{"uri": CELL}]})  # fmt: skip
    return shown(editor, CELL)


def did_rename_files(editor: Editor, daemon: FakeDaemon) -> Any:
    opened(editor, daemon)
    new = "file:///project/renamed.py"
    editor.notify("workspace/didRenameFiles", {"files": [{"oldUri": URI, "newUri": new}]})
    return {"before": shown(editor), "after": shown(editor, new)}


def did_change_configuration(editor: Editor, daemon: FakeDaemon) -> Any:
    opened(editor, daemon)
    editor.notify("workspace/didChangeConfiguration", {"settings": {"mirage": {"codeLens": False}}})
    wait_until(lambda: not editor.titles(), "no lens")
    return shown(editor)


def did_change_workspace_folders(editor: Editor, daemon: FakeDaemon) -> Any:
    opened(editor, daemon, workspace={**FULL["workspace"], "workspaceFolders": True})
    folder = Path(__file__).resolve().parent
    event = {"added": [{"uri": folder.as_uri(), "name": "x"}], "removed": []}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    asked = dict(daemon.wait("watch"))
    return {**asked, "root": Path(asked["root"]).name}


def inlay_hint(editor: Editor, daemon: FakeDaemon) -> Any:
    daemon.seen["/project/model.py"] = {"double": [[["x", [16, 64], "fp16"]]]}
    opened(editor, daemon, BARE)
    ask = {**HERE, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}}
    return wait_until(lambda: editor.request("textDocument/inlayHint", ask), "a hint")


def code_action_resolve(editor: Editor, daemon: FakeDaemon) -> Any:
    opened(editor, daemon)
    action = next(a for a in editor.actions(LINE) if "replace" in a["title"])
    return editor.request("codeAction/resolve", action)


def work_done_progress_cancel(editor: Editor, daemon: FakeDaemon) -> Any:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    token = wait_until(lambda: editor.sent("$/progress"), "the progress")[0]["token"]
    editor.notify("window/workDoneProgress/cancel", {"token": token})
    wait_until(lambda: editor.sent("$/progress")[-1]["value"]["kind"] == "end", "the progress's end")
    return {**shown(editor), "progress": [p["value"] for p in editor.sent("$/progress")]}


def shutdown(editor: Editor, daemon: FakeDaemon) -> Any:
    opened(editor, daemon)
    return [editor.request("shutdown"), editor.notify("exit"), editor.process.wait(LIMIT_S)]


def trust(editor: Editor, daemon: FakeDaemon) -> Any:
    done(daemon)
    editor.initialize()
    editor.open(TEXT)
    before = editor.wait_title("not trusted")
    editor.notify("mirage/didGrantTrust", {})
    return {"before": before, "after": editor.wait_title("1.8x")}


CASES: dict[str, Case] = {
    "initialize": initialize,
    "initialized": initialized,
    "textDocument/didOpen": did_open,
    "textDocument/didChange": did_change,
    "textDocument/didClose": did_close,
    "notebookDocument/didOpen": notebook_did_open,
    "notebookDocument/didChange": notebook_did_change,
    "notebookDocument/didClose": notebook_did_close,
    "workspace/didRenameFiles": did_rename_files,
    "workspace/didChangeConfiguration": did_change_configuration,
    "workspace/didChangeWorkspaceFolders": did_change_workspace_folders,
    "textDocument/codeLens": request("textDocument/codeLens", HERE),
    "textDocument/hover": request("textDocument/hover", {**HERE, "position": AT}),
    "textDocument/codeAction": request("textDocument/codeAction", {**HERE, **SPAN, "context": {"diagnostics": []}}),
    "textDocument/inlayHint": inlay_hint,
    "codeAction/resolve": code_action_resolve,
    "window/workDoneProgress/cancel": work_done_progress_cancel,
    "shutdown": shutdown,
    "mirage/didGrantTrust": trust,
}


def command(name: str, text: str = TEXT, before: Case | None = None, **more: Any) -> Case:
    """A command on the function, and the text that it leaves where it changes it."""

    def case(editor: Editor, daemon: FakeDaemon) -> Any:
        if more:
            daemon.seen["/project/model.py"] = {"double": [[["x", [16, 64], "fp16"]]]}
        opened(editor, daemon, text)
        if more:
            wait_until(lambda: "called with" in (editor.hover(LINE) or ""), "the shapes of a run")
        if before is not None:
            before(editor, daemon)
        start = editor.texts[URI]
        answer = editor.command(name, URI, "double")
        wrote = editor.texts[URI]
        return {"answer": answer, **({"text": wrote[len(HEAD) :]} if wrote != start else {})}

    return case


def stop(editor: Editor, daemon: FakeDaemon) -> Any:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    answer = editor.command("mirage.stop", URI, "double")
    return {"answer": answer, **shown(editor), "asked": daemon.wait("abandon")}


def show_mugraph(editor: Editor, daemon: FakeDaemon) -> Any:
    tensors = (grammar.DTensor("x", "fp16", (("n",),)), grammar.DTensor("y", "fp16", (("n",),), kind="output"))
    graph = grammar.MuGraph("double", (("n", 1024),), tensors, (grammar.LibraryKernel("k", "neg", ("x",), "y"),))
    done(daemon, mugraphs=[json_form.to_json(graph)])
    editor.initialize(trusted=True)
    editor.open(TEXT)
    editor.wait_title("More")
    return editor.command("mirage.showMugraph", URI, "double")["text"]


def replaced(editor: Editor, daemon: FakeDaemon) -> None:
    editor.command("mirage.replace", URI, "double")
    editor.wait_title("Restore")


def of_daemon(name: str, *arguments: Any) -> Case:
    def case(editor: Editor, daemon: FakeDaemon) -> Any:
        daemon.kept = [{"key": "a1", "used": 1.0, "function": "double"}]
        opened(editor, daemon)
        return editor.command(name, *arguments)

    return case


def asked(editor: Editor, daemon: FakeDaemon) -> None:
    """The user chooses at once, and what `more` offers leads to the module's own command."""
    editor.choice = "Show the proof"


def edited(editor: Editor, daemon: FakeDaemon) -> None:
    replaced(editor, daemon)
    editor.change(editor.texts[URI].replace("[v + v for", "[2 * v for"))
    editor.wait_title("edited by hand")


COMMAND_CASES: dict[str, Case] = {
    "mirage.optimize": command("mirage.optimize"),
    "mirage.measure": command("mirage.measure"),
    "mirage.stop": stop,
    "mirage.replace": command("mirage.replace"),
    "mirage.restore": command("mirage.restore", before=replaced),
    "mirage.more": command("mirage.more", before=asked),
    "mirage.restoreKernel": command("mirage.restoreKernel", before=edited),
    "mirage.verifyAgain": command("mirage.verifyAgain"),  # nothing was replaced; tests/lsp/test_lsp_edited.py verifies
    "mirage.writeModule": command("mirage.writeModule"),  # /project is no folder of this machine
    "mirage.giveSizes": command("mirage.giveSizes", UNSIZED),
    "mirage.annotate": command("mirage.annotate", BARE, seen=True),
    "mirage.giveInputs": command("mirage.giveInputs", BARE, seen=True),
    "mirage.showMugraph": show_mugraph,
    "mirage.showProof": command("mirage.showProof"),
    "mirage.result": command("mirage.result"),
    "mirage.jobs": of_daemon("mirage.jobs"),
    "mirage.cache": of_daemon("mirage.cache"),
    "mirage.cached": of_daemon("mirage.cached", "a1"),
}


def test_each_has_a_case() -> None:
    assert set(CASES) == set(METHODS)  # and `workspace/executeCommand`, of which there are these
    assert set(COMMAND_CASES) == set(COMMANDS)


@pytest.mark.parametrize("name", [*CASES, *COMMAND_CASES])
def test_answer(name: str, editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    answer = {**CASES, **COMMAND_CASES}[name](editor, daemon)
    text = json.dumps(answer, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    golden(f"lsp/methods/{name.replace('/', '.')}.json", text)
