"""Watched projects, shapes seen at run time, and what is asked of a search, through the daemon's socket."""

import asyncio
import os
import threading
import time

import pytest
from waiting import wait_until

from mirage.errors import BadSearchParameter, FileUnreadable, MissingShape, ProtocolError, UntrustedWorkspace
from mirage.link.request_parameters import SearchOptions
from mirage_daemon import watch_projects

HEAD = "import mirage\nimport torch\n\n\n"
SHAPED = '@mirage.optimize(inputs=[((16, 64), "fp16")])\ndef f(x):\n    return torch.relu(x * {})\n'
BARE = "@mirage.optimize\ndef f(x, w):\n    return torch.relu(x @ w)\n"
SEEN = [("x", [4, 8], "fp16"), ("w", [8, 2], "fp16")]


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(watch_projects, "QUIET_S", 0.05)


@pytest.fixture
def project(home):
    (home / "project").mkdir()
    (home / "project" / "m.py").write_text(HEAD + SHAPED.format(2))
    return home / "project"


def test_a_save_in_a_watched_project_makes_the_result_known(house, answer, project):
    with house(lambda payload, *_: answer(payload)) as h:
        client, file = h.client(), project / "m.py"
        row = client.watch(str(project), trusted=True)
        assert (row["files"], row["functions"], row["problem"]) == (1, 1, "") and client.status()["projects"] == [row]
        file.write_text(HEAD + SHAPED.format(3))
        wait_until(lambda: client.lookup(file.read_text(), str(file), "f") is not None)
        file.write_text(HEAD + "# words\n" + SHAPED.format(3))
        time.sleep(0.3)
        assert len(h.runs) == 1 and client.status()["projects"][0]["submitted"] == 1
        assert client.unwatch(str(project)) and not client.unwatch(str(project))
        file.write_text(HEAD + SHAPED.format(4))
        time.sleep(0.3)
        assert len(h.runs) == 1 and client.status()["projects"] == []


def test_only_a_trusted_folder_is_watched(house, answer, project):
    with house(lambda payload, *_: answer(payload)) as h:
        client = h.client()
        with pytest.raises(UntrustedWorkspace):
            client.watch(str(project), trusted=False)
        for root in ("project", str(project / "nothing"), str(project / "m.py")):
            with pytest.raises(FileUnreadable):
                client.watch(root, trusted=True)
        (project / "m.py").write_text(HEAD + SHAPED.format(3))
        time.sleep(0.3)
        assert h.runs == [] and client.status()["projects"] == []


def test_what_an_earlier_text_asked_for_is_stopped(house, answer, project):
    stopped, go = [], threading.Event()

    def run(payload, progress, cancel):
        while "* 3" in payload["text"] and not go.is_set():
            if cancel.cancelled:
                stopped.append(payload["text"])
                cancel.check()
            time.sleep(0.01)
        return answer(payload)

    with house(run) as h:
        client, file = h.client(), project / "m.py"
        client.watch(str(project), trusted=True)
        file.write_text(HEAD + SHAPED.format(3))
        wait_until(lambda: len(h.runs) == 1)
        file.write_text(HEAD + SHAPED.format(4))
        wait_until(lambda: client.lookup(file.read_text(), str(file), "f") is not None)
        wait_until(lambda: stopped)
        file.write_text(HEAD + SHAPED.format(31))
        wait_until(lambda: len(h.runs) == 3)
        client.unwatch(str(project))
        wait_until(lambda: len(stopped) == 2)
        go.set()


def test_a_save_that_is_on_its_way_while_its_folder_is_left_is_stopped(house, answer, project):
    stopped, began, go_on = [], threading.Event(), threading.Event()

    def run(payload, progress, cancel):
        while not cancel.cancelled:
            time.sleep(0.01)
        stopped.append(payload["text"])
        cancel.check()

    with house(run) as h:
        take = h.server.take

        async def slowly(body, client):
            job = await take(body, client)
            began.set()
            await asyncio.to_thread(go_on.wait, 30)
            return job

        h.server.take = slowly
        client, file = h.client(), project / "m.py"
        client.watch(str(project), trusted=True)
        file.write_text(HEAD + SHAPED.format(3))
        assert began.wait(30)
        client.unwatch(str(project))
        assert not stopped
        go_on.set()
        wait_until(lambda: stopped)


def test_what_a_user_stops_is_stopped_for_saves_too(house, answer, project):
    def run(payload, progress, cancel):
        while "* 3" in payload["text"]:
            cancel.check()
            time.sleep(0.01)
        return answer(payload)

    with house(run) as h:
        client, other, file = h.client(), h.client(), project / "m.py"
        client.watch(str(project), trusted=True)
        file.write_text(HEAD + SHAPED.format(3))
        wait_until(lambda: [(job["wanted"], job["saves"]) for job in client.status()["jobs"]] == [(1, 1)])
        job = client.submit(file.read_text(), str(file), "f")["job"]
        assert not client.cancel(job)  # the save wants it
        client.submit(file.read_text(), str(file), "f")
        theirs = other.submit(file.read_text(), str(file), "f")["job"]
        assert theirs == job and not client.abandon(job)  # somebody else wants it
        assert [(job["wanted"], job["saves"]) for job in client.status()["jobs"]] == [(1, 0)]
        assert other.abandon(job) and other.subscribe(job)["state"] == "cancelled"
        assert client.status()["projects"][0]["submitted"] == 1
        file.write_text(HEAD + SHAPED.format(4))
        wait_until(lambda: client.lookup(file.read_text(), str(file), "f") is not None)
        file.write_text(HEAD + SHAPED.format(3))  # stopped by hand once: no save begins it again
        time.sleep(0.3)
        assert client.status()["jobs"] == [] and len(h.runs) == 2
        again = client.submit(file.read_text(), str(file), "f")["job"]
        wait_until(lambda: len(h.runs) == 3)
        assert [row["state"] for row in client.status()["ended"]] == ["done"]  # the other is asked for again
        assert client.cancel(again)
        wait_until(lambda: [row["state"] for row in client.status()["ended"]] == ["cancelled", "done"])


def test_shapes_seen_at_run_time_are_kept_and_used(house, answer, home):
    text, path = HEAD + BARE, str(home / "m.py")
    with house(lambda payload, *_: answer(payload)) as h:
        client = h.client()
        with pytest.raises(MissingShape):
            client.submit(text, path, "f")
        assert client.seen(path, "f", SEEN) and not client.seen(path, "f", SEEN)
        assert client.shapes(path) == {"f": [[list(i) for i in SEEN]]} and client.shapes(path + "x") == {}
        with pytest.raises(MissingShape):
            client.submit(text, path + "x", "f")
        assert client.subscribe(client.submit(text, path, "f")["job"])["state"] == "done"
        (run,) = h.runs
        assert 'inputs=[((4, 8), "fp16"), ((8, 2), "fp16")]' in run["text"]
        assert client.lookup(text, path, "f") is not None
        assert client.lookup(text, "elsewhere.py", "f", inputs=SEEN) is not None
        assert client.lookup(text, "elsewhere.py", "f", inputs=[("x", [4, 9], "fp16"), ("w", [9, 2], "fp16")]) is None
    with house(lambda payload, *_: answer(payload)) as h:
        assert list(h.client().shapes(path)) == ["f"]  # the next daemon knows them


def test_a_watched_function_without_shapes_is_submitted_once_they_are_seen(house, answer, project):
    file = project / "m.py"
    file.write_text(HEAD + BARE)
    with house(lambda payload, *_: answer(payload)) as h:
        client = h.client()
        client.watch(str(project), trusted=True)
        assert client.seen(str(project.parent / "other.py"), "f", SEEN)
        assert client.seen(str(file), "f", SEEN)
        wait_until(lambda: client.lookup(HEAD + BARE, str(file), "f") is not None)
        assert len(h.runs) == 1


@pytest.mark.parametrize(
    ("path", "inputs"),
    [
        ("relative.py", SEEN),
        ("/a.py", []),
        ("/a.py", [("x", [-1], "fp16")]),
        ("/a.py", [("x", [1 << 50], "fp16")]),
        ("/a.py", [("x", [1] * 17, "fp16")]),
        ("/a.py", [("x", [1], "complex64")]),
        ("/a.py", [("x" * 300, [1], "fp16")]),
    ],
)
def test_inputs_that_no_call_has_are_refused(house, answer, path, inputs):
    with house(lambda payload, *_: answer(payload)) as h, pytest.raises(ProtocolError):
        h.client().seen(path, "f", inputs)


def test_what_is_asked_of_the_search_reaches_it_and_is_a_part_of_the_question(house, answer, text):
    options = SearchOptions(kernels=1, seconds=3.0, anyway=True, given={"franges": [2, 4]}, rules="a: x == x")
    with house(lambda payload, *_: answer(payload)) as h:
        client = h.client()
        for asked in (
            SearchOptions(),
            options,
            SearchOptions(loops=1),
            SearchOptions(rules="a: y == y"),
            SearchOptions(anyway=True),
        ):
            assert client.subscribe(client.submit(text, "m.py", "f", options=asked)["job"])["state"] == "done"
            assert client.lookup(text, "m.py", "f", options=asked) is not None
        assert len(h.runs) == 5
        assert h.runs[1]["options"] == {
            "kernels": 1, "loops": 0, "seconds": 3.0, "anyway": True, "rules": "a: x == x", "given": {"franges": [2, 4]},
        }  # fmt: skip
        assert client.lookup(text, "m.py", "f", options=SearchOptions(kernels=2)) is None
        with pytest.raises(BadSearchParameter):
            client.submit(text, "m.py", "f", options=SearchOptions(given={"franges": [-3]}))


def test_the_options_of_the_wire_are_those_of_the_search():
    from mirage.pipeline.request_payload import from_payload
    from mirage.search.engine import Bounds

    body = {"text": "t", "path": "p", "function": "f"}
    bare = from_payload(body)
    assert bare.bounds == Bounds() and not bare.anyway and bare.rules is None
    said = from_payload({**body, "options": {**protocol_options(), "given": {"franges": [2]}, "anyway": True}})
    assert said.bounds.given.franges == (2,) and said.anyway
    assert from_payload({**body, "options": protocol_options()}) == bare


def protocol_options():
    from mirage.link import protocol

    return protocol.unstructure(SearchOptions())


def test_paths_with_links_are_one_project(house, answer, project):
    os.symlink(project, project.parent / "link")
    with house(lambda payload, *_: answer(payload)) as h:
        client = h.client()
        client.watch(str(project), trusted=True)
        client.watch(str(project.parent / "link"), trusted=True)
        assert len(client.status()["projects"]) == 1


def test_the_command(house, answer, project):
    from click.testing import CliRunner

    from mirage_daemon.daemon_command import daemon

    def said(*arguments):
        done = CliRunner().invoke(daemon, arguments)
        return done.exit_code, done.output

    with house(lambda payload, *_: answer(payload)):
        assert said("watch", str(project)) == (0, f"watching {project}: 1 files, 1 functions\n")
        assert f"watching {project}: 1 folders, 1 files, 1 functions, 0 submitted\n" in said("status")[1]
        assert said("watch", str(project), "--off") == (0, "no longer watched\n")
        assert said("watch", str(project), "--off") == (0, "was not watched\n")
        assert "watching" not in said("status")[1]
        assert said("watch", str(project / "nothing"))[0] == 2
