"""`mirage optimize` through the daemon: the same answers and errors as in one process, the second time at once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from waiting import LIMIT_S, wait_until

from mirage.link import Client

Mirage = Callable[..., CompletedProcess[str]]
RUN = "import sys; sys.argv[0] = 'mirage'; from mirage.cli import main; main()"
HEAD = "import torch\nimport mirage\n\n\n"
SOFT = '@mirage.optimize(inputs=[((9, 50), "fp16")])\ndef soft(x):\n    return torch.softmax(x * 3, dim=-1)\n'
# Its search takes seconds: there is time to interrupt it.
S = '((64, 64), "fp16")'
LONG = f"""\
@mirage.optimize(inputs=[{S}, {S}, {S}, {S}])
def long(q, k, v, w):
    s = torch.softmax(q @ k.T, dim=-1) @ v
    return torch.nn.functional.silu(s @ w) * torch.rsqrt((s * s).mean(-1, keepdim=True) + 1e-5)
"""


def plain(result: Any) -> Any:
    """Without what differs from run to run: seconds, and notes that name some."""
    if isinstance(result, dict):
        return {k: plain(v) for k, v in result.items() if "seconds" not in k and k != "notes"}
    return [plain(v) for v in result] if isinstance(result, list) else result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "soft.py").write_text(HEAD + SOFT)
    return tmp_path / "soft.py"


def test_the_same_answer_and_the_second_time_no_search(mirage_process: Mirage, file: Path) -> None:
    alone = mirage_process("optimize", file, "--json", "--anyway", "--no-daemon")
    first = mirage_process("optimize", file, "--json", "--anyway")
    module = (file.parent / "soft_mirage.py").read_text()
    second = mirage_process("optimize", file, "--json", "--anyway")
    assert [r.returncode for r in (alone, first, second)] == [0, 0, 0], alone.stderr + first.stderr
    assert plain(json.loads(first.stdout)) == plain(json.loads(alone.stdout)) and first.stderr == alone.stderr == ""
    assert second.stdout == first.stdout  # the seconds that the search took too: it was not done again
    assert (file.parent / "soft_mirage.py").read_text() == module


@pytest.mark.parametrize("law", ["a: x +", "a: x == x + 1"])
def test_rules_that_are_wrong_are_wrong_in_the_same_words(mirage_process: Mirage, file: Path, law: str) -> None:
    rules = file.with_name("laws.txt")
    rules.write_text("# words\n" + law + "\n")
    alone = mirage_process("optimize", file, "--rules", rules, "--no-daemon")
    asked = mirage_process("optimize", file, "--rules", rules)
    assert asked.returncode == alone.returncode == 1
    assert asked.stderr == alone.stderr and f"{rules}:2" in asked.stderr


def test_ctrl_c_takes_the_question_back(mirage_process: Mirage, tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    file.write_text(HEAD + LONG)
    env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    command = [sys.executable, "-c", RUN, "optimize", str(file)]

    def all_jobs() -> set[str]:
        with Client.connect() as client:
            return {row["job"] for row in client.status()["jobs"]}

    before = all_jobs()  # of other tests, whose workers end in their own time
    heard = partial(
        signal.signal, signal.SIGINT, signal.SIG_DFL
    )  # a run of tests in the background ignores it, with all below
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, preexec_fn=heard
    )

    def jobs() -> set[str]:
        return all_jobs() - before

    def until(true: Callable[[], bool]) -> None:
        def there() -> bool:
            assert process.poll() in (None, 1), process.communicate()
            return true()

        wait_until(there)

    until(lambda: len(jobs()) == 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, re.sub(r"^long: [A-Za-z ]+, \d+ s( · .*)?\n", "", err, flags=re.M).strip()) == (
        1,
        "",
        "Aborted!",
    )
    until(lambda: not jobs())
    assert not (tmp_path / "long_mirage.py").exists()


def test_without_a_daemon_this_process_does_the_work_and_says_so(
    mirage_process: Mirage, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "h"
    home.mkdir(mode=0o700)
    (home / "data").mkdir(mode=0o700)
    (home / "data" / "cache.lock").mkdir()  # where the daemon wants a file
    monkeypatch.setenv("MIRAGE_HOME", str(home))
    run = mirage_process("optimize", file, "--target", "sm_1")
    said, mistake = run.stderr.splitlines()
    assert "this process does the work" in said
    assert (run.returncode, run.stdout, mistake[:6]) == (1, "", "MIR304")  # the work's own error


def test_a_folder_open_to_others_is_an_error_and_no_reason_to_go_on(
    mirage_process: Mirage, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "h"
    (home / "run").mkdir(parents=True)
    (home / "run").chmod(0o777)
    monkeypatch.setenv("MIRAGE_HOME", str(home))
    run = mirage_process("optimize", file)
    assert run.returncode == 1 and run.stderr.startswith("MIR502") and run.stdout == ""
