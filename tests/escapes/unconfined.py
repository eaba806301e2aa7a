"""A worker without any sandbox, against which attempts are validated: one that does not succeed here proves nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .attempt import Kind, Outcome

# Seconds for which the output of a job that was killed is waited for.
PATIENCE = 10.0

# A plain worker: it runs the text, judges what it defines, and says so in one line on its answer pipe.
WORKER = """
import json, os, sys
answer = int(sys.argv[1])
with open(sys.argv[2]) as file:
    source = file.read()
def judge(values, wanted):
    return len(values) == len(wanted) and all(abs(a - b) <= 1e-3 for a, b in zip(values, wanted))
def main():
    accepted = False
    space = {"__name__": "module"}
    try:
        exec(compile(source, "module", "exec"), space)
    except Exception as error:
        print(f"error: {type(error).__name__}: {error}", flush=True)
    accepted = judge(space.get("values", [0.0]), [1.0])
    os.write(answer, (json.dumps({"accepted": accepted}) + "\\n").encode())
main()
"""


class Unconfined:
    """Runs a text in a child process with nothing but a deadline (seconds), in a folder below `work` that it empties after."""

    def __init__(self, python: str, work: Path, seconds: float) -> None:
        self.python, self.work, self.seconds = python, work, seconds

    def __call__(self, source: str, kind: Kind) -> Outcome:
        folder = Path(tempfile.mkdtemp(dir=self.work))
        with tempfile.NamedTemporaryFile("w", suffix=".py", dir=self.work, delete=False) as file:
            file.write(source)
        near, far = os.pipe()
        os.set_inheritable(far, True)
        process = subprocess.Popen(
            [self.python, "-IS", "-c", WORKER, str(far), file.name],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            close_fds=False,
        )
        os.close(far)
        try:
            printed, _ = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            printed = rest(process)
        accepted = first_answer(near)
        tidy(folder)
        os.unlink(file.name)
        return Outcome(printed.decode("latin-1"), accepted)


def rest(process: subprocess.Popen[bytes]) -> bytes:
    """What was printed, once nobody holds the output; a caller without a sandbox waits for that, but not for ever here."""
    try:
        return process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired as late:
        return late.stdout or b""
    finally:
        assert process.stdout is not None
        process.stdout.close()


def first_answer(pipe: int) -> bool:
    """The verdict in the first whole line of the pipe; False if there is none."""
    os.set_blocking(pipe, False)
    try:
        line = os.read(pipe, 65536).split(b"\n")[0]
    except BlockingIOError:
        line = b""
    finally:
        os.close(pipe)
    try:
        told = json.loads(line)
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("accepted") is True


def tidy(folder: Path) -> None:
    """Empty and remove a folder as a careless caller does: by name, through links, without mending modes."""
    try:
        for name in os.listdir(folder):
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        folder.rmdir()
    except OSError:
        return  # what such a caller leaves behind is what some attempts are about
