"""The arguments FILE[::FUNCTION] and FOLDER of the command line: the texts and the functions that they mean."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirage.cli.named_text import NamedText, read
from mirage.errors import FileUnreadable, FunctionNotFound, MirageError, NoDecoratedFunction, SourceSyntaxError
from mirage.source import detect
from mirage.source.ignored_paths import Ignores

if TYPE_CHECKING:
    from mirage.verify.proof.user_rules import Rules


OF_NOTEBOOKS = (
    "write the function into a file of its own (`%%writefile model.py` at the top of its cell), and name that file"
)
DECORATOR = re.compile(r"\s*@\s*(mirage\.)?(optimize|superoptimize)\b")


def rules(path: str | None) -> Rules | None:
    """The rules of a file, tested; None without one. RuleUnreadable, RuleFalse."""
    if path is None:
        return None
    from mirage.verify.proof.user_rules import load

    return load(read(path), path)


def functions(place: str) -> tuple[str, str, list[str]]:
    """(path, text, names of the decorated functions that FILE[::FUNCTION] means)."""
    path = place.partition("::")[0]
    if path.endswith(".ipynb"):
        raise FileUnreadable("a notebook is no Python file", path=path, next_step=OF_NOTEBOOKS)
    named = NamedText.of(place)
    return path, named.text, functions_of(named)


def functions_of(named: NamedText) -> list[str]:
    """The names of the decorated functions that are meant."""
    path, text, wanted = named.path, named.text, named.function
    scan = detect.find(text, path)
    names = [f.name for f in scan.functions]
    for problem in scan.problems:
        if isinstance(problem, SourceSyntaxError):
            raise problem
    twice = next(
        (f.error for f in scan.functions if names.count(f.name) > 1 and wanted in ("", f.name) and f.error), None
    )
    if twice is not None:
        raise twice
    if wanted:
        if wanted not in names:
            have = ", ".join(names) or "none"
            raise FunctionNotFound(f"no decorated function {wanted} (decorated here: {have})", path=path)
        return [wanted]
    if not names:
        raise none_decorated(text, path)
    return names


def none_decorated(text: str, path: str) -> NoDecoratedFunction:
    """The error of a file in which no decorated function is found: the decorator may be there, without its import."""
    for line, words in enumerate(text.split("\n"), 1):
        if DECORATOR.match(words):
            said = "a decorator looks like Mirage's, and the file does not import mirage"
            return NoDecoratedFunction(
                said, path=path, line=line, next_step="write `import mirage` at the top of the file"
            )
    return NoDecoratedFunction("no function carries @mirage.optimize", path=path, line=1)


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
