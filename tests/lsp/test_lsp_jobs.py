"""Over stdio with a scripted editor and a scripted daemon: what is shown while a job goes, and how it ends."""

from __future__ import annotations

import json
from typing import Any

from lsp_client import URI, Editor
from lsp_daemon import FakeDaemon
from lsp_samples import FUNCTION, HEAD, LINE, MODULE, TEXT, kept, result
from waiting import LIMIT_S, wait_until

from mirage.errors import UnknownOperator


def shown(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def finish_first(daemon: FakeDaemon, editor: Editor, answer: dict[str, Any] | None = None) -> None:
    """Open the sample and let its job end with a kernel."""
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.finish("job-1", "done", answer or result())
    editor.wait_title("1.8x")


def test_initialize_says_what_it_can_do(started_editor: Editor, golden: Any) -> None:
    answer = started_editor.initialize()
    assert answer["serverInfo"].pop("version")
    golden("lsp/initialize.json", shown(answer))
    assert started_editor.leave() == 0


def test_the_lens_follows_the_job(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    asked = daemon.wait("submit")
    assert (asked["function"], asked["text"], asked["path"]) == ("double", TEXT, "/project/model.py")
    assert asked["trusted"] is True and asked["priority"] == 0
    daemon.wait("subscribe")
    seen = [editor.titles()]
    daemon.event("job-1", "searching", values=9, mugraphs=14)
    seen.append(editor.wait_title("µGraphs"))
    daemon.event("job-1", "verifying")
    seen.append(editor.wait_title("verifying"))
    daemon.event("job-1", "tuning", best="1.5x", mugraphs=120, checked=34)
    seen.append(editor.wait_title("tuning"))
    daemon.finish("job-1", "done", result())
    seen.append(editor.wait_title("1.8x"))
    golden("lsp/lens.json", shown(seen))
    assert editor.lenses()[0]["range"]["start"] == {"line": LINE, "character": 0}
    wait_until(lambda: editor.sent("workspace/codeLens/refresh"), "a refresh of the lenses")


def test_progress_is_reported_and_ends(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    token = wait_until(lambda: editor.sent("window/workDoneProgress/create"), "a progress token")[0]["token"]
    wait_until(lambda: editor.sent("$/progress"), "the begin of the progress")
    daemon.event("job-1", "searching", values=9)
    daemon.finish("job-1", "done", result())
    wait_until(lambda: [p for p in editor.sent("$/progress") if p["value"]["kind"] == "end"], "the end of the progress")
    values = editor.sent("$/progress")
    assert {v["token"] for v in values} == {token}
    assert [v["value"]["kind"] for v in values] == ["begin", "report", "end"]
    assert values[0]["value"] == {"kind": "begin", "title": "Mirage: double", "cancellable": True, "message": "queued"}
    assert values[1]["value"]["message"] == "searching · 9 values"
    assert values[2]["value"]["message"].startswith("Mirage 1.8x")


def test_no_progress_for_a_client_without_it(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(capabilities={}, trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.finish("job-1", "done", result())
    editor.wait_title("1.8x")
    assert not editor.sent("window/workDoneProgress/create") and not editor.sent("workspace/codeLens/refresh")


def test_cancelling_the_progress_stops_the_job(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    token = wait_until(lambda: editor.sent("$/progress"), "the progress")[0]["token"]
    editor.notify("window/workDoneProgress/cancel", {"token": "another"})
    assert "Mirage: queued" in editor.titles()
    editor.notify("window/workDoneProgress/cancel", {"token": token})
    assert daemon.wait("abandon") == {"job": "job-1"}
    assert editor.wait_title("stopped") == ["Mirage: stopped", "Optimize"]


def test_stop_and_optimize_again_by_command(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    assert editor.command("mirage.stop", URI, "double") == {"stopped": ["double"]}
    assert daemon.wait("abandon") == {"job": "job-1"}
    assert editor.command("mirage.stop", URI, "double") == {"stopped": []}
    assert editor.command("mirage.optimize", URI) == {"started": ["double"]}
    daemon.wait("subscribe", 2)
    daemon.finish("job-2", "done", result())
    editor.wait_title("1.8x")


def test_hover_tells_everything(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    finish_first(daemon, editor)
    text = editor.hover(LINE)
    assert text is not None
    golden("lsp/hover.md", text + "\n")
    assert editor.hover(LINE + 1) == text
    assert editor.hover(LINE + 3) is None and editor.hover(0) is None


def test_a_function_that_is_kept_says_why(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.finish("job-1", "kept", kept("the baseline is at the speed of light"))
    assert editor.wait_title("keep yours")[0] == "Mirage: keep yours · the baseline is at the speed of light"
    found = wait_until(editor.problems, "a diagnostic")
    golden("lsp/kept.json", shown(found))
    assert not [a for a in editor.actions(LINE) if "replace" in a["title"]]


def test_a_failed_job_is_a_diagnostic(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    error = UnknownOperator("`fft` has no entry", path="/project/model.py", line=LINE + 4, column=11)
    daemon.finish("job-1", "failed", error=error.to_dict())
    assert "Optimize" in editor.wait_title("MIR201")
    found = wait_until(editor.problems, "a diagnostic")
    golden("lsp/failed.json", shown(found))


def test_what_cannot_be_submitted_is_a_diagnostic_and_is_not(editor: Editor, daemon: FakeDaemon, golden: Any) -> None:
    editor.initialize(trusted=True)
    editor.open(HEAD + '@mirage.optimize\ndef f(x: Float16[Tensor, "b 64"], y):\n    return x + y\n')
    golden("lsp/problem.json", shown(wait_until(editor.problems, "a diagnostic")))
    assert editor.titles() == ["Mirage: MIR105 `y` has no annotation"]
    assert editor.command("mirage.optimize", URI, "f")["error"]["code"] == "MIR105"
    assert editor.command("mirage.optimize", URI) == {"started": []}
    editor.change(TEXT)
    daemon.wait("subscribe")
    assert [s["function"] for s in daemon.asked("submit")] == ["double"]
    wait_until(lambda: not editor.problems(), "no diagnostic")


def test_an_edit_makes_the_result_stale_and_going_back_revives_it(editor: Editor, daemon: FakeDaemon) -> None:
    finish_first(daemon, editor)
    editor.change(TEXT.replace("x + x", "x + x + x"))
    daemon.wait("subscribe", 2)
    assert "before: 1.8x" in editor.titles()[0]
    assert "stale" in (editor.hover(LINE) or "")
    assert not [a for a in editor.actions(LINE) if "replace" in a["title"]]
    assert editor.command("mirage.replace", URI, "double")["error"]["code"] == "MIR603"
    editor.change(TEXT)
    assert "stale" not in editor.wait_title("Replace")[0]
    assert len(daemon.asked("submit")) == 2
    daemon.wait("cancel")


def test_other_shapes_are_another_question_and_comments_are_not(editor: Editor, daemon: FakeDaemon) -> None:
    finish_first(daemon, editor)
    editor.change("# a comment\n" + TEXT)
    assert editor.titles()[0].startswith("Mirage 1.8x") and "stale" not in editor.titles()[0]
    editor.change(TEXT.replace("16 64", "32 64"))
    daemon.wait("submit", 2)
    assert len(daemon.asked("submit")) == 2


def test_keystrokes_are_gathered(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True, debounceMs=300)
    editor.open(TEXT)
    daemon.wait("submit")
    for i in range(5):
        editor.change(TEXT.replace("x + x", f"x + {i}"))
    assert daemon.wait("submit", 2)["text"].count("x + 4") == 1
    assert len(daemon.asked("submit")) == 2


def test_untrusted_looks_up_and_submits_nothing(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize()
    editor.open(TEXT)
    assert daemon.wait("lookup")["function"] == "double"
    (title,) = editor.wait_title("not trusted")
    assert "nothing runs" in title
    assert editor.command("mirage.optimize", URI, "double")["error"]["code"] == "MIR503"
    editor.change(TEXT.replace("x + x", "x * x"))
    daemon.wait("lookup", 2)
    editor.wait_title("not trusted")
    assert daemon.asked("submit") == []
    editor.notify("mirage/didGrantTrust", {})
    daemon.wait("submit")


def test_only_a_plain_true_is_trust(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted="yes")
    editor.open(TEXT)
    daemon.wait("lookup")
    editor.wait_title("not trusted")
    assert daemon.asked("submit") == []


def test_untrusted_shows_what_the_cache_has(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.cache["double"] = result()
    editor.initialize()
    editor.open(TEXT)
    assert "Replace" in editor.wait_title("1.8x")
    assert daemon.asked("submit") == []


def test_without_a_daemon_the_lens_is_static(editor: Editor) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    assert editor.wait_title("the daemon is away")[0] == "Mirage: the daemon is away"
    assert editor.hover(LINE) == "**Mirage** `double`: the daemon is away"
    assert editor.leave() == 0


def test_a_daemon_that_dies_is_asked_again(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    daemon.event("job-1", "searching", values=3)
    editor.wait_title("searching")
    daemon.kill()
    editor.wait_title("away")
    daemon.start()
    daemon.wait("subscribe", 2)
    daemon.finish("job-2", "done", result())
    editor.wait_title("1.8x")


def test_a_known_answer_is_there_at_once(editor: Editor, daemon: FakeDaemon) -> None:
    daemon.at_once["double"] = {"state": "done", "result": result(), "error": None}
    editor.initialize(trusted=True)
    editor.open(TEXT)
    editor.wait_title("1.8x")


def test_closing_cancels(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert daemon.wait("cancel") == {"job": "job-1"}
    assert editor.lenses() == [] and editor.hover(LINE) is None and editor.actions(LINE) == []


def test_shutdown_with_work_in_flight(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    daemon.wait("subscribe")
    hanging = editor.start_request("workspace/executeCommand", {"command": "mirage.optimize", "arguments": [URI]})
    assert editor.leave() == 0
    assert daemon.wait("cancel") == {"job": "job-1"}
    assert len(editor.answers(hanging)) == 1


def test_shutdown_while_a_command_waits_for_the_editor(editor: Editor, daemon: FakeDaemon) -> None:
    finish_first(daemon, editor)
    editor.unanswered.add("workspace/applyEdit")
    command = editor.start_request(
        "workspace/executeCommand", {"command": "mirage.replace", "arguments": [URI, "double"]}
    )
    wait_until(lambda: editor.sent("workspace/applyEdit"), "the edit")
    editor.start_request("shutdown")
    editor.notify("exit")
    assert editor.process.wait(LIMIT_S) == 0
    assert len(editor.answers(command)) <= 1


def test_the_mugraph_is_shown(editor: Editor, daemon: FakeDaemon) -> None:
    from mirage.mugraph import grammar, json_form

    tensors = (grammar.DTensor("x", "fp16", (("n",),)), grammar.DTensor("y", "fp16", (("n",),), kind="output"))
    graph = grammar.MuGraph("double", (("n", 1024),), tensors, (grammar.LibraryKernel("k", "neg", ("x",), "y"),))
    finish_first(daemon, editor, result(mugraphs=[json_form.to_json(graph)]))
    answer = editor.command("mirage.showMugraph", URI, "double")
    assert answer["mugraphs"] == [json_form.to_json(graph)] and "neg" in answer["text"] and answer["stale"] is False
    assert "mirage.showMugraph" in (editor.hover(LINE) or "") and "\n```" not in (editor.hover(LINE) or "")
    assert editor.command("mirage.showMugraph", URI, "other")["error"]["code"] == "MIR603"


def test_two_documents_are_apart(editor: Editor, daemon: FakeDaemon) -> None:
    editor.initialize(trusted=True)
    editor.open(TEXT)
    other = "file:///project/other.py"
    daemon.wait("subscribe")
    editor.open(HEAD + FUNCTION.replace("double", "twice"), other)
    daemon.wait("subscribe", 2)
    daemon.finish("job-2", "done", result(function="twice", source=MODULE.replace("double", "twice")))
    editor.wait_title("1.8x", other)
    assert editor.titles()[0] == "Mirage: queued"
