"""The process that reads the texts of the language server, because a text can be written so that reading it takes for
ever. Nothing of a text is run. Started by `reader`; ends with its standard input."""

from __future__ import annotations

import resource
import select
import signal
from typing import Any

from mirage.link.pipe_messages import receive, send
from mirage_lsp.reading import ReadingStopped, TextReader

MEMORY = 2 << 30  # bytes of address space
DOCUMENTS = 64  # whose functions are remembered


def main(processor_s: float) -> None:
    """Answer [uri, path, text] with a reading, or with None when anything came meanwhile. One that takes more than
    `processor_s` of processor time ends the process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    readers: dict[str, TextReader] = {}
    while (asked := receive(0)) is not None:
        if not asked:
            continue  # a stop that came too late
        uri, path, text = asked
        reader = readers.pop(uri, None) or TextReader()
        readers[uri] = reader
        if len(readers) > DOCUMENTS:
            del readers[next(iter(readers))]
        signal.setitimer(signal.ITIMER_PROF, processor_s)  # SIGPROF ends the process, also within the parser
        try:
            answer: Any = reader.read(text, path, _asked).to_data()
        except ReadingStopped:
            answer = None
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        send(1, answer)


def _asked() -> bool:
    return bool(select.select([0], [], [], 0)[0])
