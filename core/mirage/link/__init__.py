"""The daemon's protocol and its clients, which are loaded when they are named: whoever needs a path alone, as a worker's start does,
loads neither the codec of results nor asyncio."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirage.link.async_client import AsyncClient
    from mirage.link.client import Client

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> object:
    if name == "AsyncClient":
        from mirage.link.async_client import AsyncClient

        return AsyncClient
    if name == "Client":
        from mirage.link.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
