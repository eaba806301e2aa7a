"""A replaced function whose code was edited by hand: it is said, verified again as it is, and restored in three ways."""

from __future__ import annotations

from typing import Any

import pytest
from lsp_client import URI, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import TEXT, result
from waiting import wait_until

from mirage_lsp import kernel_block, panel_data
from mirage_lsp.document import Document

ABOVE = "# above 😀\n"
FUNCTION = """import math

import mirage
import torch
import triton
import triton.language as tl
from jaxtyping import Float32
from torch import Tensor

FACTOR = 2.0


@mirage.optimize
def double(x: Float32[Tensor, "8 16"]) -> Tensor:
    return x * FACTOR
"""
KERNEL = """# mirage:begin header
# mirage:end header

# mirage:begin imports
import torch
import triton
import triton.language as tl
# mirage:end imports

# mirage:begin kernels
@triton.jit
def _double(x_ptr, y_ptr, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * 2.0)
# mirage:end kernels

# mirage:begin launcher
def double(x):
    y = torch.empty_like(x)
    _double[(1,)](x, y, 128)
    return y
# mirage:end launcher

# mirage:begin original
def _original_double(x):
    return x * 2.0
# mirage:end original
"""


def replaced(editor: Editor, daemon: FakeDaemon, text: str = TEXT, trusted: bool = True, **changes: Any) -> str:
    """The text with the block, nothing of it edited."""
    daemon.at_once["double"] = {"state": "done", "result": result(**changes), "error": None}
    daemon.cache["double"] = result(**changes)
    editor.initialize(trusted=trusted)
    editor.open(text)
    editor.wait_title("Replace")
    assert editor.command("mirage.replace", URI, "double")["applied"]
    editor.wait_title("Mirage: replaced")
    return editor.texts[URI]


def edited(editor: Editor, daemon: FakeDaemon) -> tuple[str, str]:
    """The text as it was replaced, and as it was edited."""
    before = replaced(editor, daemon)
    after = before.replace("[v + v for", "[2 * v for")
    assert after != before
    editor.change(after)
    editor.wait_title("edited by hand")
    return before, after


def test_an_edit_inside_is_said_and_one_around_is_not(editor: Editor, daemon: FakeDaemon) -> None:
    before = replaced(editor, daemon)
    editor.change(ABOVE + before.replace("    return [v", "    return [v") + "LAST = 1\n")
    assert "Mirage: replaced, 1.8x est. · tested" in editor.titles() and editor.problems() == []
    editor.change(before.replace("[v + v for", "[2 * v for"))
    titles = editor.wait_title("edited by hand")
    assert titles == ["Mirage: edited by hand, verdict void", "Verify again", "Restore"]
    (found,) = wait_until(lambda: editor.problems(), "the warning")
    assert found["code"] == "MIR605" and found["severity"] == 2
    line = before[: before.index("# mirage:begin double")].count("\n")
    assert "the verdict is void" in (editor.hover(line) or "")
    offers = [a["title"] for a in editor.actions(line)]
    assert [t for t in offers if "verify" in t] and len([t for t in offers if "the edit is lost" in t]) == 2
    editor.change(before)  # back by hand: it is what was verified
    editor.wait_title("Mirage: replaced")
    wait_until(lambda: not editor.problems(), "no warning")


def test_blanks_at_line_ends_and_other_line_ends_are_no_edit() -> None:
    text = kernel_block.wrap("f", ["def f():", "    return 1"], ["def f():\n", "    return 2\n"], "\n")
    for same in (text, text.replace("return 1", "return 1  "), text.replace("\n", "\r\n")):
        (block,) = kernel_block.find(same)
        assert not kernel_block.edited(block)
    (older,) = kernel_block.find(text.replace(text.split("\n")[0], text.split("\n")[0].partition(" kernel=")[0]))
    assert not kernel_block.edited(older)
    (block,) = kernel_block.find(text.replace("return 1", "return 3"))
    assert kernel_block.edited(block)
    (sealed,) = kernel_block.find(kernel_block.sealed(block, "TESTED"))
    assert not kernel_block.edited(sealed) and kernel_block.original(sealed) == "def f():\n    return 2\n"
    assert (block.edited_word, sealed.edited_word) == ("", "TESTED")
    (again,) = kernel_block.find(kernel_block.sealed(block, "TESTED").replace("return 3", "return 4"))
    assert kernel_block.edited(again) and again.edited_word == "TESTED"
    assert not kernel_block.find(kernel_block.sealed(block, "FASTER")), "no verdict of that name"


@pytest.mark.parametrize(
    ("choice", "left"), [("Keep the edit", 1), (None, 1), ("Restore the kernel", 0), ("Restore the function", 2)]
)
def test_restoring_an_edited_block_asks(editor: Editor, daemon: FakeDaemon, choice: str | None, left: int) -> None:
    before, after = edited(editor, daemon)
    editor.choice = choice
    answer = editor.command("mirage.restore", URI, "double")
    assert editor.texts[URI] == (before, after, TEXT)[left]
    assert answer["applied"] is (left != 1)
    (asked,) = editor.sent("window/showMessageRequest")
    assert [a["title"] for a in asked["actions"]] == ["Restore the function", "Restore the kernel", "Keep the edit"]


def test_what_was_not_edited_is_restored_without_a_question(editor: Editor, daemon: FakeDaemon) -> None:
    replaced(editor, daemon)
    assert editor.command("mirage.restore", URI, "double")["applied"]
    assert editor.texts[URI] == TEXT and not editor.sent("window/showMessageRequest")


def test_the_kernel_comes_from_the_cache_in_a_file_that_is_opened_later(editor: Editor, daemon: FakeDaemon) -> None:
    before, after = edited(editor, daemon)
    other = "file:///project/later.py"
    editor.open(after, other)
    editor.wait_title("edited by hand", other)
    assert editor.command("mirage.restoreKernel", other, "double")["applied"]
    assert editor.texts[other] == before
    daemon.cache.clear()
    editor.change(after, other)
    editor.wait_title("edited by hand", other)
    assert editor.command("mirage.restoreKernel", other, "double")["error"]["code"] == "MIR603"
    assert editor.texts[other] == after


@pytest.mark.parametrize("right", [True, False])
def test_verifying_again_runs_and_keeps_what_passes(editor: Editor, daemon: FakeDaemon, right: bool) -> None:
    """The real verification, of a kernel that a person changed: doubled by a sum, and wrongly tripled."""
    before = replaced(editor, daemon, FUNCTION, source=KERNEL)
    sum_of = "v + v" if right else "v + v + v"
    after = before.replace(
        "tl.store(y_ptr + i, tl.load(x_ptr + i) * 2.0)", f"v = tl.load(x_ptr + i)\n    tl.store(y_ptr + i, {sum_of})"
    )
    assert after != before
    editor.change(after)
    editor.wait_title("Verify again")
    ident = editor.start_request(
        "workspace/executeCommand", {"command": "mirage.verifyAgain", "arguments": [URI, "double"]}
    )
    editor.wait_title("verifying the edited code")
    answer = editor.answer(ident, 120.0)
    if right:
        assert answer["applied"] and answer["word"] in ("PROVED", "TESTED")
        assert editor.texts[URI].split("\n")[20:] == after.split("\n")[20:], "the edit is kept"
        titles = editor.wait_title("edited by hand, tested since")
        assert titles == ["Mirage: edited by hand, tested since", "Restore"], "no ratio, which is the kernel's"
        wait_until(lambda: not editor.problems(), "no warning")
    else:
        assert answer["error"]["code"] == "MIR606" and "REJECTED" in answer["error"]["message"]
        assert editor.texts[URI] == after
        editor.wait_title("edited by hand")


def test_code_that_was_verified_after_an_edit_shows_nothing_of_the_kernel(editor: Editor, daemon: FakeDaemon) -> None:
    before, after = edited(editor, daemon)
    (block,) = kernel_block.find(after)
    sealed = after[: block.start] + kernel_block.sealed(block, "PROVED") + after[block.end :]
    editor.change(sealed)
    assert editor.wait_title("since") == ["Mirage: edited by hand, proved since", "Restore"]
    wait_until(lambda: not editor.problems(), "no warning")
    line = before[: before.index("# mirage:begin double")].count("\n")
    hover = editor.hover(line) or ""
    assert "PROVED" in hover and "not measured" in hover and "1.8x" not in hover and "µs" not in hover
    shown = editor.command("mirage.result", URI, "double")
    assert shown["headline"] == "Mirage: edited by hand, proved since" and shown["stale"]
    assert editor.command("mirage.showProof", URI, "double")["stale"]
    offers = [a["title"] for a in editor.actions(line)]
    assert not [t for t in offers if "verify" in t] and len([t for t in offers if "the edit is lost" in t]) == 2
    (state,) = panel_data.states(Document(URI, sealed, 1).views[0])["functions"]
    assert state["edited"] and state["mark"] == "proved" and state["title"] == "Mirage: edited by hand, proved since"
    editor.choice = "Keep the edit"
    assert not editor.command("mirage.restore", URI, "double")["applied"]
    editor.choice = "Restore the kernel"
    assert editor.command("mirage.restore", URI, "double")["applied"] and editor.texts[URI] == before
    assert editor.wait_title("replaced")[0] == "Mirage: replaced, 1.8x est. · tested"
    shown = editor.command("mirage.result", URI, "double")
    assert "1.8x" in shown["headline"] and not shown["stale"]


def test_an_untrusted_workspace_verifies_nothing(editor: Editor, daemon: FakeDaemon) -> None:
    replaced(editor, daemon, trusted=False)
    assert editor.command("mirage.verifyAgain", URI, "double")["error"]["code"] == "MIR503"
    assert editor.command("mirage.verifyAgain", URI, "other")["error"]["code"] == "MIR503"
