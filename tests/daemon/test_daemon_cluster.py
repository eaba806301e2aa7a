"""A cluster's nodes search for the daemon, and whatever they do costs the daemon no answer. No Ray: its process is played."""

import os
import sys
import threading
import time

import pytest
from waiting import wait_until

from mirage.errors import Cancelled, ClusterFault
from mirage.results.progress import CancelToken
from mirage_daemon.cluster import Cluster, checked_address
from mirage_daemon.fault_breaker import FAULTS, FaultBreaker
from mirage_daemon.worker_pool import Turn, WorkerPool

PLAYED = """
import os, struct, sys
from mirage.errors import ClusterFault, FunctionNotFound
from mirage.isolate import worker_messages as m

part, log = sys.argv[1], open(sys.argv[2], "a", buffering=1)

def say(message):
    os.write(1, m.encode(message))

if part == "silent":
    sys.stdin.read()
if part == "noise":
    os.write(1, b"\\x00\\x00\\x00\\x04nope")
if part == "refuses":
    say(m.answer(0, None, ClusterFault("nobody answers", next_step="start it").to_dict()))
    sys.exit()
say(m.event(0, {"processors": {"none": 0, "odd": "many"}.get(part, 3)}))
if part == "deaf":
    import time
    time.sleep(600)
frames = m.Frames()
while data := os.read(0, 1 << 16):
    for asked in frames.feed(data):
        ident = asked["id"]
        print(asked["task"], sorted(asked["payload"]), file=log)
        if asked["task"] != "search" or part == "waits":
            continue
        if part == "others":
            for other in (ident + 1, ident - 1, -ident, 1 << 62):
                say(m.answer(other, {"parts": 0}))
                say(m.event(other, {"part": {"search": "s", "name": "forged", "line": "abc"}}))
            say(m.call(ident, "search", {}))
        if part == "much":
            say(m.event(ident, {"best": ["x"] * 200_000}))
        while part == "endless":
            say(m.event(ident, {"state": "searching"}))
        for n in range(2):
            say(m.event(ident, {"part": {"search": "s", "name": f"out({n})", "line": "abc"}}))
        if part == "dies":
            sys.exit(1)
        if part == "leaves":
            say(m.event(0, {"processors": 0}))
            continue
        error = {"fault": ClusterFault("a node failed\\nbadly"), "user": FunctionNotFound("no such function")}.get(part)
        say(m.answer(ident, None if error else {"parts": 2}, error.to_dict() if error else None))
"""


@pytest.fixture
def played(tmp_path):
    made = []

    def start(part, **options):
        log = tmp_path / f"log{len(made)}"
        log.touch()
        env_path = f"import sys; sys.path[:] = {sys.path!r}; sys.argv[1:] = {[part, str(log)]!r}\n"
        cluster = Cluster("auto", command=[sys.executable, "-c", env_path + PLAYED], **options)
        cluster.said = lambda: log.read_text().splitlines()
        made.append(cluster)
        return cluster

    yield start
    for cluster in made:
        cluster.close()


def search(cluster, cancel=None):
    events = []
    cluster.search({"text": "t", "checkpoint": {}}, events.append, cancel or CancelToken())
    return [e["part"]["name"] for e in events if "part" in e]


BOTH = ["out(0)", "out(1)"]


def test_what_a_node_finds_is_reported_part_by_part(played):
    cluster = played("parts")
    assert cluster.processors == 0
    cluster.connect()
    assert cluster.processors == 3
    assert search(cluster) == BOTH and search(cluster) == BOTH
    assert cluster.said()[0] == "search ['checkpoint', 'code', 'text', 'timed']"


@pytest.mark.parametrize(
    "part, found, then",
    [
        ("dies", BOTH, BOTH),
        ("leaves", BOTH, []),
        ("fault", BOTH, BOTH),
        ("user", BOTH, BOTH),
        ("none", [], []),
        ("odd", [], []),
    ],
)
def test_a_cluster_that_fails_costs_no_answer(played, part, found, then):
    cluster = played(part)
    assert search(cluster) == found
    assert search(cluster) == then  # a process that ended is started again


def test_a_process_that_reads_nothing_holds_up_no_job_and_no_cancellation(played):
    cluster = played("deaf")
    cluster.connect()
    payload, done = {"text": "t" * (8 << 20), "checkpoint": {}}, []
    cancels = [CancelToken() for _ in range(2)]

    def job(cancel):
        with pytest.raises(Cancelled):
            cluster.search(payload, lambda event: None, cancel)
        done.append(cancel)

    jobs = [threading.Thread(target=job, args=(cancel,), daemon=True) for cancel in cancels]
    for thread in jobs:
        thread.start()
    time.sleep(0.3)
    for cancel in cancels:
        cancel.cancel()
    wait_until(lambda: len(done) == 2, "both are cancelled")


def test_a_process_that_reads_nothing_is_ended_and_the_search_goes_on_here(played, monkeypatch):
    monkeypatch.setattr("mirage_daemon.cluster.DEAF_S", 0.3)
    cluster = played("deaf")
    cluster.search({"text": "t" * (8 << 20), "checkpoint": {}}, lambda event: None, CancelToken())
    assert cluster.processors == 0


def test_a_process_that_talks_without_end_ends_with_the_job_s_cancellation(played):
    cluster, cancel = played("endless"), CancelToken()
    cluster.connect()
    threading.Timer(0.5, cancel.cancel).start()
    began = time.thread_time()
    with pytest.raises(Cancelled):
        search(cluster, cancel)
    assert time.thread_time() - began < 5.0


def test_messages_under_the_numbers_of_others_reach_nobody(played):
    assert search(played("others")) == BOTH


def test_a_message_that_is_too_much_ends_the_process_and_costs_no_answer(played):
    cluster = played("much")
    assert search(cluster) == []
    assert cluster.processors == 0


def test_faults_in_a_row_leave_it_alone_and_a_users_mistake_does_not(played):
    breaker = FaultBreaker(lambda: 0.0)
    cluster = played("fault", breaker=breaker)
    for _ in range(FAULTS):
        assert search(cluster) == BOTH
    assert search(cluster) == [] and len(cluster.said()) == FAULTS
    cluster = played("user", breaker=FaultBreaker(lambda: 0.0))
    for _ in range(FAULTS + 1):
        assert search(cluster) == BOTH


@pytest.mark.parametrize(
    "part, said", [("refuses", "nobody answers"), ("noise", "ended before"), ("silent", "did not answer within")]
)
def test_one_that_cannot_be_reached_is_said_in_one_line(played, part, said):
    with pytest.raises(ClusterFault, match=said) as e:
        played(part, connect_s=0.5 if part == "silent" else 20.0).connect()
    assert str(e.value).startswith("MIR511") and "\n" not in e.value.message and e.value.next_step
    assert part != "refuses" or e.value.next_step == "start it"


def test_cancelling_is_told_to_the_nodes_at_once(played):
    cluster, cancel, ended = played("waits"), CancelToken(), []

    def wanted():
        try:
            search(cluster, cancel)
        except Cancelled:
            ended.append(time.monotonic())

    thread = threading.Thread(target=wanted)
    thread.start()
    wait_until(lambda: len(cluster.said()) == 1)
    began = time.monotonic()
    cancel.cancel()
    thread.join(5)
    assert ended and ended[0] - began < 1
    wait_until(lambda: cluster.said()[-1].startswith("cancel"))


def test_its_process_ends_with_it_and_starts_no_more(played):
    cluster = played("parts")
    cluster.connect()
    process = cluster._driver._process
    cluster.close()
    assert process.poll() is not None and cluster.processors == 0
    assert search(cluster) == []
    with pytest.raises(ClusterFault):
        cluster.connect()


@pytest.mark.parametrize("said", ["auto", "10.0.0.1:6379", "head.example.org:6379", "[fe80::1]:6379"])
def test_an_address(said):
    assert checked_address(said) == said


@pytest.mark.parametrize("said", ["", "local", "ray://a:1", "10.0.0.1", "a:1\nb:2", "a b:1", 5, None, ["auto"]])
def test_what_is_no_address(said):
    with pytest.raises(ClusterFault, match="no address"):
        checked_address(said)


class Fake:
    """A worker that gives what it was asked."""

    def __init__(self, interpreter):
        self.pid = 1

    def call(self, task, payload, **_):
        return {"task": task, "payload": payload}

    def close(self):
        self.pid = None


def part(n):
    return {"part": {"search": "s", "name": f"out({n})", "line": "abc"}}


def run(pool, **more):
    events = []
    asked = {"text": "t", "interpreter": "/a", **more}
    return pool.run_job(asked, events.append, CancelToken()), events


def test_the_workers_here_go_on_from_what_was_found_elsewhere():
    asked = []

    def elsewhere(body, report, cancel):
        asked.append(body)
        report(part(1))

    with WorkerPool(make=Fake, elsewhere=elsewhere) as pool:
        answer, events = run(pool, checkpoint={"s": {"out(0)": "abc"}})
        assert answer["payload"]["checkpoint"] == {"s": {"out(0)": "abc", "out(1)": "abc"}} and events == [part(1)]
        assert asked == [{"text": "t", "checkpoint": {"s": {"out(0)": "abc", "out(1)": "abc"}}}]
        answer, _ = run(pool, mugraph="{}")
        assert answer["task"] == "recheck" and len(asked) == 1  # what is only judged is not searched for


def test_a_cancellation_elsewhere_ends_the_job():
    def elsewhere(body, report, cancel):
        raise Cancelled("no")

    with WorkerPool(make=Fake, elsewhere=elsewhere) as pool, pytest.raises(Cancelled):
        run(pool)


def test_turns_come_in_order_and_so_many_at_once():
    turn, inside, order, let_go = Turn(2), [], [], threading.Event()

    def job(n):
        with turn.taken(CancelToken()):
            order.append(n)
            inside.append(n)
            let_go.wait(5)
            inside.remove(n)

    threads = []
    for n in range(5):
        threads.append(threading.Thread(target=job, args=(n,)))
        threads[-1].start()
        wait_until(lambda n=n: len(turn._waiting) + len(order) == n + 1)
    assert order == [0, 1] and inside == [0, 1]
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled), turn.taken(token):
        raise AssertionError("it was not its turn")
    let_go.set()
    for thread in threads:
        thread.join(5)
    assert order == [0, 1, 2, 3, 4] and not turn._waiting


def test_without_a_bound_everybody_goes_in():
    turn = Turn(0)
    with turn.taken(CancelToken()), turn.taken(CancelToken()):
        assert not turn._waiting


def test_ray_is_not_imported_by_the_daemon():
    code = "import sys, mirage_daemon.lifecycle, mirage_daemon.cluster; assert 'ray' not in sys.modules"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
