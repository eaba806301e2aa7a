"""What clients that draw for themselves are told: states of functions, a whole result, the daemon's jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsp_client import URI, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import FUNCTION, LINE, TEXT, kept, result
from waiting import wait_until

from mirage.mugraph import json_form
from mirage.mugraph.parse import parse


def opened(daemon: FakeDaemon, editor: Editor, answer: dict[str, Any], state: str = "done", **options: Any) -> None:
    editor.initialize(trusted=True, **options)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.finish("job-1", state, answer)
    wait_until(lambda: "queued" not in str(editor.titles()), "the end of the job")


def marks(editor: Editor) -> list[list[tuple[str, str]]]:
    return [[(f["name"], f["mark"]) for f in told["functions"]] for told in editor.sent("mirage/states")]


def test_states_follow_the_job(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True, states=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    wait_until(lambda: [("double", "running")] in marks(editor), "the running mark")
    daemon.finish("job-1", "done", result())
    wait_until(lambda: marks(editor)[-1] == [("double", "tested")], "the mark of the verdict")
    (told,) = editor.sent("mirage/states")[-1]["functions"]
    assert (told["line"], told["endLine"], told["block"]) == (LINE, LINE + 3, False)
    assert told["kernel"] and told["result"] and told["title"].startswith("Mirage 1.8x")
    editor.change(TEXT.replace("x + x", "x * x"))
    wait_until(lambda: marks(editor)[-1] == [("double", "running")], "the mark of the new text")
    daemon.finish("job-2", "failed", error={"code": "MIR301", "message": "no", "next_step": "none"})
    wait_until(lambda: marks(editor)[-1] == [("double", "rejected")], "the mark of a failure")


def test_a_closed_document_has_no_states(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True, states=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    editor.change(TEXT.replace("return", "return +"))  # not settled when it is closed
    editor.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    wait_until(lambda: editor.sent("mirage/states")[-1] == {"uri": URI, "version": 0, "functions": []}, "no states")


def test_a_kept_function_and_a_client_that_did_not_ask(editor: Editor, daemon: FakeDaemon) -> None:
    opened(daemon, editor, kept("no better"), "kept")
    assert not editor.sent("mirage/states")


def test_the_result_has_pictures_and_both_texts(editor: Editor, daemon: FakeDaemon) -> None:
    golden = Path(__file__).resolve().parents[1] / "golden" / "mugraph"
    graph = json_form.to_json(parse((golden / "rmsnorm_linear.txt").read_text("utf-8")))
    opened(daemon, editor, result(mugraphs=[graph]))
    answer = editor.command("mirage.result", URI, "double")
    assert answer["headline"].startswith("1.8x") and not answer["stale"]
    assert answer["svg"] == [(golden / "rmsnorm_linear.svg").read_text("utf-8")]
    (box,) = answer["pictures"]
    levels = [inner["level"] for inner in box["content"] if isinstance(inner, dict)]
    assert box["level"] == "graph" and levels and set(levels) == {"kernel"}
    assert answer["result"]["kernels"][0]["grid"] == [16, 1, 1]
    assert answer["before"] == TEXT and "# mirage:begin double" in answer["after"] and FUNCTION not in answer["after"]
    editor.command("mirage.replace", URI, "double")
    wait_until(lambda: editor.texts[URI] == answer["after"], "the replacement")
    again = editor.command("mirage.result", URI, "double")
    assert (again["before"], again["after"]) == (TEXT, answer["after"])


def test_there_is_no_result_of_nothing(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    assert editor.command("mirage.result", URI, "double")["error"]["code"].startswith("MIR")
    assert editor.command("mirage.result", URI, "other")["error"]["code"].startswith("MIR")
    assert editor.command("mirage.result", 7)["error"]["code"].startswith("MIR")


def test_the_jobs_of_all_projects(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    assert editor.command("mirage.jobs")["cache"]["entries"] == 2
    daemon.kill()
    assert editor.command("mirage.jobs")["error"]["code"] == "MIR500"
    assert editor.command("mirage.cache")["error"]["code"] == "MIR500"


def test_the_cache_of_all_projects(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    assert editor.command("mirage.cache") == {"results": [], "more": 0}
    daemon.kept = [{"key": f"{n:03}", "used": float(n % 7), "function": "f"} for n in range(123)]
    found = editor.command("mirage.cache")
    assert found["more"] == 23 and len({row["key"] for row in found["results"]}) == 100
    used = [row["used"] for row in found["results"]]
    assert used == sorted(used, reverse=True)
    assert editor.command("mirage.cached", "007") == {"key": "007", "result": {"function": "double"}}
    assert editor.command("mirage.cached")["error"]["code"] == "MIR509"
    assert editor.sent("window/showMessage") == []  # views ask by themselves
