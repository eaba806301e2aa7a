"""The light way to the daemon: protocol and clients. Imports neither torch nor triton, and no other room."""

from mirage.link.aio import AsyncClient
from mirage.link.client import Client

__all__ = ["AsyncClient", "Client"]
