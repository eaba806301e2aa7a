"""Real servers of a shared cache as processes: moto's S3 and the distribution's redis-server; and what speaks Redis and breaks or lies."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from typing import TypeVar

START_S = 60.0
S3_TOKEN, REDIS_TOKEN = "an-id:a-secret", "a-password"
Server = TypeVar("Server", bound="RealServer")
BUCKET = "mirage"
ENTRY_LENGTH = 1000


class RealServer:
    """A process that listens on a port of this machine; a context manager. Whatever it writes lies in a folder that goes with it."""

    def __init__(self, command: Callable[[int], Sequence[str]], url: str) -> None:
        """`command` for a port; `url` of the shared cache, but for the port."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.command, self.url = command(self.port), url.format(port=self.port)
        self.folder = tempfile.mkdtemp(prefix="mirage-server-")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns once it takes connections."""
        nothing = subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdin=nothing, stdout=nothing, stderr=nothing)
        until = time.monotonic() + START_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self.command[0]} does not listen (status {self.process.poll()})")
            time.sleep(0.02)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def __enter__(self: Server) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class S3Server(RealServer):
    """moto's, with one bucket."""

    def __init__(self) -> None:
        super().__init__(_moto, f"s3://{BUCKET}/team?endpoint=http://127.0.0.1:{{port}}")

    def start(self) -> None:
        super().start()
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/{BUCKET}", method="PUT")
        urllib.request.urlopen(asked, timeout=START_S).close()


class RedisServer(RealServer):
    """The distribution's, with a password, nothing on disk."""

    def __init__(self) -> None:
        super().__init__(_redis, "redis://127.0.0.1:{port}/0")


def _moto(port: int) -> Sequence[str]:
    return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]


def _redis(port: int) -> Sequence[str]:
    told = {"port": str(port), "bind": "127.0.0.1", "requirepass": REDIS_TOKEN, "appendonly": "no"}
    return [redis_server() or "redis-server", "--save", "", *(a for name, v in told.items() for a in (f"--{name}", v))]


def redis_server() -> str | None:
    """The program, where it is on the path."""
    return shutil.which("redis-server")


class BrokenRedis:
    """`with BrokenRedis(answer) as server:` takes connections and says what `answer` says to each command but the greeting's."""

    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self._answer, self._listener = answer, socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> BrokenRedis:
        self._threads.append(threading.Thread(target=self._listen, daemon=True))
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError), peer:
            while asked := peer.recv(1 << 16):
                commands = asked.count(b"SETINFO") + asked.count(b"AUTH")
                peer.sendall(b"+OK\r\n" * commands)
                if b"GET\r\n" in asked or b"$3\r\nSET\r\n" in asked:
                    self._answer(peer)


def _saying(answer: bytes) -> Callable[[socket.socket], None]:
    return lambda peer: peer.sendall(answer)


def _never(_: socket.socket) -> None:
    time.sleep(5)


def _dripping(peer: socket.socket) -> None:
    peer.sendall(b"$%d\r\n" % ENTRY_LENGTH)
    for _ in range(5):
        time.sleep(1)
        peer.sendall(b"x")


def _sending_10_gb(peer: socket.socket) -> None:
    peer.sendall(b"$10000000000\r\n")
    for _ in range(10_000):
        peer.sendall(bytes(1_000_000))


def _hanging_up(peer: socket.socket) -> None:
    peer.sendall(b"$%d\r\nhalf" % ENTRY_LENGTH)
    peer.shutdown(socket.SHUT_RDWR)


BROKEN_REDIS: dict[str, Callable[[socket.socket], None]] = {
    "says nothing": _never,
    "1 byte/s": _dripping,
    "10 GB": _sending_10_gb,
    "hangs up": _hanging_up,
    "a negative length": _saying(b"$-5\r\n"),
    "no number": _saying(b"$abc\r\n"),
    "no Redis": _saying(b"HTTP/1.1 200 OK\r\n\r\n"),
    "a list": _saying(b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
    "deep lists": _saying(b"*1\r\n" * 100_000),
    "a list without end": _saying(b"*1000000000\r\n" + b":1\r\n" * 1000),
    "a number": _saying(b":5\r\n"),
    "an error": _saying(b"-ERR no\r\n"),
    "loading": _saying(b"-LOADING dataset in memory\r\n"),
    "moved elsewhere": _saying(b"-MOVED 3999 169.254.169.254:6379\r\n"),
    "an empty entry": _saying(b"$0\r\n\r\n"),
    "a web page": _saying(b"$12\r\n<html></html\r\n"),
}
