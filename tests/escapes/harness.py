"""Decides whether a worker holds an attempt: sets up what it may not touch, runs it, asks the witness, and tidies up.

    from escapes.harness import judge
    result = judge(attempt, run, "traced")

`run(source, kind)` belongs to whoever owns the sandbox. It runs the text inside a worker of that kind (as the body of a traced
function or in what its environment imports; as an emitted module's text under verification; in the worker beside the GPU), returns
after the job's end, and gives back all that the job let out. A job that is refused, killed or fails is an `Outcome` too.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from .arena import Arena
from .attempt import Attempt, Kind, Limits, Outcome
from .observer import GRACE, Observer, marked
from .preamble import STARTED, compose
from .unconfined import Unconfined
from .witness import SEEN_BY, State, Trial, evidence

Run = Callable[[str, Kind], Outcome]
# "not run" is no success of the sandbox's: either it refuses the text unread (then its owner says so) or the run is broken.
Verdict = Literal["held", "escaped", "not applicable", "not run"]

# Seconds for an attempt without a sandbox that is not about time: a busy machine is no sandbox.
UNHURRIED = 30.0


@dataclass(frozen=True)
class Result:
    """What became of an attempt, and why: the evidence of an escape, or the reason why nothing is shown."""

    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True)
class Settings:
    """Where and by what the harness works. `folder` holds the arenas, `python` starts victims and unconfined workers."""

    limits: Limits = field(default_factory=Limits)
    folder: Path | None = None
    python: str = sys.executable


def end_processes(token: str) -> None:
    """Kill what bears the attempt's name, also what starts meanwhile: what is stopped starts nothing."""
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        alive = marked(token)
        if not alive:
            return
        for how in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                try:
                    os.kill(pid, how)
                    os.waitpid(pid, os.WNOHANG)
                except (ProcessLookupError, ChildProcessError):
                    continue
        time.sleep(0.02)
    raise RuntimeError(f"processes named {token} cannot be ended: {marked(token)}")


def trial(attempt: Attempt, run: Run | None, kind: Kind, settings: Settings) -> tuple[Result, str]:
    """Run an attempt once; without `run`, unconfined. Returns the result, and the output of the job."""
    arena = Arena(settings.python, settings.limits, settings.folder)
    limits = arena.own_limits()
    try:
        deadline = settings.limits.seconds if attempt.witness == "overdue" else UNHURRIED
        worker = run or Unconfined(settings.python, arena.work, deadline)
        arena.written()
        before = State.of(arena)
        begun = time.monotonic()
        with Observer(arena, attempt.witness) as seen:
            outcome = worker(compose(attempt, arena.constants), kind)
            seconds = time.monotonic() - begun
            if attempt.witness in ("survivor", "lock"):
                time.sleep(GRACE)
        done = Trial(arena, before, State.of(arena), seen, outcome, seconds)
        found = evidence(done, attempt.witness) if run else SEEN_BY[attempt.witness](done)
        started = STARTED + arena.token in outcome.text
        reason = f"{attempt.witness}: {found}" if found and not run else found or ""
        verdict: Verdict = "escaped" if found else "held" if started else "not run"
        return Result(verdict, reason), outcome.text
    finally:
        end_processes(arena.token)
        arena.restore(limits)
        arena.remove()


@cache
def unconfined(attempt: Attempt, settings: Settings) -> tuple[Result, str]:
    """What the attempt does without a sandbox, as this user, and its output."""
    if attempt.root and os.geteuid() != 0:
        return Result("not applicable", "only root can do this at all"), ""
    return trial(attempt, None, attempt.kinds[0], settings)


def judge(attempt: Attempt, run: Run, kind: Kind, settings: Settings = Settings()) -> Result:
    """Does a worker of this kind hold the attempt? Not applicable is what does not succeed without a sandbox either."""
    if kind not in attempt.kinds:
        return Result("not applicable", f"not for {kind}")
    free, _ = unconfined(attempt, settings)
    if free.verdict != "escaped":
        return Result("not applicable", free.reason or "it does not succeed without a sandbox either")
    return trial(attempt, run, kind, settings)[0]
