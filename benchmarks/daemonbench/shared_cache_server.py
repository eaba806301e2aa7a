"""A real HTTP server of a shared cache for tests and benchmarks, and answers of servers that lie, stall and break."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "a-token-of-the-team"


class SharedCacheServer:
    """`with SharedCacheServer() as server:` keeps entries by path for clients that know the token. `answers` replaces what a GET
    does; `log` has (method, path, Authorization)."""

    def __init__(self, token: str = TOKEN, *, port: int = 0, read_only: str = "") -> None:
        self.entries: dict[str, bytes] = {}
        self.log: list[tuple[str, str, str]] = []
        self.answers: Callable[[Any], None] | None = None
        self.status = 0  # of every answer, where it is not 0
        self._token, self._read_only, self._port = token, read_only, port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mirage"

    def __enter__(self) -> SharedCacheServer:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                return

            def handle(self) -> None:
                server._open.add(self.connection)
                with contextlib.suppress(OSError):
                    super().handle()

            def _begins(self) -> bool:
                said = self.headers.get("Authorization", "")
                server.log.append((self.command, self.path, said))
                may = {f"Bearer {server._token}"} if server._token else {said}
                if self.command != "PUT" and server._read_only:
                    may.add(f"Bearer {server._read_only}")
                if server.status or said not in may:
                    self.plain(server.status or 401)
                    return False
                return True

            def plain(self, status: int, body: bytes = b"", **headers: str) -> None:
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def do_GET(self) -> None:
                if not self._begins():
                    return
                if server.answers is not None:
                    server.answers(self)
                    return
                found = server.entries.get(self.path)
                self.plain(404 if found is None else 200, found or b"")

            do_HEAD = do_GET

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self._begins():
                    server.entries[self.path] = body
                    self.plain(201)

        class Listener(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 1024

            def handle_error(self, *_: object) -> None:
                return  # clients that hang up on a liar

        self._open: set[socket.socket] = set()
        self._server = Listener(("127.0.0.1", self._port), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """As the end of its process: nothing listens, open connections end."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def path_of(self, key: str) -> str:
        return f"/mirage/ac/{key}"


def never(handler: Any) -> None:
    """Takes the question and says nothing."""
    time.sleep(5)


def dripping(handler: Any) -> None:
    """A byte a second of an entry that may be."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(30):
        handler.wfile.write(b"m")
        time.sleep(1)


def dripping_headers(handler: Any) -> None:
    """A header that never ends, a few bytes at a time: each restarts a time-out that is not a deadline."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(300):
        handler.wfile.write(b"m")
        time.sleep(0.1)


def continuing(handler: Any) -> None:
    """`100 Continue` without end."""
    for _ in range(3000):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.01)


def declaring_10_gb(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(10 << 30))
    handler.end_headers()
    handler.wfile.write(b"m" * 1000)


def sending_10_gb(handler: Any) -> None:
    """Without saying how much: until the other side hangs up."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    for _ in range(10 << 10):
        handler.wfile.write(b"m" * (1 << 20))


def sending_10_gb_in_parts(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for _ in range(10 << 10):
        handler.wfile.write(b"100000\r\n" + b"m" * (1 << 20) + b"\r\n")


def endless_headers(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for i in range(100_000):
        handler.wfile.write(b"X-%d: m\r\n" % i)


def no_http(handler: Any) -> None:
    handler.wfile.write(b"220 mail.example.org ESMTP\r\n" * 3)
    handler.close_connection = True


def negative_length(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n" + b"m" * 100)
    handler.close_connection = True


def bad_parts(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nmirage\r\n")
    handler.close_connection = True


def short_of_its_length(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nmirage entry 1\n")
    handler.close_connection = True


def hanging_up(handler: Any) -> None:
    handler.close_connection = True


def redirecting_to_itself(handler: Any) -> None:
    handler.plain(302, Location=handler.path)


def saying(status: int) -> Callable[[Any], None]:
    return lambda handler: handler.plain(status, b"<html>no</html>")


def sending(body: bytes) -> Callable[[Any], None]:
    return lambda handler: handler.plain(200, body)


def redirecting(location: str) -> Callable[[Any], None]:
    return lambda handler: handler.plain(307, Location=location)


BROKEN: dict[str, Callable[[Any], None]] = {
    "says nothing": never,
    "1 byte/s": dripping,
    "a header without end": dripping_headers,
    "100 Continue without end": continuing,
    "10 GB declared": declaring_10_gb,
    "10 GB sent": sending_10_gb,
    "10 GB sent in parts": sending_10_gb_in_parts,
    "100,000 headers": endless_headers,
    "no HTTP": no_http,
    "a negative length": negative_length,
    "parts of no length": bad_parts,
    "less than declared": short_of_its_length,
    "hangs up": hanging_up,
    "redirects to itself": redirecting_to_itself,
    "redirects to another host": redirecting("http://169.254.169.254/latest/meta-data"),
    "redirects to another port": redirecting("http://127.0.0.1:1/x"),
    "redirects to a file": redirecting("file:///etc/passwd"),
    "redirects to nonsense": redirecting("http://[::1/x"),
    "an empty redirect": redirecting(""),
    "500": saying(500),
    "503": saying(503),
    "204 for an entry": saying(204),
    "206 for an entry": saying(206),
    "nothing at all": sending(b""),
    "a web page": sending(b"<html>please log in</html>" * 100),
}
