"""Reading of texts in processes that are ended when one takes too long, so that no text holds up the loop, or another text."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from typing import Any

from mirage.errors import MirageError
from mirage.link.pipe_messages import length, packed, unpacked
from mirage_lsp.errors import TextTooCostly
from mirage_lsp.reading import WORD, Reading

log = logging.getLogger(__name__)
MAX_TEXT = 4 << 20  # characters; the daemon takes no more either
QUICK_TEXT = 256 << 10  # characters of a text that is read beside the small ones
QUICK_S, SLOW_S = 0.5, 6.0  # of processor time, for one text
WALL_S = 60.0  # for a machine that gives no processor time
STOP_S = 0.3  # for a reading to end that nobody waits for

# The search path is this process's own: neither the working folder nor a variable can put another module before ours.
_START = "import sys; sys.path[:] = {path!r}; from mirage_lsp.reader_process import main; main({seconds!r})"


class Reader:
    """All readings of a session. Texts that are long, or took long before, are read in a process of their own."""

    def __init__(self) -> None:
        self._quick, self._slow = _Lane(QUICK_S), _Lane(SLOW_S)
        self._costly: set[str] = set()  # URIs

    async def read(self, uri: str, path: str, text: str) -> Reading:
        """What a text holds. Raises TextTooCostly; a cancellation ends the work."""
        if WORD not in text:
            return Reading()
        if len(text) > MAX_TEXT:
            raise TextTooCostly(f"the text has more than {MAX_TEXT >> 20} Mi characters", path=path)
        if len(text) <= QUICK_TEXT and uri not in self._costly:
            try:
                return await self._quick.read(uri, path, text)
            except TextTooCostly:
                self._costly.add(uri)
        found = await self._slow.read(uri, path, text)
        return found

    async def close(self) -> None:
        """End the processes."""
        for lane in (self._quick, self._slow):
            await lane.close()


class _Lane:
    """One process, which reads one text after the other."""

    def __init__(self, processor_s: float) -> None:
        self._seconds, self._turn = processor_s, asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def read(self, uri: str, path: str, text: str) -> Reading:
        async with self._turn:
            process = self._process or await self._start()
            asking = asyncio.ensure_future(self._ask(process, [uri, path, text]))
            try:
                done, _ = await asyncio.wait({asking}, timeout=WALL_S)
            except asyncio.CancelledError:
                await self._stop(process, asking)
                raise
            data = asking.result() if done and not asking.exception() else None
            if data is not None:
                return Reading.from_data(data)
            asking.cancel()
            self.kill()
            raise TextTooCostly(f"reading the text takes more than {self._seconds:g} s", path=path)

    async def close(self) -> None:
        process = self._process
        self.kill()
        if process is not None:
            await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=STOP_S)

    def kill(self) -> None:
        if self._process is not None:
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._process.pid, signal.SIGKILL)  # `Process.kill` would take its status from the loop
            self._process = None

    async def _start(self) -> asyncio.subprocess.Process:
        code = _START.format(path=[os.path.abspath(p) for p in sys.path if p], seconds=self._seconds)
        pipe = asyncio.subprocess.PIPE
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", code, stdin=pipe, stdout=pipe
            )
        except OSError as error:
            raise MirageError(f"no process can be started to read the text: {error.strerror}") from None
        return self._process

    @staticmethod
    async def _ask(process: asyncio.subprocess.Process, wanted: list[str]) -> Any:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(packed(wanted))
        await process.stdin.drain()
        size = length(await process.stdout.readexactly(4))
        return unpacked(await process.stdout.readexactly(size))

    async def _stop(self, process: asyncio.subprocess.Process, asking: asyncio.Future[Any]) -> None:
        """There is a newer text: the process ends with this one, or is ended."""
        assert process.stdin is not None
        try:
            process.stdin.write(packed([]))
            await asyncio.wait({asking}, timeout=STOP_S)
        finally:
            if not asking.done() or asking.exception() is not None:
                asking.cancel()
                self.kill()
