"""Shared caches in S3 and in Redis: which kind a URL names, and the exchange with real servers and with ones that break.

What needs the packages of the extras `s3`, `redis` and `remote-servers`, or a redis-server on the path, is skipped without them.
"""

import contextlib
import socket
import sys
import threading
import time

import pytest
from daemonbench.shared_cache_real import (
    BROKEN_REDIS,
    REDIS_TOKEN,
    S3_TOKEN,
    BrokenRedis,
    RedisServer,
    S3Server,
    redis_server,
)
from daemonbench.shared_cache_server import BROKEN, SharedCacheServer, saying

from mirage.errors import RemoteCacheFault
from mirage_daemon.remote_http import RemoteHttp
from mirage_daemon.remote_place import MAX_ENTRY, open_store

KEY, OTHER = "ab" * 32, "cd" * 32
MARGIN_S = 1.5  # of a machine that does other things besides


def s3_module():
    pytest.importorskip("obstore", reason="the extra `s3` is not installed")
    from mirage_daemon import remote_s3

    return remote_s3


def redis_module():
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    from mirage_daemon import remote_redis

    return remote_redis


@pytest.fixture(scope="module")
def s3_server():
    s3_module()
    pytest.importorskip("moto", reason="the extra `remote-servers` is not installed")
    with S3Server() as server:
        yield server


@pytest.fixture(scope="module")
def real_redis():
    redis_module()
    if redis_server() is None:
        pytest.skip("no redis-server is on the path")
    with RedisServer() as server:
        yield server


def exchange(store):
    assert store.get(KEY) is None and store.has(KEY) is False
    assert store.put(KEY, b"content" * 1000) is True
    assert store.get(KEY) == b"content" * 1000 and store.has(KEY) is True and store.get(OTHER) is None
    assert store.put(KEY, b"other") is True and store.get(KEY) == b"other"
    assert store.put(OTHER, bytes(MAX_ENTRY)) and store.get(OTHER) == bytes(MAX_ENTRY)
    assert store.put(OTHER, bytes(MAX_ENTRY + 1))
    with pytest.raises(RemoteCacheFault, match=str(MAX_ENTRY)):
        store.get(OTHER)


def fault(url, token="", **deadlines):
    """What a question to a place ends with, as one line, with its next step."""
    with pytest.raises(RemoteCacheFault) as e:
        open_store(url, token, **deadlines).get(KEY)
    assert "\n" not in e.value.message and len(str(e.value)) < 600
    return e.value


@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [("s3://b", "obstore", "s3"), ("redis://h", "redis", "redis"), ("rediss://h", "redis", "redis")],
)
def test_a_missing_package_is_named_with_what_installs_it(url, package, extra, monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == package or n == f"mirage_daemon.remote_{extra}"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RemoteCacheFault) as e:
        open_store(url)
    assert package in e.value.message and f"mirage-superoptimizer[{extra}]" in str(e.value)
    assert isinstance(open_store("https://a.example.org"), RemoteHttp)  # no other kind needs it


def test_what_names_no_bucket_is_refused():
    place = s3_module().S3Place
    found = place.of("s3://b/team/x/?region=eu-west-1", "id:se:cret")
    assert (found.name, found.path_of(KEY)) == ("s3://b/team/x", f"team/x/ac/{KEY}")
    assert (found.endpoint, found.key_id, found.secret) == ("https://s3.eu-west-1.amazonaws.com", "id", "se")
    assert found.session == "cret" and "cret" not in repr(found) and place.of("s3://b").path_of(KEY) == f"ac/{KEY}"
    for url in ("s3://", "s3://u:p@b", "s3://b#x", "s3://b?other=1", "s3://b:80", "s3://b?endpoint=file:///etc",
                "s3://b?endpoint=http://minio.example.org"):  # fmt: skip
        with pytest.raises(RemoteCacheFault):
            place.of(url)
    for token in ("id", "id:", ":secret"):
        with pytest.raises(RemoteCacheFault, match="KEY_ID:SECRET"):
            place.of("s3://b", token)


def test_what_names_no_redis_is_refused():
    place = redis_module().RedisPlace
    found = place.of("rediss://cache.example.org/3", "user:pass")
    assert (found.name, found.user, found.password) == ("rediss://cache.example.org:6379/3", "user", "pass")
    assert "pass" not in repr(found).replace("password", "") and place.of("redis://[::1]:1").name == "redis://[::1]:1/0"
    for url in ("redis://", "redis://u:p@h", "redis://h/x", "redis://h/1/2", "redis://h?db=1", "redis://h:x"):
        with pytest.raises(RemoteCacheFault):
            place.of(url)
    with pytest.raises(RemoteCacheFault, match="without encryption"):
        place.of("redis://cache.example.org", "pass")


def test_a_bucket_gives_back_what_was_put(s3_server):
    exchange(open_store(s3_server.url, S3_TOKEN, first_byte_s=5.0))


def test_a_missing_bucket_is_told(s3_server):
    said = fault(s3_server.url.replace("//mirage/", "//nothing/"), S3_TOKEN, first_byte_s=5.0)
    assert "no bucket 'nothing'" in said.message and "create it" in str(said)


def test_a_bucket_that_denies_access_is_read_only_or_a_fault():
    s3_module()
    with SharedCacheServer("") as server:
        server.answers = saying(403)
        url = f"s3://b?endpoint=http://127.0.0.1:{server.port}"
        said = fault(url, S3_TOKEN, first_byte_s=5.0)
        assert "access denied" in said.message and "s3:ListBucket" in str(said) and "a-secret" not in str(said)
        server.status = 403
        assert open_store(url, S3_TOKEN).put(KEY, b"x") is False
        server.status = 500
        with pytest.raises(RemoteCacheFault):
            open_store(url, S3_TOKEN).put(KEY, b"x")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_bucket_costs_its_deadline_and_nothing_else(name):
    module = s3_module()
    with SharedCacheServer("") as server:
        server.answers = BROKEN[name]
        place = module.S3Place.of(f"s3://b?endpoint=http://127.0.0.1:{server.port}", S3_TOKEN)
        began, found = time.monotonic(), None
        with contextlib.suppress(RemoteCacheFault):
            found = module.RemoteS3(place, first_byte_s=0.2, whole_s=0.6).get(KEY)
        assert time.monotonic() - began < 0.6 + MARGIN_S
        assert found is None or len(found) <= MAX_ENTRY


def test_redis_gives_back_what_was_put_by_one_connection(real_redis):
    store = open_store(real_redis.url, REDIS_TOKEN, first_byte_s=5.0)
    exchange(store)
    assert len(store._idle) <= 1
    store.close()
    assert store.has(KEY) is True


def test_redis_that_refuses_tells_of_the_token(real_redis):
    for token in ("", "wrong", "nobody:x"):
        said = fault(real_redis.url, token, first_byte_s=5.0)
        assert "refuses" in said.message and "MIRAGE_REMOTE_CACHE_TOKEN" in str(said)


def test_a_redis_that_was_killed_is_a_fault_and_one_that_came_back_is_used():
    redis_module()
    if redis_server() is None:
        pytest.skip("no redis-server is on the path")
    with RedisServer() as server:
        store = open_store(server.url, REDIS_TOKEN, first_byte_s=5.0)
        assert store.put(KEY, b"x") and store.get(KEY) == b"x"
        server.kill()
        with pytest.raises(RemoteCacheFault, match="cannot be used"):
            store.get(KEY)
        server.start()
        assert store.get(KEY) is None


@pytest.mark.parametrize("name", BROKEN_REDIS)
def test_a_broken_redis_costs_its_deadline_and_nothing_else(name):
    module = redis_module()
    with BrokenRedis(BROKEN_REDIS[name]) as server:
        store = module.RemoteRedis(module.RedisPlace.of(server.url), first_byte_s=0.2, whole_s=0.6)
        began, found = time.monotonic(), None
        with contextlib.suppress(RemoteCacheFault):
            found = store.get(KEY)
        assert time.monotonic() - began < 0.6 + MARGIN_S
        assert found is None or len(found) <= 100


def test_a_user_who_may_only_read_redis_uploads_nothing():
    module = redis_module()
    for refusal in (
        b"-NOPERM this user has no permissions\r\n",
        b"-READONLY You can't write against a read only replica.\r\n",
    ):
        with BrokenRedis(lambda peer, said=refusal: peer.sendall(said)) as server:
            assert module.RemoteRedis(module.RedisPlace.of(server.url)).put(KEY, b"x") is False
    full = BrokenRedis(lambda peer: peer.sendall(b"-OOM command not allowed\r\n"))
    with full as server, pytest.raises(RemoteCacheFault, match="command not allowed"):
        module.RemoteRedis(module.RedisPlace.of(server.url)).put(KEY, b"x")


SECRET = "correct horse+battery"


def echoing(word):
    """A server that answers each request with a first line of its own making, which is no HTTP."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer:
                    peer.recv(1 << 16)
                    peer.sendall(f"you said {word}, \x1b[2J\r\n\r\n".encode())

    threading.Thread(target=serve, daemon=True).start()
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}/c"


def test_a_token_that_a_server_repeats_is_not_told():
    listener, url = echoing(f"Bearer {SECRET}")
    with listener, pytest.raises(RemoteCacheFault, match="you said Bearer") as caught:
        open_store(url, SECRET).get(KEY)
    assert SECRET not in str(caught.value)
    listener, url = echoing("something else")
    with listener, pytest.raises(RemoteCacheFault, match="you said something else"):
        open_store(url, SECRET).get(KEY)


def test_a_password_that_redis_repeats_is_not_told():
    redis_module()
    for error in ("ERR", "WRONGPASS", "NOPERM", "NOAUTH"):
        with BrokenRedis(lambda peer, e=error: peer.sendall(f"-{e} not {SECRET}!\r\n".encode())) as server:
            with pytest.raises(RemoteCacheFault) as caught:
                open_store(server.url, f"me:{SECRET}").get(KEY)
            assert SECRET not in str(caught.value) and "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"redis://me:{SECRET.replace(' ', '')}@cache:6379/0",
        "https://me:hunter2@cache.example.org/c",
        "https://me:hunt@er2@cache.example.org/c",
        "https://me:hunter2@cache.example.org:port/c",
        "https://cache.example.org/c?token=hunter2",
        "redis://cache:6379/0?password=hunter2",
        "s3://KEY:hunter2@bucket/prefix",
        "s3://bucket/prefix?secret=hunter2",
        "https://cache.example.org/c#hunter2",
    ],
)
def test_a_url_with_a_secret_is_refused_without_repeating_it(url):
    kind = url.partition(":")[0]
    if kind != "https":
        {"s3": s3_module, "redis": redis_module}[kind]()
    with pytest.raises(RemoteCacheFault) as caught:
        open_store(url)
    said = str(caught.value)
    assert "hunter2" not in said and "er2" not in said and "battery" not in said
    assert url.split(":")[0] in said
