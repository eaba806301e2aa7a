"""The block as text: what it holds, which names it takes, what it refuses, and the way back."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lsp_samples import COMPILED, MODULE

from mirage_lsp import kernel_block, merge_module, rename_names
from mirage_lsp.errors import CannotMerge, OriginalDamaged

FUNCTION = "@mirage.optimize\ndef double(x):\n    return x + x\n"


def merged(text: str, module: str = MODULE, name: str = "double") -> str:
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if f"def {name}(" in line)
    target = merge_module.ReplacedFunction(name, first, first + 2, (first, first))
    start, end, new = merge_module.replace(text, target, module)
    return text[:start] + new + text[end:]


def run(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(compile(text, "merged", "exec"), space)
    return space


def test_the_merged_file_runs_the_kernel_and_keeps_the_original() -> None:
    space = run(merged(FUNCTION))
    assert space["double"]([1, 2]) == [2, 4]
    assert space["_original_double"](3) == 6
    assert space["double"].__doc__ == "Twice x."


def test_what_pytorch_runs_is_merged_with_its_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    text = merged("import torch\n\n\n" + FUNCTION, COMPILED["source"])
    space = run(text)
    assert "triton" not in text and "import functools" in text
    monkeypatch.setattr(torch, "compile", lambda function, **_: lambda x: torch.full_like(x, 7.0))
    assert space["double"](torch.ones(2, 3)).eq(2.0).all()  # not on the device where it was measured
    device = next(n for n in space if n.startswith("_DEVICE"))
    space[device] = "cpu"
    assert space["double"](torch.ones(2, 3)).eq(7.0).all() and space["double"](torch.ones(2, 4)).eq(2.0).all()


def test_future_imports_stay_first() -> None:
    text = merged("from __future__ import annotations\n\nimport os\n\n\n" + FUNCTION)
    assert text.count("__future__") == 1
    assert run(text)["double"]([1]) == [2]


def test_two_functions_of_one_file_do_not_share_names() -> None:
    other = FUNCTION.replace("double", "triple").replace("x + x", "x + x + x")
    module = MODULE.replace("double_kernel", "kernel").replace('"n": 1024', '"n": 1')
    text = merged(merged(FUNCTION + "\n\n" + other, module), module.replace("double", "triple"), "triple")
    names = run(text)
    assert {"SIZES_double", "SIZES_triple", "_run_double", "_run_triple", "kernel_double", "kernel_triple"} <= set(
        names
    )
    assert "SIZES" not in names and "kernel" not in names
    assert names["double"]([4, 5]) == [8] and names["triple"]([4, 5]) == [8]
    assert [b.name for b in kernel_block.find(text)] == ["double", "triple"]


def test_names_that_the_file_has_are_not_taken() -> None:
    names = run(merged("SIZES_double = 'mine'\ndouble_kernel = 'mine'\n" + FUNCTION))
    assert names["SIZES_double"] == names["double_kernel"] == "mine"
    assert names["SIZES_double_2"] == {"n": 1024} and names["double"]([1]) == [2]


def test_a_name_that_means_another_module_is_refused() -> None:
    with pytest.raises(CannotMerge, match="`math`"):
        merged("import cmath as math\n" + FUNCTION)
    assert run(merged("import math\n" + FUNCTION))["double"]([1]) == [2]


def test_imports_of_the_original_alone_are_not_repeated() -> None:
    module = MODULE.replace("import math", "import math\nimport colorsys as F")
    text = merged("try:\n    import cmath as F\nexcept ImportError:\n    F = None\n" + FUNCTION, module)
    assert "colorsys" not in text and run(text)["double"]([1]) == [2]


@pytest.mark.parametrize("part", ["imports", "kernels", "launcher"])
def test_a_module_without_a_part_is_refused(part: str) -> None:
    with pytest.raises(CannotMerge, match=part):
        merged(FUNCTION, MODULE.replace(f"# mirage:begin {part}", "# nothing"))


def test_a_file_that_does_not_parse_is_refused() -> None:
    with pytest.raises(CannotMerge, match="the file does not parse"):
        merged("def f(:\n" + FUNCTION)


def test_a_kernel_that_does_not_parse_is_refused() -> None:
    with pytest.raises(CannotMerge, match="the kernel does not parse"):
        merged(FUNCTION, MODULE.replace("def double(x):", "def double(x):\n    return\n  x"))


def test_other_decorators_stay_with_the_original() -> None:
    text = "import functools\n@functools.cache\n@mirage.optimize(\n    dims={},\n)\ndef double(x):\n    return x + x\n"
    _, _, new = merge_module.replace(text, merge_module.ReplacedFunction("double", 2, 7, (3, 5)), MODULE)
    assert "@functools.cache\n# @mirage.optimize(\n#     dims={},\n# )\ndef _original_double(x):" in new


def test_a_function_named_like_a_part() -> None:
    text = merged(FUNCTION.replace("double", "header"), MODULE.replace("double", "header"), "header")
    assert [b.name for b in kernel_block.find(text)] == ["header"]
    assert kernel_block.original(kernel_block.find(text)[0]) == FUNCTION.replace("double", "header")


def test_formatters_leave_the_block_alone() -> None:
    text = "import os\n\n\n" + merged(FUNCTION) + "\n\nprint(os.name)\n"
    done = subprocess.run([sys.executable, "-m", "ruff", "format", "-"], input=text, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == text


LINES = st.lists(
    st.tuples(
        st.text(alphabet=st.sampled_from('ab#|+ \t\x0c"\\é😀\u2028\x85'), max_size=12),
        st.sampled_from(["\n", "\r\n", "\r"]),
    ),
    min_size=1,
    max_size=8,
)


@given(LINES, st.booleans(), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=500, deadline=None)
def test_any_lines_come_back(lines: list[tuple[str, str]], open_end: bool, eol: str) -> None:
    original = [text + end for text, end in lines]
    if open_end and lines[-1][0]:
        original[-1] = lines[-1][0]
    text = "before" + eol + kernel_block.wrap("f", ["body"], _joined(original), eol)
    assert kernel_block.original(kernel_block.find(text)[0]) == "".join(original)
    # Editors and formatters strip blanks at line ends; the original survives it.
    stripped = eol.join(line.rstrip(" \t\x0c") for line in text.split(eol))
    assert kernel_block.original(kernel_block.find(stripped)[0]) == "".join(original)


def _joined(lines: list[str]) -> list[str]:
    """The lines as LSP sees them: a CR before an empty line that ends in LF is one end."""
    from mirage_lsp.text_edits import split_lines

    found = split_lines("".join(lines))
    return found if found[-1] else found[:-1]


def test_a_file_whose_line_ends_were_converted_still_has_its_original() -> None:
    text = merged(FUNCTION).replace("\n", "\r\n")
    assert kernel_block.original(kernel_block.find(text)[0]) == FUNCTION.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# mirage:original |     return x + x", "# mirage:original |     return x - x"),
        ("# mirage:original |     return x + x\n", ""),
        ("# mirage:original | def", "# mirage:original+quoted | def"),
    ],
)
def test_a_changed_original_is_refused(old: str, new: str) -> None:
    text = merged(FUNCTION)
    assert old in text
    with pytest.raises(OriginalDamaged):
        kernel_block.original(kernel_block.find(text.replace(old, new))[0])


def test_a_begin_without_its_end_is_no_block() -> None:
    text = merged(FUNCTION)
    assert kernel_block.find(text.replace("# mirage:end double", "")) == []
    assert [b.name for b in kernel_block.find(text.replace("# mirage:end double", "") + text)] == ["double"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A = 1\nf(A=A, b=x.A)", "B = 1\nf(A=B, b=x.A)"),
        ("A = 1\ndef f(A):\n    return A", "B = 1\ndef f(A):\n    return A"),
        ("A = 1\ndef f(x=A):\n    return A", "B = 1\ndef f(x=B):\n    return B"),
        ("A = 1\ndef f():\n    A = 2\n    return A", "B = 1\ndef f():\n    A = 2\n    return A"),
        ("A = 1\ndef f():\n    global A\n    A = 2", "B = 1\ndef f():\n    global B\n    B = 2"),
        ("A = 1\ng = lambda A: A\nh = lambda: A", "B = 1\ng = lambda A: A\nh = lambda: B"),
        ("A = 1\ns = 'A'; é = A", "B = 1\ns = 'A'; é = B"),
        ("def A(): return A()", "def B(): return B()"),
        ("A: int = 1\ndef f(x: A) -> A: ...", "B: int = 1\ndef f(x: B) -> B: ..."),
    ],
)
def test_renaming_changes_module_names_only(source: str, expected: str) -> None:
    assert rename_names.rename(source, {"A": "B"}) == expected
