"""`textDocument/hover`: everything known about the function, on its decorator, its first line and its block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import texts

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


async def handle(ls: MirageServer, params: types.HoverParams) -> types.Hover | None:
    document = ls.session.documents.get(params.text_document.uri)
    if document is None:
        return None
    line = params.position.line + 1
    for function in document.scan.functions:
        if function.decorator_line <= line <= function.line and document.function(function.name) is function:
            return _shown(texts.hover(document.entry(function)))
    for found in document.blocks:
        if found.line == params.position.line:
            said = f"**Mirage** replaced `{found.name}` by this kernel. `mirage.restore` gives the original back."
            entry = document.entries.get(found.name)
            return _shown(f"{said}\n\n{texts.hover(entry)}" if entry is not None and entry.result else said)
    return None


def _shown(text: str) -> types.Hover:
    return types.Hover(contents=types.MarkupContent(kind=types.MarkupKind.Markdown, value=text))
