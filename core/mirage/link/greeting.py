"""The first message to a daemon, with the token that shows that whoever sends it may read this user's private files.

A worker runs as the user too, and reads none of them: so that it is no client, also where it can reach the socket.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from mirage.ir.json_value import JsonObject
from mirage.link import paths, protocol
from mirage.link.secret_file import known_secret
from mirage.link.version import package_version

TOKEN_FILE = "daemon.token"


def token_path() -> Path:
    return paths.runtime_dir() / TOKEN_FILE


def greeting(name: str, *, replaces: bool) -> JsonObject:
    """A `protocol.Hello`, as it goes on the wire. A daemon that made no token is an older one, which knows no such field."""
    hello = protocol.Hello(protocol.VERSION, package_version(), name, replaces)
    return with_token(protocol.unstructure(hello), token_path())


def with_token(hello: JsonObject, path: Path) -> JsonObject:
    """The message with the token in the file `path`, and without the field where there is none."""
    token = known_secret(path)
    rest = {key: value for key, value in hello.items() if key != "token"}
    return rest if token is None else {**rest, "token": token.hex()}


def is_right(said: str, token: bytes) -> bool:
    return hmac.compare_digest(said.encode(), token.hex().encode())
