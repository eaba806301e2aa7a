"""Functions that answer requests: each paired with its row of the table, whose parameters and answer it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mirage.errors import ProtocolError
from mirage.link.requests import AnyRequest
from mirage_daemon.connection import Connection

if TYPE_CHECKING:
    from mirage_daemon.server import Server

MAX_TEXT = 4 << 20  # characters of a file that a request holds
Body = TypeVar("Body")
Answer = TypeVar("Answer")
Value = TypeVar("Value")
# (server, connection, the request's id, its parameters) -> the answer
Handler = Callable[["Server", Connection, int, Any], Awaitable[Mapping[str, object]]]


def answering(
    request: AnyRequest[Body, Answer, Value],
    handler: Callable[[Server, Connection, int, Body], Awaitable[Answer]],
) -> tuple[str, Handler]:
    """The request's name with its handler: a row of a table of handlers."""
    return request.name, cast(Handler, handler)


def check_text(text: str) -> None:
    """ProtocolError for a file's text that is too long to be looked at."""
    if len(text) > MAX_TEXT:
        raise ProtocolError(f"a text of {len(text)} characters is over the limit of {MAX_TEXT}")
