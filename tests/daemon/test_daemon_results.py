"""Results as the daemon keeps and serves them: read strictly, and told of in its status."""

import msgpack
import pytest

from mirage.errors import UnknownOperator
from mirage.results.codec import unstructure
from mirage.results.result import SCHEMA, Result
from mirage.results.verdict import LINKS, Evidence, Verdict

KEPT = Result("f", "keep", "nothing is faster", (), "p")
PROVED = Verdict(tuple(Evidence(link=x, opinion="proof", word="PROVED", summary="", bound=0.0) for x in LINKS))


def at_once(answer):
    return lambda payload, progress, cancel: answer(payload)


def test_keep_yours_is_kept_and_known(house, text):
    result = unstructure(KEPT)
    with house(lambda payload, progress, cancel: {"result": result}) as h:
        client = h.client()
        assert client.subscribe(client.submit(text, "a.py", "f")["job"])["state"] == "kept"
        assert client.submit(text, "a.py", "f")["state"] == "kept"
        assert len(h.runs) == 1


@pytest.mark.parametrize("changed", [{"schema": SCHEMA + 1}, {"says": 1}, {"reason": None}, {}])
def test_an_entry_of_another_schema_is_not_found(house, text, answer, changed):
    with house(at_once(answer)) as h:
        client, store = h.client(), h.server._store
        client.subscribe(client.submit(text, "a.py", "f")["job"])

        def stored(call, *given):
            return h.server._store_thread.submit(call, *given).result()

        (entry,) = stored(lambda: list(store.entries("result")))
        state, data, origin = msgpack.unpackb(stored(store.get, "result", entry.key))
        stored(store.put, "result", entry.key, msgpack.packb([state, data | changed, origin]))
        assert (client.lookup(text, "a.py", "f") is None) is bool(changed)
        assert len(client.cache("list")["results"]) == (0 if changed else 1)
        assert client.subscribe(client.submit(text, "a.py", "f")["job"])["state"] == "done"
        assert len(h.runs) == (2 if changed else 1)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        {"result": None},
        {"result": {"answer": "yes"}},
        {"result": {"answer": []}},
        {"result": {**unstructure(KEPT), "schema": SCHEMA + 1}},
        {"result": {**unstructure(KEPT), "says": 1}},
    ],
)
def test_an_answer_that_is_not_a_result_fails_the_job(house, text, wrong):
    with house(lambda payload, progress, cancel: wrong) as h:
        client = h.client()
        outcome = client.subscribe(client.submit(text, "a.py", "f")["job"])
        assert outcome["state"] == "failed" and outcome["error"]["code"] == "MIR501"
        assert client.lookup(text, "a.py", "f") is None


def test_status_tells_what_ended(house, text, answer):
    def run(payload, *_):
        if payload["function"] == "g":
            raise UnknownOperator("`fft` has no entry")
        return answer(payload, reason="one kernel", verdict=PROVED)

    with house(run) as h:
        client = h.client()
        assert client.status()["ended"] == []
        for function in ("f", "g", "f"):
            client.subscribe(client.submit(text, "/p/m.py", function)["job"])
        found = client.status()["ended"]
        assert all(0 <= row.pop("ago_s") < 60 and len(row.pop("job")) == 16 for row in found)
        base = {"path": "/p/m.py", "reason": "", "verdict": "", "error": ""}
        assert found == [  # the second time `f` was known
            {**base, "function": "g", "state": "failed", "reason": "`fft` has no entry", "error": "MIR201"},
            {**base, "function": "f", "state": "done", "reason": "one kernel", "verdict": "PROVED (these sizes)"},
        ]
