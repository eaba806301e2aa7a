"""`mirage check [PATHS]`: says of each written kernel whether it still belongs to its function. Nothing is run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from mirage.cli import named_text, place_argument, sarif
from mirage.cli.named_text import write_text
from mirage.errors import KernelOfNoFunction, MirageError
from mirage.source import detect
from mirage.source.detect import Decorated
from mirage.verify.structure.belonging import WrittenModule, edited, outdated, written_module


@dataclass
class CheckedPaths:
    """What the files hold: decorated functions by name, written modules, and what could not be read."""

    functions: dict[str, list[Decorated]] = field(default_factory=dict)
    modules: list[WrittenModule] = field(default_factory=list)
    errors: list[MirageError] = field(default_factory=list)

    def add(self, path: str) -> None:
        """Read a file."""
        try:
            text = named_text.read(path)
            if "mirage" not in text:
                return
            module = written_module(path, text)
            if module is not None:
                self.modules.append(module)
                return
        except MirageError as e:
            self.errors.append(e)
            return
        scan = detect.find(text, path)
        if scan.chunks.syntax_error is not None:
            self.errors.append(scan.chunks.syntax_error)
        for f in scan.functions:
            self.functions.setdefault(f.name, []).append(f)

    def problems(self) -> Iterator[MirageError]:
        """Everything that is wrong, a module's own text first."""
        yield from self.errors
        for module in self.modules:
            found = edited(module)
            if found is not None:
                yield found
            yield from self.unlike(module)

    def unlike(self, module: WrittenModule) -> Iterator[MirageError]:
        """Why a module is that of none of the functions of its name; nothing where it is that of one."""
        pairs = list(self.compared(module))
        if not pairs:
            said = f"no decorated function `{module.function}` is in the files that were read"
            yield KernelOfNoFunction(said, path=module.path, line=1)
        yield from (wrong for _, wrong in pairs[:1] if wrong is not None and all(w is not None for _, w in pairs))

    def owner(self, module: WrittenModule) -> Decorated | None:
        """The function that a module belongs to."""
        return next((f for f, wrong in self.compared(module) if wrong is None), None)

    def compared(self, module: WrittenModule) -> Iterator[tuple[Decorated, MirageError | None]]:
        """The functions that a module could mean, each with what is another there: those in the module's own folder, those
        elsewhere only where that has none."""
        folder = os.path.dirname(os.path.abspath(module.path))
        every = self.functions.get(module.function, [])
        for function in [f for f in every if os.path.dirname(os.path.abspath(f.path)) == folder] or every:
            try:
                yield function, outdated(module, function)
            except MirageError as e:
                e.path, e.line = e.path or function.path, e.line or function.line
                yield function, e


def project(paths: Sequence[str]) -> CheckedPaths:
    """The files of the paths. Of a file alone, the rest of its folder is read too where a module's function could be in it."""
    found = CheckedPaths()
    named = [p for path in paths for p in ([path] if not os.path.isdir(path) else place_argument.python_files(path))]
    for path in dict.fromkeys(map(os.path.normpath, named)):
        found.add(path)
    known = {os.path.abspath(p) for p in named}
    for folder in {os.path.dirname(m.path) for m in found.modules if m.function not in found.functions}:
        for beside in sorted(Path(folder or ".").glob("*.py")):
            if os.path.abspath(beside) not in known:
                other = CheckedPaths()
                other.add(str(beside))
                for name, functions in other.functions.items():
                    found.functions.setdefault(name, []).extend(functions)
    return found


def counted(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


@click.command()
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...")
@click.option("--sarif", "sarif_file", metavar="FILE", help="Write what was found as SARIF 2.1.0; `-` prints it.")
def check(paths: tuple[str, ...], sarif_file: str | None) -> None:
    """Say of each kernel that `mirage optimize` wrote whether it still belongs to its function; exit code 1 where one does not."""
    read = project(paths or (".",))
    problems = list(read.problems())
    if sarif_file is not None:
        text = sarif.log(problems)
        if sarif_file == "-":
            click.echo(text, nl=False)
        else:
            write_text(Path(sarif_file), text)
    for problem in problems:
        click.echo(str(problem), err=True)
    if sarif_file != "-":
        click.echo(f"{counted(len(read.modules), 'kernel')} read, {counted(len(problems), 'problem')}")
    if problems:
        raise SystemExit(1)
