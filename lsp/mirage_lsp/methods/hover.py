"""`textDocument/hover`: what one asks first of the function, on its decorator, its first line and its block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import hover_text

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer

_EDITED = "`{}` was edited by hand: the verdict is void. `mirage.verifyAgain` verifies it as it is, `mirage.restore` asks what comes back."
_VERIFIED = "`{}` was edited by hand and then verified: {}. How fast it is was not measured. `mirage.restore` asks what comes back."
PATIENCE_S = 0.08  # for a text that is being read; then what is known of the one before is shown


async def handle(ls: MirageServer, params: types.HoverParams) -> types.Hover | None:
    view = await ls.session.shown(params.text_document.uri, PATIENCE_S)
    if view is None:
        return None
    line, document = params.position.line + view.first + 1, view.document
    links = ls.session.settings.command_links
    for function in view.functions:
        if function.decorator_line <= line <= function.line:
            return _shown(hover_text.hover(document.entry(function), hover_text.links(view, function, links)))
    for found in view.blocks:
        if found.line + 1 == line:
            if found.edited:
                return _shown(f"**Mirage** {_EDITED.format(found.name)}")
            if found.edited_word:
                return _shown(f"**Mirage** {_VERIFIED.format(found.name, found.edited_word)}")
            said = f"**Mirage** replaced `{found.name}` by this kernel. `mirage.restore` gives the original back."
            entry = document.entries.get(found.name)
            known = entry is not None and entry.result is not None
            return _shown(f"{said}\n\n{hover_text.hover(entry)}" if known and entry is not None else said)
    return None


def _shown(text: str) -> types.Hover:
    return types.Hover(contents=types.MarkupContent(kind=types.MarkupKind.Markdown, value=text))
