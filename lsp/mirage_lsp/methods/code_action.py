"""`textDocument/codeAction`: what can be done with the function or the block under the cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from mirage.errors import SymbolWithoutSize
from mirage_lsp import actions, diagnostics, one_line_texts, quick_fixes
from mirage_lsp.document import FunctionEntry, View
from mirage_lsp.reading import ReadBlock, ReadFunction

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


_REWRITE, _FIX, _EMPTY = types.CodeActionKind.RefactorRewrite, types.CodeActionKind.QuickFix, types.CodeActionKind.Empty


async def handle(ls: MirageServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    view = await ls.session.shown(params.text_document.uri)
    if view is None:
        return []
    first, last = params.range.start.line + view.first + 1, params.range.end.line + view.first + 1
    lazy = ls.supports(lambda c: "edit" in c.text_document.code_action.resolve_support.properties)  # type: ignore[union-attr]
    settings = ls.session.settings
    offer = Offer(view, lazy, ls.previews, ls.creates, settings.trusted, settings.compares)
    offered: list[types.CodeAction] = []
    for function in view.functions:
        if function.decorator_line <= last and first <= function.end_line:
            offered += offer.fixes(function)
            offered += offer.for_function(view.document.entry(function))
    for found in view.blocks:
        if found.line + 1 <= last and first <= found.last_line + 1:
            offered += offer.for_block(found)
    return [a for a in offered if _wanted(a, params.context.only)]


@dataclass(frozen=True)
class Offer:
    """What a client can be offered in a view. `lazy`: it asks for an edit when it is chosen; `previews`: it shows one
    before it applies it; `compares`: it has a command that shows both texts, to accept or reject; `creates`: an edit may create a file."""

    view: View
    lazy: bool
    previews: bool
    creates: bool
    trusted: bool
    compares: bool = False

    def for_function(self, entry: FunctionEntry) -> Iterator[types.CodeAction]:
        name, result = entry.name, entry.result
        if entry.running:
            yield self.command(f"Mirage: stop the search for `{name}`", "mirage.stop", name)
            return
        if actions.replaceable(entry) and result is not None:
            new = one_line_texts.instead(result)
            title = f"Mirage: replace `{name}` with {new}, {one_line_texts.headline(result)}"
            yield self.edit(title, "replace", name, preferred=True)
            if self.compares:
                yield self.command(f"Mirage: compare `{name}` with {new}, then accept or reject", "mirage.diff", name)
            elif self.previews and self.lazy:
                yield self.edit(f"Mirage: replace `{name}` with {new}, after a preview", "replace", name, preview=True)
            new = f"{new} of" if result.answer == "kernel" else f"{new} for"
            yield self.edit(f"Mirage: write {new} `{name}` to a module and import it", "writeModule", name)
        if result is not None and result.mugraphs:
            yield self.command(f"Mirage: show the µGraph of `{name}`", "mirage.showMugraph", name)
        if result is not None and result.derivation:
            yield self.command(f"Mirage: show the proof of `{name}`", "mirage.showProof", name)
        if not self.trusted:
            return
        if result is not None and not entry.stale:
            yield self.command(f"Mirage: measure `{name}` again", "mirage.measure", name)
        if actions.optimizable(entry):
            yield self.command(f"Mirage: optimize `{name}`", "mirage.optimize", name)
        if len(self.view.document.functions) > 1:
            count = len(self.view.document.functions)
            yield self.command(f"Mirage: optimize all {count} functions of the file", "mirage.optimize", "")

    def for_block(self, block: ReadBlock) -> Iterator[types.CodeAction]:
        """The ways back, and of an edited one the way on."""
        name = block.name
        lost = ", the edit is lost" if block.by_hand else ""
        if block.edited and self.trusted:
            yield self.command(f"Mirage: verify `{name}` again, as it was edited", "mirage.verifyAgain", name)
        yield self.edit(f"Mirage: restore the original `{name}`{lost}", "restore", name)
        if block.by_hand:
            yield self.command(f"Mirage: restore the kernel of `{name}`{lost}", "mirage.restoreKernel", name)

    def fixes(self, function: ReadFunction) -> Iterator[types.CodeAction]:
        """What mends the function's diagnostic."""
        entry, name = self.view.document.entry(function), function.name
        if isinstance(entry.error, SymbolWithoutSize):
            sizes = ", ".join(f"{n} = {size}" for n, size in quick_fixes.sizes_for(self.view, function).items())
            if sizes:
                yield self.fix(f"Mirage: give a size: {sizes}", "giveSizes", function)
        if entry.seen and (entry.learned or entry.error is not None) and not function.has_inputs:
            yield self.fix(f"Mirage: annotate `{name}` with the shapes that it was called with", "annotate", function)
            yield self.fix("Mirage: write the shapes that it was called with as `inputs=`", "giveInputs", function)

    def fix(self, title: str, action: str, function: ReadFunction) -> types.CodeAction:
        made = self.edit(title, action, function.name, preferred=action in ("giveSizes", "annotate"))
        made.kind = _FIX
        at = (function.decorator_line - 1, function.end_line)
        found = [d for d in diagnostics.diagnostics(self.view.document, False) if at[0] <= d.range.start.line < at[1]]
        made.diagnostics = [diagnostics.shown(d, self.view) for d in found] or None
        return made

    def edit(
        self, title: str, action: str, name: str, preferred: bool = False, preview: bool = False
    ) -> types.CodeAction:
        """An action whose edit is computed when it is chosen; a client that cannot ask for it gets the command."""
        made = types.CodeAction(title=title, kind=_REWRITE, is_preferred=True if preferred else None)
        if self.lazy and (self.creates or action != "writeModule"):
            made.data = {"action": action, "uri": self.view.uri, "function": name, "version": self.view.version}
            if preview:
                made.data["preview"] = True
        else:
            arguments = [self.view.uri, name, self.view.version]
            made.command = types.Command(title=title, command=f"mirage.{action}", arguments=arguments)
        return made

    def command(self, title: str, command: str, name: str) -> types.CodeAction:
        made = types.Command(title=title, command=command, arguments=[self.view.uri, name])
        return types.CodeAction(title=title, kind=_EMPTY, command=made)


def _wanted(action: types.CodeAction, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """`refactor` asks for `refactor.rewrite` too."""
    kind = str(getattr(action.kind, "value", action.kind))
    asked = [str(getattr(k, "value", k)) for k in only or ()]
    return not asked or any(not k or kind == k or kind.startswith(f"{k}.") for k in asked)
