"""A kernel as people write it: a decorated function, a Triton module that computes it, and the faults that make it wrong.

A right module agrees with its function for finite inputs; infinite ones and NaN are asked of neither.

Each lies in a folder of its own, `kernels/NAME/`: `function.py` holds the function, `module.py` the module, and `faults.py` the rows
`FAULTS`, and `DRAW` where random numbers are no inputs of the function as they come.
"""

from __future__ import annotations

import ast
import runpy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"
Input = tuple[tuple[int, ...], str]


@dataclass(frozen=True)
class Fault:
    """A module made wrong by `edits`: each is a text that stands once in the module, and what takes its place.

    `says` is what is wrong. `witness` is torch code that changes random inputs until the fault shows on them, and
    `environment` the variables under which it shows. `unseen` is the reason where no run in the interpreter can show it:
    at a real size or on a device alone.
    """

    name: str
    says: str
    edits: Sequence[tuple[str, str]]
    witness: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    unseen: str = ""


@dataclass(frozen=True)
class Case:
    """One folder of `kernels/`. `at` are the inputs (shape, dtype) at which it is certified: those that the function names, or
    smaller ones where these are too large for an interpreter."""

    name: str
    function: str
    module: str
    faults: tuple[Fault, ...]
    draw: str
    at: tuple[Input, ...]

    def wrong(self, fault: Fault) -> str:
        """The module with the fault in it; ValueError where an edit's text is not in the module exactly once."""
        text = self.module
        for old, new in fault.edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}, {fault.name}: {text.count(old)} times in the module: {old!r}")
            text = text.replace(old, new)
        return text

    @cached_property
    def definition(self) -> ast.FunctionDef:
        """The decorated function."""
        return next(x for x in ast.parse(self.function).body if isinstance(x, ast.FunctionDef) and x.decorator_list)

    @property
    def arguments(self) -> list[str]:
        """The names of its parameters."""
        return [x.arg for x in self.definition.args.args]

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Shape and dtype of each input, as the decorator names them."""
        call = self.definition.decorator_list[0]
        assert isinstance(call, ast.Call)
        listed = next(x.value for x in call.keywords if x.arg == "inputs")
        return tuple(ast.literal_eval(listed))


def case(name: str) -> Case:
    """The case of that name."""
    folder = KERNELS / name
    rows = runpy.run_path(str(folder / "faults.py"))
    function, module = ((folder / x).read_text(encoding="utf-8") for x in ("function.py", "module.py"))
    found = Case(name, function, module, tuple(rows["FAULTS"]), rows.get("DRAW", ""), tuple(rows.get("AT", ())))
    return found if found.at else Case(name, function, module, found.faults, found.draw, found.inputs)


def names() -> list[str]:
    """The names of all cases."""
    return sorted(x.parent.name for x in KERNELS.glob("*/module.py"))
