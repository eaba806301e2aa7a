"""Ignore rules for a watched project: folders of tools and environments, and what `.gitignore` names.

The rules are git's, read from the files alone: git itself is not run, because a project's own configuration can make
it start programs.
"""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass
from functools import lru_cache

from mirage.link.regular_file import read_regular

NAMES = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "__pypackages__"})  # and all that are hidden
ENVIRONMENT = "pyvenv.cfg"  # what a virtual environment holds, whatever it is called
RULES = ".gitignore"
MAX_BYTES, MAX_RULES = 256 << 10, 4000  # of one file of rules; the rest of it does not count


@dataclass(frozen=True)
class IgnoreRule:
    """One line: the pattern's parts ("**" for any number of folders), and whether it says the opposite, is tied to
    the folder of its file, and is about folders only."""

    parts: tuple[str, ...]
    keeps: bool
    folders_only: bool


def parse(text: str) -> list[IgnoreRule]:
    """The rules of a file, in its order."""
    found = []
    for line in text.split("\n")[:MAX_RULES]:
        line = line.rstrip("\r")
        while line.endswith(" ") and not line.endswith("\\ "):
            line = line[:-1]
        if not line or line.startswith("#"):
            continue
        keeps = line.startswith("!")
        line = line[1:] if keeps else line
        folders_only = line.endswith("/")
        line = line.rstrip("/") if folders_only else line
        anchored = "/" in line
        parts = [p for p in line.split("/") if p]
        if parts:
            found.append(IgnoreRule(tuple(parts if anchored else ["**", *parts]), keeps, folders_only))
    return found


def matches(rule: IgnoreRule, parts: list[str]) -> bool:
    """Whether a path, in parts from the folder of the rule's file, is the one that the rule means. Takes at most parts
    times parts steps: a pattern from a project must not cost more than its length."""
    pattern, at, i = rule.parts, 0, 0
    star, back = -1, 0
    while i < len(parts):
        if at < len(pattern) and pattern[at] == "**":
            star, back, at = at, i, at + 1
            if at == len(pattern):
                return True  # `a/**`: all that is below
        elif at < len(pattern) and _part(pattern[at])(parts[i]) is not None:
            at, i = at + 1, i + 1
        elif star >= 0:
            back += 1
            at, i = star + 1, back
        else:
            return False
    return at == len(pattern)


@lru_cache(maxsize=4096)
def _part(pattern: str):  # type: ignore[no-untyped-def]
    """A matcher for one part of a path. `fnmatch` writes expressions that do not go back over what they took."""
    plain = re.sub(r"\\(.)", lambda m: f"[{m[1]}]" if m[1] in "*?[" else m[1], pattern)
    try:
        return re.compile(fnmatch.translate(plain.replace("[^", "[!"))).match
    except re.error:
        return re.compile(r"(?!)").match


class Ignores:
    """What is ignored below a root. Rules are read at their first use; `forget` after one of their files changed."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._rules: dict[str, list[IgnoreRule]] = {}

    def forget(self) -> None:
        self._rules.clear()

    def by_name(self, name: str) -> bool:
        """Whether a folder of this name is never looked into."""
        return name in NAMES or name.startswith(".")

    def ignored(self, path: str, is_folder: bool) -> bool:
        """Whether `path` (full, below the root) is ignored for itself or for a folder above it."""
        parts = os.path.relpath(path, self._root).split(os.sep)
        if parts[0] in ("..", "."):
            return parts[0] == ".."
        return any(self._alone(parts[: n + 1], is_folder or n + 1 < len(parts)) for n in range(len(parts)))

    def alone(self, path: str, is_folder: bool) -> bool:
        """As `ignored`, where the folders above are known not to be."""
        return self._alone(os.path.relpath(path, self._root).split(os.sep), is_folder)

    def _alone(self, parts: list[str], is_folder: bool) -> bool:
        if is_folder and self.by_name(parts[-1]):
            return True
        if is_folder and os.path.exists(os.path.join(self._root, *parts, ENVIRONMENT)):
            return True
        for depth in reversed(range(len(parts))):  # the nearest file decides, in it the last rule that matches
            for rule in reversed(self._of("/".join(parts[:depth]))):
                if (is_folder or not rule.folders_only) and matches(rule, parts[depth:]):
                    return not rule.keeps
        return False

    def _of(self, folder: str) -> list[IgnoreRule]:
        if folder not in self._rules:
            data = read_regular(os.path.join(self._root, folder, RULES), MAX_BYTES)
            self._rules[folder] = parse(data.decode("utf-8", "replace")) if data else []
        return self._rules[folder]
