"""A block whose code was edited by hand: the texts by which it is verified again, and the three ways to restore it."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types

from mirage.errors import DaemonUnavailable
from mirage.results.result import Result
from mirage.source import detect
from mirage.source.slice import cut_decorated
from mirage_lsp import actions, kernel_block, merge_module, text_edits
from mirage_lsp.document import MAX_EDITED, Document, View
from mirage_lsp.errors import EditNotVerified, NoKernel
from mirage_lsp.reading import ReadBlock

VERIFY_S = 600.0  # the longest that `mirage verify` may take: it runs the kernels at their real sizes
MAX_SAID = 1 << 20  # bytes of its answer


def block_of(view: View, name: str, version: int | None = None) -> kernel_block.Block:
    """The block of a function in the view's text as it is now. Raises StaleEdit, NoKernel."""
    actions.check_version(view, version)
    found = next((b for b in kernel_block.find(view.text) if b.name == name), None)
    if found is None:
        raise NoKernel(f"the text has no block for `{name}`", next_step="name a function that was replaced")
    return found


def by_hand(view: View, name: str) -> ReadBlock | None:
    """The block of a replaced function, if a person has changed its code."""
    return next((b for b in view.blocks if b.name == name and b.by_hand), None)


@dataclass(frozen=True)
class RestoredView:
    """What a view would show with the original in the block's place."""

    view: View
    function: detect.Decorated


def restored(view: View, block: kernel_block.Block) -> RestoredView:
    """Raises OriginalDamaged, and NoKernel where the original is no decorated function there."""
    if len(view.document.text) > MAX_EDITED:
        raise NoKernel(f"a text of more than {MAX_EDITED >> 10} Ki characters is not edited")
    text = view.text[: block.start] + kernel_block.original(block) + view.text[block.end :]
    lines, last = view.document.lines, view.first + view.count
    # a cell of a notebook is shown without the line end that the document has behind it
    end = "\n" if view.raw is not None and not text.endswith("\n") else ""
    whole = "".join([*lines[: view.first], text, end, *lines[last:]])
    document = Document(view.document.uri, whole, view.version)
    shown = replace(view, document=document, text=text, count=len(text_edits.split_lines(text)))
    found = document.parsed(block.name)
    if found is None or found.node is None:
        raise NoKernel(f"the original of `{block.name}` is no decorated function any more")
    return RestoredView(shown, found)


def kernel_again(view: View, block: kernel_block.Block, result: Result) -> types.TextEdit:
    """The edit that puts a verified kernel in the place of an edited one. Raises NoKernel, CannotMerge, OriginalDamaged."""
    if result.answer == "keep" or not result.source:
        raise NoKernel(f"there is no verified kernel for `{block.name}`")
    back = restored(view, block)
    target = actions.target_of(back.view, back.function)
    _, _, new = merge_module.replace(back.view.text, target, result.source, view.elsewhere)
    return text_edits.replacement(view.text, block.start, block.end, new)


def seal(view: View, block: kernel_block.Block, word: str) -> types.TextEdit:
    """The edit that says that the code as it is now was verified, and with which word."""
    return text_edits.replacement(view.text, block.start, block.end, kernel_block.sealed(block, word))


def two_texts(view: View, block: kernel_block.Block) -> tuple[str, str]:
    """The document with the original, and the edited code as a module of its own with what it needs of the document: the
    function's imports, helpers and constants. Nothing is run. Raises what `restored` and slicing raise."""
    back = restored(view, block)
    needed = cut_decorated(back.function).text
    lines = needed.split("\n")
    for node in ast.parse(needed).body:
        if isinstance(node, ast.FunctionDef) and node.name == block.name:
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    kept = "\n".join(line for line in lines if line.strip())
    module = f"{kept}\n\n\n" + "\n".join(kernel_block.body(block)) + "\n"
    merge_module.check(module)
    return back.view.document.text, module


async def verify(view: View, block: kernel_block.Block, interpreter: str, target: str) -> Mapping[str, object]:
    """The verdict of `mirage verify` on the block's code beside the function that it replaced. Raises EditNotVerified where it
    is not accepted, and DaemonUnavailable's kin where it could not be asked."""
    function, module = two_texts(view, block)
    with tempfile.TemporaryDirectory(prefix="mirage-verify-") as folder:
        asked, judged = Path(folder) / "function.py", Path(folder) / "edited.py"
        asked.write_text(function, encoding="utf-8", newline="")
        judged.write_text(module, encoding="utf-8", newline="")
        words = ["verify", f"{asked}::{block.name}", f"{judged}::{block.name}", "--json", "--target", target]
        status, said, log = await _run([interpreter or sys.executable, "-m", "mirage", *words], folder)
    try:
        answer = json.loads(said)
    except ValueError:
        last = log.strip().splitlines()[-1:] or ["it said nothing"]
        raise EditNotVerified(f"`{block.name}` could not be verified: {last[0].replace(folder, '')}") from None
    if status != 0:
        raise EditNotVerified(f"`{block.name}` as it was edited: {_why(answer)}")
    return dict(answer)


def _why(answer: Mapping[str, object]) -> str:
    """The first opinion that refuses it."""
    evidence = answer.get("evidence")
    for e in evidence if isinstance(evidence, list) else []:
        if isinstance(e, Mapping) and e.get("word") not in ("PROVED", "TESTED"):
            return f"{e.get('word')}: {' '.join(str(e.get('summary')).split())}"
    return str(answer.get("word", "it was refused"))


async def _run(command: list[str], folder: str) -> tuple[int, str, str]:
    """The exit status and what a command says. It ends with the task that waits for it."""
    pipe = asyncio.subprocess.PIPE
    env = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1"}
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=env, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, limit=MAX_SAID
        )
    except OSError as error:
        raise DaemonUnavailable(f"{command[0]} does not start: {error}") from None
    try:
        out, err = await asyncio.wait_for(process.communicate(), VERIFY_S)
    except asyncio.TimeoutError:
        raise EditNotVerified(f"it was not verified within {VERIFY_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
