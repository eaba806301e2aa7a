"""The daemon's protocol and its clients. `AsyncClient` is loaded when it is first named: asyncio costs a third of this import."""

from typing import TYPE_CHECKING

from mirage.link.client import Client

if TYPE_CHECKING:
    from mirage.link.async_client import AsyncClient

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> object:
    if name == "AsyncClient":
        from mirage.link.async_client import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
