"""The whole path with a GPU that is played: what it says decides, and never what is right."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mirage.codegen import emit
from mirage.errors import Cancelled, WorkerDied, WorkerTimeout
from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request
from mirage.plan.passes import PASSES
from mirage.results.phases import PHASES
from mirage.results.progress import CancelToken, Progress
from mirage.results.result import Result
from mirage.search import engine

EXAMPLE = Path(__file__).parents[2] / "examples" / "softmax.py"
PEERS = {"eager": 30.0, "compile": 20.0, "compile_max": 21.0}


class Broke(Exception):
    """A candidate after which the GPU's process launches nothing more."""


ROW = {
    "regime": "normal", "output": 0, "dtype": "fp16", "error": 1e-4, "eager": 1e-4, "budget": 1e-3, "allowed": 1e-3,
    "why": "", "index": [], "expected": "", "actual": "", "roundings": 0,
}  # fmt: skip


class Gpu:
    """Answers the task "tune": `us(index, text)` is a candidate's time, None: wrong on the device. At its real shape all but
    the first `wrong` that are looked at are right."""

    wrong = 0
    peers: dict[str, float] = PEERS

    def __init__(self, us: Callable[[int, str], float | None]) -> None:
        self.us, self.asked = us, []
        self.order: dict[str, int] = {}
        self.looked: list[str] = []
        self.closed = 0

    def call(self, task: str, payload: dict[str, Any], **given: Any) -> dict[str, Any]:
        if task == "warm_gpu":
            return {"device": "sm_90"}
        if task == "float_on_device":
            self.looked.append(payload["text"])
            bad = {"why": "error 1 against 0.001 allowed", "index": [0, 1], "expected": "1.0", "actual": "2.0"}
            row = {**ROW, **(bad if len(self.looked) <= self.wrong else {})}
            return {"where": "a device", "rows": [row], "skipped": []}
        assert task == "tune" and payload["target"] == "sm_90"
        self.asked.append(payload["texts"])
        rows: list[dict[str, Any]] = []
        for text in payload["texts"]:
            try:
                us = self.us(self.order.setdefault(text, len(self.order)), text)
            except Broke:
                rows.append({"failed": "RuntimeError: CUDA error: an illegal memory access was encountered"})
                rows += [{"failed": "not run"} for _ in range(len(payload["texts"]) - len(rows))]
                return {"device": "a device", "rows": rows, "times": {}, "broken": True}
            rows.append({"error": 1.0} if us is None else {"error": 1e-4, "cold": us})
            if us is not None and len(self.order) == 1:
                given["on_event"]({"ns": int(us * 1e3)})
        timing = {"hot": 1.0, "cold_spread": 0.0, "hot_spread": 0.0}
        best = sorted((i for i, r in enumerate(rows) if "cold" in r), key=lambda i: rows[i]["cold"])[:3]
        times = {str(i): {"cold": rows[i]["cold"], **timing} for i in best}
        times |= {k: {"cold": v, **timing} for k, v in {**self.peers, "read": 2.0}.items()}
        return {"device": "a device", "rows": rows, "times": times}

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(scope="module", autouse=True)
def planned_once() -> Iterator[None]:
    """All runs here are of one file, and find the same µGraphs: each is checked, planned and written in the first of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "broken_rule", cache(engine.broken_rule))
        patch.setattr(emit, "emit_kernel", cache(emit.emit_kernel))
        for name, apply in PASSES.items():
            patch.setitem(PASSES, name, cache(apply))
        yield


@pytest.fixture
def tools(tools: Tools) -> Iterator[Tools]:
    """Those of all tests, which have their own GPU back afterwards."""
    gpu = tools.gpu
    yield tools
    tools.gpu_idle()
    tools.gpu = gpu


def run(tools: Tools, us: Callable[[int, str], float | None], kind: type[Gpu] = Gpu) -> tuple[Result, Gpu]:
    gpu = kind(us)
    tools.gpu = gpu  # type: ignore[assignment]
    text = EXAMPLE.read_text()
    request = Request(text, str(EXAMPLE), "softmax")
    return optimize(request, lambda p: None, CancelToken(), tools), gpu


def test_the_fastest_on_the_device_is_the_answer(tools):
    result, gpu = run(tools, lambda i, text: 5.0 if i == 4 else 10.0 + i)
    assert result.answer == "kernel"
    assert result.reason.startswith("4.0x measured over compile, 6.0x over the function as written, ")
    assert result.estimate is not None and result.estimate.measured
    assert (result.estimate.us, result.estimate.baseline_us) == (5.0, 20.0)
    assert "5.0 us measured on a device, 20.0 us by compile" in result.source
    took = result.seconds
    assert 0 < took.first_kernel <= took.total and min(took.search, took.tuning, took.verdict) > 0
    assert sum(getattr(took, name) for name in PHASES) <= took.total + 0.01
    # the search's answer so far, the model's first, the others as they came, neighbors, the best with other launches
    _, lead, first, *steps, last = gpu.asked
    every = {*lead, *first, *(text for step in steps for text in step), *last}
    fastest = next(text for text, i in gpu.order.items() if i == 4)
    assert result.measured.peers == PEERS and result.measured.variants == len(every)
    assert len(lead) == 1 and lead[0] not in first and {lead[0], fastest} <= set(last) and len(last) < len(first) + 40
    assert len(steps) <= 3 and all(not set(step) & {*lead, *first} for step in steps)

    def body(text: str) -> str:
        return text.partition("# mirage:end header")[2]

    assert body(result.source) == body(fastest)  # what was verified and is given is what was timed


def test_a_first_kernel_is_timed_while_the_search_goes_on(tools):
    tools.gpu = gpu = Gpu(lambda i, text: 7.0 if i == 0 else 10.0)  # type: ignore[assignment]
    seen: list[tuple[str, str, int]] = []

    def progress(p: Progress) -> None:
        seen.append((p.state, p.best, len(gpu.asked)))

    waits = CancelToken(lambda: bool(tools.gpu_idle()))  # asked by the search, which so waits for the GPU
    result = optimize(Request(EXAMPLE.read_text(), str(EXAMPLE), "softmax"), progress, waits, tools)
    assert result.estimate is not None and result.estimate.measured and len(gpu.asked[0]) == 1
    assert [s for s in seen if s[0] == "searching"][-1] == ("searching", "7.0 µs measured", 1)
    assert not any(word.endswith("measured") for _, word, asked in seen if not asked)


@pytest.mark.parametrize("fault", [WorkerDied("killed"), WorkerTimeout("late")])
def test_a_first_kernel_that_ends_the_worker_ends_no_search(tools, fault):
    def fails_once(i: int, text: str) -> float:
        if len(tools.gpu.asked) == 1:
            raise fault
        return 5.0

    result, gpu = run(tools, fails_once)
    assert result.answer == "kernel" and result.estimate is not None and result.estimate.measured
    assert len(gpu.asked) > 1


def test_a_cancelled_search_ends_what_it_began_on_the_device(tools):
    class Waits(Gpu):
        def call(self, task: str, payload: dict[str, Any], **given: Any) -> dict[str, Any]:
            if task == "tune":
                token.cancel()
                while not given["cancel"].cancelled:
                    time.sleep(0.01)
                self.closed += 1
                raise Cancelled("the work was cancelled")
            return super().call(task, payload)

    token = CancelToken()
    tools.gpu = gpu = Waits(lambda i, text: 1.0)  # type: ignore[assignment]
    with pytest.raises(Cancelled):
        optimize(Request(EXAMPLE.read_text(), str(EXAMPLE), "softmax"), lambda p: None, token, tools)
    tools.gpu_idle()
    assert gpu.closed == 1


def test_what_is_wrong_on_the_device_is_never_the_answer(tools):
    result, _gpu = run(tools, lambda i, text: None if i == 0 else 10.0 + i)
    assert result.estimate is not None and result.estimate.us == 11.0
    assert any("wrong by 1" in d for d in result.measured.dropped)


def test_what_is_wrong_at_its_real_shape_is_never_the_answer(tools):
    class Wrong(Gpu):
        wrong = 1

    result, gpu = run(tools, lambda i, text: 5.0 + i, Wrong)
    assert result.answer == "kernel" and result.estimate is not None and result.estimate.us == 6.0
    order = {text.partition("# mirage:end header")[2]: i for text, i in gpu.order.items()}
    assert order[gpu.looked[0].partition("# mirage:end header")[2]] == 0
    assert any("normal at the real shape: error 1 against 0.001 allowed" in n for n in result.notes)


def test_a_kernel_that_could_not_be_run_at_its_real_shape_says_so(tools):
    class Full(Gpu):
        def call(self, task: str, payload: dict[str, Any], **given: Any) -> dict[str, Any]:
            if task == "float_on_device":
                return {"where": "a device", "rows": [], "skipped": ["normal: the device's memory is full"]}
            return super().call(task, payload, **given)

    result, _ = run(tools, lambda i, text: 5.0 + i, Full)
    assert result.answer == "kernel" and result.verdict is not None
    assert any("not run at its real shape" in n for n in result.verdict.notes)
    assert not any(e.where == "a device" for e in result.verdict.evidence)


def test_a_run_at_the_real_shape_that_is_stopped_refuses_nothing(tools):
    class Stops(Gpu):
        def call(self, task: str, payload: dict[str, Any], **given: Any) -> dict[str, Any]:
            if task == "float_on_device":
                token.cancel()
                raise Cancelled("the work was cancelled")
            return super().call(task, payload, **given)

    token = CancelToken()
    tools.gpu = Stops(lambda i, text: 1.0)  # type: ignore[assignment]
    with pytest.raises(Cancelled):
        optimize(Request(EXAMPLE.read_text(), str(EXAMPLE), "softmax"), lambda p: None, token, tools)


def test_what_is_right_at_its_real_shape_says_where_it_ran(tools):
    result, _ = run(tools, lambda i, text: 5.0 + i)
    assert result.verdict is not None
    assert [e.opinion for e in result.verdict.evidence if e.where == "a device"] == ["float"]


def test_where_no_baseline_could_run_the_estimate_as_written_stands(tools):
    class Alone(Gpu):
        def call(self, task: str, payload: dict[str, Any], **given: Any) -> dict[str, Any]:
            answer = super().call(task, payload, **given)
            answer["times"] = {k: t for k, t in answer.get("times", {}).items() if k not in PEERS}
            return {**answer, "missing": dict.fromkeys(PEERS, "OutOfMemoryError: CUDA out of memory")}

    result, _ = run(tools, lambda i, text: 1e-3 + i, Alone)
    assert result.answer == "kernel" and "measured over the estimate as written" in result.reason
    assert "compile could not be timed: OutOfMemoryError: CUDA out of memory" in result.notes


@pytest.mark.parametrize("us", [19.9, 20.5])
def test_a_kernel_as_fast_as_the_best_baseline_is_the_answer(tools, us):
    result, _ = run(tools, lambda i, text: us + i)
    assert result.answer == "kernel" and result.baseline == "" and "x over the function as written" in result.reason


def without_words(result: Result) -> bool:
    """Whether nothing of a result claims to be verified."""
    words = ("PROVED", "TESTED")
    return result.verdict is None and not any(w in result.reason + result.source for w in words)


def test_a_baseline_faster_than_each_kernel_is_the_answer(tools):
    result, gpu = run(tools, lambda i, text: 20.7 + i)
    assert (result.answer, result.baseline) == ("compile", "compile") and without_words(result)
    says = "1.5x measured over the function as written by torch.compile (default), PyTorch's own: trusted, not verified"
    assert result.reason == f"{says}; our best kernel took 20.7 µs"
    assert result.estimate is not None and (result.estimate.us, result.estimate.baseline_us) == (20.0, 30.0)
    assert result.estimate.measured and not result.kernels and not result.mugraphs and result.derivation is None
    assert 'torch.compile(_original_softmax, dynamic=False, mode="default")' in result.source
    assert "# time: 20.0 us measured on a device, 30.0 us as written" in result.source
    assert "triton" not in result.source and not gpu.looked


def test_the_mode_that_was_fastest_is_the_one_that_runs(tools):
    class Most(Gpu):
        pass

    Most.peers = {"eager": 30.0, "compile": 20.0, "compile_max": 9.0, "sdpa_flash": 10.0}

    result, _ = run(tools, lambda i, text: 14.2 + i, Most)
    assert (result.answer, result.baseline) == ("compile", "compile_max")
    assert 'mode="max-autotune-no-cudagraphs"' in result.source and result.reason.endswith(
        "our best kernel took 14.2 µs"
    )


def test_another_call_of_pytorch_is_the_answer_where_it_was_fastest(tools):
    class Fused(Gpu):
        pass

    Fused.peers = {"eager": 30.0, "compile": 20.0, "sdpa_flash": 8.0}

    result, _ = run(tools, lambda i, text: 14.2 + i, Fused)
    assert (result.answer, result.baseline) == ("library", "sdpa_flash") and without_words(result)
    assert "with sdpa_kernel(SDPBackend.FLASH_ATTENTION):" in result.source and "torch.compile" not in result.source


@pytest.mark.parametrize("peers", [{"eager": 20.0, "compile": 19.5}, {"eager": 20.0}, {"compile": 20.0}])
def test_what_is_not_faster_than_the_function_as_written_changes_nothing(tools, peers):
    class Noise(Gpu):
        pass

    Noise.peers = peers
    result, gpu = run(tools, lambda i, text: 19.6 + i, Noise)
    written = "as written" if "eager" in peers else "by compile"
    assert (result.answer, result.baseline, result.source) == ("keep", "", "")
    assert result.verdict is None and not gpu.looked  # no candidate could be the answer
    assert result.reason == f"keep yours: 20.0 µs {written}, 19.6 µs at best by measurement"


def test_a_kernel_that_is_refused_leaves_the_best_baseline(tools):
    class Wrong(Gpu):
        wrong = 100

    result, gpu = run(tools, lambda i, text: 5.0 + i, Wrong)
    assert (result.answer, result.baseline) == ("compile", "compile") and gpu.looked and without_words(result)
    assert "; no faster kernel of ours was verified (of " in result.reason


def test_a_slower_kernel_is_given_where_it_was_asked_for(tools):
    tools.gpu = Gpu(lambda i, text: 25.0 + i)  # type: ignore[assignment]
    asked = Request(EXAMPLE.read_text(), str(EXAMPLE), "softmax", anyway=True)
    result = optimize(asked, lambda p: None, CancelToken(), tools)
    assert (
        result.answer == "kernel" and "not faster than yours by measurement, given because you asked" in result.reason
    )


@pytest.mark.parametrize(("peers", "answer"), [(PEERS, "compile"), ({"eager": 20.0, "compile": 20.0}, "keep")])
def test_what_never_ran_right_on_the_device_is_no_answer(tools, peers, answer):
    class Unlike(Gpu):
        pass

    Unlike.peers = peers
    result, gpu = run(tools, lambda i, text: None, Unlike)
    assert result.answer == answer and result.measured is not None and not gpu.looked
    assert result.measured.peers == peers and any("wrong by 1" in d for d in result.measured.dropped)


def test_without_a_time_the_estimate_decides(tools):
    class Silent(Gpu):
        pass

    Silent.peers = {}

    result, _ = run(tools, lambda i, text: None, Silent)
    assert result.estimate is not None and not result.estimate.measured and result.measured is None
    assert result.answer == "kernel" and result.baseline == ""


def test_a_worker_that_broke_is_asked_again_without_what_broke_it(tools):
    def breaks(i: int, text: str) -> float:
        if i == 3:
            raise Broke
        return 10.0 + i

    result, gpu = run(tools, breaks)
    assert result.estimate is not None and result.estimate.us == 10.0 and gpu.closed == 1
    broken = next(text for text, i in gpu.order.items() if i == 3)
    _, _lead, first, again, *_ = gpu.asked
    assert set(first) - set(again) == {broken}
    assert any("an illegal memory access" in d for d in result.measured.dropped)


def test_what_breaks_only_while_several_are_timed_is_found_alone(tools):
    class Together(Gpu):
        """The text of index 2 breaks the process, but not before all are timed together."""

        def call(self, task: str, payload: dict[str, Any], **given: Any) -> dict[str, Any]:
            answer = super().call(task, payload, **given)
            if task == "tune" and payload["last"] and not self.order.keys().isdisjoint(payload["texts"]):
                at = next((n for n, text in enumerate(payload["texts"]) if self.order[text] == 2), None)
                if at is not None:
                    if payload["alone"]:
                        answer["rows"][at] = {"failed": "RuntimeError: CUDA error: an illegal memory access"}
                    return {**answer, "times": {}, "broken": True}
            return answer

    result, gpu = run(tools, lambda i, text: 1.0 if i == 2 else 10.0 + i, Together)
    assert result.answer == "kernel" and result.estimate is not None and result.estimate.us == 10.0
    assert gpu.closed == 2


def test_a_gpu_of_another_kind_leaves_the_estimate_and_a_note(tools):
    class Other(Gpu):
        def call(self, task: str, payload: dict[str, Any], **_: Any) -> dict[str, Any]:
            return {"device": "", "why": "it is sm_80, not sm_90", "rows": [], "times": {}}

    result, _ = run(tools, lambda i, text: 1.0, Other)
    assert result.estimate is not None and not result.estimate.measured
    assert "nothing was measured on this machine's GPU: it is sm_80, not sm_90" in result.notes


def test_a_gpu_that_fails_leaves_the_estimate_and_a_note(tools):
    def dies(i: int, text: str) -> float:
        raise WorkerDied("the worker was killed by signal 11")

    result, _ = run(tools, dies)
    assert result.answer == "kernel" and result.estimate is not None and not result.estimate.measured
    assert "nothing was measured on this machine's GPU: the worker was killed by signal 11" in result.notes
