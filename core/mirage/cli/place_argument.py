"""The arguments FILE[::FUNCTION] and FOLDER of the command line: the texts and the functions that they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mirage.errors import FileUnreadable, FunctionNotFound, MirageError, NoDecoratedFunction, SourceSyntaxError
from mirage.source import detect
from mirage.source.ignored_paths import Ignores

if TYPE_CHECKING:
    from mirage.verify.proof.user_rules import Rules


def read(path: str) -> str:
    """The file's text, or FileUnreadable."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as e:
        raise FileUnreadable(f"the file cannot be read: {e.strerror}", path=path) from None
    except UnicodeDecodeError as e:
        raise FileUnreadable(f"the file is not UTF-8 text: {e.reason} at byte {e.start}", path=path) from None


def rules(path: str | None) -> Rules | None:
    """The rules of a file, tested; None without one. RuleUnreadable, RuleFalse."""
    if path is None:
        return None
    from mirage.verify.proof.user_rules import load

    return load(read(path), path)


def functions(place: str) -> tuple[str, str, list[str]]:
    """(path, text, names of the decorated functions that FILE[::FUNCTION] means)."""
    path, _, wanted = place.partition("::")
    text = read(path)
    scan = detect.find(text, path)
    names = [f.name for f in scan.functions]
    for problem in scan.problems:
        if isinstance(problem, SourceSyntaxError):
            raise problem
    if wanted:
        if wanted not in names:
            have = ", ".join(names) or "none"
            raise FunctionNotFound(f"no decorated function {wanted} (decorated here: {have})", path=path)
        return path, text, [wanted]
    if not names:
        raise NoDecoratedFunction("no function carries @mirage.optimize", path=path, line=1)
    return path, text, names


@dataclass(frozen=True)
class FunctionPlace:
    """A decorated function of a file."""

    path: str
    text: str
    function: str

    def __str__(self) -> str:
        return f"{self.path}::{self.function}"


def places(argument: str, failed: Callable[[MirageError], None]) -> list[FunctionPlace]:
    """The functions that FILE[::FUNCTION] means, or all of the files below FOLDER but the ignored ones. A file of a folder that
    cannot be read or does not parse is told to `failed`; of a single file it is raised. NoDecoratedFunction where there is none."""
    if not os.path.isdir(argument):
        path, text, names = functions(argument)
        return [FunctionPlace(path, text, name) for name in names]
    found = []
    for path in python_files(argument):
        try:
            text = read(path)
            if "mirage" in text:
                found += [FunctionPlace(path, text, name) for name in functions(path)[2]]
        except NoDecoratedFunction:
            continue
        except MirageError as e:
            failed(e)
    if not found:
        raise NoDecoratedFunction("no function of the folder carries @mirage.optimize", path=argument)
    return found


def python_files(folder: str) -> Iterator[str]:
    """The .py files below it in the order of their names, without what is hidden, an environment, or named by `.gitignore`."""
    ignores = Ignores(os.path.abspath(folder))
    for above, folders, files in os.walk(folder):
        at = os.path.abspath(above)
        folders[:] = sorted(d for d in folders if not ignores.alone(os.path.join(at, d), is_folder=True))
        yield from (
            os.path.join(above, f)
            for f in sorted(files)
            if f.endswith(".py") and not ignores.alone(os.path.join(at, f), is_folder=False)
        )
