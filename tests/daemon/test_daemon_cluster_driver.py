"""The process between a daemon and Ray, and what a node gives it, with a played Ray."""

import asyncio
from types import SimpleNamespace

import pytest

from mirage.errors import ClusterFault, FunctionNotFound, MirageError, NotVerified, WorkerDied
from mirage.isolate import worker_messages as messages
from mirage_daemon import cluster_driver, cluster_node, question_key
from mirage_daemon.cluster_driver import LOST, ClusterDriver, connected, serve


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


def event(n):
    return messages.encode(messages.event(1, {"part": {"search": "s", "name": f"out({n})", "line": "abc"}}))


ANSWER = messages.encode(messages.answer(1, {"parts": 2}))


class Stream:
    """What a task gives: bytes, errors that are raised, or "waits"."""

    def __init__(self, script):
        self.script, self.cancelled = list(script), asyncio.Event()

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.script:
            raise StopAsyncIteration
        step = self.script.pop(0)
        if step == "waits":
            await self.cancelled.wait()
            step = RayError("cancelled")

        async def value():
            if isinstance(step, Exception):
                raise step
            return step

        return value()


class PlayedRay:
    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, *scripts):
        self.scripts, self.asked, self.options, self.cancelled, self.where = list(scripts), [], None, [], []

    def remote(self, **options):
        self.options = options
        return lambda function: SimpleNamespace(remote=self._begin, options=self._on)

    def _on(self, **where):
        self.where.append(where)
        return SimpleNamespace(remote=self._begin)

    def _begin(self, data):
        (asked,) = messages.Frames().feed(data)
        self.asked.append(asked["payload"])
        return Stream(self.scripts.pop(0))

    def cancel(self, stream, force):
        self.cancelled.append(force)
        stream.cancelled.set()

    def cluster_resources(self):
        return {"CPU": 7.0}

    def nodes(self):
        def node(name, alive, **has):
            return {"NodeManagerHostname": name, "Alive": alive, "Resources": has}

        return [
            node("head", True, memory=1.0),
            node("gone", False, CPU=9.0),
            node("n1", True, CPU=7.0, GPU=2.0, **{"accelerator_type:H200": 1.0, "node:10.0.0.3": 1.0}),
        ]


def drive(*scripts, cancel=False, task="search", **more):
    """(the messages that go to the daemon, Ray as it was used)."""
    ray, sent = PlayedRay(*scripts), []

    async def run():
        driver = ClusterDriver(ray, sent.append)
        driver.take(messages.call(1, task, {"text": "t", "checkpoint": {"s": {"a()": "x"}}, **more}))
        if cancel != "at once":
            await asyncio.sleep(0.01)
        if cancel:
            driver.take(messages.call(1, "cancel", {}))
        while driver._tasks:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(run(), 10))
    return sent, ray


def told(sent):
    return [
        m["event"].get("part", m["event"]).get("name", m["event"].get("counts")) if m["type"] == "event" else "answer"
        for m in sent
    ]


def test_a_nodes_parts_and_its_answer_are_passed_on():
    sent, ray = drive([event(0), event(1), ANSWER])
    assert told(sent) == ["out(0)", "out(1)", "answer"] and sent[-1]["value"] == {"parts": 2}
    assert ray.asked == [{"text": "t", "checkpoint": {"s": {"a()": "x"}}}] and ray.options["max_retries"] == 0


def test_a_lost_node_is_made_up_for_from_the_finished_parts():
    sent, ray = drive([event(0), RayError("the node died")], [event(1), ANSWER])
    assert told(sent) == ["out(0)", {"retries": 1}, "out(1)", "answer"] and sent[-1]["value"]
    assert ray.asked[1]["checkpoint"] == {"s": {"a()": "x", "out(0)": "abc"}}


def test_a_job_that_loses_node_after_node_ends():
    sent, ray = drive(*[[RayError("the node died")]] * (LOST + 1))
    assert len(ray.asked) == LOST + 1 and sent[-1]["error"]["code"] == WorkerDied.code


def test_what_our_own_code_raised_there_is_not_tried_again():
    sent, ray = drive([RayTaskError("Traceback\nModuleNotFoundError: No module named 'mirage_daemon'")])
    assert (
        len(ray.asked) == 1
        and sent[-1]["error"]["code"] == "MIR511"
        and "ModuleNotFound" in sent[-1]["error"]["message"]
    )


@pytest.mark.parametrize("data", ["a text", b"", b"\x00\x00\x00\x01\xc1", event(0) + event(1), {"a": 1}, bytes(5)])
def test_what_is_no_message_ends_the_search(data):
    sent, _ = drive([event(0), data, event(1), ANSWER])
    assert told(sent) == ["out(0)", "answer"] and sent[-1]["error"]["code"] == "MIR501"


def test_a_node_that_gives_no_answer_is_a_fault():
    sent, _ = drive([event(0)])
    assert sent[-1]["error"]["code"] == "MIR501"


def test_cancelling_ends_the_nodes_process_and_begins_nothing_anew():
    sent, ray = drive([event(0), "waits"], cancel=True)
    assert ray.cancelled == [True] and len(ray.asked) == 1 and told(sent) == ["out(0)", "answer"]
    sent, ray = drive(["waits"], cancel="at once")
    assert ray.asked == [] and sent == []


def test_it_serves_until_the_daemon_is_gone():
    sent = []

    async def run():
        requests = asyncio.StreamReader()
        requests.feed_data(messages.encode(messages.call(1, "search", {"text": "t"})))
        serving = asyncio.create_task(serve(ClusterDriver(PlayedRay([ANSWER]), sent.append), requests, sent.append))
        counted = messages.event(0, {"processors": 7})
        while counted not in sent or not any(m["type"] == "answer" for m in sent):
            await asyncio.sleep(0.001)
        requests.feed_eof()
        await serving

    asyncio.run(asyncio.wait_for(run(), 10))
    assert messages.event(0, {"processors": 7}) in sent
    nodes = next(m["event"]["nodes"] for m in sent if m["type"] == "event" and "nodes" in m["event"])
    assert nodes == [
        {"name": "head", "processors": 0, "gpus": []},
        {"name": "n1", "processors": 7, "gpus": ["H200", "H200"]},
    ]


def test_what_a_gpu_has_to_choose_goes_to_a_node_with_one_of_that_name():
    sent, ray = drive([event(0), RayError("the node died")], [event(1), ANSWER], task="measure", gpu="H200")
    assert told(sent) == ["out(0)", {"retries": 1}, "out(1)", "answer"]
    assert [where["resources"] for where in ray.where] == [{"accelerator_type:H200": cluster_driver.LITTLE}]
    assert 0 < ray.where[0]["num_gpus"] < 1 and ray.asked[1]["checkpoint"]["s"]["out(0)"] == "abc"
    assert "gpu" not in ray.asked[0]
    _, ray = drive([ANSWER])
    assert not ray.where  # a search goes anywhere


def test_nobody_at_the_address_is_one_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", SimpleNamespace())
    with pytest.raises(ClusterFault, match="nobody answers at"):
        connected("127.0.0.1:1")
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ClusterFault, match="not installed") as e:
        connected("auto")
    assert "pip install" in e.value.next_step


def test_what_ray_says_of_a_cluster_is_one_line(monkeypatch):
    def init(**_):
        raise RuntimeError("Version mismatch: 1\nThe cluster: 2")

    monkeypatch.setitem(__import__("sys").modules, "ray", SimpleNamespace(init=init))
    with pytest.raises(ClusterFault, match="Version mismatch: 1") as e:
        connected("auto")
    assert "\n" not in str(e.value)


def on_a_node(monkeypatch, found, task="search", **more):
    """The messages that a node gives where its workers find that."""

    def here(payload, report, cancel):
        assert "code" not in payload and "job" not in payload
        report({"part": {"search": "s", "name": "out()", "line": "abc"}})
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(cluster_node, f"_{task}_here", here)
    asked = messages.call(4, task, {"text": "t", "code": question_key.code_digest(), "job": "j1", **more})
    return [cluster_driver._checked(data) for data in cluster_node.work(messages.encode(asked))]


@pytest.mark.parametrize("task", ["search", "measure"])
def test_a_node_says_who_it_is_and_gives_its_parts_and_an_answer(monkeypatch, task, caplog):
    caplog.set_level("INFO", "mirage.daemon.node")
    given = on_a_node(monkeypatch, {"parts": 1}, task)
    assert [m["type"] for m in given] == ["event", "event", "answer"] and given[-1]["value"] == {"parts": 1}
    assert given[0]["event"] == {"node": cluster_node.platform.node()} and "part" in given[1]["event"]
    assert [r.getMessage() for r in caplog.records] == [f"job j1: {task} of `` begins", f"job j1: {task} ends"]
    given = on_a_node(monkeypatch, FunctionNotFound("none"), task)
    assert given[-1]["type"] == "answer" and given[-1]["error"]["code"] == FunctionNotFound.code


def test_what_our_code_does_wrong_on_a_node_is_raised(monkeypatch):
    with pytest.raises(ZeroDivisionError):
        on_a_node(monkeypatch, ZeroDivisionError())


def test_a_node_of_another_version_searches_nothing(monkeypatch):
    (only,) = on_a_node(monkeypatch, NotVerified("it ran"), code="another")
    error = MirageError.from_dict(only["error"])
    assert isinstance(error, ClusterFault) and "another version" in error.message
