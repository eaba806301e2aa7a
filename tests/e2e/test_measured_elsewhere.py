"""A team's walk: one machine measured a kernel; another one, with an empty cache and no GPU, has it in the editor, verified there."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
import test_editor_to_kernel
from test_editor_to_kernel import KERNEL, Desk
from waiting import wait_until

from mirage.link.request_parameters import SearchOptions
from mirage.results.codec import read_result
from mirage.results.progress import CancelToken
from mirage.results.result import Estimate, Measurement, Result
from mirage_daemon import question_key
from mirage_daemon.journal import JobPayload
from mirage_daemon.remote_cache import RemoteCache
from mirage_daemon.remote_http import RemoteHttp, RemotePlace
from mirage_daemon.worker_pool import WorkerPool

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from daemonbench.shared_cache_server import TOKEN, SharedCacheServer

TEXT = """\
import mirage
import torch


@mirage.optimize(inputs=[((64, 256), "fp16")])
def f(x):
    return torch.softmax(x, dim=-1)
"""
LINE = TEXT.split("\n").index("def f(x):") - 1
DEVICE = "NVIDIA H200 (sm_90)"
SHOWN_S = 5.0  # from the verdict to the lens
END_S = 240.0

desk = test_editor_to_kernel.desk
pytestmark = [
    test_editor_to_kernel.pytestmark,
    pytest.mark.skipif(bool(question_key.devices()), reason="this machine has a GPU, and measures by itself"),
    pytest.mark.slow,
]


def searched() -> Result:
    """What a search finds, in a worker of this interpreter."""
    payload = JobPayload(
        text=TEXT, path="/p/a.py", function="f", target="sm_90", trusted=True, interpreter=sys.executable
    )
    with WorkerPool(most=1) as pool:
        found = read_result(pool.run_job(payload, lambda body: None, CancelToken())["result"])
    assert found is not None and found.answer == "kernel" and found.estimate is not None
    return found


def uploaded(server: SharedCacheServer, result: Result) -> None:
    """The answer lies on the server as a machine with a GPU leaves it there."""
    question = question_key.ask(TEXT, "/p/a.py", "f", "sm_90", sys.executable, question_key.as_text(SearchOptions()))
    question = replace(question, devices=("Model: NVIDIA H200",))
    level = RemoteCache(RemoteHttp(RemotePlace.of(server.url, TOKEN)), has_gpu=True)
    keys = {"common": question_key.key(question).hex(), "by_target": question_key.target_key(question).hex()}
    level.keep(JobPayload(**keys), result)  # type: ignore[typeddict-item]
    wait_until(lambda: level.status()["uploaded"] == 2, "the uploads")
    level.close()


def ended(desk: Desk) -> datetime:
    """When the daemon had the verdict, by its log."""
    (line,) = (x for x in (desk.home / "data" / "daemon.log").read_text("utf-8").splitlines() if x.endswith(" done"))
    return datetime.strptime(" ".join(line.split()[:2]), "%Y-%m-%d %H:%M:%S,%f")


def test_the_kernel_is_shown_soon_after_the_verdict(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = searched()
    measured = replace(
        found, estimate=Estimate(7.5, 1.0, 15.0, DEVICE, True), measured=Measurement({"eager": 15.0}, 1.0, 3)
    )
    monkeypatch.setenv("MIRAGE_REMOTE_CACHE_TOKEN", TOKEN)
    with SharedCacheServer() as server:
        uploaded(server, measured)
        desk.home.mkdir(mode=0o700)
        settings = desk.home / "settings.json"
        settings.write_text(json.dumps({"remote_cache": server.url, "remote_cache_first_byte_ms": 5000}))
        settings.chmod(0o600)
        desk.file.write_text(TEXT, "utf-8")
        opened = time.monotonic()
        editor, _ = desk.open(states=True)
        wait_until(lambda: KERNEL in editor.titles(desk.uri), "the kernel", END_S)
        whole = time.monotonic() - opened
        late = (datetime.now() - ended(desk)).total_seconds()
        asked = [method for method, _, _ in server.log[-3:]]
    with capsys.disabled():
        print(
            f"\n  {whole:.1f} s from the editor's start to the lens, {late * 1e3:.0f} ms of them after the verdict",
            end="",
        )
    assert late < SHOWN_S
    page = editor.hover(LINE, desk.uri) or ""
    assert (
        "elsewhere 7.50 µs on NVIDIA H200" in page
        and "estimated for sm_90, not measured" in page
        and "the word of" in page
    )
    assert found.verdict is not None and found.verdict.word in page and asked[-1] == "GET"
    states = [f["title"] for s in editor.sent("mirage/states") for f in s["functions"]]
    assert states and not [title for title in states if "searching" in title]
