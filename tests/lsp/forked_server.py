"""Language servers of tests, forked from one process that has imported what they need: most of a start is imports."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO

from mirage_lsp.methods import METHODS

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        "mirage_lsp.lsp_command",
        "mirage_lsp.server",
        *(f"mirage_lsp.methods.{m.module}" for m in METHODS.values()),
        "mirage_lsp.methods.execute_command",
    ]
)


def _serve(streams: tuple[Connection, Connection, Connection], environment: dict[str, str]) -> None:
    """The command `mirage lsp --stdio` on these streams and with this environment; it ends the process."""
    for standard, stream in enumerate(streams):
        os.dup2(stream.fileno(), standard)
        stream.close()
    os.environ.clear()
    os.environ.update(environment)
    from mirage_lsp.lsp_command import lsp

    lsp(["--stdio"], prog_name="mirage lsp")


class ForkedServer:
    """What tests use of a `subprocess.Popen` with three pipes: a server of its own process and home, forked."""

    def __init__(self, home: Path) -> None:
        pairs = [_context.Pipe(duplex=False) for _ in range(3)]
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pairs
        theirs = (theirs_in, theirs_out, theirs_err)
        self._process = _context.Process(
            target=_serve, args=(theirs, {**os.environ, "MIRAGE_HOME": str(home)}), daemon=True
        )
        self._process.start()
        for stream in theirs:
            stream.close()
        self.stdin, self.stdout, self.stderr = _file(ours_in, "wb"), _file(ours_out, "rb"), _file(ours_err, "rb")

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, seconds: float) -> int:
        """The status. Raises TimeoutError."""
        self._process.join(seconds)
        if self._process.exitcode is None:
            raise TimeoutError(f"the language server has not ended after {seconds:g} s")
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()


def _file(stream: Connection, mode: str) -> BinaryIO:
    """A pipe's end as `subprocess` has it."""
    with stream:
        return os.fdopen(os.dup(stream.fileno()), mode)
