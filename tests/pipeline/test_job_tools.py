"""The workers of a job: both begin to import at once, the next job's are made ahead, and no job gets another one's."""

import pytest

from mirage.isolate import confinement
from mirage.isolate.runner import Worker
from mirage.pipeline import job_task
from mirage.pipeline.processes import Tools


def test_both_workers_import_before_anybody_calls_them(monkeypatch):
    asked = []
    monkeypatch.setattr(Worker, "warm", lambda self, *modules: asked.append((self, modules)))
    with Tools() as tools:
        assert tools.runner.pid is None and tools.compiler.pid is None
        tools.begin()
        assert [worker for worker, _ in asked] == [tools.runner, tools.compiler]
        assert all({"torch", "triton"} <= set(modules) for _, modules in asked)


class Made:
    """Tools that only say when they end."""

    def __init__(self, ahead=False):
        self.ahead, self.ended = ahead, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True


@pytest.fixture
def jobs(monkeypatch):
    monkeypatch.setattr(job_task, "_spare", [])
    monkeypatch.setattr(job_task, "Tools", Made)
    monkeypatch.setattr(job_task, "warm_tools", lambda compiles: Made(ahead=True))
    return job_task.tools_of_a_job


def test_the_next_job_gets_what_was_made_ahead_and_none_gets_anothers(jobs):
    with jobs(True) as first:
        assert not first.ahead and not first.ended
    with jobs(False) as second:
        assert second.ahead and second is not first and first.ended
    with jobs(False) as third:
        assert not third.ahead  # nothing was asked for ahead


def test_a_job_that_fails_ends_its_tools_too(jobs):
    with pytest.raises(ValueError, match="broken"), jobs(True) as tools:
        raise ValueError("broken")
    assert tools.ended and len(job_task._spare) == 1


LEFT = """
import os
from mirage.pipeline import job_task
from mirage.isolate import Worker
values = []
LEAVES = '''
import os
open("/dev/shm/left", "w").write("by one job")
os.makedirs("/dev/shm/folder/inner")
os.symlink("/tmp", "/dev/shm/link")
values = os.listdir("/dev/shm")
'''
SEES = "import os; values = os.listdir('/dev/shm')"
for text in (LEAVES, SEES):
    with job_task.tools_of_a_job(False), Worker(unix=True) as gpu:
        values.append(sorted(gpu.call("selftest", {"action": "run", "text": text}, timeout_s=60)["values"]))
values.append(os.path.isdir("/tmp"))
"""


def test_what_the_gpu_s_worker_of_one_job_leaves_in_shared_memory_the_next_one_does_not_find():
    if not confinement.holds()["namespaces"]:
        pytest.skip("this machine gives no private view")
    with Worker(unix=True, unix_below=True) as kept:
        values = kept.call("selftest", {"action": "run", "text": LEFT}, timeout_s=120)["values"]
    assert values == [["folder", "left", "link"], [], True]
