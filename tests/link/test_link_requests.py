"""One table of requests: both clients take their methods from it, the daemon its handlers."""

from __future__ import annotations

import asyncio

import attrs
import pytest

from mirage.link import AsyncClient, Client, requests
from mirage.link.request_parameters import JudgedText
from mirage.link.requests import AnyRequest, Requests
from mirage_daemon import server
from mirage_daemon.handler import answering


def without_partner(handlers: dict[str, object], table: dict[str, object]) -> set[str]:
    """Requests without a handler, and handlers without a request."""
    return set(handlers) ^ set(table)


def test_every_request_has_a_handler_and_every_handler_a_request() -> None:
    assert without_partner(server.HANDLERS, requests.BY_NAME) == set()


def test_a_missing_handler_and_a_foreign_one_would_be_seen() -> None:
    handlers = dict(server.HANDLERS)
    del handlers["watch"]
    assert without_partner(handlers, requests.BY_NAME) == {"watch"}
    assert without_partner({**server.HANDLERS, "dance": print}, requests.BY_NAME) == {"dance"}


def test_a_row_has_a_name_parameters_and_an_answer() -> None:
    for name, row in requests.BY_NAME.items():
        assert row.name == name and attrs.has(row.body) and row.answer.__annotations__
    assert len({row.body for row in requests.BY_NAME.values()}) == len(requests.BY_NAME)
    row, handler = answering(Requests.log, print)
    assert (row, handler) == ("log", print)


class Recording:
    """Notes what a client sends in place of a connection."""

    sent: list[tuple[str, object, float | None]]

    def note(self, request: AnyRequest, body: object, deadline_s: float | None, on_event: object) -> None:
        self.sent.append((request.name, body, deadline_s))


class Blocking(Recording, Client):
    def __init__(self) -> None:
        self.sent = []

    def perform(self, request, body, deadline_s=requests.DEADLINE_S, on_event=None):
        self.note(request, body, deadline_s, on_event)


class Waiting(Recording, AsyncClient):
    def __init__(self) -> None:
        self.sent = []

    async def perform(self, request, body, deadline_s=requests.DEADLINE_S, on_event=None):
        self.note(request, body, deadline_s, on_event)


WORDS = {
    "text": "t",
    "path": "/p",
    "function": "f",
    "job": "j",
    "root": "/r",
    "mugraph": "{}",
    "inputs": [],
    "do": "gc",
    "a": JudgedText("a.py", "", "t", "/p/a.py"),
    "b": JudgedText("b.py", "f", "u", "/p/b.py"),
}


@pytest.mark.parametrize("name", requests.BY_NAME)
def test_both_clients_send_the_same_for_the_same_call(name: str) -> None:
    row = requests.BY_NAME[name]
    needed = [a.name for a in attrs.fields(row.body) if a.default is attrs.NOTHING]
    given = {n: WORDS[n] for n in needed}
    blocking, waiting = Blocking(), Waiting()
    getattr(blocking, name)(**given)
    asyncio.run(getattr(waiting, name)(**given))
    assert blocking.sent == waiting.sent == [(name, row.body(**given), row.deadline_s)]
    with pytest.raises(TypeError):
        getattr(blocking, name)(**given, nonsense=1)


def test_a_subscription_waits_as_long_as_it_takes_unless_it_is_told() -> None:
    blocking = Blocking()
    blocking.subscribe("j")
    blocking.subscribe("j", None, 2.0)
    assert [deadline for _, _, deadline in blocking.sent] == [None, 2.0]


def test_the_clients_themselves_define_no_request() -> None:
    for client in (Client, AsyncClient):
        assert not set(vars(client)) & set(requests.BY_NAME)
