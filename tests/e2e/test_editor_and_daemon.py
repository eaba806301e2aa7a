"""The language server with the real daemon: saves of other editors, shapes that a run tells, a daemon that ends."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import test_editor_to_kernel
from lsp_client import FULL, Editor, started_server
from test_editor_to_kernel import LSP, Desk
from waiting import wait_until

from mirage.link import paths, protocol

HEAD = "import mirage\nimport torch\n\n\n"
SHAPED = '@mirage.optimize(inputs=[((16, 64), "fp16")])\ndef scaled(x):\n    return torch.relu(x * {})\n'
BARE = "@mirage.optimize\ndef scaled(x):\n    return torch.relu(x * 5)\n"
CALL = "\n\nif __name__ == '__main__':\n    scaled(torch.ones(16, 64, dtype=torch.float16))\n"
END_S = 60.0  # from a question to its answer

desk = test_editor_to_kernel.desk
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds its processes through /proc")


def opened(desk: Desk, text: str, **options: Any) -> Editor:
    """A server for the workspace, with the file open."""
    desk.file.write_text(text, "utf-8")
    editor = Editor(started_server(desk.home, LSP))
    desk.editors.append(editor)
    capabilities = {**FULL, "workspace": {**FULL["workspace"], "workspaceFolders": True}}
    editor.request("initialize", {
        "processId": None, "rootUri": None, "capabilities": capabilities,
        "workspaceFolders": [{"uri": desk.file.parent.as_uri(), "name": "project"}],
        "initializationOptions": {"trusted": True, "debounceMs": 20, "states": True, **options},
    })  # fmt: skip
    editor.notify("initialized", {})
    editor.open(text, desk.uri)
    return editor


def status(editor: Editor) -> dict[str, Any]:
    found: dict[str, Any] = editor.command("mirage.jobs")
    return found


def settled(editor: Editor, desk: Desk) -> None:
    wait_until(lambda: any("keep yours" in t or "Replace" in t for t in editor.titles(desk.uri)), "an answer", END_S)


def test_a_save_of_another_editor_is_worked_on(desk: Desk) -> None:
    editor = opened(desk, HEAD + SHAPED.format(3))
    settled(editor, desk)
    other = desk.file.with_name("other.py")
    other.write_text(HEAD + SHAPED.format(4), "utf-8")
    ended = wait_until(lambda: [j for j in status(editor)["ended"] if j["path"] == str(other)], "its answer", END_S)
    assert ended[0]["state"] in ("done", "kept") and ended[0]["function"] == "scaled"
    editor.open(other.read_text("utf-8"), other.as_uri())
    wait_until(lambda: editor.titles(other.as_uri()), "a lens")
    assert len([j for j in status(editor)["ended"] if j["path"] == str(other)]) == 1, "it was known"
    assert any(p["root"] == str(desk.file.parent) for p in status(editor)["projects"])


def test_nothing_is_watched_without_trust(desk: Desk) -> None:
    editor = opened(desk, HEAD + SHAPED.format(3), trusted=False)
    editor.wait_title("not trusted", desk.uri, END_S)
    assert status(editor)["projects"] == []


def test_a_run_tells_the_shapes(desk: Desk) -> None:
    editor = opened(desk, HEAD + BARE + CALL)
    editor.wait_title("MIR105", desk.uri, END_S)
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    ask = {"textDocument": {"uri": desk.uri}, "range": everything}
    assert editor.request("textDocument/inlayHint", ask) == []
    env = {**os.environ, "MIRAGE_HOME": str(desk.home)}
    wait_until(lambda: "clients" in status(editor), "the daemon")  # a run starts none
    subprocess.run([sys.executable, str(desk.file)], env=env, check=True, timeout=60)
    hints = wait_until(lambda: editor.request("textDocument/inlayHint", ask), "a hint", END_S)
    assert [hint["label"] for hint in hints] == ["called with x 16×64 fp16"]
    settled(editor, desk)
    assert "for x 16×64 fp16, what it was called with last" in (editor.hover(HEAD.count("\n"), desk.uri) or "")


def newer(desk: Desk) -> dict[str, Any]:
    """What the daemon says to a client of a later release."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(desk.home / "run" / "daemon.sock"))
        hello = protocol.unstructure(protocol.Hello(protocol.VERSION, "99.0.0", "test", True, paths.token(connection)))
        connection.sendall(protocol.encode({"type": "hello", "id": 1, "body": hello}))
        stream = connection.makefile("rb")
        (size,) = struct.unpack(">I", stream.read(4))
        answer: dict[str, Any] = protocol.decode(stream.read(size))
        return answer


def test_a_daemon_that_ends(desk: Desk) -> None:
    """A newer one goes on with the search. One that the user stops stays stopped. Nobody is told that work was cancelled."""
    editor = opened(desk, desk.file.read_text("utf-8"))
    editor.wait_title("searching", desk.uri, END_S)
    before = status(editor)["pid"]
    assert newer(desk)["body"]["code"] == "MIR507"
    editor.wait_title("away", desk.uri)
    assert "running" in desk.daemon("start")  # as the newer client does
    editor.wait_title("searching", desk.uri, END_S)
    facts = status(editor)
    assert facts["pid"] != before and [job["wanted"] for job in facts["jobs"]] == [1]

    desk.stop_daemon()
    assert editor.wait_title("away", desk.uri) == ["Mirage: the daemon is away", "Stop"]
    time.sleep(1.0)
    assert not (desk.home / "run" / "daemon.sock").exists()
    editor.command("mirage.optimize", desk.uri)
    editor.wait_title("searching", desk.uri, END_S)
    titles = {f["title"] for s in editor.sent("mirage/states") for f in s["functions"]}
    assert not [title for title in titles if "MIR" in title or "stopped" in title], titles
