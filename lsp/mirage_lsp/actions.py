"""The edits that put a kernel into a document and take it out again, computed against the document as it is now."""

from __future__ import annotations

from lsprotocol import types

from mirage.source import detect
from mirage_lsp import block, edits, merge
from mirage_lsp.errors import NoKernel, StaleEdit
from mirage_lsp.session import Document, Entry


def replaceable(entry: Entry) -> bool:
    """Whether there is a kernel for the function as it is written now."""
    result = entry.result
    return result is not None and not entry.stale and result.get("answer") == "kernel" and bool(result.get("source"))


def optimizable(entry: Entry) -> bool:
    """Whether asking (again) makes sense: no answer for this text, and nothing that the user has to mend or allow."""
    if entry.running or entry.state == "untrusted":
        return False
    return entry.state == "failed" or (entry.error is None and (entry.result is None or entry.stale))


def replace(document: Document, name: str, version: int | None = None) -> types.TextEdit:
    """The edit that replaces a decorated function by its kernel. Raises StaleEdit, NoKernel, CannotMerge."""
    _check_version(document, version)
    function = document.function(name)
    if function is None:
        raise NoKernel(f"the text has no decorated function `{name}`")
    entry = document.entry(function)
    if not replaceable(entry) or entry.result is None or function.node is None:
        why = "its result is for an older text" if entry.stale else f"there is no kernel for `{name}` yet"
        raise NoKernel(why)
    start, end, new = merge.replace(document.text, _target(function), str(entry.result["source"]))
    return edits.replacement(document.text, start, end, new)


def restore(document: Document, name: str, version: int | None = None) -> types.TextEdit:
    """The edit that puts the original of a block back. Raises StaleEdit, NoKernel, OriginalDamaged."""
    _check_version(document, version)
    found = next((b for b in document.blocks if b.name == name), None)
    if found is None:
        raise NoKernel(f"the text has no block for `{name}`", next_step="name a function that was replaced")
    return edits.replacement(document.text, found.start, found.end, block.original(found))


def _check_version(document: Document, version: int | None) -> None:
    if version is not None and version != document.version:
        raise StaleEdit(f"the edit was for version {version} of the text, which is at version {document.version} now")


def _target(function: detect.Decorated) -> merge.Target:
    if function.node is None or function.names is None:
        raise NoKernel(f"`{function.name}` does not parse")
    ours = [d for d in function.node.decorator_list if detect.is_decorator(d, function.names)]
    first, last = ours[0].lineno, ours[-1].end_lineno or ours[-1].lineno
    return merge.Target(function.name, function.decorator_line, function.end_line, (first, last))
