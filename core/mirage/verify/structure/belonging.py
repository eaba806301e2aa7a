"""Whether a written module still belongs to the function that it was made from: read off both texts, nothing is run."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mirage.codegen.emit import split_parts
from mirage.codegen.size_table import all_inputs, headline
from mirage.errors import KernelEdited, KernelOfAnotherText, MirageError, ModuleUnreadable, SymbolWithoutSize
from mirage.ir.dtypes import TORCH_NAMES
from mirage.source import shapes
from mirage.source.detect import Decorated
from mirage.source.slice import cut_decorated
from mirage.verify.structure.emitted_again import (
    carries,
    different_source,
    emitted_again,
    public_function,
    user_source,
)

BEGIN = "# mirage:begin header\n"


@dataclass(frozen=True)
class WrittenModule:
    """A module that `mirage optimize` wrote: its file, its text, and the function that it stands for."""

    path: str
    text: str
    function: str


def written_module(path: str, text: str) -> WrittenModule | None:
    """The module that a file is; None for any other file. Raises ModuleUnreadable."""
    if not text.startswith(BEGIN):
        return None
    try:
        return WrittenModule(path, text, public_function(ast.parse(text)).name)
    except SyntaxError as e:
        raise ModuleUnreadable(f"the module does not parse: {e.msg}", path=path, line=e.lineno) from None
    except MirageError as e:
        e.path = e.path or path
        raise


def edited(module: WrittenModule) -> MirageError | None:
    """What in the module's text is not what this version emits for the µGraphs that it carries."""
    if not carries(module.text):
        return None
    try:
        found = emitted_again(module.text, None)
    except (MirageError, ArithmeticError, LookupError, TypeError, ValueError) as e:
        # what the module carries is damaged: emission met what no µGraph of ours gives it
        return KernelEdited(f"nothing can be emitted from what the module carries ({e})", path=module.path, line=1)
    if found is None:
        return None
    said = f"the module has `{found.have}`, the emitter writes `{found.want}`: what was verified is another text"
    return KernelEdited(said, path=module.path, line=found.line)


def outdated(module: WrittenModule, function: Decorated) -> MirageError | None:
    """Where the function is another one than the module was made for: what it computes, or its sizes. Raises what the
    function's own mistakes raise."""
    again = f"run `mirage optimize {function.path}::{function.name}` again"
    try:
        parts = split_parts(module.text)
        source = user_source(parts, module.function)
        found = different_source(module.text, source, module.function, cut_decorated(function).text, function.name)
        made = all_inputs(module.text)
    except KeyError as e:
        return KernelEdited(f"the module has no part {e}", path=module.path, line=1)
    if found is not None:
        said = f"the kernel was made for `{found.have}`, the function has `{found.want}`"
        return KernelOfAnotherText(said, path=module.path, line=found.line, next_step=again)
    try:
        asked = [tuple((i.shape, TORCH_NAMES[i.dtype]) for i in row) for row in shapes.rows(function)]
    except SymbolWithoutSize:
        return None  # calls gave the sizes
    gone = next((row for row in made if row not in asked), None)
    if gone is None:
        return None
    said = f"the kernel was made for inputs of {headline(gone)}, which `{function.name}` no longer names"
    return KernelOfAnotherText(said, path=module.path, line=1, next_step=again)
