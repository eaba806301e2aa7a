"""Python processes of tests, forked from one that has imported PyTorch: of most scripts of tests that import takes the longest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

LIMIT_S = 200
SERVER = """
import json, os, runpy, signal, sys, traceback
import torch
assert "triton" not in sys.modules  # TRITON_INTERPRET counts where triton is imported: in the child

def child(asked):
    out, error = (os.open(asked[name], os.O_WRONLY | os.O_CREAT) for name in ("stdout", "stderr"))
    for stream, standard in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (error, 2)):
        os.dup2(stream, standard)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    signal.alarm(asked["seconds"])
    how, *rest = asked["arguments"]
    if how == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif how == "-m":
        sys.argv, sys.path[0] = rest, os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = [how, *rest], os.path.dirname(how)
        runpy.run_path(how, run_name="__main__")

for line in sys.stdin:
    process = os.fork()
    if process == 0:
        status = 0
        try:
            child(json.loads(line))
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
            status = 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class ForkedPython:
    """Runs what `python ARGUMENTS...` would, each time in a child of its own that finds PyTorch imported and Triton not."""

    def __init__(self) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "PYTHONPATH")}
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        seconds: int = LIMIT_S,
    ) -> subprocess.CompletedProcess[str]:
        """`arguments`: a script, `-m` and a module or `-c` and a text, with what follows. A child that takes more than `seconds` ends
        by SIGALRM."""
        server, given = self._server, [str(a) for a in arguments]
        assert server.stdin is not None and server.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            said = {name: os.path.join(folder, name) for name in ("stdout", "stderr")}
            asked = {
                "arguments": given, "folder": str(cwd or Path.cwd()), "environment": dict(os.environ if env is None else env),
                "seconds": seconds, **said,
            }  # fmt: skip
            server.stdin.write(json.dumps(asked) + "\n")
            server.stdin.flush()
            status = int(server.stdout.readline())
            stdout, stderr = (Path(path).read_text("utf-8") if os.path.exists(path) else "" for path in said.values())
        return subprocess.CompletedProcess(given, status, stdout, stderr)

    def end(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()
