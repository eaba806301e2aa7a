"""The shared cache behind the one on disk: a proposal, kept here once it is verified, and never waited for by others."""

import contextlib
import json
import threading
import time

import pytest
from daemonbench import shared_cache_server as servers
from daemonbench.shared_cache_lies import key_of, lies, rewritten
from daemonbench.shared_cache_server import TOKEN, SharedCacheServer
from waiting import LIMIT_S, wait_until

from mirage.errors import NotVerified, UntrustedWorkspace
from mirage.results.codec import read_result
from mirage.results.progress import CancelToken
from mirage.results.result import Result
from mirage_daemon.fault_breaker import FAULTS
from mirage_daemon.remote_cache import RemoteCache
from mirage_daemon.remote_entry import RemoteEntry
from mirage_daemon.remote_http import RemoteHttp, RemotePlace

GRAPH = {"version": 1, "mugraph": {"name": "f"}}
OTHER = {"version": 1, "mugraph": {"name": "another"}}


def remote(server, token=TOKEN, **deadlines):
    return RemoteCache(
        RemoteHttp(RemotePlace.of(server.url, token), **{"first_byte_s": 2.0, "whole_s": 4.0, **deadlines})
    )


def asked(client, text, function="f", **more):
    return client.subscribe(client.submit(text, "a.py", function, **more)["job"])


def graph_of(payload):
    return {"version": 1, "mugraph": {"name": payload["function"]}}


def verifying(answer, searched=None):
    """As the pool of workers: what is offered is verified where it is the function's own; else a search finds that, or `searched`."""

    def run(payload, *_):
        right = graph_of(payload)
        if payload["offered"]:
            with contextlib.suppress(ValueError, RecursionError):
                if json.loads(payload["offered"]) == right:
                    return answer(payload, mugraphs=(right,), reason="verified")
        return answer(payload, mugraphs=(searched or right,), reason="searched")

    return run


def reason(outcome):
    return outcome["result"]["reason"]


def counts(client):
    said = client.status()["remote"]
    return {name: n for name, n in said.items() if name not in ("url", "pause_s", "problem") and n}


def another_home(tmp_path, monkeypatch):
    folder = tmp_path / "second"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("MIRAGE_HOME", str(folder))


@pytest.fixture
def server():
    with SharedCacheServer() as one:
        yield one


def filled(house, text, answer, server, functions=("f",)):
    """What one daemon found lies on the server."""
    with house(verifying(answer), remote=remote(server)) as h:
        for function in functions:
            assert reason(asked(h.client(), text, function)) == "searched"
        wait_until(lambda: h.client().status()["remote"]["uploaded"] == len(functions))
    return dict(server.entries)


def test_what_one_daemon_found_another_one_verifies_and_keeps(house, text, answer, server, tmp_path, monkeypatch):
    entries = filled(house, text, answer, server)
    assert len(entries) == 1 and not any(b"softmax" in x or b"# f" in x for x in entries.values())
    another_home(tmp_path, monkeypatch)
    with house(verifying(answer), remote=remote(server)) as h:
        client = h.client()
        assert client.lookup(text, "a.py", "f") is None
        assert reason(asked(client, text)) == "verified"
        assert json.loads(h.runs[0]["offered"]) == GRAPH
        assert counts(client) == {"proposed": 1, "verified": 1}
        known = client.lookup(text, "a.py", "f")
        assert known is not None and known["reason"] == "verified"
        asked(client, text)
        assert len(h.runs) == 1 and server.entries == entries
    server.kill()
    with house(verifying(answer)) as h:  # it lies on this machine's disk, and no server is asked
        assert reason(asked(h.client(), text)) == "verified" and h.runs == [] and h.client().status()["remote"] is None


def test_the_key_there_is_the_one_on_disk(house, text, answer, server):
    with house(verifying(answer), remote=remote(server)) as h:
        client = h.client()
        key = client.submit(text, "a.py", "f")["key"]
        wait_until(lambda: server.entries)
        assert list(server.entries) == [server.path_of(key)]


def test_a_miss_is_searched_for_and_uploaded_once(house, text, answer, server):
    with house(verifying(answer), remote=remote(server)) as h:
        client = h.client()
        assert reason(asked(client, text)) == "searched" and h.runs[0]["offered"] == ""
        wait_until(lambda: counts(client) == {"misses": 1, "uploaded": 1})
        assert [method for method, _, _ in server.log] == ["GET", "HEAD", "PUT"]


def test_a_fresh_answer_is_searched_for_and_replaces_the_one_there(house, text, answer, server, tmp_path, monkeypatch):
    before = filled(house, text, answer, server)
    another_home(tmp_path, monkeypatch)
    with house(verifying(answer, OTHER), remote=remote(server)) as h:
        client = h.client()
        assert reason(asked(client, text, fresh=True)) == "searched" and h.runs[0]["offered"] == ""
        wait_until(lambda: counts(client) == {"uploaded": 1})
    assert server.entries.keys() == before.keys() and server.entries != before


def test_what_another_daemon_uploaded_meanwhile_stays(house, text, answer, server, tmp_path, monkeypatch):
    before = filled(house, text, answer, server)
    server.entries.clear()

    def run(payload, *_):
        server.entries.update(before)
        return answer(payload, mugraphs=(OTHER,), reason="searched")

    another_home(tmp_path, monkeypatch)
    with house(run, remote=remote(server)) as h:
        asked(h.client(), text)
        wait_until(lambda: "HEAD" in [method for method, _, _ in server.log[3:]])
        asked(h.client(), text, "g")  # its own upload comes after that one
        wait_until(lambda: h.client().status()["remote"]["uploaded"] == 1)
    assert all(server.entries[path] == content for path, content in before.items())


def test_an_untrusted_workspace_is_answered_from_the_disk_alone(house, text, answer, server, tmp_path, monkeypatch):
    filled(house, text, answer, server)
    another_home(tmp_path, monkeypatch)
    before = len(server.log)
    with house(verifying(answer), remote=remote(server)) as h:
        with pytest.raises(UntrustedWorkspace):
            h.client().submit(text, "a.py", "f", trusted=False)
        assert h.runs == [] and len(server.log) == before


def result_of(graph):
    return Result("f", "kernel", "", (), "p", mugraphs=(graph,))


NAMES = sorted(lies(*(RemoteEntry.of(k * 64, result_of(GRAPH)).to_bytes() for k in "ab")))


@pytest.mark.parametrize("name", NAMES)
def test_a_lie_costs_a_search_and_is_replaced(house, text, answer, server, tmp_path, monkeypatch, name):
    entries = filled(house, text, answer, server, ("f", "g"))
    paths = list(entries)
    server.entries[paths[0]] = lies(entries[paths[0]], entries[paths[1]])[name]
    another_home(tmp_path, monkeypatch)
    with house(verifying(answer, OTHER), remote=remote(server)) as h:
        client = h.client()
        outcome = asked(client, text)
        assert reason(outcome) == "searched" and outcome["result"]["mugraphs"] == [OTHER]
        said = client.status()["remote"]
        assert said["faults"] == 1 and said["verified"] == 0 and said["problem"]
        wait_until(lambda: client.status()["remote"]["uploaded"] == 1)
        assert json.loads(RemoteEntry.read(server.entries[paths[0]], key_of(entries[paths[0]])).mugraph) == OTHER
        assert reason(asked(client, text, "g")) == "verified"  # the honest entry beside it is taken


def test_a_changed_figure_or_word_reaches_nobody(house, text, answer, server, tmp_path, monkeypatch):
    (path, good), *_ = filled(house, text, answer, server).items()
    honest = RemoteEntry.read(good, key_of(good))
    forged = {"evidence": '{"headline": "PROVED", "us": 0.001}', "program": "0" * 64, "versions": '{"torch": "9"}'}
    server.entries[path] = rewritten(good, **forged)
    another_home(tmp_path, monkeypatch)
    with house(verifying(answer), remote=remote(server)) as h:
        outcome = asked(h.client(), text)
        assert reason(outcome) == "verified" and h.runs[0]["offered"] == honest.mugraph
        assert not {"evidence", "derivation", "versions", "program"} & set(h.runs[0])
        assert "0.001" not in json.dumps(outcome) and outcome["result"]["program_key"] != "0" * 64
        assert read_result(outcome["result"]).verdict is None  # what the worker said, and it said none


@pytest.mark.parametrize(
    "name", ["says nothing", "1 byte/s", "10 GB declared", "10 GB sent", "500", "redirects to another host"]
)
def test_a_broken_server_is_a_miss_in_time_and_is_left_alone(house, text, answer, server, name):
    server.answers = servers.BROKEN[name]
    texts = [text.replace("def f", f"def f{i}") for i in range(FAULTS + 2)]
    with house(verifying(answer), remote=remote(server, first_byte_s=0.2, whole_s=0.6), workers=1) as h:
        client = h.client()
        for i, one in enumerate(texts):
            began = time.monotonic()
            assert reason(asked(client, one, f"f{i}")) == "searched"
            assert time.monotonic() - began < LIMIT_S
        said = client.status()["remote"]
        assert said["faults"] >= FAULTS and said["pause_s"] > 0 and said["problem"]
        assert sum(method == "GET" for method, _, _ in server.log) <= FAULTS


def test_a_killed_server_and_a_wrong_token_cost_nobody_an_answer(house, text, answer, server):
    with house(verifying(answer), remote=remote(server, "wrong")) as h:
        client = h.client()
        assert reason(asked(client, text)) == "searched"
        assert "refuses the token" in client.status()["remote"]["problem"]
        server.kill()
        assert reason(asked(client, text, "g")) == "searched"
        assert client.status()["remote"]["faults"] >= 2


def test_others_are_answered_while_a_server_is_slow(house, text, answer, server):
    began, go = threading.Event(), threading.Event()

    def stalls(handler):
        began.set()
        go.wait(LIMIT_S)
        handler.plain(404)

    server.answers = stalls
    with house(verifying(answer), remote=remote(server, first_byte_s=30.0, whole_s=30.0), workers=2) as h:
        client, other = h.client(), h.client()
        job = client.submit(text, "a.py", "f")["job"]
        assert began.wait(LIMIT_S)
        assert other.status()["jobs"] and other.lookup(text, "a.py", "g") is None
        assert other.submit(text, "a.py", "g")["state"] in ("queued", "tracing")
        went = time.monotonic()
        assert client.cancel(job) is True  # and it does not wait for the server either
        assert client.subscribe(job)["state"] == "cancelled"
        assert time.monotonic() - went < 10
        go.set()


def test_one_exchange_for_all_that_want_the_same(server):
    began, go = threading.Event(), threading.Event()

    def stalls(handler):
        began.set()
        go.wait(LIMIT_S)
        handler.plain(404)

    server.answers = stalls
    level = remote(server, first_byte_s=30.0, whole_s=30.0)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(level.proposal("ab" * 32, CancelToken()))) for _ in range(8)
    ]
    for t in threads:
        t.start()
    assert began.wait(LIMIT_S)
    time.sleep(0.2)
    go.set()
    for t in threads:
        t.join(LIMIT_S)
    assert found == [""] * 8 and len(server.log) == 1
    level.close()
    assert level.proposal("ab" * 32, CancelToken()) == "" and len(server.log) == 1


def test_questions_with_laws_of_the_users_own_stay_here(server, answer):
    level, given = remote(server), []
    run = level.before(lambda payload, *_: given.append(payload.get("offered", "")) or {})
    for payload in ({"common": ""}, {"common": "ab" * 32, "options": {"rules": "x"}}, {"common": "ab" * 32, "fresh": True},
                    {"common": "ab" * 32, "offered": "here"}):  # fmt: skip
        run(payload, lambda body: None, CancelToken())
        level.keep(payload if "offered" not in payload else {}, result_of(GRAPH))
    level.close()
    assert given == ["", "", "", "here"]
    assert not [method for method, _, _ in server.log if method == "GET"]


def test_a_refused_proposal_counts_as_a_fault(server):
    level = remote(server)
    for i in range(FAULTS):
        key = f"{i:064x}"
        server.entries[server.path_of(key)] = RemoteEntry.of(key, result_of(GRAPH)).to_bytes()
        assert json.loads(level.proposal(key, CancelToken())) == GRAPH
        level.keep({"common": key}, result_of(OTHER))
    said = level.status()
    assert (said["proposed"], said["refused"], said["faults"]) == (FAULTS, FAULTS, FAULTS) and said["pause_s"] > 0
    assert level.proposal("ff" * 32, CancelToken()) == "" and "not taken" in said["problem"]
    level.close()


def test_the_worker_that_refuses_raises_and_the_search_goes_on(house, text, answer, server, tmp_path, monkeypatch):
    """The pool's own way with a proposal that is not verified (test_daemon_environments.py) beside a job that fails as a whole."""
    filled(house, text, answer, server)
    another_home(tmp_path, monkeypatch)

    def run(payload, *_):
        raise NotVerified("nothing holds")

    with house(run, remote=remote(server)) as h:
        outcome = asked(h.client(), text)
        assert outcome["state"] == "failed" and h.client().lookup(text, "a.py", "f") is None
