"""Parts searched in other processes give the same answers in the same order, and the processes end with their parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from workloads import whole_searches
from workloads.search_processes import Processes

from mirage.errors import Cancelled
from mirage.results.progress import CancelToken
from mirage.search.engine import Search

ROOT = Path(__file__).resolve().parents[2]


def search(executor, **more) -> Search:
    return whole_searches.search("attention_block", executor=executor, **more)


def answers(s: Search, steps=None):
    found = [(c.us, c.mugraph) for c in steps or s.run()]
    return found, [(c.us, c.label, c.structure, c.mugraph) for c in s.best], s.tried, s.counts.limits


@pytest.fixture(scope="module")
def serial():
    w = whole_searches.whole("attention_block")
    return answers(w.search, w.found)


class Counted(Processes):
    """Remembers the processes that it had. `kill`: one of them is killed as soon as they run."""

    def __init__(self, count: int, kill: bool = False) -> None:
        super().__init__(count)
        self.had: list[int] = []
        self.kill = kill

    def _start(self, work, guard):
        super()._start(work, guard)
        self.had += [p.pid for p, _ in self._workers]
        if self.kill:
            os.kill(self.had[0], signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]
    except OSError:
        return False


def gone(pids: list[int], within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(alive, pids))


def test_two_processes_give_what_one_gives(serial):
    executor = Counted(2)
    assert answers(search(executor)) == serial
    assert len(executor.had) == 2 and gone(executor.had, 1.0)


def test_a_killed_worker_loses_nothing(serial):
    assert answers(search(Counted(2, kill=True))) == serial


def test_cancelling_ends_the_workers():
    token, executor = CancelToken(), Counted(2)
    steps = search(executor, cancel=token).run()
    next(steps)
    token.cancel()
    with pytest.raises(Cancelled):
        list(steps)
    assert gone(executor.had, 1.0)


ORPHAN = """
import sys, time
from functools import partial
sys.path[:0] = ["core", "tests"]
from workloads.terms import problem
from mirage.devices.table import DEVICES
from mirage.profile.roofline import estimate
from mirage.search.engine import Search
from workloads import whole_searches
from workloads.search_processes import Processes

class Shown(Processes):
    def _start(self, work, guard):
        super()._start(work, guard)
        print(*[p.pid for p, _ in self._workers], "torch" in sys.modules, flush=True)

if __name__ == "__main__":
    executor = Shown(2)
    list(Search(problem("attention_block"), partial(estimate, device=DEVICES["sm_90"]), executor=executor).run())
    time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked at in /proc")
def test_workers_end_with_a_killed_parent(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(ORPHAN)
    parent = subprocess.Popen([sys.executable, str(script)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    *pids, torch = parent.stdout.readline().split()
    assert len(pids) == 2 and torch == "False" and all(alive(int(p)) for p in pids)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone([int(p) for p in pids])
