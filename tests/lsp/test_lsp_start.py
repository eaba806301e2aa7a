"""What the language server imports before it answers `initialize`, and that the rest is there when it is asked for."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest
from lsp_client import URI, Editor

from mirage_lsp import methods
from mirage_lsp.methods import COMMANDS, METHODS, Method
from mirage_lsp.methods.execute_command import COMMANDS as HANDLERS

# Of ours, what an answer to `initialize` needs. The rest took as long as a third of the start.
EARLY = {
    "mirage",
    "mirage.errors",
    "mirage.link",
    "mirage.link.version",
    "mirage_lsp",
    "mirage_lsp.changed_text",
    "mirage_lsp.methods",
    "mirage_lsp.methods.initialize",
    "mirage_lsp.pygls_protocol",
    "mirage_lsp.server",
    "mirage_lsp.settings",
    "mirage_lsp.text_edits",
    "mirage_lsp.text_lines",
    "mirage_lsp.transport",
}
ANSWER = """
import asyncio, json, sys
from mirage_lsp.server import MirageServer

class Writer:
    said = None
    def write(self, data):
        self.said = json.loads(data.partition(b"\\r\\n\\r\\n")[2])

async def talk():
    server, writer = MirageServer(), Writer()
    server.protocol.set_writer(writer)
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    server.protocol.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode())
    while writer.said is None:
        await asyncio.sleep(0.001)
    assert "hoverProvider" in writer.said["result"]["capabilities"], writer.said
    print(*[m for m in sys.modules if m.partition(".")[0] in ("mirage", "mirage_lsp", "torch", "triton", "z3", "numpy")])

asyncio.run(talk())
"""


def imported(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_initialize_is_answered_before_the_rest_is_imported() -> None:
    assert imported(ANSWER) == EARLY


def test_an_import_at_the_start_would_be_seen() -> None:
    assert imported("import mirage_lsp.hover_text\n" + ANSWER) > EARLY | {
        "mirage_lsp.hover_text",
        "mirage.results.result",
    }


def unlike_its_handler(name: str, method: Method) -> str:
    """What the table says of a method and its module does not; "" where both agree."""
    handle = import_module(f"{methods.__name__}.{method.module}").handle
    return "" if inspect.iscoroutinefunction(handle) == method.waits else f"{name}: waits={method.waits}"


def test_the_tables_say_of_the_handlers_what_they_are() -> None:
    assert [said for name, method in METHODS.items() if (said := unlike_its_handler(name, method))] == []
    assert tuple(HANDLERS) == COMMANDS


@pytest.mark.parametrize("wrong", [Method("hover"), Method("did_open", waits=True)])
def test_a_row_that_is_unlike_its_handler_is_seen(wrong: Method) -> None:
    assert unlike_its_handler("m", wrong) == f"m: waits={wrong.waits}"


def test_a_client_that_asks_at_once_is_answered(started_editor: Editor) -> None:
    """Before anything has been imported for it, and without the notification after which that is done."""
    params = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": {"startDaemon": False}}
    started_editor.request("initialize", params)
    hovered = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
    assert started_editor.request("textDocument/hover", hovered) is None
    assert started_editor.command("mirage.jobs").keys() & {"jobs", "error"}
    started_editor.open("x = 1\n")
    assert started_editor.lenses() == []
