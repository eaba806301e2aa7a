"""A watched project: its files, the functions they had when they were last read, and which of them have changed.

Which event came is not looked at: a path is read as it is when it is looked at. So editors that write by rename, moves,
half-written files and lost events need no cases of their own. A function has changed when its identity (slice, inputs,
what narrows its search) is none that the project had.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass

from mirage.errors import MirageError, MissingShape
from mirage.link.answers import WatchedProject
from mirage.link.regular_file import read_regular
from mirage.source import detect, shapes
from mirage.source.ignored_paths import RULES, Ignores
from mirage_daemon.file_events import LimitReached, notifier

log = logging.getLogger("mirage.daemon.watch")
MAX_FOLDERS, MAX_KNOWN, MAX_TEXT = 100_000, 20_000, 4 << 20
LIMIT = (
    "the system's limit on watched folders is reached, so changes in some are not seen "
    "(raise it: sysctl fs.inotify.max_user_watches=524288)"
)
TOO_LARGE = f"more than {MAX_FOLDERS} folders: the rest is not watched"
GONE = "the folder is gone"


@dataclass(frozen=True)
class FunctionChange:
    """A function of a watched project that has to be submitted."""

    text: str
    path: str
    function: str
    interpreter: str
    target: str


class Project:
    """One root. All calls come from one thread, the first is `walk`; `touched` and `lost` are called from another."""

    def __init__(
        self, root: str, interpreter: str, target: str, touched: Callable[[str], None], lost: Callable[[], None]
    ):
        self.root, self.interpreter, self.target = root, interpreter, target
        self.problem, self.submitted = "", 0
        self._ignores, self._touched = Ignores(root), touched
        self._notifier = notifier(root, self._event, lost)
        self._known: dict[str, dict[str, str]] = {}  # path -> function -> identity, the last that could be read
        self._files: set[str] = set()
        self._folder: tuple[int, int] | None = None  # the root's device and number, when it was last walked

    def row(self) -> WatchedProject:
        """What `status` says of it."""
        return {
            "root": self.root,
            "folders": self._notifier.count,
            "files": len(self._files),
            "functions": sum(len(f) for f in list(self._known.values())),
            "submitted": self.submitted,
            "problem": self.problem,
        }

    def close(self) -> None:
        self._notifier.close()

    def _event(self, path: str, is_folder: bool) -> None:
        """In the notifier's thread: as little as possible."""
        name = os.path.basename(path)
        if not self._ignores.by_name(name) if is_folder else name.endswith(".py") or name == RULES:
            self._touched(path)

    def begin(self) -> None:
        """Learn the functions as they are; none of them has changed."""
        self._read(self._walk(self.root))

    def replaced(self) -> bool:
        """Whether the root is another folder than the one that was walked: it was made anew, or moved."""
        return _number(self.root) != self._folder

    def again(self) -> list[FunctionChange]:
        """Events were lost: everything is looked at."""
        return self.look([self.root])

    def look(self, paths: Iterable[str]) -> list[FunctionChange]:
        """What the present state of these paths asks for."""
        files, folders, gone = set(), set(), []
        for path in paths:
            if os.path.basename(path) == RULES:
                self._ignores.forget()
                folders.add(os.path.dirname(path))
            elif path.endswith(".py") and not os.path.isdir(path):
                files.add(path)
            elif os.path.isdir(path):
                folders.add(path)
            else:
                gone.append(path)
        for path in gone:
            self._notifier.drop(path)
        if not os.path.isdir(self.root):
            self.problem, self._folder = GONE, None
        for folder in sorted(folders):
            if not any(folder.startswith(other + os.sep) for other in folders):  # the outer one holds it
                self._notifier.drop(folder)  # it may be another folder than the one that had this name
                if folder == self.root or not self._ignores.ignored(folder, True):
                    files |= self._walk(folder)
        return self._read(path for path in sorted(files) if not self._ignores.ignored(path, False))

    def _walk(self, top: str) -> set[str]:
        """Watch a folder and all below that is not ignored; the Python files there."""
        files, stack = set(), [top]
        if top == self.root and os.path.isdir(top):
            self.problem = ""
            self._folder = _number(top)
        while stack:
            folder = stack.pop()
            if self._notifier.count >= MAX_FOLDERS:
                self._say(TOO_LARGE)
                break
            try:
                self._notifier.add(folder)  # before it is listed: what comes in between is an event
            except LimitReached:
                self._say(LIMIT)
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            if not self._ignores.alone(entry.path, True):
                                stack.append(entry.path)
                        elif entry.name.endswith(".py") and not self._ignores.alone(entry.path, False):
                            files.add(entry.path)
            except OSError as e:
                log.info("%s cannot be listed: %s", folder, e)
        return files

    def _say(self, problem: str) -> None:
        if self.problem != problem:
            log.warning("%s: %s", self.root, problem)
            self.problem = problem

    def _read(self, files: Iterable[str]) -> list[FunctionChange]:
        had = {identity for functions in self._known.values() for identity in functions.values()}
        changes = []
        for path in files:
            text = read_text(path)
            if text is None:
                self._files.discard(path)
                continue
            self._files.add(path)
            said = os.fsencode(path).decode("utf-8", "replace")  # to messages and people every name is text
            new = identities(text, path)
            for function, identity in new.items():
                if identity not in had:
                    had.add(identity)
                    changes.append(FunctionChange(text, said, function, self.interpreter, self.target))
            if new:
                self._known[path] = {**self._known.pop(path, {}), **new}
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return changes

    def without_shapes(self, path: str, function: str) -> FunctionChange | None:
        """The function, if its text says no shapes: so it waits for what a running program says."""
        text = read_text(path)
        found = detect.find(text, path).functions if text and not self._ignores.ignored(path, False) else []
        for decorated in found:
            if decorated.name == function and _inputs(decorated) == "":
                return FunctionChange(text or "", path, function, self.interpreter, self.target)
        return None


def _number(folder: str) -> tuple[int, int] | None:
    """Which folder has this name."""
    try:
        facts = os.stat(folder)
    except OSError:
        return None
    return (facts.st_dev, facts.st_ino) if stat.S_ISDIR(facts.st_mode) else None


def read_text(path: str) -> str | None:
    """A Python file's text as an editor has it; None where there is none, and "" where no function can be decorated."""
    data = read_regular(path, MAX_TEXT)
    if data is None:
        return None
    if b"mirage" not in data:
        return ""
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return ""


def identities(text: str, path: str) -> dict[str, str]:
    """Of each decorated function that can be submitted: a digest of what can change its answer, but for comments,
    formatting and docstrings."""
    found = {}
    for decorated in detect.find(text, path).functions if text else []:
        inputs = _inputs(decorated)
        if inputs is not None:
            said = json.dumps([decorated.digest, inputs, astuple(decorated.options.given)])
            found[decorated.name] = hashlib.sha256(said.encode()).hexdigest()
    return found


def _inputs(decorated: detect.Decorated) -> str | None:
    """The inputs of all rows as a text; "" where the text says none, None where it says them wrongly."""
    try:
        return json.dumps([[astuple(i) for i in row] for row in shapes.rows(decorated)])
    except MissingShape:
        return ""
    except MirageError:
        return None
