"""What a client should not send: the server stays, each request gets one answer, and a stream that cannot be trusted
ends the process so that the client starts it anew."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsp_client import URI, Editor, Refused
from lsp_samples import TEXT
from waiting import LIMIT_S, wait_until

from mirage_lsp import transport


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def call(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


HERE = {"textDocument": {"uri": URI}}
# Body, the id of the one answer (None for an answer without an id, ... for no answer at all), the error's code.
MALFORMED: dict[str, tuple[bytes, Any, int]] = {
    "not json": (b"{nonsense", None, -32700),
    "not utf-8": (b'{"jsonrpc": "2.0", "id": 70, "method": "\xff"}', None, -32700),
    "nested too deep": (b"[" * 100_000, None, -32700),
    "empty": (b" ", None, -32700),
    "a number": (b"1", None, -32600),
    "a batch": (b"[]", None, -32600),
    "null": (b"null", None, -32600),
    "no version": (b'{"id": 71, "method": "textDocument/hover", "params": {}}', 71, -32600),
    "another version": (b'{"jsonrpc": "1.0", "id": 72, "method": "shutdown"}', 72, -32600),
    "an id that is a list": (call(id=[1], method="shutdown"), None, -32600),
    "an id that is a boolean": (call(id=True, method="shutdown"), None, -32600),
    "an id that is null": (call(id=None, method="shutdown"), None, -32600),
    "a method that is a number": (call(id=73, method=7), 73, -32600),
    "an unknown method": (call(id=74, method="textDocument/levitate"), 74, -32601),
    "a text as id": (call(id="seventy", method="textDocument/levitate"), "seventy", -32601),
    "no parameters": (call(id=75, method="textDocument/hover"), 75, -32602),
    "parameters of a wrong type": (call(id=76, method="textDocument/hover", params=3), 76, -32602),
    "a field of a wrong type": (
        call(id=77, method="textDocument/hover", params={**HERE, "position": "top"}), 77, -32602,
    ),
    "a field that is missing": (call(id=78, method="textDocument/codeLens", params={}), 78, -32602),
    "a second initialize": (call(id=79, method="initialize", params={"capabilities": {}}), 79, -32600),
    "an unknown command": (call(id=80, method="workspace/executeCommand", params={"command": "rm"}), 80, -32602),
    "an unknown notification": (call(method="$/whatever", params={}), ..., 0),
    "a notification that does not fit": (call(method="textDocument/didOpen", params={"x": 1}), ..., 0),
    "a change to no document": (
        call(method="textDocument/didChange", params={
            "textDocument": {"uri": "file:///none.py", "version": 2}, "contentChanges": [{"text": ""}],
        }), ..., 0,
    ),
    "an answer to nothing": (call(id="ghost", result=None), ..., 0),
    "an answer that is a list": (call(id=[], result=None), ..., 0),
    "a cancellation of nothing": (call(method="$/cancelRequest", params={"id": 999}), ..., 0),
}  # fmt: skip


@pytest.fixture
def started(editor: Editor) -> Editor:
    editor.initialize(trusted=True, auto=False)
    editor.open(TEXT)
    return editor


def test_malformed_messages_get_one_answer_and_the_server_stays(started: Editor) -> None:
    for name, (body, ident, code) in MALFORMED.items():
        before = len(started.answers(None))
        started.raw(framed(body))
        assert started.titles()[0] == "Mirage: ready to optimize", name
        if ident is ...:
            assert len(started.answers(None)) == before, name
        elif ident is None:
            assert len(started.answers(None)) == before + 1, name
            assert started.answers(None)[-1]["error"]["code"] == code, name
        else:
            assert [a["error"]["code"] for a in started.answers(ident)] == [code], name
    assert started.leave() == 0


def test_every_request_has_exactly_one_answer(started: Editor) -> None:
    wanted = [started.start_request("textDocument/codeLens", HERE) for _ in range(50)]
    for ident in wanted[::2]:
        started.notify("$/cancelRequest", {"id": ident})
    for ident in wanted:
        wait_until(lambda i=ident: started.answers(i), f"the answer to {ident}")
    assert started.leave() == 0
    assert [len(started.answers(i)) for i in wanted] == [1] * 50


def test_before_initialize_and_after_shutdown(started_editor: Editor) -> None:
    editor = started_editor
    with pytest.raises(Refused) as refused:
        editor.request("textDocument/codeLens", HERE)
    assert refused.value.code == -32002
    editor.notify("textDocument/didOpen", {})
    editor.initialize()
    editor.request("shutdown")
    with pytest.raises(Refused) as refused:
        editor.request("textDocument/codeLens", HERE)
    assert refused.value.code == -32600
    editor.notify("exit")
    assert editor.process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("position", [(0, 10_000), (10_000, 0), (2**31 - 1, 2**31 - 1)])
def test_positions_out_of_the_text_are_drawn_into_it(started: Editor, position: tuple[int, int]) -> None:
    at = {"line": position[0], "character": position[1]}
    assert started.request("textDocument/hover", {**HERE, "position": at}) is None
    change = {"range": {"start": at, "end": {"line": 0, "character": 0}}, "text": ""}
    document = {"uri": URI, "version": 2}
    started.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    assert started.titles()[0] == "Mirage: ready to optimize"


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: ten\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"\r\n",
        b"x" * 20_000,
        b"A: b\r\n" * 40,
    ],
)
def test_framing_that_cannot_be_trusted_ends_the_process(editor: Editor, stream: bytes) -> None:
    editor.initialize()
    editor.raw(stream)
    assert editor.process.wait(LIMIT_S) == 1


def test_header_names_are_read_in_any_case_and_order() -> None:
    stream = io.BytesIO(b"content-type: x\r\nCONTENT-LENGTH:  2\r\n\r\n{}Content-Length: 1\r\n\r\n1")
    assert transport.read_message(stream) == b"{}"
    assert transport.read_message(stream) == b"1"
    assert transport.read_message(stream) is None


@pytest.mark.parametrize("cut", [b"Content-Length: 5\r\n\r\nab", b"Content-Length: 5\r\n"])
def test_a_message_cut_off_is_not_one(cut: bytes) -> None:
    with pytest.raises(transport.BadFraming):
        transport.read_message(io.BytesIO(cut))


def test_the_end_of_the_stream_ends_the_process(started_editor: Editor) -> None:
    started_editor.initialize()
    assert started_editor.process.stdin is not None
    started_editor.process.stdin.close()
    assert started_editor.process.wait(LIMIT_S) == 1


def test_what_is_printed_does_not_reach_the_stream() -> None:
    code = (
        "import subprocess, sys; from mirage_lsp import transport; a, b = transport.own_standard_streams();"
        "child = 'import sys; print(7); print(repr(sys.stdin.read()))';"
        "print('printed'); subprocess.run([sys.executable, '-c', child]);"
        "b.write(a.read()); b.flush()"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"message", capture_output=True, timeout=60)
    assert done.stdout == b"message"
    assert b"printed" in done.stderr and b"7\n''" in done.stderr


def test_no_torch_no_triton_no_daemon_in_the_process() -> None:
    code = (
        "import asyncio, sys, mirage_lsp.server; from mirage.mugraph import json_form, text;"
        "from mirage_lsp import methods; asyncio.run(methods.import_all()); assert 'mirage_lsp.session' in sys.modules;"
        "print([m for m in ('torch', 'triton', 'mirage_daemon', 'z3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stdout == b"[]\n" or done.stdout == b"[]\r\n"


def test_tcp(home: Path) -> None:
    env = {**os.environ, "MIRAGE_HOME": str(home)}
    command = [sys.executable, "-m", "mirage_lsp", "--tcp", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    try:
        assert process.stderr is not None
        port = int(process.stderr.readline().rsplit(b":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            stream = connection.makefile("rwb")
            stream.write(framed(call(id=1, method="initialize", params={"capabilities": {}})))
            stream.write(framed(call(id=2, method="shutdown")) + framed(call(method="exit")))
            stream.flush()
            first = transport.read_message(stream)
            second = transport.read_message(stream)
        assert first is not None and b'"capabilities"' in first
        assert second is not None and json.loads(second) == {"id": 2, "jsonrpc": "2.0", "result": None}
        assert process.wait(LIMIT_S) == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_stdio_and_tcp_together_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mirage_lsp", "--stdio", "--tcp", "0"], capture_output=True, timeout=60
    )
    assert done.returncode == 2 and b"choose one of" in done.stderr
