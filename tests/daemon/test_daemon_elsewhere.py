"""A machine without a GPU has what one with the target's GPU measured: verified here, its times as that machine's word."""

import json
import sys
from dataclasses import replace

import pytest
from daemonbench.shared_cache_lies import key_of, rewritten
from daemonbench.shared_cache_server import TOKEN, SharedCacheServer
from waiting import wait_until

from mirage.errors import RemoteCacheFault
from mirage.results.codec import read_result
from mirage.results.progress import CancelToken
from mirage.results.result import Estimate, MeasuredElsewhere, Measurement, Result
from mirage_daemon import question_key
from mirage_daemon.fault_breaker import FAULTS
from mirage_daemon.remote_cache import RemoteCache
from mirage_daemon.remote_entry import RemoteEntry
from mirage_daemon.remote_http import RemoteHttp, RemotePlace
from mirage_daemon.worker_pool import RIGHT_BUT_SLOW

KEY = "ab" * 32
GPUS = ("Model: NVIDIA H200", "NVRM version: 580")
GRAPH, OTHER = ({"version": 1, "mugraph": {"name": name}} for name in ("measured", "searched"))
HERE = Estimate(20.0, 5.0, 30.0, "H200 (sm_90)")
THERE = Estimate(12.0, 5.0, 15.0, "NVIDIA H200 (sm_90)", True)
TIMES = Measurement({"eager": 40.0, "compile": 15.0}, 4.0, 9)
MEASURED = Result("f", "kernel", "", (), "p" * 64, estimate=THERE, measured=TIMES, mugraphs=(GRAPH,))


def remote(server, *, has_gpu):
    return RemoteCache(RemoteHttp(RemotePlace.of(server.url, TOKEN), first_byte_s=2.0, whole_s=4.0), has_gpu=has_gpu)


def asked(client, text, function="f", **more):
    return client.subscribe(client.submit(text, "a.py", function, **more)["job"])["result"]


@pytest.fixture
def server():
    with SharedCacheServer() as one:
        yield one


@pytest.fixture
def gpus(monkeypatch):
    """Which GPUs the machine has from now on; and the packages of their build."""

    def have(devices, torch):
        monkeypatch.setattr(question_key, "devices", lambda: devices)
        monkeypatch.setattr(question_key, "package_versions", lambda interpreter: (("torch", torch),))

    return have


@pytest.fixture
def measured_there(house, text, answer, server, gpus, tmp_path, monkeypatch):
    """What a machine with a GPU measured lies on the server; from here on this is another one, without. The target's entry."""
    gpus(GPUS, "2.13.0+cu130")
    with house(
        lambda p, *_: answer(p, estimate=THERE, measured=TIMES, mugraphs=(GRAPH,)), remote=remote(server, has_gpu=True)
    ) as h:
        asked(h.client(), text)
        wait_until(lambda: h.client().status()["remote"]["uploaded"] == 2)
    folder = tmp_path / "second"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("MIRAGE_HOME", str(folder))
    gpus((), "2.13.0+cpu")
    own, by_target = server.entries
    assert own != by_target
    return by_target


def verifies(answer, **more):
    """As the pool of workers: what is offered is verified where it is GRAPH; else a search finds OTHER."""

    def run(payload, report, cancel):
        right = payload["offered"] and json.loads(payload["offered"]) == GRAPH
        return answer(payload, **{"estimate": HERE, "mugraphs": (GRAPH if right else OTHER,), **more})

    return run


def test_it_is_verified_here_and_its_times_are_the_other_machines(house, text, answer, server, measured_there):
    before = dict(server.entries)
    with house(verifies(answer), remote=remote(server, has_gpu=False)) as h:
        client = h.client()
        found = read_result(asked(client, text))
        assert found.mugraphs == (GRAPH,) and found.estimate == HERE and found.measured is None
        assert found.elsewhere == MeasuredElsewhere(
            "NVIDIA H200 (sm_90)", 12.0, 15.0, "compile", RemotePlace.of(server.url).name
        )
        known = read_result(client.lookup(text, "a.py", "f"))
        assert known == found  # kept on this machine's disk as what it is
        said = client.status()["remote"]
        assert (said["verified"], said["faults"], said["uploaded"]) == (1, 0, 0)
        asked(client, text, "g")  # its upload comes after whatever there is of f
        wait_until(lambda: client.status()["remote"]["uploaded"] == 1)
    assert {
        path: server.entries[path] for path in before
    } == before  # nobody is told of f by a machine that measured nothing


def test_a_machine_with_a_gpu_does_not_take_another_ones_word(house, text, answer, server, measured_there, gpus):
    gpus(("Model: another",), "2.13.0+cu130")
    with house(verifies(answer), remote=remote(server, has_gpu=True)) as h:
        found = read_result(asked(h.client(), text))
        assert found.mugraphs == (OTHER,) and found.elsewhere is None and h.runs[0]["offered"] == ""


def test_another_target_finds_nothing(house, text, answer, server, measured_there):
    with house(verifies(answer), remote=remote(server, has_gpu=False)) as h:
        assert read_result(asked(h.client(), text, target="sm_80")).elsewhere is None


def test_what_was_not_measured_is_given_to_no_target(house, text, answer, server, gpus):
    gpus((), "2.13.0+cpu")
    with house(verifies(answer), remote=remote(server, has_gpu=False)) as h:
        asked(h.client(), text)
        wait_until(lambda: h.client().status()["remote"]["uploaded"] == 1)
        asked(h.client(), text, "g")
        wait_until(lambda: h.client().status()["remote"]["uploaded"] == 2)
    assert len(server.entries) == 2


def test_a_graph_that_the_verifier_refuses_brings_no_times(house, text, answer, server, measured_there):
    forged = rewritten(server.entries[measured_there], mugraph=json.dumps(OTHER | {"version": 2}))
    server.entries[measured_there] = forged
    with house(verifies(answer), remote=remote(server, has_gpu=False)) as h:
        client = h.client()
        found = read_result(asked(client, text))
        assert json.loads(h.runs[0]["offered"]) == OTHER | {"version": 2}
        assert found.mugraphs == (OTHER,) and found.elsewhere is None
        said = client.status()["remote"]
        assert (said["refused"], said["faults"], said["verified"]) == (1, 1, 0)


def test_a_right_one_that_is_slower_by_the_estimate_here_is_no_fault_of_the_server(
    house, text, answer, server, measured_there
):
    def run(payload, report, cancel):
        if payload["offered"]:
            report({RIGHT_BUT_SLOW: True})
        return answer(payload, estimate=HERE, mugraphs=(OTHER,))

    with house(run, remote=remote(server, has_gpu=False)) as h:
        assert read_result(asked(h.client(), text)).elsewhere is None
        said = h.client().status()["remote"]
        assert (said["refused"], said["faults"], said["verified"]) == (0, 0, 0)


def test_what_this_machine_measured_goes_before_another_ones_word(house, text, answer, server, measured_there):
    with house(verifies(answer, estimate=replace(THERE, us=14.0)), remote=remote(server, has_gpu=False)) as h:
        found = read_result(asked(h.client(), text))
        assert found.estimate.us == 14.0 and found.elsewhere is None


def entry(**changes):
    said = {"device": "NVIDIA H200 (sm_90)", "us": 12.0, "baseline_us": 15.0, "against": "compile"} | changes
    made = RemoteEntry.of(KEY, MEASURED)
    return replace(made, measured=json.dumps({k: v for k, v in said.items() if v is not None}))


NO_TIMES = {
    "no device": {"device": None},
    "markup for a name": {"device": "H200 [free](https://example.org)"},
    "a line more": {"device": "H200\nverdict PROVED"},
    "a long name": {"device": "H" * 81},
    "no time": {"us": 0.0},
    "less than none": {"us": -1.0},
    "no number": {"us": float("nan")},
    "without end": {"baseline_us": float("inf")},
    "a text for a time": {"us": "12"},
    "a number of 400 digits": {"us": 10**400},
    "an unknown baseline": {"against": "the best there is"},
    "a word of its own": {"by": "this machine"},
    "a field more": {"verdict": "PROVED"},
}


@pytest.mark.parametrize("name", NO_TIMES)
def test_what_no_gpu_measures_is_no_word(name):
    assert entry().word("x") == MeasuredElsewhere("NVIDIA H200 (sm_90)", 12.0, 15.0, "compile", "x")
    with pytest.raises(RemoteCacheFault, match="no measured one"):
        entry(**NO_TIMES[name]).word("x")


@pytest.mark.parametrize("text", ["", "[" * 999, "null", "3", "{}", " " * 1001])
def test_what_is_no_map_of_times_is_no_word(text):
    with pytest.raises(RemoteCacheFault, match="no measured one"):
        replace(entry(), measured=text).word("x")


def test_an_entry_without_sound_times_is_none_and_the_machines_own_key_is_asked(
    house, text, answer, server, measured_there
):
    content = server.entries[measured_there]
    assert json.loads(RemoteEntry.read(content, key_of(content)).measured)["us"] == 12.0
    server.entries[measured_there] = rewritten(content, measured="")
    with house(verifies(answer), remote=remote(server, has_gpu=False)) as h:
        assert read_result(asked(h.client(), text)).mugraphs == (OTHER,) and h.runs[0]["offered"] == ""
        assert [path for method, path, _ in server.log[-3:] if method == "GET"][-1:] != [measured_there]
        assert "no measured one" in h.client().status()["remote"]["problem"]


def test_times_of_a_machine_without_a_gpu_are_not_sent():
    estimated = replace(MEASURED, estimate=HERE)
    assert RemoteEntry.of(KEY, estimated).measured == "" != RemoteEntry.of(KEY, MEASURED).measured
    assert RemoteEntry.of(KEY, replace(MEASURED, measured=None)).measured == ""


def test_a_server_that_lies_by_target_is_left_alone(server):
    level = remote(server, has_gpu=False)
    for i in range(FAULTS):
        key = f"{i:064x}"
        server.entries[server.path_of(key)] = replace(entry(), question=key).to_bytes()
        asks = {"common": "ff" * 32, "by_target": key}
        run = level.before(lambda payload, *_: {"offered": payload["offered"]})
        assert json.loads(run(asks, lambda body: None, CancelToken())["offered"]) == GRAPH
        level.keep(asks, replace(MEASURED, mugraphs=(OTHER,), measured=None, estimate=HERE))
    assert level.status()["faults"] == FAULTS and level.status()["pause_s"] > 0
    level.close()


def test_the_key_of_a_target_holds_the_question_and_nothing_of_the_machine(text):
    one = question_key.ask(text, "a.py", "f", "sm_90", sys.executable)
    rows = {name: replace(one, **{name: ("x",) if name == "devices" else (("x", "y"),) if name == "packages" else "x"})
            for name in question_key.KEY_INPUTS}  # fmt: skip
    same = {name for name, other in rows.items() if question_key.target_key(other) == question_key.target_key(one)}
    assert same == set(question_key.OF_THE_MACHINE) and all(
        question_key.key(x) != question_key.key(one) for x in rows.values()
    )
    assert question_key.target_key(one) != question_key.key(one)
