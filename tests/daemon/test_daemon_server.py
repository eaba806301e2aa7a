"""Requests over a real socket: every one gets exactly one answer, and no client can hurt another."""

import asyncio
import contextlib
import os
import random
import socket
import struct
import threading
import time

import pytest
from waiting import LIMIT_S, wait_until

from mirage.cli import daemon_question
from mirage.errors import (
    DaemonUnavailable,
    FileUnreadable,
    FunctionNotFound,
    MirageError,
    ProtocolError,
    RankMismatch,
    UnknownJob,
    UntrustedWorkspace,
)
from mirage.link import AsyncClient, paths, protocol, requests
from mirage.link import client as link_client
from mirage.results.progress import ProgressCounts
from mirage_daemon import server


def raw():
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(10)
    connection.connect(os.fspath(paths.socket_path()))
    return connection


def receive(connection):
    header = connection.recv(4, socket.MSG_WAITALL)
    if not header:
        return None
    return protocol.decode(connection.recv(struct.unpack(">I", header)[0], socket.MSG_WAITALL))


def greet(connection):
    connection.sendall(link_client.request(1, "hello", protocol.Hello(protocol.VERSION, "0", "test"), 5.0))
    assert receive(connection)["type"] == "reply"


def at_once(answer):
    return lambda payload, progress, cancel: answer(payload)


def until_released(answer, gate):
    def run_job(payload, progress, cancel):
        while not gate.wait(0.01):
            cancel.check()
        return answer(payload)

    return run_job


def test_a_function_is_optimized_once_and_then_known(house, text, answer):
    with house(at_once(answer)) as h:
        client = h.client()
        job = client.submit(text, "a.py", "f")
        done = client.subscribe(job["job"])
        assert (done["state"], done["result"]["source"], done["error"]) == ("done", "# f", None)
        assert client.result(job["job"]) == done
        again = h.client().submit(text, "elsewhere/b.py", "f")
        assert (again["state"], again["key"]) == ("done", job["key"])
        assert client.lookup(text, "c.py", "f") == done["result"]
        assert client.lookup(text, "c.py", "g") is None
        assert len(h.runs) == 1
        assert {k: h.runs[0][k] for k in ("text", "path", "function", "target", "trusted")} == {
            "text": text, "path": "a.py", "function": "f", "target": "sm_90", "trusted": True,
        }  # fmt: skip


def test_a_known_result_survives_a_restart_and_a_changed_function_does_not(house, text, answer):
    with house(at_once(answer)) as h:
        client = h.client()
        result = client.subscribe(client.submit(text, "a.py", "f")["job"])["result"]
    with house(at_once(answer)) as h:
        client = h.client()
        assert client.lookup(text, "a.py", "f") == result
        elsewhere = text.replace("import torch\n", "import torch\n\n# a comment above\n") + "\n\nother = 1\n"
        assert client.lookup(elsewhere, "a.py", "f") == result
        for changed in (text.replace("dim=-1", "dim=0"), text.replace("16, 64", "16, 65")):
            assert client.lookup(changed, "a.py", "f") is None
        assert client.lookup(text, "a.py", "f", target="sm_100") is None
        assert h.runs == []


def test_two_clients_share_one_job_and_both_get_its_events_in_order(house, text, answer):
    gate, states = threading.Event(), ("tracing", "searching", "verifying", "tuning")

    def run_job(payload, progress, cancel):
        assert gate.wait(LIMIT_S)
        for i, state in enumerate(states):
            progress({"state": state, "counts": {"values": i}})
        return answer(payload)

    with house(run_job) as h:
        first, second, seen = h.client(), h.client(), {0: [], 1: []}
        jobs = [c.submit(text, f"{i}.py", "f")["job"] for i, c in enumerate((first, second))]
        assert jobs[0] == jobs[1]
        threads = [
            threading.Thread(target=c.subscribe, args=(jobs[0], seen[i].append)) for i, c in enumerate((first, second))
        ]
        for t in threads:
            t.start()
        time.sleep(0.2)
        gate.set()
        for t in threads:
            t.join(LIMIT_S)
        for events in seen.values():
            told = [e.state for e in events]
            assert told[-1] == "done" and told.count("done") == 1
            order = [protocol.STATES.index(s) for s in told]
            assert order == sorted(order) and set(states) <= set(told)
        assert len(h.runs) == 1


def test_a_job_stops_when_nobody_wants_it_any_more(house, text, answer):
    gate = threading.Event()
    with house(until_released(answer, gate)) as h:
        first, second = h.client(), h.client()
        job = first.submit(text, "a.py", "f")["job"]
        second.submit(text, "a.py", "f")
        assert first.cancel(job) is False
        assert second.cancel(job) is True
        outcome = first.subscribe(job)
        assert (outcome["state"], outcome["error"]["code"]) == ("cancelled", "MIR402")
        gate.set()
        after = second.submit(text, "a.py", "f")
        assert after["job"] != job
        assert second.subscribe(after["job"])["state"] == "done"


def test_a_client_that_leaves_takes_its_wish_along_but_not_the_work(house, text, answer):
    gate = threading.Event()
    with house(until_released(answer, gate)) as h:
        first, second = h.client(), h.client()
        job = first.submit(text, "a.py", "f")["job"]
        first.close()
        gate.set()
        assert second.subscribe(job)["state"] == "done"


def test_more_urgent_jobs_go_first(house, text, answer):
    gate, order = threading.Event(), []
    body = "".join(
        f"@mirage.optimize(inputs=[((4, 8), 'fp16')])\ndef f{i}(x):\n    return torch.relu(x) + {i}\n\n\n"
        for i in range(4)
    )
    many = "import mirage\nimport torch\n\n\n" + body

    def run_job(payload, progress, cancel):
        assert gate.wait(LIMIT_S)
        order.append(payload["function"])
        return answer(payload)

    with house(run_job, workers=1) as h:
        client = h.client()
        jobs = [client.submit(many, "a.py", f"f{i}", priority=p)["job"] for i, p in enumerate((5, 7, 3, 7))]
        client.submit(many, "a.py", "f3", priority=0)
        gate.set()
        for job in jobs:
            client.subscribe(job)
        assert order == ["f0", "f3", "f2", "f1"]


def test_an_error_of_the_job_reaches_the_client_and_is_not_cached(house, text, answer):
    def run_job(payload, progress, cancel):
        raise RankMismatch("2 against 3", path="a.py", line=7)

    with house(run_job) as h:
        client = h.client()
        for _ in range(2):
            outcome = client.subscribe(client.submit(text, "a.py", "f")["job"])
            assert outcome["state"] == "failed" and outcome["error"]["code"] == "MIR200"
            assert outcome["error"]["line"] == 7
        assert len(h.runs) == 2


def test_progress_that_is_nonsense_changes_nothing(house, text, answer):
    def run_job(payload, progress, cancel):
        progress(
            {
                "state": "done",
                "counts": {"parts": "b", "tried": True, "values": 2, "mugraphs": -1, "systems": 1 << 70, "d": 2},
                "best": 5,
            }
        )
        progress({"state": ["x"], "counts": None})
        progress({"counts": {str(i): i for i in range(10_000)}})
        return answer(payload)

    events = []
    with house(run_job) as h:
        client = h.client()
        job = client.submit(text, "a.py", "f")["job"]
        assert client.subscribe(job, events.append)["state"] == "done"
    assert events[-1].counts == ProgressCounts(values=2)


def test_an_untrusted_workspace_is_answered_from_the_cache_alone(house, text, answer):
    with house(at_once(answer)) as h:
        client = h.client()
        with pytest.raises(UntrustedWorkspace):
            client.submit(text, "a.py", "f", trusted=False)
        assert h.runs == []
        client.subscribe(client.submit(text, "a.py", "f")["job"])
        assert client.submit(text, "a.py", "f", trusted=False)["state"] == "done"
        assert len(h.runs) == 1


def test_mistakes_of_the_client_are_named(house, text, answer):
    with house(at_once(answer)) as h:
        client = h.client()
        with pytest.raises(FunctionNotFound):
            client.submit(text, "a.py", "h")
        with pytest.raises(FileUnreadable):
            client.submit(text, "a.py", "f", interpreter="python3")
        for call in (client.result, client.cancel, client.subscribe):
            with pytest.raises(UnknownJob):
                call("0" * 16)
        assert client.status()["jobs"] == []


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">I", protocol.MAX_FRAME + 1),
        struct.pack(">I", 4) + b"oops",
        protocol.encode({"type": "status", "id": 1, "body": {}, "extra": 1}),
        protocol.encode({"type": "status", "id": "1", "body": {}}),
        protocol.encode({"type": "status", "id": 1, "body": {}, "deadline_s": -1}),
        protocol.encode({"type": "exec", "id": 1, "body": {}}),
        protocol.encode({"type": "hello", "id": 1, "body": {"version": 1, "package": "", "client": ""}}),
        protocol.encode({"type": "cancel", "id": 1, "body": {"job": 5}}),
        protocol.encode({"type": "cancel", "id": 1, "body": {"job": "a", "more": 1}}),
        protocol.encode({"type": "cancel", "id": 1}),
        struct.pack(">I", 300) + b"\x91" * 300,
    ],
)
def test_a_malformed_frame_is_refused_and_ends_that_connection_only(house, answer, frame):
    with house(at_once(answer)) as h:
        other = h.client()
        with raw() as connection:
            greet(connection)
            connection.sendall(frame)
            refusal = receive(connection)
            assert refusal["type"] == "error" and refusal["body"]["code"] == "MIR501"
            assert receive(connection) is None
        assert other.status()["clients"] >= 1


def test_mutated_frames_leave_the_daemon_as_it_was(house, answer):
    chance, kinds = random.Random(5), ["hello", *(k for k in requests.BY_NAME if k not in ("shutdown", "submit"))]
    with house(at_once(answer)) as h:
        client = h.client()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(300):
            frame = bytearray(protocol.encode({"type": chance.choice(kinds), "id": 2, "body": {"job": "a" * 16}}))
            for _ in range(chance.randrange(1, 5)):
                frame[chance.randrange(len(frame))] = chance.randrange(256)
            with raw() as connection:
                greet(connection)
                connection.sendall(frame)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
        wait_until(lambda: client.status()["clients"] == 1)
        assert len(os.listdir("/proc/self/fd")) <= before


def test_nothing_is_answered_before_hello(house, answer):
    with house(at_once(answer)) as h, raw() as connection:
        connection.sendall(protocol.encode({"type": "shutdown", "id": 1, "body": {}}))
        assert receive(connection)["body"]["code"] == "MIR501"
        assert receive(connection) is None
        assert h.client().status()["pid"] == os.getpid()


def test_another_protocol_version_is_refused_with_the_next_step(house, answer, monkeypatch):
    with house(at_once(answer)) as h, raw() as connection:
        connection.sendall(link_client.request(1, "hello", protocol.Hello(99, "0", "test"), 5.0))
        refusal = receive(connection)
        assert refusal["body"]["code"] == "MIR501" and "daemon stop" in refusal["body"]["next_step"]
        h.client()


def test_slow_and_silent_clients_are_closed_and_others_served(house, answer, limits):
    with house(at_once(answer), limits=limits(handshake_s=1.0, idle_s=1.5, body_s=1.0)) as h:
        silent, half = raw(), raw()
        greet(half)
        half.sendall(b"\x00\x00\x10\x00\x81")
        idle = raw()
        greet(idle)
        began = time.monotonic()
        assert h.client().status()["clients"] == 4
        for connection in (silent, half, idle):
            while connection.recv(4096):
                pass
            connection.close()
        assert time.monotonic() - began < 30


def test_a_daemon_that_hangs_is_none_to_who_can_do_without(home, monkeypatch):
    paths.ensure_private(paths.runtime_dir())
    monkeypatch.setattr(link_client, "GRACE_S", -9.8)  # of the 10 s that a greeting may take
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(os.fspath(paths.socket_path()))
        mute.listen()
        with pytest.raises(DaemonUnavailable, match="does not answer"):
            daemon_question.Daemon()


def test_a_file_whose_name_is_no_text_can_be_optimized(house, text, answer):
    with house(at_once(answer)) as h, daemon_question.Daemon() as daemon:
        found = daemon.optimize(text, "/p/\udcff.py", "f", "sm_90", protocol.SearchOptions(), lambda p: None)
        assert found.source == "# f" and h.runs[0]["path"] == "/p/\N{REPLACEMENT CHARACTER}.py"
        with pytest.raises(ProtocolError):
            h.client().submit(text + "# \ud800", "/p/a.py", "f")


def test_a_frame_that_is_not_whole_in_time_ends_the_connection_with_work_under_way_too(house, text, limits):
    def run_job(payload, progress, cancel):
        while not cancel.cancelled:
            time.sleep(0.005)
        cancel.check()

    with house(run_job, limits=limits(body_s=0.3)) as h, raw() as connection:
        client = h.client()
        job = client.submit(text, "/p/a.py", "f")["job"]
        greet(connection)
        connection.sendall(link_client.request(2, "subscribe", protocol.Subscribe(job), None))
        abandon = link_client.request(3, "cancel", protocol.Cancel(job), 5.0)
        connection.sendall(len(abandon).to_bytes(4, "big"))
        time.sleep(0.6)
        with contextlib.suppress(OSError):
            connection.sendall(abandon)  # the content of the frame, not one of its own
        assert b"MIR501" in drained(connection)
        assert [j["state"] for j in client.status()["jobs"]] == ["tracing"]


def drained(connection):
    found = b""
    with contextlib.suppress(OSError):
        while part := connection.recv(4096):
            found += part
    return found


def test_a_client_that_does_not_read_is_dropped(house, text, answer, limits):
    stop = threading.Event()

    def run_job(payload, progress, cancel):
        i = 0
        while not stop.wait(0.0005):
            cancel.check()
            i += 1
            progress({"state": ("searching", "verifying")[i % 2], "best": "b" * 500})
        return answer(payload)

    with house(run_job, limits=limits(queued_frames=64, write_s=1.0)) as h:
        other = h.client()
        job = other.submit(text, "a.py", "f")["job"]
        deaf = raw()
        greet(deaf)
        deaf.sendall(link_client.request(2, "subscribe", protocol.Subscribe(job), None))
        wait_until(lambda: other.status()["clients"] == 1)
        assert other.status()["jobs"][0]["job"] == job
        stop.set()
        assert other.subscribe(job)["state"] == "done"
        deaf.close()


def test_a_deadline_is_kept(house, text, answer):
    gate = threading.Event()
    with house(until_released(answer, gate)) as h:
        client = h.client()
        job = client.submit(text, "a.py", "f")["job"]
        with pytest.raises(MirageError) as error:
            client.subscribe(job, deadline_s=0.2)
        assert error.value.code == "MIR506"
        assert client.status()["jobs"][0]["state"] == "tracing"
        gate.set()


def test_a_request_that_names_no_deadline_has_one_but_a_subscription_waits(house, text, answer, monkeypatch):
    gate = threading.Event()

    async def never(*_):
        await asyncio.sleep(60)

    monkeypatch.setattr(server, "DEFAULT_DEADLINE_S", 0.1)
    monkeypatch.setitem(server.HANDLERS, "log", never)
    with house(until_released(answer, gate)) as h, raw() as connection:
        client = h.client()
        job = client.submit(text, "a.py", "f")["job"]
        greet(connection)
        connection.sendall(link_client.request(2, "subscribe", protocol.Subscribe(job), None))
        connection.sendall(link_client.request(3, "log", protocol.Log(5), None))
        while (said := receive(connection))["type"] == "event":
            pass
        assert (said["id"], said["body"]["code"]) == (3, "MIR506")
        gate.set()
        while (said := receive(connection))["type"] == "event":
            pass
        assert (said["id"], said["body"]["state"]) == (2, "done")


def test_a_stop_ends_running_jobs_as_cancelled(house, text, answer):
    gate, outcome = threading.Event(), []
    with house(until_released(answer, gate)) as h:
        client = h.client()
        job = client.submit(text, "a.py", "f")["job"]
        waiting = threading.Thread(target=lambda: outcome.append(client.subscribe(job)))
        waiting.start()
        time.sleep(0.2)
        h.client().shutdown()
        waiting.join(LIMIT_S)
        h.thread.join(LIMIT_S)
    assert outcome[0]["state"] == "cancelled"


def test_who_hears_that_a_stop_cancelled_a_job_finds_only_the_next_daemon(house, text, answer):
    gate, reached = threading.Event(), []
    with house(until_released(answer, gate)) as h:
        client, connection = h.client(), h.client()
        job = client.submit(text, "a.py", "f")["job"]

        def follow():
            assert client.subscribe(job)["state"] == "cancelled"
            try:
                link_client.dial().close()
                reached.append(True)
            except DaemonUnavailable:
                reached.append(False)

        waiting = threading.Thread(target=follow)
        waiting.start()
        time.sleep(0.2)
        connection.shutdown()
        waiting.join(LIMIT_S)
    assert reached == [False]


def test_what_is_asked_while_it_stops_is_left_to_the_next_daemon(house, text, answer):
    begun, gate = threading.Event(), threading.Event()

    def deaf(payload, progress, cancel):
        begun.set()
        assert gate.wait(LIMIT_S)
        cancel.check()

    with house(deaf) as h:
        client = h.client()
        client.submit(text, "a.py", "f")
        assert begun.wait(LIMIT_S)
        client.shutdown()
        wait_until(lambda: h.server.jobs._closing)
        job = client.submit(text, "a.py", "g")
        assert job["state"] == "cancelled" and client.subscribe(job["job"])["error"]["code"] == "MIR402"
        gate.set()
        h.thread.join(LIMIT_S)
        assert [payload["function"] for payload in h.runs] == ["f"]
    with house(lambda payload, progress, cancel: answer(payload)) as h:  # nobody asks
        wait_until(lambda: len(h.runs) == 2)
        assert {payload["function"] for payload in h.runs} == {"f", "g"}


def test_it_ends_after_an_idle_time_but_not_while_it_works(house, text, answer):
    gate = threading.Event()
    with house(until_released(answer, gate), idle_s=0.5) as h:
        client = h.client()
        client.submit(text, "a.py", "f")
        h.thread.join(1.2)
        assert h.thread.is_alive()
        gate.set()
        h.thread.join(8)
        assert not h.thread.is_alive()
        with pytest.raises(DaemonUnavailable):
            client.status()


def test_the_asyncio_client_asks_many_things_at_once(house, text, answer):
    gate = threading.Event()

    async def talk():
        async with AsyncClient(start_daemon=False) as client:
            events = []
            job = (await client.submit(text, "a.py", "f"))["job"]
            waiting = asyncio.create_task(client.subscribe(job, events.append))
            facts = await asyncio.gather(*(client.status() for _ in range(20)))
            assert all(f["jobs"][0]["job"] == job for f in facts)
            gate.set()
            assert (await waiting)["state"] == "done"
            assert events[0].job == job and events[-1].state == "done"
            assert (await client.lookup(text, "a.py", "f"))["source"] == "# f"
            with pytest.raises(UnknownJob):
                await client.result("0")
            assert await client.cancel(job) is False

    with house(until_released(answer, gate)):
        asyncio.run(talk())


def test_the_asyncio_client_comes_back_after_a_restart(house, text, answer):
    async def talk(h):
        client = AsyncClient(start_daemon=False)
        pid = (await client.status())["pid"]
        await client.shutdown()
        await asyncio.to_thread(h.thread.join, 10)
        with pytest.raises(DaemonUnavailable):
            await client.status()
        with house(at_once(answer)):
            assert (await client.status())["pid"] == pid
            await client.close()

    with house(at_once(answer)) as h:
        asyncio.run(talk(h))


def test_the_client_refuses_what_a_false_daemon_sends(home):
    paths.ensure_private(paths.runtime_dir())
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(os.fspath(paths.socket_path()))
        listener.listen()
        for wrong in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x01\x90", protocol.encode({"type": "reply", "id": 1})):

            def lie(wrong=wrong):
                connection, _ = listener.accept()
                connection.recv(4096)
                connection.sendall(wrong)
                connection.close()

            liar = threading.Thread(target=lie)
            liar.start()
            with pytest.raises(ProtocolError):
                link_client.Client.connect(start_daemon=False)
            liar.join(5)
