"""Shapes that a run told the daemon: hints, the fixes that write them down, and sizes for names."""

from __future__ import annotations

from typing import Any

import pytest
from lsp_client import FULL, URI, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import FUNCTION, HEAD, LINE, result
from waiting import wait_until

from mirage.source import detect, shapes

BARE = FUNCTION.replace('Float16[Tensor, "16 64"]', "Tensor")
CALL = [["x", [16, 64], "fp16"]]
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}


def hints(editor: Editor) -> list[dict[str, Any]]:
    return editor.request("textDocument/inlayHint", {"textDocument": {"uri": URI}, "range": WHOLE})


def fixes(editor: Editor) -> dict[str, dict[str, Any]]:
    return {a["data"]["action"]: a for a in editor.actions(LINE, only=["quickfix"])}


def fixed(editor: Editor, action: str) -> str:
    assert editor.apply(editor.request("codeAction/resolve", fixes(editor)[action])["edit"])
    return editor.texts[URI]


def rows(text: str, name: str = "double") -> list[Any]:
    function = next(f for f in detect.find(text).functions if f.name == name)
    return [[(i.name, list(i.shape), i.dtype) for i in row] for row in shapes.rows(function)]


def learned(editor: Editor, daemon: FakeDaemon, text: str, **capabilities: Any) -> None:
    daemon.seen["/project/model.py"] = {"double": [[["x", [1, 1], "fp32"]], CALL]}
    editor.initialize(capabilities={**FULL, **capabilities} if capabilities else None, trusted=True)
    editor.open(text)
    wait_until(lambda: hints(editor), "a hint")


def test_the_hint_the_diagnostic_and_the_job(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    learned(editor, daemon, HEAD + BARE)
    (hint,) = hints(editor)
    assert hint["label"] == "called with x 16×64 fp16"
    assert hint["position"] == {"line": LINE, "character": len("@mirage.optimize")}
    assert daemon.wait("submit")["function"] == "double"
    (found,) = wait_until(
        lambda: [p for p in editor.problems() if p["severity"] == 4], "a hint in place of the problem"
    )
    assert found["code"] == "MIR105" and "16×64" in found["message"]
    daemon.wait("subscribe")
    daemon.finish("job-1", "done", result())
    editor.wait_title("1.8x")
    assert "for x 16×64 fp16" in (editor.hover(LINE) or "")


def test_hints_are_refreshed_when_something_is_learned(editor: Editor, daemon: FakeDaemon) -> None:
    capabilities = {**FULL, "workspace": {**FULL["workspace"], "inlayHint": {"refreshSupport": True}}}
    editor.initialize(capabilities=capabilities, trusted=True)
    editor.open(HEAD + BARE)
    wait_until(lambda: editor.problems(), "the problem")
    assert hints(editor) == [] and not editor.sent("workspace/inlayHint/refresh")
    daemon.seen["/project/model.py"] = {"double": [CALL]}
    wait_until(lambda: editor.sent("workspace/inlayHint/refresh"), "a refresh of the hints")
    assert len(hints(editor)) == 1


def test_nothing_of_a_wrong_form_is_learned(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.seen["/project/model.py"] = {"double": [[["x; import os", [16, 64], "fp16"]]]}
    editor.initialize(trusted=True)
    editor.open(HEAD + BARE)
    daemon.wait("shapes")
    assert hints(editor) == [] and fixes(editor) == {} and daemon.asked("submit") == []


def test_shapes_are_written_as_annotations(editor: Editor, daemon: FakeDaemon) -> None:
    learned(editor, daemon, HEAD + BARE)
    assert fixes(editor)["annotate"]["isPreferred"] and fixes(editor)["annotate"]["diagnostics"][0]["code"] == "MIR105"
    assert fixed(editor, "annotate") == HEAD + FUNCTION
    assert hints(editor) == []  # the text says it


def test_annotations_bring_their_imports(editor: Editor, daemon: FakeDaemon) -> None:
    bare = (
        "from __future__ import annotations\n\nimport mirage\n\n\n@mirage.optimize\ndef double(x):\n    return x + x\n"
    )
    daemon.seen["/project/model.py"] = {"double": [CALL]}
    editor.initialize(trusted=True)
    editor.open(bare)
    wait_until(lambda: hints(editor), "a hint")
    chosen = next(a for a in editor.actions(5, only=["quickfix"]) if a["data"]["action"] == "annotate")
    assert editor.apply(editor.request("codeAction/resolve", chosen)["edit"])
    text = editor.texts[URI]
    assert text.startswith(
        "from __future__ import annotations\n\nfrom jaxtyping import Float16\nfrom torch import Tensor\n"
    )
    assert rows(text) == [[("x", [16, 64], "fp16")]]


@pytest.mark.parametrize(
    "decorator", ["@mirage.optimize", "@mirage.optimize()", "@mirage.optimize(griddims=[(1, 1, 1)])"]
)
def test_shapes_are_written_as_inputs(editor: Editor, daemon: FakeDaemon, decorator: str) -> None:
    learned(editor, daemon, HEAD + BARE.replace("@mirage.optimize", decorator))
    assert rows(fixed(editor, "giveInputs")) == [[("x", [16, 64], "fp16")]]


@pytest.mark.parametrize(
    ("decorator", "sizes"),
    [
        ("@mirage.optimize", {"b": 8, "n": 8}),
        ("@mirage.optimize()", {"b": 8, "n": 8}),
        ('@mirage.optimize(dims={"b": 4})', {"b": 4, "n": 8}),
        ('@mirage.optimize(\n    dims={"b": (4),},\n)', {"b": 4, "n": 8}),
        ("@mirage.optimize(dims={})", {"b": 8, "n": 8}),
        ('@mirage.optimize(griddims=[(1, 1, 1)])', {"b": 8, "n": 8}),
    ],
)  # fmt: skip
def test_a_size_is_given(editor: Editor, daemon: FakeDaemon, decorator: str, sizes: dict[str, int]) -> None:
    text = HEAD + FUNCTION.replace("@mirage.optimize", decorator).replace("16 64", "b n")
    editor.initialize(trusted=True)
    editor.open(text)
    wait_until(editor.problems, "the problem")
    assert rows(fixed(editor, "giveSizes")) == [[("x", [sizes["b"], sizes["n"]], "fp16")]]


def test_a_size_is_that_of_the_run_or_of_the_file(editor: Editor, daemon: FakeDaemon) -> None:
    other = FUNCTION.replace("double", "other").replace("16 64", "m 64").replace("optimize", 'optimize(dims={"m": 5})')
    learned(editor, daemon, HEAD + FUNCTION.replace("16 64", "b 64") + "\n\n" + other)
    assert "give a size: b = 16" in fixes(editor)["giveSizes"]["title"]
    editor.change(HEAD + FUNCTION.replace("16 64", "m 64").replace("double", "new") + "\n\n" + other)
    wait_until(lambda: "m = 5" in str(fixes(editor)), "the size of the other function")


def test_related_places(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    publish = {"versionSupport": True, "relatedInformation": True}
    capabilities = {**FULL, "textDocument": {**FULL["textDocument"], "publishDiagnostics": publish}}
    editor.initialize(capabilities=capabilities, trusted=True)
    editor.open(HEAD + FUNCTION.replace("16 64", "b 64"))
    (found,) = wait_until(editor.problems, "the problem")
    (related,) = found["relatedInformation"]
    assert related["location"]["range"]["start"] == {"line": LINE, "character": 0} and "dims=" in related["message"]


def test_hints_can_be_turned_off(editor: Editor, daemon: FakeDaemon) -> None:
    learned(editor, daemon, HEAD + BARE)
    editor.notify("workspace/didChangeConfiguration", {"settings": {"mirage": {"inlayHints": False}}})
    wait_until(lambda: not hints(editor), "no hint")
