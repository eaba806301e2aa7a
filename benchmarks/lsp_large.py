"""The language server under many functions and under texts and changes made to hold it up: what another document's hover feels.

python benchmarks/lsp_large.py [--json] [--only open,texts,changes] [--functions 3000]

A delay is the time of a hover over a small document that is asked for right behind the large message. Beside the slowest stands
what the server's own thread worked in that time, which a busy machine does not change. About a minute.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "lsp"), str(ROOT / "tests"), str(ROOT / "benchmarks"), str(ROOT / "core")]

from daemonbench import printing  # noqa: E402
from daemonbench.rows import Row, at_least, at_most  # noqa: E402
from lsp_client import URI, Editor, started_server  # noqa: E402
from lsp_samples import HEAD, TEXT  # noqa: E402

OTHER = "file:///project/other.py"
AT = HEAD.count("\n")  # the first line of TEXT with a function to hover over
FUNCTIONS, OF_FILE, HOVERS, EDITS, LINES = 3000, 100, 400, 10_000, 50_000
HOVER_MS, DELAY_MS, MEMORY_MB = 10.0, 100.0, 150.0
MOST = 1_000_000  # characters
FUNCTION = '@mirage.optimize\ndef f{i}(x: Float16[Tensor, "16 64"]) -> Tensor:\n    return {body}\n\n\n'


def filled(part: Callable[[int], str], most: int = MOST) -> str:
    """HEAD and as many parts as fit."""
    parts, size, i = [HEAD], len(HEAD), 0
    while size + len(part(i)) <= most:
        parts.append(part(i))
        size, i = size + len(parts[-1]), i + 1
    return "".join(parts)


def closures(count: int) -> str:
    """So many functions over as many helpers each."""
    helpers = "".join(f"def h{i}(x):\n    return x * {i}.5 + 1\n\n\n" for i in range(count))
    body = " + ".join(f"h{i}(x)" for i in range(count))
    return str(HEAD) + helpers + "".join(FUNCTION.format(i=i, body=body) for i in range(count))


def texts() -> dict[str, str]:
    """Each is at most MOST characters, and once took, or might take, seconds."""
    decorated = HEAD + FUNCTION.format(i=0, body="x")
    powers = HEAD + "A0 = 7\n" + "".join(f"A{i} = A{i - 1}**16\n" for i in range(1, 7))
    return {
        "functions": filled(lambda i: FUNCTION.format(i=i, body="x + 1")),
        "closures": closures(200),
        "long integers": filled(lambda i: f"N{i} = {'9' * 4000}\n") + FUNCTION.format(i=0, body="x * N0"),
        "powers": powers + FUNCTION.format(i=0, body="x").replace("16 64", "A6 64"),
        "quotes": decorated + "y = " + '\\"' * 480_000 + '"""\n',
        "brackets": decorated + "y = " + "[" * 900_000,
        "one line": decorated + "y = (" + "1, " * 300_000 + ")\n",
        "empty lines": decorated + "\n" * 900_000,
        "decorators": HEAD + "@mirage.optimize\n" * 50_000 + "def f(x):\n    return x\n",
        "half written": filled(lambda i: "@mirage.optimize\ndef f("),
        "words": HEAD + "mirage.optimize " * 60_000,
    }


@contextlib.contextmanager
def served() -> Iterator[Editor]:
    """An editor with a small document whose function is known."""
    home = Path(tempfile.mkdtemp(prefix="mblsp-"))
    editor = Editor(started_server(home))
    try:
        editor.initialize()
        editor.open(TEXT, OTHER)
        editor.wait_title("", OTHER)
        yield editor
    finally:
        editor.kill()
        shutil.rmtree(home, ignore_errors=True)


def worked_ms(editor: Editor) -> float:
    """Milliseconds that the server's own thread has worked."""
    return int(Path(f"/proc/{editor.process.pid}/schedstat").read_text().split()[0]) / 1e6


def hover(editor: Editor, line: int = AT, uri: str = OTHER) -> tuple[float, float]:
    """(milliseconds until the answer, of them the server's own work)."""
    before, begin = worked_ms(editor), time.perf_counter()
    ident = editor.start_request(
        "textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": 4}}
    )
    while not editor.answers(ident):
        time.sleep(0.0002)
    return 1e3 * (time.perf_counter() - begin), worked_ms(editor) - before


def memory_mb(editor: Editor) -> Iterator[Row]:
    """The server's highest, and what it and the processes that read for it hold now."""
    pid = editor.process.pid
    own = Path(f"/proc/{pid}/status").read_text()
    peak = next(int(line.split()[1]) for line in own.splitlines() if line.startswith("VmHWM:")) / 1024
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    together = 0.0
    for process in (str(pid), *children):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
            together += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024
    yield at_most("the server's memory, highest", peak, "MB", MEMORY_MB)
    yield at_most("the server and its readers, now", together, "MB", MEMORY_MB)


def felt(name: str, delays: list[tuple[float, float]]) -> Row:
    slowest = max(delays)
    return at_most(f"{name} ({slowest[1]:.0f} ms of work)", slowest[0], "ms", DELAY_MS)


def many_open(functions: int) -> Iterator[Row]:
    """So many functions in open files: hovers over one of them, and the memory."""
    with served() as editor:
        uris = [f"file:///project/many{n}.py" for n in range(-(-functions // OF_FILE))]
        for n, uri in enumerate(uris):
            editor.open(HEAD + "".join(FUNCTION.format(i=i, body=f"x * {n}.5 + {i}") for i in range(OF_FILE)), uri)
        known = sum(len({lens["range"]["start"]["line"] for lens in editor.lenses(uri)}) for uri in uris)
        yield at_least("functions that are open and read", known, "", functions)
        assert editor.hover(AT + 1, uris[-1])
        chance = random.Random(1)
        times = []
        for _ in range(HOVERS):
            times.append(hover(editor, AT + 1 + 5 * chance.randrange(OF_FILE), chance.choice(uris)))
            time.sleep(0.003)
        times.sort()
        at, work = times[int(HOVERS * 0.99)][0], sorted(w for _, w in times)[int(HOVERS * 0.99)]
        yield at_most(f"hover: p99 of {HOVERS} ({work:.1f} ms of work)", at, "ms", HOVER_MS)
        yield from memory_mb(editor)


def large_texts(_: int) -> Iterator[Row]:
    """Each text opened, changed and asked about."""
    for name, text in texts().items():
        assert len(text) <= MOST, (name, len(text))
        with served() as editor:
            hover(editor)
            editor.open(text)
            delays = [hover(editor)]
            asked = editor.start_request("textDocument/codeLens", {"textDocument": {"uri": URI}})
            editor.change(text + "\n")
            until = time.monotonic() + 3
            while time.monotonic() < until and not (editor.answers(asked) and len(delays) > 20):
                delays.append(hover(editor))
                time.sleep(0.01)
            yield felt(f"{name}, {len(text) // 1000} kB", delays)
            if name == "functions":
                yield from memory_mb(editor)


def many_changes(_: int) -> Iterator[Row]:
    """EDITS changes in one message: everywhere, in one place, and each a line more."""
    chance, text = random.Random(2), TEXT + "y = 1\n" * LINES
    last = text.count("\n") - 1

    def at(line: int, end: int) -> dict[str, object]:
        return {"start": {"line": line, "character": 0}, "end": {"line": line, "character": end}}

    kinds = {
        "everywhere": lambda: {"range": at(chance.randrange(last), 1), "text": "z"},
        "in one place": lambda: {"range": at(last // 2, 0), "text": "z"},
        "a line more each": lambda: {"range": at(chance.randrange(last), 0), "text": "\n"},
        "a line less each": lambda: {
            "range": {"start": {"line": (n := chance.randrange(last // 2)), "character": 0}, "end": {"line": n + 1, "character": 0}},
            "text": "",
        },
    }  # fmt: skip
    for name, make in kinds.items():
        one = cast("Callable[[], dict[str, object]]", make)
        with served() as editor:
            editor.open(text)
            editor.lenses()
            changes = [one() for _ in range(EDITS)]
            hover(editor)
            editor.versions[URI] += 1
            document = {"uri": URI, "version": editor.versions[URI]}
            editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
            yield felt(f"{EDITS} edits in {LINES} lines, {name}", [hover(editor) for _ in range(10)])


if __name__ == "__main__":
    parts = {"open": many_open, "texts": large_texts, "changes": many_changes}
    raise SystemExit(printing.main("lsp_large", __doc__, "functions", FUNCTIONS, parts))
