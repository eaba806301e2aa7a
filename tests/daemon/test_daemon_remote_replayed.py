"""Forged, torn and replayed entries in a real S3 and a real Redis, from the bytes on the server to the answer of a daemon: never another
µGraph than one that this machine verified. Skipped without the packages of the extras, or without a redis-server on the path.
"""

import contextlib
import http.server
import json
import threading

import pytest
from daemonbench.shared_cache_lies import lies, rewritten
from daemonbench.shared_cache_real import REDIS_TOKEN, S3_TOKEN, RedisServer, S3Server, redis_server
from waiting import wait_until

from mirage.errors import RemoteCacheFault
from mirage.results.codec import read_result
from mirage_daemon.fault_breaker import FaultBreaker
from mirage_daemon.remote_cache import RemoteCache
from mirage_daemon.remote_entry import RemoteEntry
from mirage_daemon.remote_place import open_store

GRAPH, OWN = ({"version": 1, "mugraph": {"name": name}} for name in ("shared", "searched here"))
AS_TEXT = json.dumps(GRAPH, sort_keys=True, separators=(",", ":"))
LIES = (
    "another entry's bytes",
    "another entry under this question",
    "a changed kernel",
    "a changed kernel, the digest as it was",
    "no JSON",
    "a module in place of a µGraph",
    "an old version's",
    "half of it",
)
SLOW_S = 5.0  # to the first byte: a busy machine is no subject here


class Unbroken(FaultBreaker):
    """Each attack has its turn."""

    def enter(self):
        return True


@pytest.fixture(scope="module", params=["s3", "redis"])
def store(request):
    """The shared cache of two machines."""
    if request.param == "s3":
        pytest.importorskip("obstore", reason="the extra `s3` is not installed")
        pytest.importorskip("moto", reason="the extra `remote-servers` is not installed")
        with S3Server() as server:
            yield lambda: open_store(server.url, S3_TOKEN, first_byte_s=SLOW_S)
        return
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    if redis_server() is None:
        pytest.skip("no redis-server is on the path")
    with RedisServer() as server:
        yield lambda: open_store(server.url, REDIS_TOKEN, first_byte_s=SLOW_S)


@pytest.fixture
def machine(house, text, answer, tmp_path, monkeypatch, store):
    """`machine(name)` has a home of its own, takes GRAPH for right and nothing else, and finds OWN itself. Gives the answer, what its
    worker was offered, the daemon's word on the shared cache, and the key."""

    def ask(name, searched=OWN):
        folder = tmp_path / name
        folder.mkdir(mode=0o700)
        monkeypatch.setenv("MIRAGE_HOME", str(folder))

        def job(payload, report, cancel):
            right = payload["offered"] and payload["offered"] == json.dumps(
                GRAPH, sort_keys=True, separators=(",", ":")
            )
            return answer(payload, mugraphs=(GRAPH if right else searched,))

        level = RemoteCache(store(), Unbroken())
        with house(job, remote=level) as h:
            client = h.client()
            found = read_result(client.subscribe(client.submit(text, "a.py", "f")["job"])["result"])
            (run,) = h.runs
            if run["offered"] != AS_TEXT:  # what it found itself takes the place of what was there
                wait_until(lambda: client.status()["remote"]["uploaded"] == 1)
            return found, run["offered"], client.status()["remote"], run["common"]

    return ask


def test_lies_on_the_server_reach_nobody_and_the_honest_entry_does(machine, store):
    first, _, _, key = machine("first", GRAPH)
    good = store().get(key)
    assert first.mugraphs == (GRAPH,) and RemoteEntry.read(good, key).question == key
    found, offered, said, _ = machine("second")
    assert found.mugraphs == (GRAPH,) and json.loads(offered) == GRAPH and said["verified"] == 1
    other = rewritten(good, question="12" * 32, mugraph=json.dumps({"version": 1, "mugraph": {"name": "another's"}}))
    table = lies(good, other)
    for number, name in enumerate(LIES):
        assert store().put(key, table[name])
        found, offered, said, asked = machine(f"lied to {number}")
        assert asked == key and found.mugraphs == (OWN,), name
        assert said["refused"] == bool(offered) and not said["verified"] and said["faults"] and said["problem"], (
            name,
            said,
        )


def test_a_bucket_that_redirects_to_another_host_gets_it_neither_the_signature_nor_an_entry():
    pytest.importorskip("obstore", reason="the extra `s3` is not installed")
    seen = []

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("Authorization"))
            self.send_response(200)
            for name, value in (
                ("Content-Length", "6"),
                ("ETag", '"x"'),
                ("Last-Modified", "Mon, 05 Jan 2026 10:00:00 GMT"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"secret")

        def log_message(self, *_):
            pass

    class Redirecting(Other):
        def do_GET(self):
            self.send_response(307)
            self.send_header("Location", f"http://127.0.0.1:{other.server_port}/latest/meta-data")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with (
        http.server.HTTPServer(("127.0.0.1", 0), Other) as other,
        http.server.HTTPServer(("127.0.0.1", 0), Redirecting) as first,
    ):
        for server in (other, first):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        content = b""
        with contextlib.suppress(RemoteCacheFault):  # not followed at all
            content = open_store(
                f"s3://b?endpoint=http://127.0.0.1:{first.server_port}", S3_TOKEN, first_byte_s=SLOW_S
            ).get("ab" * 32)
        for server in (other, first):
            server.shutdown()
    assert not any(seen)
    with pytest.raises(RemoteCacheFault):
        RemoteEntry.read(content, "ab" * 32)
