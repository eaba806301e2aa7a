"""Threads of one process that parse at once: what is read and what is loaded wait for one another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

from mirage.source.one_parse import PARSING
from mirage.verify.structure.loadable import check_loadable
from mirage_daemon.function_text import read_within_bounds

TEXT = """import mirage


@mirage.optimize(inputs=[((4, 8), "fp16")])
def f(x):
    return x * 2
"""


def test_nobody_parses_while_another_thread_does() -> None:
    done = Event()

    def both() -> None:
        read_within_bounds(TEXT, "a.py", "f")
        check_loadable("")
        done.set()

    with PARSING:
        thread = Thread(target=both)
        thread.start()
        assert not done.wait(0.3)
    assert done.wait(60)
    thread.join()


def test_many_threads_read_the_same() -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: read_within_bounds(TEXT, "a.py", "f"), range(64)))
    assert len({x.least for x in found}) == 1
