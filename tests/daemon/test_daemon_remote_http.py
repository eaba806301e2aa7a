"""The exchange with a shared cache's server: within its deadlines and sizes, whatever that server does."""

import resource
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from daemonbench import shared_cache_server as servers
from daemonbench.shared_cache_server import TOKEN, SharedCacheServer

from mirage.errors import RemoteCacheFault
from mirage_daemon.remote_http import RemoteHttp, RemotePlace
from mirage_daemon.remote_place import MAX_ENTRY

KEY = "ab" * 32
MARGIN_S = 1.5  # of a machine that does other things besides


def http(server, token=TOKEN, **deadlines):
    return RemoteHttp(RemotePlace.of(server.url, token), **{"first_byte_s": 2.0, "whole_s": 4.0, **deadlines})


def test_what_was_put_is_what_is_got():
    with SharedCacheServer() as server:
        client = http(server)
        assert client.get(KEY) is None and client.has(KEY) is False
        assert client.put(KEY, b"content" * 1000) is True
        assert client.get(KEY) == b"content" * 1000 and client.has(KEY) is True
        assert client.get("cd" * 32) is None
        assert [method for method, _, _ in server.log] == ["GET", "HEAD", "PUT", "GET", "HEAD", "GET"]
        assert {path for _, path, _ in server.log} == {server.path_of(KEY), server.path_of("cd" * 32)}


def test_a_connection_is_used_again_and_one_that_was_closed_is_replaced():
    with SharedCacheServer() as server:
        client, port = http(server), server.port
        for _ in range(5):
            client.put(KEY, b"x")
            client.get("cd" * 32)
        assert len(server._open) == 1
        server.kill()
        with pytest.raises(RemoteCacheFault):
            client.get(KEY)
    with SharedCacheServer(port=port):
        assert client.get(KEY) is None


@pytest.mark.parametrize("name", servers.BROKEN)
def test_a_broken_server_costs_its_deadline_and_nothing_else(name):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with SharedCacheServer() as server:
        server.answers = servers.BROKEN[name]
        client = http(server, first_byte_s=0.2, whole_s=0.6)
        began = time.monotonic()
        try:
            found = client.get(KEY)
        except RemoteCacheFault as e:
            found = None
            assert "127.0.0.1" in str(e) and "MIR510" in str(e) and len(str(e)) < 600
        assert time.monotonic() - began < 0.6 + MARGIN_S
        assert found is None or not found.startswith(b"mirage entry")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 64 << 10  # KiB
        server.answers = None
        server.entries[server.path_of(KEY)] = b"sound"
        assert http(server).get(KEY) == client.get(KEY) == b"sound"  # nothing of the lie is left in a connection


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("says nothing", "did not begin to answer within 200 ms"),
        ("1 byte/s", "did not send its answer within 0.6 s"),
        ("10 GB declared", "offers 10737418240 bytes"),
        ("10 GB sent", "sends more than"),
        ("less than declared", "15 of 1000 bytes"),
        ("redirects to another host", "redirects elsewhere, to '169.254.169.254'"),
        ("redirects to itself", "redirects more than 3 times"),
        ("503", "status 503"),
    ],
)
def test_a_fault_is_said_in_clear_words(name, words):
    with SharedCacheServer() as server:
        server.answers = servers.BROKEN[name]
        with pytest.raises(RemoteCacheFault) as caught:
            http(server, first_byte_s=0.2, whole_s=0.6).get(KEY)
        assert words in caught.value.message


def test_a_redirect_on_the_same_server_is_followed():
    with SharedCacheServer() as server:
        server.entries["/mirage/moved"] = b"here"

        def answers(handler):
            if handler.path == "/mirage/moved":
                handler.plain(200, b"here")
            else:
                handler.plain(307, Location="/mirage/moved")

        server.answers = answers
        assert http(server).get(KEY) == b"here"


def test_no_token_reaches_another_server():
    with SharedCacheServer() as other, SharedCacheServer() as server:
        server.answers = servers.redirecting(f"{other.url}/ac/{KEY}")
        with pytest.raises(RemoteCacheFault, match="redirects elsewhere"):
            http(server).get(KEY)
        assert server.log and not other.log


def test_a_wrong_token_is_said_and_a_right_one_is_not_shown():
    with SharedCacheServer() as server:
        with pytest.raises(RemoteCacheFault, match="refuses the token") as caught:
            http(server, "wrong").get(KEY)
        assert "MIRAGE_REMOTE_CACHE_TOKEN" in caught.value.next_step and "wrong" not in str(caught.value)
        with pytest.raises(RemoteCacheFault, match="without a token"):
            http(server, "").get(KEY)
        assert http(server, "wrong").put(KEY, b"x") is False and not server.entries
        assert TOKEN not in repr(http(server).place)


def test_one_who_may_read_may_not_write():
    with SharedCacheServer(read_only="reader") as server:
        assert http(server, "reader").get(KEY) is None
        assert http(server, "reader").put(KEY, b"x") is False and not server.entries
        assert http(server).put(KEY, b"x") is True


def test_a_server_that_is_not_there_or_takes_nobody_in():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        place = RemotePlace.of(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(RemoteCacheFault, match="refused"):
            RemoteHttp(place).get(KEY)
        listener.listen(0)
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(RemoteCacheFault, match="200 ms"):
                RemoteHttp(place).get(KEY)
        assert time.monotonic() - began < 0.6 + MARGIN_S


def test_the_largest_entry_passes_and_a_larger_one_does_not():
    with SharedCacheServer() as server:
        server.entries[server.path_of(KEY)] = bytes(MAX_ENTRY)
        assert http(server).get(KEY) == bytes(MAX_ENTRY)
        server.entries[server.path_of(KEY)] = bytes(MAX_ENTRY + 1)
        with pytest.raises(RemoteCacheFault, match="no entry has more"):
            http(server).get(KEY)


def test_a_thousand_at_once():
    with SharedCacheServer() as server:
        client = http(server, first_byte_s=30.0, whole_s=30.0)
        for i in range(20):
            client.put(f"{i:064x}", b"%d" % i)
        with ThreadPoolExecutor(32) as threads:
            found = list(threads.map(lambda i: client.get(f"{i % 20:064x}"), range(1000)))
        assert found == [b"%d" % (i % 20) for i in range(1000)]


@pytest.mark.parametrize(
    "url",
    ["", "cache.example.org", "ftp://a/b", "file:///etc/passwd", "https://", "https://u:p@a/", "https://a/?q=1", "https://a/#f",
     "https://a:99999/", "https://a b/", "https://a/\r\nX: y", "https://[::1", "HTTPS", "https://ä.example/"],
)  # fmt: skip
def test_what_is_no_place_is_refused(url):
    with pytest.raises(RemoteCacheFault) as caught:
        RemotePlace.of(url)
    assert caught.value.next_step


def test_a_token_is_sent_encrypted_or_to_this_machine_alone():
    for url in ("https://cache.example.org/a", "http://127.0.0.1:8080", "http://[::1]:8080/", "http://localhost"):
        assert RemotePlace.of(url, "t").token == "t"
    for url in ("http://cache.example.org/a", "http://10.0.0.1", "http://127.0.0.1.example.org"):
        assert RemotePlace.of(url).token == ""
        with pytest.raises(RemoteCacheFault, match="without encryption"):
            RemotePlace.of(url, "t")
    with pytest.raises(RemoteCacheFault, match="no header"):
        RemotePlace.of("https://a", "t\r\nX: y")


def test_a_place_has_one_name():
    assert RemotePlace.of("https://A.example.org/x/").name == "https://a.example.org:443/x"
    assert RemotePlace.of("http://[::1]:8080").path_of(KEY) == f"/ac/{KEY}"
