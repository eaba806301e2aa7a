"""Settings of a running server, and files that get another name."""

from __future__ import annotations

from typing import Any

from lsp_client import FULL, URI, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import TEXT, result
from waiting import wait_until

PULL = {
    **FULL,
    "workspace": {
        **FULL["workspace"],
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "fileOperations": {"didRename": True},
    },
}
MOVED = "file:///elsewhere/other.py"


def test_the_configuration_is_asked_for_and_taken(editor: Editor, daemon: FakeDaemon) -> None:
    editor.configuration = {"target": "sm_80"}
    editor.initialize(capabilities=PULL, trusted=True)
    asked = wait_until(lambda: editor.sent("workspace/configuration"), "the question")
    assert asked[0]["items"] == [{"section": "mirage"}]
    (wish,) = wait_until(lambda: editor.sent("client/registerCapability"), "the registration")[0]["registrations"]
    assert wish["method"] == "workspace/didChangeConfiguration" and wish["registerOptions"] == {"section": "mirage"}
    wait_until(lambda: len(editor.sent("workspace/configuration")) == 1, "one question")
    editor.open(TEXT)
    wait_until(  # what was submitted before the answer came is submitted again
        lambda: [asked["target"] for asked in daemon.asked("submit")][-1:] == ["sm_80"], "the target that was answered"
    )


def test_another_target_is_another_question(editor: Editor, daemon: FakeDaemon) -> None:
    editor.configuration = {}
    editor.initialize(capabilities=PULL, trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.finish("job-1", "done", result())
    editor.wait_title("1.8x")
    editor.configuration = {"target": "sm_100"}
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    assert daemon.wait("submit", 2)["target"] == "sm_100"
    editor.notify("workspace/didChangeConfiguration", {"settings": {"mirage": {"codeLens": False, "target": "sm_100"}}})
    wait_until(lambda: not editor.titles(), "no lens")
    assert len(daemon.asked("submit")) == 2


def test_a_workspace_cannot_trust_itself(editor: Editor, daemon: FakeDaemon) -> None:
    editor.configuration = {"trusted": True, "startDaemon": True}
    editor.initialize(capabilities=PULL)
    editor.open(TEXT)
    daemon.wait("lookup")
    editor.notify("workspace/didChangeConfiguration", {"settings": {"mirage": {"trusted": True}}})
    editor.wait_title("not trusted")
    assert editor.command("mirage.measure", URI, "double")["error"]["code"] == "MIR503"
    assert daemon.asked("submit") == []


def test_odd_settings_change_nothing(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    for odd in (None, 3, [], {"mirage": 3}, {"mirage": {"target": 9, "debounceMs": "soon"}}):
        editor.notify("workspace/didChangeConfiguration", {"settings": odd})
    assert "Mirage: queued" in editor.titles() and len(daemon.asked("submit")) == 1


def test_automatic_work_can_be_turned_off(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True, auto=False)
    editor.open(TEXT)
    assert editor.wait_title("ready")[1] == "Optimize"
    editor.notify("workspace/didChangeConfiguration", {"settings": {"mirage": {"auto": True}}})
    daemon.wait("submit")


def close(editor: Editor) -> None:
    editor.notify("textDocument/didClose", {"textDocument": {"uri": URI}})


def renamed(editor: Editor, old: str = URI, new: str = MOVED) -> None:
    editor.notify("workspace/didRenameFiles", {"files": [{"oldUri": old, "newUri": new}]})


def test_a_renamed_file_keeps_its_job(editor: Editor, daemon: FakeDaemon) -> None:
    """As most editors do it: the old one closes, the new one opens, and then it is said."""
    offered: Any = editor.initialize(capabilities=PULL, trusted=True)["capabilities"]["workspace"]["fileOperations"]
    assert [f["pattern"]["glob"] for f in offered["didRename"]["filters"]] == ["**/*.{py,ipynb}", "**"]
    editor.open(TEXT)
    daemon.wait("subscribe")
    close(editor)
    editor.open(TEXT, MOVED)
    renamed(editor)
    daemon.event("job-1", "searching", values=3)
    editor.wait_title("3 values", MOVED)
    daemon.finish("job-1", "done", result())
    editor.wait_title("1.8x", MOVED)
    assert len(daemon.asked("submit")) == 1 and daemon.asked("cancel") == []


def test_a_document_that_stays_open_moves(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    renamed(editor, "file:///project", "file:///moved")
    new = "file:///moved/model.py"
    daemon.finish("job-1", "done", result())
    editor.wait_title("1.8x", new)
    assert editor.lenses() == [] and editor.command("mirage.showProof", new, "double")["stale"] is False


def test_a_known_answer_outlives_its_file(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.finish("job-1", "done", result())
    editor.wait_title("1.8x")
    close(editor)
    editor.open(TEXT, MOVED)
    editor.wait_title("1.8x", MOVED)
    assert len(daemon.asked("submit")) == 1


def test_a_closed_file_is_cancelled_all_the_same(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    close(editor)
    editor.open(TEXT.replace("x + x", "x * x"), MOVED)
    assert daemon.wait("cancel") == {"job": "job-1"}
