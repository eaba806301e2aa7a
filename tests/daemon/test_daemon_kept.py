"""What is kept can be looked at, given away and forgotten; what a stranger gives counts once it was judged here."""

import json

import pytest
from click.testing import CliRunner

from mirage.errors import MirageError, NotVerified, ProtocolError, UnknownEntry, UnknownJob
from mirage.link import paths, protocol
from mirage.pipeline.optimize import optimize
from mirage.pipeline.recheck_task import recheck
from mirage.pipeline.request_payload import from_payload
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken
from mirage.results.result import Remark
from mirage_daemon import cache_command, cache_requests, question_key
from mirage_daemon.worker_pool import WorkerPool

SECRET = "SECRET = 'a password'\n"


def at_once(answer, **more):
    return lambda payload, progress, cancel: answer(payload, mugraphs=({"name": payload["function"]},), **more)


def run(*words):
    return CliRunner().invoke(cache_command.cache, words)


def optimized(client, text, *names):
    return [client.subscribe(client.submit(text, "/home/me/a.py", name)["job"])["result"] for name in names]


def test_an_explanation_is_the_result_without_its_long_parts(house, text, answer):
    with house(at_once(answer, reason="2x", remarks=(Remark("r", "why"),))) as h:
        client = h.client()
        job = client.submit(text, "a.py", "f")["job"]
        client.subscribe(job)
        said = client.explain(job)
        assert (said["state"], said["reason"], said["error"]) == ("done", "2x", None)
        assert said["remarks"] == [{"code": "r", "text": "why", "figures": {}}]
        assert "source" not in said and "mugraphs" not in said
        with pytest.raises(UnknownJob):
            client.explain("0" * 16)


def test_the_end_of_the_log_and_no_more(house, answer):
    with house(at_once(answer)) as h:
        client = h.client()
        assert client.log() == []
        paths.log_path().write_text("".join(f"line {i}\n" for i in range(100_000)))
        assert client.log(3) == ["line 99997", "line 99998", "line 99999"]
        assert len(client.log(1000)) == 1000
        for wrong in (0, -1, 1001):
            with pytest.raises(ProtocolError):
                client.log(wrong)


def test_list_show_verify_and_gc(house, text, answer):
    with house(at_once(answer, reason="2x")) as h:
        client = h.client()
        results = optimized(client, text, "f", "g")
        rows = json.loads(run("list", "--json").output)
        assert {(r["function"], r["state"], r["reason"]) for r in rows} == {("f", "done", "2x"), ("g", "done", "2x")}
        key = next(r["key"] for r in rows if r["function"] == "f")
        shown = json.loads(run("show", key[:20], "--json").output)
        assert shown["result"] == results[0] and shown["key"] == key
        assert "# f" in run("show", key).output
        for wrong in ("zz", ""):
            with pytest.raises(UnknownEntry):
                client.cache("show", key=wrong)
        assert run("show", "zz").exit_code == 1 and "MIR509" in run("show", "zz").output
        assert run("verify").output == "4 entries are sound, 0 were dropped\n"
        assert "0 entries deleted" in run("gc", "--max-size", "1g").output
        assert "0 entries deleted" in run("gc", "--older", "30d").output
        assert client.lookup(text, "a.py", "f") == results[0]
        assert "4 entries deleted; 0 with 0 B are left" in run("gc", "--older", "0s").output
        assert client.lookup(text, "a.py", "f") is None
        assert run("gc").exit_code == 2 and run("gc", "--older", "soon").exit_code == 2
        with pytest.raises(ProtocolError):
            client.cache("exec")


def test_a_long_list_comes_in_pages(house, answer, monkeypatch):
    monkeypatch.setattr(cache_requests, "PAGE_ROWS", 3)
    monkeypatch.setattr(cache_requests, "PAGE_BYTES", 1)
    many = "import mirage\nimport torch\n" + "".join(
        f"\n@mirage.optimize(inputs=[((4, 8), 'fp16')])\ndef f{i}(x):\n    return torch.relu(x) + {i}\n"
        for i in range(8)
    )
    with house(at_once(answer)) as h:
        client = h.client()
        optimized(client, many, *(f"f{i}" for i in range(8)))
        names = [r["function"] for page in cache_command.pages(client, "list") for r in page["results"]]
        assert sorted(names) == [f"f{i}" for i in range(8)]
        names = [r["function"] for page in cache_command.pages(client, "export") for r in page["results"]]
        assert sorted(names) == [f"f{i}" for i in range(8)]


def test_more_values_than_a_frame_may_have_are_exported_all_the_same(house, answer):
    names = [f"f{i}" for i in range(5)]
    many = "import mirage\nimport torch\n" + "".join(
        f"\n@mirage.optimize(inputs=[((4, 8), 'fp16')])\ndef {name}(x):\n    return torch.relu(x)\n" for name in names
    )
    with house(lambda payload, *_: answer(payload, mugraphs=({"a": list(range(30_000))},))) as h:
        client = h.client()
        optimized(client, many, *names)
        found = list(cache_command.pages(client, "export"))
        assert sorted(r["function"] for page in found for r in page["results"]) == names and len(found) > 1


def test_an_export_holds_the_function_and_nothing_else_of_the_file(house, text, answer, tmp_path):
    with house(at_once(answer)) as h:
        optimized(h.client(), SECRET + text + "\n\ndef other():\n    return 'private'\n", "f")
        target = tmp_path / "results.json"
        assert "1 results written" in run("export", str(target)).output
    written = target.read_text()
    for private in ("password", "private", "/home/me", "SECRET"):
        assert private not in written
    (row,) = json.loads(written)["results"]
    assert question_key.ask(row["text"], "b.py", "f", "sm_90", "") == question_key.ask(text, "a.py", "f", "sm_90", "")


def test_an_import_is_a_job_of_its_own_and_kept_only_when_it_ends_well(house, text, answer):
    answers = {"f": {}, "g": {"answer": "keep"}}
    with house(lambda payload, progress, cancel: answer(payload, **answers[payload["function"]])) as h:
        client = h.client()
        job = client.adopt(text, "a.py", "f", '{"a": 1}')
        assert client.subscribe(job["job"])["state"] == "done"
        assert h.runs[0]["mugraph"] == '{"a": 1}' and client.lookup(text, "a.py", "f") is not None
        assert client.adopt(text, "a.py", "f", '{"a": 2}')["state"] == "done"  # known: nothing is judged
        assert client.subscribe(client.adopt(text, "a.py", "g", "{}")["job"])["state"] == "kept"
        assert client.lookup(text, "a.py", "g") is None  # no faster here: a search may still find a faster one
        assert len(h.runs) == 2


def test_an_import_that_fails_leaves_nothing(house, text):
    def run_job(payload, progress, cancel):
        raise NotVerified("it is wrong")

    with house(run_job) as h:
        client = h.client()
        outcome = client.subscribe(client.adopt(text, "a.py", "f", "{}")["job"])
        assert (outcome["state"], outcome["error"]["code"]) == ("failed", "MIR308")
        assert client.status()["cache"]["entries"] == 0


def test_a_strangers_laws_and_too_much_of_anything_are_refused(house, text, answer):
    with house(at_once(answer)) as h:
        client = h.client()
        with pytest.raises(NotVerified, match="laws"):
            client.adopt(text, "a.py", "f", "{}", options=protocol.SearchOptions(rules="all: x == y"))
        with pytest.raises(ProtocolError, match="limit"):
            client.adopt(text, "a.py", "f", "[" * (cache_requests.MAX_MUGRAPH + 1))
        assert h.runs == []


ROW = {"text": "t", "function": "f", "target": "sm_90", "mugraph": {}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"null",
        b"[]",
        json.dumps({"format": "other", "version": 1, "results": []}).encode(),
        json.dumps({"format": "mirage results", "version": 2, "results": []}).encode(),
        json.dumps({"format": "mirage results", "version": 1, "results": {}}).encode(),
        *(
            json.dumps({"format": "mirage results", "version": 1, "results": [row]}).encode()
            for row in (None, [], {}, {**ROW, "text": 5}, {**ROW, "mugraph": "x"}, {**ROW, "function": None})
        ),
    ],
)
def test_a_file_that_is_not_of_results_is_named_and_nothing_is_asked(home, tmp_path, content):
    path = tmp_path / "results.json"
    path.write_bytes(content)
    result = run("import", str(path))
    assert result.exit_code == 1 and "MIR508" in result.output
    assert not paths.socket_path().exists()


@pytest.mark.parametrize(
    "more",
    [
        *({"inputs": 5}, {"inputs": [1]}, {"options": {"a": 1}}, {"options": {"rules": "x"}}, {"text": "def"}),
        *({"inputs": [["x", [10**30], "fp16"]]}, {"options": {"kernels": 10**30}}, {"function": "\ud800"}),
        {"inputs": [["x", [1], "fp16"]] * 60_000},  # more values than a frame may have
        {"function": "\x1b]0;title\x07"},
    ],
)
def test_a_result_that_cannot_be_asked_for_is_refused_and_the_others_go_on(house, text, answer, tmp_path, more):
    path = tmp_path / "results.json"
    rows = [{**ROW, "text": text, **more}, {**ROW, "text": text, "function": "g"}]
    path.write_text(json.dumps({"format": "mirage results", "version": 1, "results": rows}))
    with house(at_once(answer, reason="2x")) as h:
        result = run("import", str(path))
        assert result.exit_code == 3 and "1 of 2 results verified here, 1 refused" in result.output
        assert [p["function"] for p in h.runs] == ["g"]
        assert result.output.replace("\n", "").isprintable()


def test_a_file_with_a_byte_order_mark_and_other_lines_is_given_away_as_what_it_is(house, text, answer, tmp_path):
    target = tmp_path / "results.json"
    text = text.replace("import torch\n", "import torch; SECRET = 'a password'\n\x0c\n# \u2028 \x1c\n")
    with house(at_once(answer)) as h:
        optimized(h.client(), "\ufeff" + text.replace("\n", "\r"), "f")
        assert "1 results written" in run("export", str(target)).output
        (row,) = json.loads(target.read_text())["results"]
        assert "password" not in row["text"] and "import torch" in row["text"]
        assert h.client().lookup(row["text"], "b.py", "f") == h.client().lookup(text, "a.py", "f") is not None


@pytest.mark.parametrize("place", ["", ".", "/", "FILE/x", "n" * 300, "missing/x"])
def test_a_place_that_cannot_be_written_is_named(house, answer, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").touch()
    with house(at_once(answer)):
        result = run("export", place)
        assert result.exit_code == 1 and "MIR404" in result.output
        assert run("export", "there").exit_code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["FILE", "there"]


def test_a_file_without_an_end_is_not_read_to_its_end(home, monkeypatch):
    monkeypatch.setattr(cache_command, "MAX_FILE", 1 << 20)
    result = run("import", "/dev/zero")
    assert result.exit_code == 1 and "MIR508" in result.output and "more than 1 MiB" in result.output


def with_tools(tools):
    """What a worker does with a job, in this process: user code still runs in workers, warm ones."""

    def run_job(payload, progress, cancel):
        request = from_payload(payload)
        if "mugraph" in payload:
            result = recheck(request, json.loads(payload["mugraph"]), lambda p: None, cancel, tools)
        else:
            result = optimize(request, lambda p: None, cancel, tools)
        return {"result": json.loads(json.dumps(unstructure(result)))}

    return run_job


def test_a_colleagues_file_is_verified_here_and_a_wrong_one_is_never_served(house, text, tmp_path, tools):
    path = tmp_path / "results.json"
    with house(with_tools(tools)) as h:
        client = h.client()
        (found,) = optimized(client, text, "f")
        assert found["answer"] == "kernel" and run("export", str(path)).exit_code == 0
        client.cache("gc", limit_bytes=0)
        good = path.read_text()
        wrong = {
            '"op": "exp"': '"op": "neg"',
            "softmax(x, dim=-1)": "log_softmax(x, dim=-1)",
            '"offset": 0': '"offset": 1',
        }
        for old, new in wrong.items():
            assert old in good
            path.write_text(good.replace(old, new))
            result = run("import", str(path))
            assert result.exit_code == 3 and "0 of 1 results verified here, 1 refused" in result.output
            assert client.status()["cache"]["entries"] == 0
        lying = json.loads(good)
        lying["results"][0]["says"] = {"reason": "1000x"}
        lying["results"][0]["source"] = "import os; os.system('planted')"
        path.write_text(json.dumps(lying))
        assert run("import", str(path)).exit_code == 0
        here = client.lookup(text, "a.py", "f")
        assert here["source"] == found["source"] and here["reason"] == found["reason"]


def test_a_worker_is_asked_to_judge_what_was_found_elsewhere():
    tasks = []

    class Fake:
        pid = None

        def call(self, task, body, **_):
            tasks.append(task)
            return {}

        def close(self):
            pass

    with WorkerPool(make=lambda interpreter: Fake()) as pool:
        for more in ({}, {"mugraph": "{}"}):
            pool.run_job({"interpreter": "python", **more}, lambda event: None, CancelToken())
    assert tasks == ["optimize", "recheck"]


def test_every_error_of_this_room_has_a_next_step():
    for code in ("MIR308", "MIR507", "MIR508", "MIR509"):
        assert MirageError.registry[code].default_next_step != MirageError.default_next_step
