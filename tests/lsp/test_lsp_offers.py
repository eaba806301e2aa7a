"""What is offered beside replacing: previews, modules, proofs, measuring again, everything at once; and what a file looks
like after it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsp_client import FULL, URI, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import FUNCTION, HEAD, LINE, TEXT, result
from waiting import wait_until

from mirage.results.result import Remark

EDITS = {
    "documentChanges": True,
    "resourceOperations": ["create", "rename", "delete"],
    "changeAnnotationSupport": {"groupsOnLabel": True},
}
RICH = {**FULL, "workspace": {**FULL["workspace"], "workspaceEdit": EDITS}}
DERIVATION = {
    "goals": [{"kind": "output", "name": "double", "text": ["x + x", "2 * x"], "steps": [
        {"law": "collect", "text": ["x + x", "2 * x"]},
    ]}],
    "schedule": [{"text": "n in 4 tiles"}],
    "laws": [{"name": "collect", "statement": "a + a = 2 a", "condition": "", "source": "ring"}],
}  # fmt: skip
REMARKS = (Remark("does-not-fit", "a wider tile does not fit"),)
# A formatter whose line length is not that of the kernel's text.
NARROW = ["ruff", "format", "--isolated", "--line-length", "40"]


def ready(editor: Editor, daemon: FakeDaemon, text: str = TEXT, uri: str = URI, **changes: Any) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(**changes), "error": None}
    editor.initialize(capabilities=RICH, trusted=True)
    editor.open(text, uri)
    editor.wait_title("Replace", uri)


def offered(editor: Editor, part: str, uri: str = URI) -> dict[str, Any]:
    (found,) = (a for a in editor.actions(LINE, uri) if part in a["title"])
    return found


def formatted(text: str, folder: Path) -> str:
    (folder / "text.py").write_text(text, "utf-8")
    subprocess.run([sys.executable, "-m", *NARROW, "-q", str(folder / "text.py")], check=True, timeout=60)
    return (folder / "text.py").read_text("utf-8")


def test_every_action(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    ready(editor, daemon, derivation=DERIVATION, remarks=REMARKS)
    golden("lsp/actions.json", json.dumps(editor.actions(LINE), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    golden("lsp/why.md", (editor.hover(LINE) or "") + "\n")


def test_a_preview_needs_a_yes_and_the_other_does_not(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    for part, asks in (("with the kernel, 1.8x", False), ("after a preview", True)):
        edit = editor.request("codeAction/resolve", offered(editor, part))["edit"]
        (note,) = edit["changeAnnotations"].items()
        assert note[1] == {"label": "Mirage: replace `double` with its kernel", "needsConfirmation": asks}
        (change,) = edit["documentChanges"]
        assert [e["annotationId"] for e in change["edits"]] == [note[0]]
        assert change["textDocument"]["version"] == 1
    assert offered(editor, "with the kernel, 1.8x")["isPreferred"] is True


@pytest.mark.parametrize("compares", [True, False])
def test_a_client_that_compares_gets_no_preview(editor: Editor, daemon: FakeDaemon, compares: bool) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(), "error": None}
    editor.initialize(capabilities=RICH, trusted=True, compares=compares)
    editor.open(TEXT)
    editor.wait_title("Replace")
    offers = {a["title"]: a for a in editor.actions(LINE)}
    assert any("after a preview" in title for title in offers) is not compares
    found = [a["command"] for title, a in offers.items() if "accept or reject" in title]
    assert [(c["command"], c["arguments"]) for c in found] == [("mirage.diff", [URI, "double"])] * compares


def test_one_step_undoes_it(editor: Editor, daemon: FakeDaemon) -> None:
    """One edit of one document: what an editor undoes at once."""
    ready(editor, daemon)
    assert editor.command("mirage.replace", URI, "double")["applied"] is True
    (asked,) = editor.sent("workspace/applyEdit")
    assert len(asked["edit"]["documentChanges"]) == 1 and len(asked["edit"]["documentChanges"][0]["edits"]) == 1
    assert asked["label"] == "Mirage: replace `double` with its kernel"


def test_formatters_leave_the_block_alone(editor: Editor, daemon: FakeDaemon, tmp_path: Path) -> None:
    around = "\n\ndef after(x):\n    return double(x)\n"
    text = formatted(TEXT + around, tmp_path)
    ready(editor, daemon, text)
    editor.command("mirage.replace", URI, "double")
    after = editor.texts[URI]
    assert formatted(after, tmp_path) == after
    without = after.replace("# fmt: off\n", "")
    assert formatted(without, tmp_path) != without  # so it is the marks that do it


@pytest.mark.parametrize("package", [False, True])
def test_a_module_beside_the_file(editor: Editor, daemon: FakeDaemon, tmp_path: Path, package: bool) -> None:
    if package:
        (tmp_path / "__init__.py").touch()
    uri = (tmp_path / "model.py").as_uri()
    ready(editor, daemon, uri=uri)
    edit = editor.request("codeAction/resolve", offered(editor, "to a module", uri))["edit"]
    assert [c.get("kind") for c in edit["documentChanges"]] == ["create", None, None]
    assert not list(tmp_path.glob("*_mirage*")) and editor.apply(edit)
    module, text = editor.texts[(tmp_path / "double_mirage.py").as_uri()], editor.texts[uri]
    assert module.startswith("# fmt: off\n# mirage:begin header") and formatted(module, tmp_path) == module
    dots = "." if package else ""
    assert f"\nfrom {dots}double_mirage import double  # noqa: E402, F401\n" in text
    assert "def double" not in [line.strip()[:10] for line in text.split("\n") if not line.startswith("#")]
    ast.parse(text)
    assert formatted(text, tmp_path) == text
    assert editor.command("mirage.restore", uri, "double")["applied"] is True and editor.texts[uri] == TEXT


def test_the_module_runs(editor: Editor, daemon: FakeDaemon, tmp_path: Path) -> None:
    decorator = '@mirage.optimize(inputs=[((16, 64), "fp16")])'
    text = f"import mirage\n\n\n{decorator}\ndef double(x):\n    return x + x\n"
    uri = (tmp_path / "model.py").as_uri()
    daemon.at_once["double"] = {"state": "done", "result": result(), "error": None}
    editor.initialize(trusted=True)  # a client whose edits create no files
    editor.open(text, uri)
    editor.wait_title("Replace", uri)
    assert editor.command("mirage.writeModule", uri, "double")["applied"] is True
    (tmp_path / "model.py").write_text(editor.texts[uri], "utf-8")
    code = "import model; print(model.double([1, 2]), model.double.__module__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[2, 4] double_mirage\n", done.stderr


def test_a_file_of_that_name_is_left_alone(editor: Editor, daemon: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "double_mirage.py").write_text("mine = 1\n")
    uri = (tmp_path / "model.py").as_uri()
    ready(editor, daemon, uri=uri)
    assert editor.command("mirage.writeModule", uri, "double")["applied"] is True
    assert "from double_mirage_2 import double" in editor.texts[uri]
    assert (tmp_path / "double_mirage.py").read_text() == "mine = 1\n"


def test_no_module_for_a_text_that_lies_nowhere(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    assert editor.command("mirage.writeModule", URI, "double")["error"]["code"] == "MIR602"
    assert editor.command("mirage.writeModule", URI, "double", 7)["error"]["code"] == "MIR600"


def test_the_proof(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    ready(editor, daemon, derivation=DERIVATION, remarks=REMARKS)
    assert "More" in editor.titles()
    answer = editor.command("mirage.showProof", URI, "double")
    assert answer["derivation"] == DERIVATION and answer["verdict"]["word"] == "TESTED"
    assert [r["text"] for r in answer["remarks"]] == [r.text for r in REMARKS]
    golden("lsp/proof.md", answer["text"] + "\n")
    assert editor.command("mirage.showProof", URI, "other")["error"]["code"] == "MIR603"


def test_a_derivation_of_another_form_is_said(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon, derivation={"goals": [{}]})
    assert "cannot be shown" in editor.command("mirage.showProof", URI, "double")["text"]


def test_texts_are_opened_where_the_client_can(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(derivation=DERIVATION), "error": None}
    editor.initialize(capabilities={**FULL, "window": {"showDocument": {"support": True}}}, trusted=True)
    editor.open(TEXT)
    editor.wait_title("Replace")
    editor.command("mirage.showProof", URI, "double")
    (shown,) = wait_until(lambda: editor.sent("window/showDocument"), "the text")
    assert shown["uri"].endswith("/double.proof.md") and Path(shown["uri"][7:]).read_text("utf-8").startswith(
        "# `double`"
    )


def test_links_to_commands_only_where_they_work(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(derivation=DERIVATION), "error": None}
    editor.initialize(trusted=True, commandLinks=True)
    editor.open(TEXT)
    editor.wait_title("Replace")
    text = editor.hover(LINE) or ""
    assert "[proof](command:mirage.showProof?%5B%22file%3A///project/model.py%22%2C%20%22double%22%5D)" in text
    assert f"[source]({URI}#L{LINE + 2})" in text


def test_measuring_again_goes_past_the_cache(editor: Editor, daemon: FakeDaemon) -> None:
    ready(editor, daemon)
    assert [s["fresh"] for s in daemon.asked("submit")] == [False]
    chosen = offered(editor, "measure")["command"]
    assert editor.command(chosen["command"], *chosen["arguments"]) == {"started": ["double"]}
    assert daemon.wait("submit", 2)["fresh"] is True
    assert editor.command("mirage.measure", URI, "other")["error"]["code"] == "MIR108"


def test_all_of_a_file(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True, auto=False)
    editor.open(TEXT + "\n\n" + FUNCTION.replace("double", "twice"))
    editor.wait_title("ready")
    chosen = offered(editor, "all 2 functions")["command"]
    assert editor.command(chosen["command"], *chosen["arguments"]) == {"started": ["double", "twice"]}
    daemon.wait("subscribe", 2)
    stop = offered(editor, "stop")["command"]
    assert editor.command(stop["command"], *stop["arguments"]) == {"stopped": ["double"]}
    assert editor.command("mirage.stop", URI) == {"stopped": ["twice"]}


def test_untrusted_only_reads(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.cache["double"] = result()
    editor.initialize()
    editor.open(TEXT)
    editor.wait_title("1.8x")
    titles = " ".join(a["title"] for a in editor.actions(LINE))
    assert "replace" in titles and "measure" not in titles and "optimize" not in titles
    assert HEAD in TEXT and daemon.asked("submit") == []
