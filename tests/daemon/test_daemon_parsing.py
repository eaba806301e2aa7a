"""Reading of a text: threads of one process that parse at once wait for one another, and no more is parsed than has to be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from mirage.errors import SourceSyntaxError
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


def test_imports_are_found_without_parsing_the_rest() -> None:
    """Those that share a line with something else, those that stand in a function or a string, and a rest that is not Python."""
    more = """import os; SECRET = 1
x = 1; import sys, json as j
from a import (
    b,
    c,
)
def g(): import never
WORDS = '''
import neither
'''
def half_written(
"""
    found = read_within_bounds(TEXT + more, "a.py", "f").least
    kept = [line for line in found.split("\n") if "import" in line]
    assert kept == ["import mirage", "import os", "import sys, json as j", "from a import ("]
    assert "    c,\n)" in found and "SECRET" not in found


def test_a_text_whose_imports_cannot_be_read_is_an_error_of_the_text() -> None:
    with pytest.raises(SourceSyntaxError):
        read_within_bounds(TEXT + "import (\n", "a.py", "f")
