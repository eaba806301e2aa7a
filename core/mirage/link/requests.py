"""The table of requests: name, parameters, answer, deadline. Both clients and the daemon take theirs from it.

Each row of `Requests` is a method of both clients: called with the row's parameters it gives the answer in `Client`, and
something to await in `AsyncClient`.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from mirage.ir.json_value import JsonObject
from mirage.link import answers, protocol
from mirage.link import request_parameters as parameters
from mirage.link.request_parameters import Inputs

if TYPE_CHECKING:
    from mirage.link.async_client import AsyncClient
    from mirage.link.client import Client

DEADLINE_S = 30.0
CACHE_DEADLINE_S = 600.0  # reading all of a large cache takes time
VERIFY_DEADLINE_S = 600.0
P = ParamSpec("P")
Body = TypeVar("Body")  # the dataclass of the parameters
Answer = TypeVar("Answer")  # what the daemon sends
Value = TypeVar("Value")  # what of it the client's caller gets
ValueOf = TypeVar("ValueOf", covariant=True)
OnEvent = Callable[[protocol.Event], None]


class AnyRequest(Generic[Body, Answer, Value]):
    """A request: the dataclass of its parameters, its answer's form, what of the answer the caller gets, and how long the
    answer may take (None: as long as it takes)."""

    name: str

    def __init__(
        self,
        body: Callable[..., Body],
        answer: type[Answer],
        value: Callable[[Answer], Value],
        deadline_s: float | None = DEADLINE_S,
    ) -> None:
        self.body, self.answer, self.value, self.deadline_s = cast(type[Body], body), answer, value, deadline_s
        self._make = body

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class SingleRequest(AnyRequest[Body, Answer, Value], Generic[P, Body, Answer, Value]):
    """A request with one answer, as a method that takes its parameters."""

    def __init__(
        self,
        body: Callable[P, Body],
        answer: type[Answer],
        value: Callable[[Answer], Value],
        deadline_s: float | None = DEADLINE_S,
    ) -> None:
        super().__init__(body, answer, value, deadline_s)

    @overload
    def __get__(self, client: None, owner: type) -> SingleRequest[P, Body, Answer, Value]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, Value]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Awaitable[Value]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> object:
        return self if client is None else functools.partial(self._send, client)

    def _send(self, client: Client | AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> object:
        return client.perform(self, self._make(*args, **kwargs), self.deadline_s)


class Follow(Protocol[ValueOf]):
    """The method of a Stream."""

    def __call__(self, job: str, on_event: OnEvent | None = None, deadline_s: float | None = None) -> ValueOf: ...


class Stream(AnyRequest[Body, Answer, Value]):
    """A request about a job whose answer comes after events: `on_event` gets them, in the event loop of `AsyncClient`."""

    @overload
    def __get__(self, client: None, owner: type) -> Stream[Body, Answer, Value]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Follow[Value]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Follow[Awaitable[Value]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> object:
        return self if client is None else functools.partial(self._send, client)

    def _send(
        self,
        client: Client | AsyncClient,
        /,
        job: str,
        on_event: OnEvent | None = None,
        deadline_s: float | None = None,
    ) -> object:
        return client.perform(self, self._make(job), deadline_s, on_event)


T = TypeVar("T")


def _all(answer: T) -> T:
    return answer


def _cancelled(answer: answers.CancelAnswer) -> bool:
    return answer["cancelled"]


def _result(answer: answers.Found) -> JsonObject | None:
    return answer["result"]


def _shapes(answer: answers.ObservedShapes) -> dict[str, list[Inputs]]:
    return answer["shapes"]


def _lines(answer: answers.LogLines) -> list[str]:
    return answer["lines"]


def _text(answer: answers.MetricsText) -> str:
    return answer["text"]


class Requests:
    """The table. What each request means is said at its parameters (`request_parameters`) and answers (`answers`)."""

    submit = SingleRequest(parameters.Submit, answers.Submitted, _all)
    subscribe = Stream(parameters.Subscribe, answers.Outcome, _all, None)
    cancel = SingleRequest(parameters.Cancel, answers.CancelAnswer, _cancelled)
    abandon = SingleRequest(parameters.Abandon, answers.CancelAnswer, _cancelled)
    result = SingleRequest(parameters.Result, answers.Outcome, _all)
    lookup = SingleRequest(parameters.Lookup, answers.Found, _result)
    adopt = SingleRequest(parameters.Adopt, answers.Submitted, _all)
    verify = SingleRequest(parameters.Verify, answers.Judged, _all, VERIFY_DEADLINE_S)
    explain = SingleRequest(parameters.Explain, answers.Explanation, _all)
    watch = SingleRequest(parameters.Watch, answers.WatchedProject, _all)
    unwatch = SingleRequest(parameters.Unwatch, answers.Unwatched, lambda answer: answer["watched"])
    seen = SingleRequest(parameters.Seen, answers.Recorded, lambda answer: answer["new"])
    shapes = SingleRequest(parameters.Shapes, answers.ObservedShapes, _shapes)
    cache = SingleRequest(parameters.Cache, answers.CacheAnswer, _all, CACHE_DEADLINE_S)
    log = SingleRequest(parameters.Log, answers.LogLines, _lines)
    status = SingleRequest(parameters.Status, answers.DaemonStatus, _all)
    metrics = SingleRequest(parameters.Metrics, answers.MetricsText, _text)
    shutdown = SingleRequest(parameters.Shutdown, answers.Stopping, _all)


BY_NAME: dict[str, AnyRequest[object, object, object]] = {
    name: row for name, row in vars(Requests).items() if isinstance(row, AnyRequest)
}
