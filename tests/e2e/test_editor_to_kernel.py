"""From a function in an editor to its kernel and back, with nothing replaced: `mirage lsp`, the daemon, its workers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_python import ForkedPython
from lsp_client import Editor, started_server
from processes import alive, of_home
from waiting import wait_until

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rmsnorm_linear.py"
NAME = "rmsnorm_linear"
MIRAGE = "import sys; sys.argv[0] = 'mirage'; from mirage.cli import main; main()"
LSP = ("-c", MIRAGE, "lsp", "--stdio")
KERNEL = "Replace"
CACHED_S = 1.0  # a second open answers in less
SLACK = 2.0  # for a machine that does other work at the same time

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds its processes through /proc")


class Desk:
    """A user's desk: a project with one file, a home of its own, and the editors that were opened on it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.file = folder / "h", folder / "project" / EXAMPLE.name
        self.file.parent.mkdir()
        shutil.copy(EXAMPLE, self.file)
        self.editors: list[Editor] = []
        self.seen: set[int] = set()  # every process of this home that a look found

    @property
    def uri(self) -> str:
        return self.file.as_uri()

    @property
    def line(self) -> int:
        """0-based: the decorator's."""
        return self.file.read_text("utf-8").split("\n").index("@mirage.optimize")

    def open(self, **options: Any) -> tuple[Editor, float]:
        """A fresh server with the file open, and when the file was opened."""
        editor = Editor(started_server(self.home, LSP))
        self.editors.append(editor)
        editor.initialize(**{"trusted": True, "startDaemon": True, **options})
        start = time.monotonic()
        editor.open(self.file.read_bytes().decode(), self.uri)
        return editor, start

    def leave(self, editor: Editor) -> None:
        assert editor.leave() == 0
        editor.kill()
        self.editors.remove(editor)
        assert editor.garbage == b""

    def save(self, editor: Editor) -> None:
        self.file.write_bytes(editor.texts[self.uri].encode())

    def look(self) -> set[int]:
        found = of_home(self.home)
        self.seen |= found
        return found

    def daemon(self, *words: str) -> str:
        command = [sys.executable, "-c", MIRAGE, "daemon", *words]
        env = {**os.environ, "MIRAGE_HOME": str(self.home)}
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop_daemon(self) -> None:
        self.look()
        assert self.daemon("stop") in ("stopped\n", "not running\n")

    def clear(self) -> None:
        """Close everything; nothing of this home may go on."""
        for editor in self.editors:
            editor.kill()
        self.stop_daemon()
        wait_until(lambda: not alive(self.seen | of_home(self.home)), "the end of the processes of this home")


@pytest.fixture
def desk() -> Iterator[Desk]:
    folder = Path(tempfile.mkdtemp(prefix="me2e-"))  # a socket's path has to be short
    made = Desk(folder)
    try:
        yield made
    finally:
        made.clear()
        shutil.rmtree(folder, ignore_errors=True)


def run_saved(forked_python: ForkedPython, desk: Desk, interpret: bool = True) -> dict[str, Any]:
    """What the saved file's function gives, beside the original's."""
    script = Path(__file__).with_name("saved_file.py")
    env = {**os.environ, "TRITON_INTERPRET": "1" if interpret else "0"}
    done = forked_python.run(script, desk.file, EXAMPLE, NAME, env=env)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def chosen(editor: Editor, desk: Desk, part: str, line: int) -> dict[str, Any]:
    """The code action that the user picks, with its edit."""
    (action,) = (a for a in editor.actions(line, desk.uri) if part in a["title"])
    return editor.request("codeAction/resolve", action)


def again(desk: Desk, say: Callable[[str], None], what: str) -> None:
    """A new server process answers from the cache, without a word of progress."""
    editor, start = desk.open()
    why = f"{what}: the cached kernel (its key holds Mirage's own files: were they edited meanwhile?)"
    wait_until(lambda: KERNEL in editor.titles(desk.uri), why)
    titles, seconds = editor.titles(desk.uri), time.monotonic() - start
    say(f"{what}: {seconds * 1e3:.0f} ms")
    assert seconds < CACHED_S * SLACK
    assert not any("searching" in t or "verifying" in t for t in titles)
    assert "TESTED" in (editor.hover(desk.line, desk.uri) or "")
    desk.leave(editor)


@pytest.mark.slow
def test_editor_to_kernel(desk: Desk, forked_python: ForkedPython, capsys: pytest.CaptureFixture[str]) -> None:
    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n  {line}", end="")

    original = desk.file.read_bytes()
    line = desk.line

    # lens -> progress
    editor, start = desk.open()
    states: list[str] = []

    def finished() -> list[str]:
        desk.look()
        titles = editor.titles(desk.uri)
        states.extend(t for t in titles[:1] if t not in states)
        return [t for t in titles if t == KERNEL]

    wait_until(finished, f"the kernel; log: {editor.log[-2000:]!r}", 120.0)
    say(f"first open: {time.monotonic() - start:.1f} s")
    assert any("searching" in s or "tracing" in s or "verifying" in s for s in states), states
    kinds = [p["value"]["kind"] for p in editor.sent("$/progress")]
    assert kinds[0] == "begin" and kinds[-1] == "end" and "report" in kinds
    assert len(desk.seen) >= 3, "server, daemon and a worker ran"

    # hover
    hover = editor.hover(line, desk.uri) or ""
    for word in (f"`{NAME}`", "TESTED", "algebra", "schedule", "text", "speed of light", f"_{NAME}_", "sm_90"):
        assert word in hover, (word, hover)
    assert editor.problems(desk.uri) == []

    # replace
    assert editor.apply(chosen(editor, desk, "replace", line)["edit"])
    desk.save(editor)
    assert desk.file.read_bytes() != original
    saved = run_saved(forked_python, desk)
    assert saved["before"] == 0 and saved["launches"] >= 1, "the kernels ran, and only those of the saved file"
    assert saved["error"] < 2e-3, saved
    plain = run_saved(forked_python, desk, interpret=False)
    assert plain["launches"] == 0 and plain["identical"], "without GPU and interpreter the original runs"

    # restore
    editor.wait_title("Restore", desk.uri)
    at = next(lens["range"]["start"]["line"] for lens in editor.lenses(desk.uri))
    assert editor.apply(chosen(editor, desk, "restore", at)["edit"])
    desk.save(editor)
    assert desk.file.read_bytes() == original
    desk.leave(editor)

    # again
    again(desk, say, "second open, same daemon")
    pid = json.loads(desk.daemon("status", "--json"))["pid"]
    desk.stop_daemon()
    wait_until(lambda: not alive({pid}), "the daemon's end")
    desk.daemon("start")
    assert json.loads(desk.daemon("status", "--json"))["pid"] != pid
    again(desk, say, "after a restart of the daemon")


def test_nothing_runs_of_a_workspace_that_is_not_trusted(desk: Desk) -> None:
    """The twin: the same desk without trust, and with a marker at the module's level, gives no kernel and no marker."""
    marker = desk.file.parent / "marker"
    desk.file.write_text(desk.file.read_text("utf-8") + f"\nopen({str(marker)!r}, 'w').close()\n", "utf-8")
    editor, _ = desk.open(trusted=False)
    titles = editor.wait_title("not trusted", desk.uri)
    assert KERNEL not in titles
    assert editor.command("mirage.replace", desk.uri, NAME)["error"]["code"].startswith("MIR")
    assert editor.command("mirage.optimize", desk.uri, NAME)["error"]["code"] == "MIR503"
    assert not marker.exists() and editor.texts[desk.uri] == desk.file.read_text("utf-8")
    desk.leave(editor)


def test_a_survivor_would_be_seen(tmp_path: Path) -> None:
    """A process of the home and its child, which has another environment."""
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'], env={})"
    env = {**os.environ, "MIRAGE_HOME": str(tmp_path)}
    assert of_home(tmp_path) == set()
    process = subprocess.Popen(
        [sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    )
    assert process.stdin is not None and process.stdout is not None
    with process:
        assert process.stdout.readline() == "1\n"
        found = of_home(tmp_path)
        assert process.pid in found and len(found) == 2 and alive(found) == found
        process.stdin.write("\n")
        process.stdin.flush()
    assert alive(found) == set()
