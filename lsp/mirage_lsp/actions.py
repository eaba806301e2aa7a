"""Edits that put a kernel into a document or take it out again, computed against the document as it is now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path

from mirage.source import detect
from mirage.source.module_names import is_decorator
from mirage_lsp import kernel_block, merge_module, quick_fixes, text_edits
from mirage_lsp.document import FunctionEntry, View
from mirage_lsp.errors import CannotMerge, NoKernel, StaleEdit

MODULE_HEAD = "# fmt: off\n"  # formatters leave a module that is written alone


def replaceable(entry: FunctionEntry) -> bool:
    """Whether there is a module (a kernel, or a call of PyTorch) for the function as it is written now."""
    result = entry.result
    return result is not None and not entry.stale and result.answer != "keep" and bool(result.source)


def optimizable(entry: FunctionEntry) -> bool:
    """Whether asking (again) makes sense: no answer for this text, and nothing that the user has to mend or allow."""
    if entry.running or entry.state == "untrusted":
        return False
    return entry.state == "failed" or (entry.error is None and (entry.result is None or entry.stale))


def replace(view: View, name: str, version: int | None = None) -> types.TextEdit:
    """The edit that replaces a decorated function by its kernel. Raises StaleEdit, NoKernel, CannotMerge."""
    target, source = _ready(view, name, version)
    start, end, new = merge_module.replace(view.text, target, source, view.elsewhere)
    return text_edits.replacement(view.text, start, end, new)


def restore(view: View, name: str, version: int | None = None) -> types.TextEdit:
    """The edit that puts the original of a block back. Raises StaleEdit, NoKernel, OriginalDamaged."""
    check_version(view, version)
    found = next((b for b in kernel_block.find(view.text) if b.name == name), None)
    if found is None:
        raise NoKernel(f"the text has no block for `{name}`", next_step="name a function that was replaced")
    return text_edits.replacement(view.text, found.start, found.end, kernel_block.original(found))


def write_module(view: View, name: str, version: int | None = None) -> tuple[Path, str, types.TextEdit]:
    """A new module beside the file: its path and text, and the edit that imports the function from it. Raises as
    `replace` does."""
    target, source = _ready(view, name, version)
    place = to_fs_path(view.document.uri)
    folder = Path(place).parent if place else None
    if folder is None or not folder.is_dir():
        raise CannotMerge(f"{view.document.uri} lies in no folder", next_step="save it first")
    path = next(p for p in _names(folder, name) if not p.exists() or _is_ours(p))
    package = (folder / "__init__.py").exists() and not view.document.uri.endswith(".ipynb")
    line = f"from {'.' if package else ''}{path.stem} import {name}"
    start, end, new = merge_module.replace_by_import(view.text, target, line, view.elsewhere)
    return path, MODULE_HEAD + source, text_edits.replacement(view.text, start, end, new)


def _names(folder: Path, function: str):  # type: ignore[no-untyped-def]
    yield folder / f"{function}_mirage.py"
    number = 2
    while True:
        yield folder / f"{function}_mirage_{number}.py"
        number += 1


def _is_ours(path: Path) -> bool:
    """Whether a file is a module that Mirage wrote, which a newer one may replace."""
    try:
        return path.read_text("utf-8").startswith(MODULE_HEAD + "# mirage:begin header")
    except (OSError, ValueError):
        return False


def _ready(view: View, name: str, version: int | None) -> tuple[merge_module.ReplacedFunction, str]:
    """Where the function is in the view's text, and the kernel's module."""
    check_version(view, version)
    function = next((f for f in view.functions if f.name == name), None)
    if function is None:
        raise NoKernel(f"the text has no decorated function `{name}`")
    entry = view.document.entry(function)
    parsed = view.document.parsed(name)
    if not replaceable(entry) or entry.result is None or parsed is None or parsed.node is None:
        why = "its result is for an older text" if entry.stale else f"there is no kernel for `{name}` yet"
        raise NoKernel(why)
    target = target_of(view, parsed)
    if view.raw is not None:
        inside = slice(target.first_line - 1, target.last_line)
        if text_edits.split_lines(view.raw)[inside] != text_edits.split_lines(view.text)[inside]:
            raise CannotMerge(
                f"`{name}` holds a line that is IPython's and not Python's", next_step="take it out first"
            )
    return target, entry.result.source


def _fix(make: Callable[[View, detect.Decorated], list[types.TextEdit]]) -> Edit:
    def fixed(view: View, name: str, version: int | None = None) -> list[types.TextEdit]:
        check_version(view, version)
        function = view.document.parsed(name) if any(f.name == name for f in view.functions) else None
        found = make(view, function) if function is not None else []
        if not found:
            raise NoKernel(f"there is nothing to mend in `{name}`", next_step="look at the function's diagnostics")
        return found

    return fixed


def check_version(view: View, version: int | None) -> None:
    if version is not None and version != view.version:
        raise StaleEdit(f"the edit was for version {version} of the text, which is at version {view.version} now")


def target_of(view: View, function: detect.Decorated) -> merge_module.ReplacedFunction:
    if function.node is None or function.names is None:
        raise NoKernel(f"`{function.name}` does not parse")
    ours = [d for d in function.node.decorator_list if is_decorator(d, function.names)]
    first, last = ours[0].lineno, ours[-1].end_lineno or ours[-1].lineno
    up = view.first
    return merge_module.ReplacedFunction(
        function.name, function.decorator_line - up, function.end_line - up, (first - up, last - up)
    )


Edit = Callable[..., list[types.TextEdit]]
# What changes nothing but the document itself, by the name of its action and, after `mirage.`, of its command.
EDITS: dict[str, Edit] = {
    "replace": lambda *a: [replace(*a)],
    "restore": lambda *a: [restore(*a)],
    "giveSizes": _fix(quick_fixes.give_sizes),
    "annotate": _fix(quick_fixes.annotate),
    "giveInputs": _fix(quick_fixes.give_inputs),
}
