"""The harness sees an escape that is planted and none that is not, knows a job that never ran, and leaves nothing behind."""

from __future__ import annotations

import ast
import collections
import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from escapes.arena import SHARED_FOLDERS, tree
from escapes.attempt import KINDS, WITNESSES, Attempt, Kind, Limits, Outcome, WitnessName
from escapes.corpus import CORPUS
from escapes.harness import UNHURRIED, Result, Settings, judge, trial, unconfined
from escapes.observer import marked
from escapes.preamble import STARTED
from escapes.shared_objects import rows
from escapes.unconfined import Unconfined, first_answer
from escapes.witness import SEEN_BY

LIMITS = Limits(memory=96 << 20, disk=64 << 20, processes=24, inodes=200, seconds=1.0)

# For each witness an attempt that an ordinary user and root can both make on any Linux.
PLANTED: dict[WitnessName, str] = {
    "leaked": "reading files: open",
    "tree": "changing files: create",
    "victim": "signals: SIGUSR1",
    "harness": "the caller: a signal to the caller",
    "reached": "reaching sockets: the daemon",
    "served": "serving: an abstract name",
    "survivor": "survivors: a program with an empty environment",
    "ipc": "shared objects: leave a segment",
    "memory": "memory: a file in memory",
    "disk": "disk: many files",
    "inodes": "files: links",
    "processes": "processes: threads",
    "overdue": "time: a program holds its output",
    "swollen": "output: much text",
    "forged": "forging the verdict: write the answer and go on",
    "terminal": "terminals: write",
    "setuid": "setuid: chmod u+s",
    "left": "left behind: a file in the shared temporary folder",
    "lock": "locks: flock that a child inherits",
}
# These take from the whole user or the whole host: `validate` tries them as a user that nobody else is.
NOT_PLANTED: set[WitnessName] = {"starved", "system"}


def named(name: str) -> Attempt:
    return next(a for a in CORPUS if a.name == name)


@pytest.fixture
def settings() -> Iterator[Settings]:
    with tempfile.TemporaryDirectory(prefix="e-") as folder:  # short, since the path of a socket must be
        yield Settings(LIMITS, Path(folder))


def doing(source: str, settings: Settings, witness: WitnessName = "tree") -> Unconfined:
    """An unconfined worker that runs another text than the one that it is given, after the constants and tools."""
    work = Path(str(settings.folder))

    class Other(Unconfined):
        def __call__(self, text: str, kind: Kind) -> Outcome:
            head, mark, _ = text.partition("mark('w')\n")
            return super().__call__(head + mark + source, kind)

    return Other(settings.python, work, settings.limits.seconds if witness == "overdue" else UNHURRIED)


def test_the_corpus_is_large_and_every_attempt_has_its_own_name() -> None:
    assert len(CORPUS) >= 160
    assert max(collections.Counter(a.name for a in CORPUS).values()) == 1
    for kind in KINDS:
        assert sum(kind in a.kinds for a in CORPUS) >= 160
    assert {a.witness for a in CORPUS} == set(WITNESSES) == set(SEEN_BY) == set(PLANTED) | NOT_PLANTED


@pytest.mark.parametrize("attempt", CORPUS, ids=lambda a: a.name)
def test_every_attempt_is_a_program(attempt: Attempt) -> None:
    compile(attempt.source, attempt.name, "exec")


@pytest.mark.parametrize("witness", PLANTED)
def test_a_planted_escape_is_seen(witness: WitnessName, settings: Settings) -> None:
    attempt = named(PLANTED[witness])
    assert attempt.witness == witness
    result, text = unconfined(attempt, settings)
    assert (result.verdict, result.reason.partition(":")[0]) == ("escaped", witness), (result, text[-2000:])
    assert judged(attempt, attempt.source, settings).verdict == "escaped"


@pytest.mark.parametrize("witness", PLANTED)
def test_what_does_nothing_is_held(witness: WitnessName, settings: Settings) -> None:
    attempt = named(PLANTED[witness])
    assert judged(attempt, "hold(0.1)", settings) == Result("held")


def judged(attempt: Attempt, source: str, settings: Settings) -> Result:
    """What the harness says of a worker that runs `source` when it is given the attempt."""
    return trial(attempt, doing(source, settings, attempt.witness), attempt.kinds[0], settings)[0]


def test_an_escape_by_another_way_than_the_attempt_s_own_is_seen(settings: Settings) -> None:
    result = judged(named("changing files: create"), "leak(open(SECRET_FILE).read())", settings)
    assert result.verdict == "escaped" and result.reason.startswith("leaked")


def test_a_job_that_never_ran_is_not_held(settings: Settings) -> None:
    attempt = named("reading files: open")
    assert judge(attempt, lambda source, kind: Outcome("refused"), "traced", settings).verdict == "not run"


def test_the_line_of_another_job_does_not_count_as_started(settings: Settings) -> None:
    attempt = named("reading files: open")
    assert judge(attempt, lambda source, kind: Outcome(f"{STARTED}e00"), "traced", settings).verdict == "not run"


def test_what_does_not_succeed_without_a_sandbox_is_not_applicable(settings: Settings) -> None:
    attempt = Attempt("x: y", "x", "tree", "call(4095)")
    calls = []

    def run(source: str, kind: Kind) -> Outcome:
        calls.append(kind)
        return Outcome("")

    assert judge(attempt, run, "gpu", settings).verdict == "not applicable"
    assert calls == []


def test_an_attempt_is_judged_only_for_its_kinds(settings: Settings) -> None:
    attempt = named(PLANTED["forged"])
    assert judge(attempt, lambda source, kind: Outcome(""), "traced", settings).verdict == "not applicable"


def test_a_verdict_that_was_honestly_refused_is_no_forgery(settings: Settings) -> None:
    attempt = named(PLANTED["forged"])
    assert judged(attempt, "values = [2.0]", settings).verdict == "held"
    assert judged(attempt, "values = [1.0]", settings).verdict == "escaped"


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"accepted": 1}', b'{"accepted": false}', b"\xff"])
def test_only_a_whole_verdict_is_one(line: bytes) -> None:
    near, far = os.pipe()
    os.write(far, line + b"\n")
    os.close(far)
    assert first_answer(near) is False


def constant(source: str, name: str) -> str:
    """What a constant of the attempt's arena is."""
    line = next(line for line in source.splitlines() if line.startswith(f"{name} = "))
    return str(ast.literal_eval(line.partition(" = ")[2]))


@pytest.mark.parametrize("name", ["survivors: a child that ignores signals", *list(PLANTED.values())[:8]])
def test_nothing_is_left_behind(name: str, settings: Settings) -> None:
    folder = Path(str(settings.folder))
    variables = set(os.environ)
    fds = set(os.listdir("/proc/self/fd"))
    sources: list[str] = []
    worker = doing(named(name).source, settings)

    def run(source: str, kind: Kind) -> Outcome:
        sources.append(source)
        kinds = ("shm", "sem", "msg")
        assert all(int(constant(source, "IPC_KEY")) in rows(kind) for kind in kinds)
        return worker(source, kind)

    assert trial(named(name), run, named(name).kinds[0], settings)[0].verdict == "escaped"
    token, memory = constant(sources[0], "TOKEN"), Path(constant(sources[0], "SHM_FILE"))
    assert list(folder.iterdir()) == [] and marked(token) == [] and not memory.exists()
    assert not any(p.name.startswith(token) for shared in SHARED_FOLDERS for p in shared.iterdir())
    keys = {int(constant(sources[0], key)) for key in ("IPC_KEY", "LEFT_KEY")}
    assert not any(keys & set(rows(kind)) for kind in ("shm", "sem", "msg"))
    assert set(os.environ) == variables and set(os.listdir("/proc/self/fd")) == fds


def test_a_survivor_is_killed_when_the_arena_goes(settings: Settings) -> None:
    begun = time.monotonic()
    source = "child(lambda: (os.setsid(), linger(60)))"
    result = judged(dataclasses.replace(named(PLANTED["survivor"]), source=source), source, settings)
    assert result.verdict == "escaped" and time.monotonic() - begun < 60


def test_a_tree_is_compared_in_all_that_can_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a")
    states = [tree(tmp_path)]
    for change in (
        lambda: path.write_text("b"),
        lambda: path.chmod(0o600),
        lambda: os.utime(path, ns=(1, 1)),
        lambda: os.link(path, tmp_path / "second"),
        lambda: (tmp_path / "folder").mkdir(),
    ):
        change()
        states.append(tree(tmp_path))
    assert len({str(s) for s in states}) == len(states)
    path.read_text()
    assert tree(tmp_path) == states[-1]
