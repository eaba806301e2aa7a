"""`textDocument/inlayHint`: at the decorator of a function that says no shapes, those that it was called with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import observed_shapes
from mirage_lsp.learned_shapes import ANSWERS

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


async def handle(ls: MirageServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    view = await ls.session.shown(params.text_document.uri)
    if view is None or not ls.session.settings.inlay_hints:
        return []
    hints = []
    for function in view.functions:
        entry = view.document.entry(function)
        at = view.line_range(function.decorator_line - 1).end
        said = not isinstance(function.problem, ANSWERS)  # by the text
        if entry.seen and not said and params.range.start.line <= at.line <= params.range.end.line:
            tooltip = "What this function was called with last, as its run told the daemon."
            if entry.learned:
                tooltip += " It is optimized for these shapes; a code action writes them into the text."
            label = f"called with {observed_shapes.shown(entry.seen)}"
            hints.append(types.InlayHint(position=at, label=label, tooltip=tooltip, padding_left=True))
    return hints
