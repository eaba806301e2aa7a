"""A scripted editor of a language server: keeps texts as an editor does, applies edits, answers requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forked_server import ForkedServer
from waiting import LIMIT_S, wait_until

FULL = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True},
        "codeLens": {"refreshSupport": True},
    },
    "window": {"workDoneProgress": True},
    "textDocument": {
        "codeAction": {"resolveSupport": {"properties": ["edit"]}, "dataSupport": True},
        "publishDiagnostics": {"versionSupport": True},
    },
}
URI = "file:///project/model.py"


class Refused(Exception):
    """An error answer: its code and message."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


def started_server(home: Path, command: Sequence[str] = ("-m", "mirage_lsp", "--stdio")) -> subprocess.Popen[bytes]:
    """A server that starts as an editor starts it."""
    env, pipe = {**os.environ, "MIRAGE_HOME": str(home)}, subprocess.PIPE
    return subprocess.Popen([sys.executable, *command], stdin=pipe, stdout=pipe, stderr=pipe, env=env)


class Editor:
    """The client of a server's process. `messages` is everything that the server sent, in order."""

    def __init__(self, process: subprocess.Popen[bytes] | ForkedServer) -> None:
        self.process = process
        self.messages: list[dict[str, Any]] = []
        self.garbage = b""  # anything on standard output that is not a message
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.configuration: dict[str, Any] | None = None  # what `workspace/configuration` answers
        self.before_edit: Any = None  # called before an edit is applied
        self.choice: str | None = None  # the title that the user chooses when asked
        self.unanswered: set[str] = set()  # methods of the server's requests that get no answer
        self._ids = 0
        self._news = threading.Condition()  # told of each message
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._errors = threading.Thread(target=self._drain, daemon=True)
        self.log = b""
        self._errors.start()

    # ---- messages
    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        self.send(method=method, params=params)

    def start_request(self, method: str, params: Any = None) -> int:
        self._ids += 1
        self.send(id=self._ids, method=method, params=params)
        return self._ids

    def answer(self, ident: int, seconds: float = LIMIT_S) -> Any:
        with self._news:
            found = self._news.wait_for(lambda: self.answers(ident), seconds)
        assert found, f"waited {seconds:g} s in vain for the answer to {ident}; log: {self.log[-2000:]!r}"
        if "error" in found[0]:
            raise Refused(found[0]["error"])
        return found[0]["result"]

    def answers(self, ident: Any) -> list[dict[str, Any]]:
        return [m for m in list(self.messages) if "method" not in m and m.get("id") == ident]

    def request(self, method: str, params: Any = None) -> Any:
        return self.answer(self.start_request(method, params))

    def problems(self, uri: str = URI) -> list[dict[str, Any]]:
        """The document's diagnostics as last published, without the links to their pages (they name this checkout)."""
        published = [p for p in self.sent("textDocument/publishDiagnostics") if p["uri"] == uri]
        found = published[-1]["diagnostics"] if published else []
        return [{k: v for k, v in one.items() if k != "codeDescription"} for one in found]

    def sent(self, method: str) -> list[Any]:
        """The parameters of the server's notifications and requests of a method."""
        return [m.get("params") for m in list(self.messages) if m.get("method") == method]

    # ---- life
    def initialize(self, capabilities: Any = None, **options: Any) -> Any:
        chosen = {"startDaemon": False, "debounceMs": 20, **options}
        params = {"processId": None, "rootUri": None, "capabilities": FULL if capabilities is None else capabilities,
                  "initializationOptions": chosen}  # fmt: skip
        result = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def leave(self) -> int:
        """Shutdown and exit; the process's status."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(LIMIT_S)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT_S)
        self._reader.join(LIMIT_S)
        self._errors.join(LIMIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    # ---- documents
    def open(self, text: str, uri: str = URI) -> None:
        self.texts[uri], self.versions[uri] = text, 1
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, text: str, uri: str = URI) -> None:
        """The whole text anew."""
        self.texts[uri] = text
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def lenses(self, uri: str = URI) -> list[dict[str, Any]]:
        return self.request("textDocument/codeLens", {"textDocument": {"uri": uri}})

    def titles(self, uri: str = URI) -> list[str]:
        return [lens["command"]["title"] for lens in self.lenses(uri)]

    def wait_title(self, part: str, uri: str = URI, seconds: float = LIMIT_S) -> list[str]:
        """The lenses' titles, once one of them holds `part`."""
        return wait_until(
            lambda: [t for t in [self.titles(uri)] if any(part in x for x in t)], f"a lens with {part!r}", seconds
        )[0]

    def hover(self, line: int, uri: str = URI) -> str | None:
        position = {"line": line, "character": 0}
        found = self.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
        return found and found["contents"]["value"]

    def actions(self, line: int, uri: str = URI, only: list[str] | None = None) -> list[dict[str, Any]]:
        at = {"line": line, "character": 0}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": context}
        return self.request("textDocument/codeAction", params)

    def command(self, name: str, *arguments: Any) -> Any:
        return self.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})

    def apply(self, edit: dict[str, Any]) -> bool:
        """Apply a workspace edit as an editor does: refused when its version is not the text's."""
        changes = edit.get("documentChanges") or [
            {"textDocument": {"uri": u, "version": None}, "edits": e} for u, e in edit["changes"].items()
        ]
        for change in changes:
            if change.get("kind") == "create":
                self.texts[change["uri"]], self.versions[change["uri"]] = "", 0
                continue
            uri, version = change["textDocument"]["uri"], change["textDocument"]["version"]
            if version is not None and version != self.versions[uri]:
                return False
            text = self.texts[uri]
            later = sorted(change["edits"], key=lambda e: tuple(e["range"]["start"].values()), reverse=True)
            for one in later:
                start, end = (offset(text, one["range"][side]) for side in ("start", "end"))
                text = text[:start] + one["newText"] + text[end:]
            self.change(text, uri)
        return True

    # ---- threads
    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            if not line.startswith(b"Content-Length: "):
                self.garbage += line
                continue
            length = int(line.split(b":")[1])
            while stream.readline() not in (b"\r\n", b""):
                pass
            message = json.loads(stream.read(length))
            with self._news:
                self.messages.append(message)
                self._news.notify_all()
            if "method" in message and "id" in message:
                self._asked(message)

    def _asked(self, message: dict[str, Any]) -> None:
        result: Any = None
        if message["method"] in self.unanswered:
            return
        if message["method"] == "workspace/configuration":
            result = [self.configuration]
        if message["method"] == "window/showMessageRequest" and self.choice is not None:
            assert self.choice in [a["title"] for a in message["params"]["actions"]]
            result = {"title": self.choice}
        if message["method"] == "workspace/applyEdit":
            if self.before_edit is not None:
                self.before_edit()
            applied = self.apply(message["params"]["edit"])
            result = {"applied": applied, **({} if applied else {"failureReason": "the text has changed"})}
        self.send(id=message["id"], result=result)


def offset(text: str, position: dict[str, int]) -> int:
    """The offset of an LSP position, reckoned in UTF-16 itself: independent of the server's reckoning."""
    line_starts, i = [0], 0
    while i < len(text):
        i += 2 if text[i : i + 2] == "\r\n" else 1
        if text[i - 1] in "\r\n":
            line_starts.append(i)
    start = line_starts[position["line"]]
    units = text[start:].encode("utf-16-le")[: 2 * position["character"]]
    return start + len(units.decode("utf-16-le"))
