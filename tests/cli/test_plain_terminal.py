"""Words of others that reach a terminal tell it nothing; a file gets them as they are."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from mirage.cli.plain_terminal import REDRAW, visible

SAYS = "\x1b]0;title\x07\x1b[2J\x9b31m\u202eturned\r\b"
MODULE = f"""
import click
from mirage.cli import COMMANDS, main
from mirage.errors import TraceFailed

@click.command()
def told():
    click.echo({SAYS!r})
    raise TraceFailed({SAYS!r})

COMMANDS["told"] = ("__main__", "told", "")
main(["told"])
"""


@pytest.mark.parametrize("text", ["plain µ", "two\nlines\twith a tab\n", "", "— “quoted” é 漢字 👍"])
def test_what_is_text_stays(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    "text", ["\x1b[31m", "\x9b2J", "\x07", "\x00", "\x7f", "\r", "\x08", "\u202e", "\u2066", "\u2028"]
)
def test_what_tells_a_terminal_something_is_written_out(text):
    shown = visible(f"a{text}b")
    assert shown.isprintable() and shown[0] == "a" and shown[-1] == "b" and shown[1] == "\\"


def test_the_line_of_progress_is_drawn_anew_and_holds_nothing_else():
    assert visible(REDRAW + "f: " + REDRAW) == REDRAW + "f: \\x0d\\x1b[K"


def test_on_a_terminal_it_is_shown_and_in_a_file_it_is_as_it_is():
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", MODULE], stdout=theirs, stderr=theirs, timeout=60)
    os.close(theirs)
    said = os.read(ours, 1 << 16).decode().replace("\r\n", "\n")
    os.close(ours)
    assert said.count("\\x1b]0;title\\x07\\x1b[2J\\x9b31m\\u202eturned") == 2, said
    assert all(c.isprintable() or c == "\n" for c in said)
    piped = subprocess.run([sys.executable, "-c", MODULE], capture_output=True, timeout=60)
    assert b"\x1b]0;title\x07" in piped.stdout and b"\\x1b" not in piped.stdout
