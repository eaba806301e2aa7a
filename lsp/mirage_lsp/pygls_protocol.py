"""The JSON-RPC protocol of pygls, with its measured faults worked around.

- A message that does not parse, or does not fit its type, gets exactly one error answer when it has an id (pygls shows
  a message and answers nothing, so the client waits for ever).
- `shutdown` with work in flight: pygls walks over a dict that the cancelled work changes. Here a copy is walked.
- Documents live in the session, split into lines as LSP says; pygls' workspace is not filled.
- Positions are UTF-16 always: every client must have it, and one encoding means one set of mistakes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from typing import cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
)
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import RPCMessage
from pygls.protocol.language_server import lsp_method

from mirage_lsp.changed_text import TextChange

log = logging.getLogger(__name__)
NOT_INITIALIZED = -32002
MANY_CHANGES = 64  # of one message
Handlers = Generator[object, object, None]  # each with its arguments, for pygls to call


class NotInitialized(JsonRpcException):
    CODE = NOT_INITIALIZED
    MESSAGE = "the server is not initialized"


class ContentModified(JsonRpcException):
    CODE = types.LSPErrorCodes.ContentModified.value
    MESSAGE = "the document has changed"


class RequestFailed(JsonRpcException):
    CODE = types.LSPErrorCodes.RequestFailed.value
    MESSAGE = "the request failed"


def parsed(body: bytes) -> object:
    """The JSON value in a message's body. Raises JsonRpcParseError."""
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise JsonRpcParseError(message=f"the message is not JSON: {error}") from None


def _many_changes(value: dict[str, object]) -> list[TextChange] | None:
    """Takes a long list of changes out of a message: making the protocol's own objects of each takes most of the time that
    all of it takes. Raises JsonRpcInvalidParams."""
    params = value.get("params")
    raw = params.get("contentChanges") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(raw, list) or len(raw) <= MANY_CHANGES:
        return None
    value["params"] = {**params, "contentChanges": []}
    try:
        found = []
        for one in raw:
            span = None
            if one.get("range") is not None:
                start, end = one["range"]["start"], one["range"]["end"]
                span = (start["line"], start["character"], end["line"], end["character"])
                if not all(type(n) is int and n >= 0 for n in span):
                    raise TypeError
            if type(one["text"]) is not str:
                raise TypeError
            found.append(TextChange(one["text"], span))
        return found
    except (TypeError, KeyError, AttributeError):
        raise JsonRpcInvalidParams(message=f"the parameters do not fit {types.TEXT_DOCUMENT_DID_CHANGE}") from None


class Protocol(LanguageServerProtocol):
    """One client's conversation."""

    started = False  # `initialize` was answered
    left: int | None = None  # the exit status that `exit` asked for

    @property
    def busy(self) -> bool:
        """Whether a request has no answer yet."""
        return any(not future.done() for future in self._request_futures.values())

    def receive(self, body: bytes) -> None:
        """Handle one message's body. Never raises for what a client sends."""
        ident: object = None
        try:
            value = parsed(body)
            if not isinstance(value, dict):
                raise JsonRpcInvalidRequest(message="a message is an object")
            ident = value.get("id")
            self._dispatch(value, ident)
        except JsonRpcException as error:
            self._refuse(ident, error)
        except Exception as error:  # whatever it is, the client gets its one answer, and the log says what it was
            log.exception("a message could not be handled")
            self._refuse(ident, JsonRpcInternalError(message=f"{type(error).__name__}: {error}"))

    def _dispatch(self, value: dict[str, object], ident: object) -> None:
        method, is_request = value.get("method"), "method" in value and "id" in value
        if is_request and (isinstance(ident, bool) or not isinstance(ident, (int, str))):
            raise JsonRpcInvalidRequest(message="an id is a number or a text")
        if "method" not in value:
            if not ("result" in value or "error" in value) or ident not in self._request_futures:
                log.warning("an answer to nothing that was asked")
                return
            self._answered(value, ident)
            return
        elif not isinstance(method, str):
            raise JsonRpcInvalidRequest(message="a method is a text")
        elif value.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest(message='a message has "jsonrpc": "2.0"')
        elif is_request:
            self._may(method)
        elif not self.started and method not in (types.EXIT, types.INITIALIZED):
            return  # the specification: notifications before `initialize` are dropped, except `exit`
        self.handle_message(self._structured(value, method))

    def _answered(self, value: dict[str, object], ident: object) -> None:
        """The client's answer to a request of ours. One that does not fit is an error of that request; answers get no
        answer."""
        try:
            self.handle_message(self._structured(value, None))
        except JsonRpcException as error:
            future = self._request_futures.pop(cast("int | str", ident), None)
            if future is not None and not future.done():
                future.set_exception(error)

    def _may(self, method: str) -> None:
        """Raise for a request that has no place at this time."""
        if self._shutdown:
            raise JsonRpcInvalidRequest(message="the server is shutting down")
        if not self.started and method != types.INITIALIZE:
            raise NotInitialized()
        if self.started and method == types.INITIALIZE:
            raise JsonRpcInvalidRequest(message="the server is initialized already")
        if method not in self.fm.builtin_features and method not in self.fm.features:
            raise JsonRpcMethodNotFound.of(method)

    def _structured(self, value: dict[str, object], method: object) -> RPCMessage:
        value = {"jsonrpc": self.VERSION, "params": None, **value} if method else {"jsonrpc": self.VERSION, **value}
        many = _many_changes(value) if method == types.TEXT_DOCUMENT_DID_CHANGE else None
        try:
            message = cast(RPCMessage, self.structure_message(value))
            if many is not None:
                message.params.content_changes = many  # type: ignore[union-attr]
            return message
        except (JsonRpcInvalidParams, JsonRpcInternalError):
            # pygls has logged which field it was
            raise JsonRpcInvalidParams(message=f"the parameters do not fit {method}") from None

    def _refuse(self, ident: object, error: JsonRpcException) -> None:
        """The one answer to a request that went wrong; to what has no usable id, JSON-RPC answers with a null id."""
        if isinstance(ident, bool) or not isinstance(ident, (int, str)):
            if not isinstance(error, (JsonRpcParseError, JsonRpcInvalidRequest)):
                log.warning("a notification was dropped: %s", error)
                return
            ident = None
        answer = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": ident, "error": answer})

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[object, object, types.InitializeResult]:
        result = yield from super().lsp_initialize(params)
        result.capabilities.position_encoding = types.PositionEncodingKind.Utf16
        self.started = True
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: object) -> None:  # type: ignore[override]
        self.left = 0 if self._shutdown else 1

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: object) -> Handlers:
        self._shutdown = True  # now: a client may send `exit` without waiting for the answer
        user_handler = self.fm.features.get(types.SHUTDOWN)
        if user_handler is not None:
            yield user_handler, args, None
        mine = self.msg_id
        for ident, future in list(self._request_futures.items()):
            if ident != mine and not future.done():
                future.cancel()

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Handlers:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Handlers:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Handlers:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> Handlers:
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> Handlers:
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> Handlers:
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> Handlers:
        yield self.fm.features[types.WINDOW_WORK_DONE_PROGRESS_CANCEL], (params,), None
