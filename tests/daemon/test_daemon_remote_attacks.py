"""A short run of `./dev bench remote_cache`, and readers and verifiers that believe, which it has to notice."""

import hashlib

from daemonbench import sharedcache
from daemonbench.shared_cache_lies import changed_graphs

from mirage_daemon import remote_cache
from mirage_daemon.remote_entry import DIGEST_BYTES, FORM, RemoteEntry


def by_name(rows):
    return {r["name"]: r for r in rows}


def test_a_hit_is_quick():
    rows = by_name(sharedcache.hits(30))
    assert rows["hits: median from question to entry"]["ok"], rows


def test_no_debris_is_read_as_an_entry():
    rows = by_name(sharedcache.debris(60))
    assert all(r["ok"] for r in rows.values()), rows


def test_a_reader_that_asks_for_no_digest_is_noticed(monkeypatch):
    class Believing(RemoteEntry):
        @staticmethod
        def read(content, question):
            body = content[len(FORM) + DIGEST_BYTES :]
            return RemoteEntry.read(FORM + hashlib.sha256(body).digest() + body, question)

    monkeypatch.setattr(remote_cache, "RemoteEntry", Believing)
    rows = by_name(sharedcache.debris(200))
    assert rows["debris: read as an entry"]["value"] > 0


class Pool:
    """As the daemon's pool, with one answer to every proposal."""

    answer = None

    def __init__(self, most):
        self.most = most

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def _verified_here(self, body, mugraph, report, cancel):
        return self.answer


def test_a_verifier_that_takes_whatever_it_is_given_is_noticed(monkeypatch):
    graph = {"version": 1, "mugraph": {"name": "f", "body": [{"op": "exp", "n": 64}, {"op": "sum", "n": 3}]}}
    assert sorted(c.operator for c in changed_graphs(graph)) == [False, False, True, True]
    monkeypatch.setattr(sharedcache, "WorkerPool", Pool)
    rows = by_name(sharedcache.forged(graph))
    assert rows["forged: wrong kernels served"]["ok"] and not rows["forged: the honest one is taken"]["ok"]
    monkeypatch.setattr(Pool, "answer", {"result": {}})
    rows = by_name(sharedcache.forged(graph))
    assert rows["forged: wrong kernels served"]["value"] == 2 and not rows["forged: wrong kernels served"]["ok"]
