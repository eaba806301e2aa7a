"""Over stdio with a scripted daemon: it gives way to a newer one, one job is wanted twice, cancellations and submissions
cross, and the workspace's folders are registered with it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from lsp_client import FULL, URI, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import HEAD, TEXT, result
from waiting import wait_until

OTHER = "file:///project/other.py"
FOLDERS = {**FULL, "workspace": {**FULL["workspace"], "workspaceFolders": True}}


def test_a_daemon_that_gives_way_to_a_newer_one_is_followed(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True, states=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.event("job-1", "searching", values=3)
    editor.wait_title("searching")
    daemon.retire("job-1")
    assert editor.wait_title("away") == ["Mirage: the daemon is away", "Stop"]
    time.sleep(0.3)  # it ends its other jobs meanwhile
    assert len(daemon.asked("submit")) == 1 and editor.titles() == ["Mirage: the daemon is away", "Stop"]
    daemon.kill()
    daemon.start()
    daemon.wait("subscribe", 2)
    daemon.finish("job-2", "done", result())
    editor.wait_title("1.8x")
    shown = [f["title"] for s in editor.sent("mirage/states") for f in s["functions"]]
    assert not [title for title in shown if "MIR" in title or "stopped" in title] and editor.problems() == []


def test_a_daemon_that_stays_away_is_asked_on_command(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.retire("job-1")
    daemon.kill()
    editor.wait_title("away")
    assert editor.command("mirage.stop", URI, "double") == {"stopped": ["double"]}
    editor.wait_title("Mirage: stopped")
    daemon.start()
    assert daemon.asked("subscribe") == [{"job": "job-1"}]
    assert editor.command("mirage.optimize", URI, "double") == {"started": ["double"]}
    daemon.wait("subscribe", 2)


def test_one_job_of_two_files_is_cancelled_with_the_last(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.one_job = True
    editor.initialize(trusted=True)
    editor.open(TEXT)
    editor.open(TEXT, OTHER)
    daemon.wait("subscribe", 2)
    assert editor.command("mirage.stop", URI) == {"stopped": ["double"]}
    assert editor.titles()[0] == "Mirage: stopped" and editor.titles(OTHER)[0] == "Mirage: queued"
    assert daemon.asked("abandon") == []
    assert editor.command("mirage.stop", OTHER) == {"stopped": ["double"]}
    assert daemon.wait("abandon") == {"job": "job-1"}


def test_asking_again_comes_after_the_cancellation(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.one_job = True
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    for count in range(2, 7):
        editor.command("mirage.measure", URI, "double")
        daemon.wait("subscribe", count)
    kinds = [kind for kind, _ in daemon.requests if kind in ("submit", "cancel")]
    assert kinds == ["submit", *["cancel", "submit"] * 5]


def test_a_job_is_cancelled_though_its_name_was_not_known_yet(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.holds_submit.set()
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("submit")
    assert editor.command("mirage.stop", URI) == {"stopped": ["double"]}
    assert editor.titles()[0] == "Mirage: stopped"
    daemon.holds_submit.clear()
    assert daemon.wait("abandon") == {"job": "job-1"}
    assert daemon.asked("subscribe") == []


def folders(editor: Editor, *paths: Path, **options: Any) -> None:
    """Initialize with these workspace folders."""
    editor.request("initialize", {
        "processId": None, "rootUri": None, "capabilities": FOLDERS,
        "workspaceFolders": [{"uri": p.as_uri(), "name": p.name} for p in paths],
        "initializationOptions": {"startDaemon": False, "debounceMs": 20, **options},
    })  # fmt: skip
    editor.notify("initialized", {})


def test_the_folders_are_watched(editor: Editor, daemon: FakeDaemon, tmp_path: Path) -> None:
    one, two, file = tmp_path / "one", tmp_path / "two", tmp_path / "file"
    one.mkdir()
    two.mkdir()
    file.write_text("")
    folders(editor, one, file, tmp_path / "nothing", Path("/"), Path.home(), trusted=True, target="sm_80")
    editor.notify("textDocument/didOpen", {
        "textDocument": {"uri": URI, "languageId": "python", "version": 1, "text": HEAD},
    })  # fmt: skip
    assert editor.lenses() == [] and daemon.requests == []  # nothing to ask: no connection is made for it
    editor.open(TEXT)
    assert daemon.wait("watch") == {"root": str(one), "trusted": True, "interpreter": "", "target": "sm_80"}
    event = {"added": [{"uri": two.as_uri(), "name": "two"}], "removed": [{"uri": one.as_uri(), "name": "one"}]}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert daemon.wait("watch", 2)["root"] == str(two)
    assert daemon.wait("unwatch") == {"root": str(one)}
    daemon.kill()
    editor.wait_title("away")
    daemon.start()
    assert daemon.wait("watch", 3)["root"] == str(two)  # the next daemon knows of none


@pytest.mark.parametrize("options", [{}, {"trusted": False}, {"trusted": True, "auto": False}])
def test_no_folder_is_watched_where_nothing_runs_by_itself(
    editor: Editor, daemon: FakeDaemon, tmp_path: Path, options: dict[str, Any]
) -> None:
    folders(editor, tmp_path, **options)
    editor.open(TEXT)
    editor.command("mirage.optimize", URI)
    wait_until(lambda: daemon.asked("submit") or daemon.asked("lookup"), "a question")
    editor.titles()
    assert daemon.asked("watch") == []
    if not options.get("trusted"):
        editor.notify("mirage/didGrantTrust", {})
        assert daemon.wait("watch")["root"] == str(tmp_path)
