"""Sockets of the host that no worker may reach, and connections to what a worker may not serve."""

from __future__ import annotations

import os
import selectors
import socket
from dataclasses import dataclass, field
from pathlib import Path

TEXT = 4096


@dataclass
class Listeners:
    """Listening sockets by name. `heard` is what came to each; `greeting` and a descriptor of `file` go to who connects."""

    folder: Path
    abstract: str
    greeting: str
    file: Path
    sockets: dict[str, socket.socket] = field(default_factory=dict)
    heard: list[tuple[str, bytes]] = field(default_factory=list)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    accepted: list[socket.socket] = field(default_factory=list)

    def open(self, paths: dict[str, Path]) -> dict[str, str | int]:
        """Open them all. `paths` are those of unix stream sockets. Returns the constants that an attempt needs."""
        constants: dict[str, str | int] = {}
        for name, family, kind, address in (
            ("TCP", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("TCP6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            ("UDP", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("UDP6", socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0)),
        ):
            try:
                self.add(name, socket.socket(family, kind), address)
            except OSError:
                constants[name] = 0  # no such protocol on this host: attempts on it do not validate
                continue
            constants[name] = self.sockets[name].getsockname()[1]
        for name, path in paths.items():
            self.add(name, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), str(path))
            constants[name] = str(path)
        for name, kind in (("DGRAM", socket.SOCK_DGRAM), ("SEQPACKET", socket.SOCK_SEQPACKET)):
            path = self.folder / name.lower()
            self.add(name, socket.socket(socket.AF_UNIX, kind), str(path))
            constants[name] = str(path)
        self.add("ABSTRACT", socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), "\0" + self.abstract)
        self.add("ABSTRACT_DGRAM", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), "\0" + self.abstract + "d")
        return constants | {"ABSTRACT": self.abstract, "ABSTRACT_DGRAM": self.abstract + "d"}

    def add(self, name: str, listener: socket.socket, address: str | tuple[str, int]) -> None:
        self.sockets[name] = listener
        listener.bind(address)
        listener.setblocking(False)
        if listener.type != socket.SOCK_DGRAM:
            listener.listen(16)
        self.selector.register(listener, selectors.EVENT_READ, name)

    def serve(self) -> None:
        """Take what came, without waiting."""
        for key, _ in self.selector.select(0):
            assert isinstance(key.fileobj, socket.socket)
            try:
                self.take(key.data, key.fileobj)
            except (ConnectionError, BlockingIOError):
                continue  # who connected has left

    def take(self, name: str, end: socket.socket) -> None:
        if end in self.accepted or end.type == socket.SOCK_DGRAM:
            data = end.recv(TEXT)
            if data:
                self.heard.append((name, data))
            elif end in self.accepted:
                self.selector.unregister(end)
                self.accepted.remove(end)
                end.close()
            return
        near, _ = end.accept()
        near.setblocking(False)
        self.accepted.append(near)
        self.selector.register(near, selectors.EVENT_READ, name)
        if near.family == socket.AF_UNIX:
            given = os.open(self.file, os.O_RDONLY)
            socket.send_fds(near, [self.greeting.encode()], [given])
            os.close(given)
        else:
            near.send(self.greeting.encode())

    def close(self) -> None:
        self.selector.close()
        for end in (*self.sockets.values(), *self.accepted):
            end.close()


def served(port: int, name: str) -> bytes:
    """What listens on a TCP port of this host or at an abstract name says, or nothing."""
    for family, address in ((socket.AF_INET, ("127.0.0.1", port)), (socket.AF_UNIX, "\0" + name)):
        with socket.socket(family, socket.SOCK_STREAM) as end:
            end.settimeout(0.05)
            try:
                end.connect(address)
                return end.recv(TEXT)
            except OSError:
                continue
    return b""


def free_port() -> int:
    """A TCP port of the loopback that nobody uses now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as end:
        end.bind(("127.0.0.1", 0))
        return int(end.getsockname()[1])
