"""One timing at a time on a GPU, whoever wants it; a dead one leaves nothing locked."""

import itertools
import os
import subprocess
import sys
import time

import pytest

from mirage.isolate import gpu_lock
from mirage.isolate.launch_order import TOKEN
from mirage.isolate.sandbox import LOCKS

HOLD = """
import sys, time
from mirage.isolate.gpu_lock import locked
with locked(sys.argv[1]) as held:
    began = time.monotonic()
    print(held, flush=True)
    time.sleep(float(sys.argv[2]))
    print(began, time.monotonic(), flush=True)
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path / "home"))


def hold(device, seconds):
    command = [sys.executable, "-c", HOLD, device, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def times(process):
    held, span = process.communicate(timeout=60)[0].splitlines()
    assert held == "True"
    return tuple(map(float, span.split()))


def test_two_on_one_device_take_turns_and_two_devices_do_not_wait():
    processes = [hold("GPU-1", 0.3) for _ in range(3)]
    spans = sorted(map(times, processes))
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
    first = hold("GPU-1", 30)
    try:
        assert first.stdout.readline() == "True\n"
        assert len(times(hold("GPU-2", 0))) == 2
    finally:
        first.kill()
        first.communicate()


def test_a_killed_holder_leaves_it_free():
    first = hold("GPU-1", 60)
    assert first.stdout.readline() == "True\n"
    first.kill()
    first.communicate()
    began = time.monotonic()
    assert len(times(hold("GPU-1", 0))) == 2 and time.monotonic() - began < 30


def test_a_worker_uses_its_parents_folder_and_no_other(monkeypatch, tmp_path):
    mine = gpu_lock.folder()
    assert os.stat(mine).st_mode & 0o777 == 0o700
    monkeypatch.setenv(LOCKS, str(tmp_path))
    assert gpu_lock.folder() == mine  # outside of a worker that variable is somebody's guess
    monkeypatch.setenv(TOKEN, "t")
    assert gpu_lock.folder() == str(tmp_path)
    monkeypatch.delenv(LOCKS)
    with gpu_lock.locked("GPU-1") as held:
        assert held is False


def test_a_folder_that_others_can_reach_gives_no_lock():
    os.chmod(os.path.dirname(gpu_lock.folder()), 0o777)
    with gpu_lock.locked("GPU-1") as held:
        assert held is False
