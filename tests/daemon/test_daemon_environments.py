"""An answer belongs to the environment that made it: another one is served it only once the daemon's own verified it."""

import json
import os
import platform
import sys
from pathlib import Path

import pytest

from mirage.errors import Cancelled, NotVerified
from mirage.results.progress import CancelToken
from mirage_daemon import question_key
from mirage_daemon.worker_pool import WorkerPool

GRAPH = {"version": 1, "mugraph": {"name": "planted"}}


def environment(folder, version=None):
    """An environment with the daemon's own packages and language, but for `version`."""
    place = Path(question_key._site_folders(sys.executable)[0])
    site = folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    site.parent.mkdir(parents=True)
    site.symlink_to(place)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {version or platform.python_version()}\n")
    return str(folder / "bin" / "python")


@pytest.fixture
def places(tmp_path):
    """Interpreters of two projects, and of one with another language."""
    return environment(tmp_path / "a"), environment(tmp_path / "b"), environment(tmp_path / "old", "3.1.1")


def submitted(client, text, interpreter=""):
    return client.subscribe(client.submit(text, "a.py", "f", interpreter=interpreter)["job"])["state"]


def looked_up(client, text, interpreter=""):
    return client.lookup(text, "a.py", "f", interpreter=interpreter) is not None


def test_what_one_projects_environment_answered_another_is_not_served(house, places, text, answer):
    a, b, old = places
    assert dict(question_key.package_versions(a)) == dict(question_key.package_versions(sys.executable))
    with house(lambda payload, *_: answer(payload, mugraphs=(GRAPH,))) as h:
        client = h.client()
        assert submitted(client, text, a) == "done"
        assert looked_up(client, text, a)
        assert not looked_up(client, text, b) and not looked_up(client, text) and not looked_up(client, text, old)
        assert [p["interpreter"] for p in h.runs] == [a] and h.runs[0]["offered"] == ""


def test_what_another_environment_found_is_a_proposal(house, places, text, answer):
    a, b, old = places
    with house(lambda payload, *_: answer(payload, mugraphs=(GRAPH,))) as h:
        client = h.client()
        for interpreter in (a, b, "", old):
            assert submitted(client, text, interpreter) == "done"
        offered = [json.loads(p["offered"] or "null") for p in h.runs]
        assert offered == [None, GRAPH, GRAPH, None]  # other packages: nothing that was found says anything
        assert submitted(client, text, a) == submitted(client, text, b) == "done" and len(h.runs) == 4
        fresh = client.subscribe(client.submit(text, "a.py", "f", interpreter=b, fresh=True)["job"])
        assert fresh["state"] == "done" and h.runs[4]["offered"] == ""


def test_what_the_daemons_own_environment_answered_all_are_served(house, places, text, answer):
    a, b, old = places
    with house(lambda payload, *_: answer(payload)) as h:
        client = h.client()
        assert submitted(client, text) == "done"
        assert looked_up(client, text, a) and looked_up(client, text, b) and looked_up(client, text, sys.executable)
        assert not looked_up(client, text, old)


def test_an_environment_is_its_folder(tmp_path, places):
    a, b, _ = places
    assert question_key.environment_of(sys.executable) == ""
    assert question_key.environment_of(a) != question_key.environment_of(b)
    assert question_key.environment_of(a) == question_key.environment_of(os.path.dirname(a) + "/../bin/python3")


class FakeWorker:
    """Says which interpreter is asked for which task."""

    pid = None

    def __init__(self, interpreter, asked, verified):
        self.interpreter, self.asked, self.verified = interpreter, asked, verified

    def call(self, task, body, **_):
        assert not {"common", "offered", "fresh", "project", "interpreter"} & set(body)
        self.asked.append((task, self.interpreter))
        if task == "recheck":
            assert body["mugraph"] == "{}"
            return self.verified()
        return {"result": {"answer": "kernel", "by": self.interpreter}}

    def close(self):
        pass


def refused():
    raise NotVerified("it computes something else")


def cancelled():
    raise Cancelled("stop")


def asked_for(verified, payload):
    asked = []
    with WorkerPool(make=lambda interpreter: FakeWorker(interpreter, asked, verified)) as pool:
        try:
            answer = pool.run_job(
                {"interpreter": "/b/python", "common": "k", "fresh": False, **payload},
                lambda event: None,
                CancelToken(),
            )
        except Cancelled:
            answer = None
    return asked, answer


def test_a_proposal_is_verified_by_the_daemons_own_interpreter_alone():
    good = {"result": {"answer": "kernel", "by": "verified"}}
    assert asked_for(lambda: good, {"offered": "{}"}) == ([("recheck", sys.executable)], good)


@pytest.mark.parametrize(
    "verified", [refused, lambda: {"result": {"answer": "keep"}}, lambda: {}, lambda: {"result": 1}]
)
def test_a_proposal_that_is_not_verified_or_not_faster_costs_the_asker_a_search(verified):
    asked, answer = asked_for(verified, {"offered": "{}"})
    assert asked == [("recheck", sys.executable), ("optimize", "/b/python")]
    assert answer["result"]["by"] == "/b/python"


def test_without_a_proposal_the_asker_searches_and_a_stop_is_a_stop():
    assert asked_for(refused, {"offered": ""})[0] == [("optimize", "/b/python")]
    assert asked_for(cancelled, {"offered": "{}"}) == ([("recheck", sys.executable)], None)
