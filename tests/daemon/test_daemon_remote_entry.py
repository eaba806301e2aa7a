"""Entries of a shared cache as bytes: read back exactly, or refused with the reason."""

import hashlib
import json
from dataclasses import asdict, replace

import msgpack
import pytest

from mirage.errors import RemoteCacheFault
from mirage.results.result import BySize, Result
from mirage_daemon import remote_entry
from mirage_daemon.remote_entry import FORM, MAX_MUGRAPH, RemoteEntry, mugraph_text

KEY, OTHER = "ab" * 32, "cd" * 32
GRAPH = {"version": 1, "mugraph": {"name": "µ", "kernels": []}}
RESULT = Result("f", "kernel", "2x", (), "p" * 64, source="raise SystemExit  # text", mugraphs=(GRAPH,))


def packed(said):
    body = msgpack.packb(said)
    return FORM + hashlib.sha256(body).digest() + body


def test_it_reads_back_exactly_and_has_no_text_of_a_module():
    entry = RemoteEntry.of(KEY, RESULT)
    content = entry.to_bytes()
    assert RemoteEntry.read(content, KEY) == entry and json.loads(entry.mugraph) == GRAPH
    assert b"SystemExit" not in content and b"source" not in content


def test_equal_mugraphs_have_equal_texts():
    turned = {"mugraph": {"kernels": [], "name": "µ"}, "version": 1}
    assert mugraph_text(replace(RESULT, mugraphs=(turned,))) == mugraph_text(RESULT)


@pytest.mark.parametrize(
    "changed",
    [{"answer": "keep"}, {"answer": "compile"}, {"mugraphs": ()}, {"mugraphs": (GRAPH, GRAPH)}, {"by_size": (BySize((), 0),) * 2},
     {"mugraphs": ({"name": "x" * MAX_MUGRAPH},)}],
)  # fmt: skip
def test_what_is_not_for_others_is_no_entry(changed):
    assert RemoteEntry.of(KEY, replace(RESULT, **changed)) is None


def test_every_changed_bit_and_every_cut_is_noticed():
    content = RemoteEntry.of(KEY, RESULT).to_bytes()
    for i in range(len(content)):
        for bit in range(8):
            with pytest.raises(RemoteCacheFault):
                RemoteEntry.read(content[:i] + bytes([content[i] ^ 1 << bit]) + content[i + 1 :], KEY)
        with pytest.raises(RemoteCacheFault):
            RemoteEntry.read(content[:i], KEY)
    with pytest.raises(RemoteCacheFault):
        RemoteEntry.read(content + b"\0", KEY)


def test_an_entry_of_another_question_is_not_read():
    with pytest.raises(RemoteCacheFault, match="another question"):
        RemoteEntry.read(RemoteEntry.of(OTHER, RESULT).to_bytes(), KEY)


SAID = asdict(RemoteEntry.of(KEY, RESULT))
FORGED = {
    "a list": [*SAID.values()],
    "nothing": None,
    "a field too few": {k: v for k, v in SAID.items() if k != "evidence"},
    "a field too many": {**SAID, "source": "import os"},
    "a number": {**SAID, "versions": 1},
    "bytes": {**SAID, "mugraph": b"{}"},
    "a map": {**SAID, "mugraph": {}},
    "many": [0] * 1000,
    "deep": [[[[[0]]]]],
    "an extension": msgpack.ExtType(5, b"x"),
    "a time": msgpack.Timestamp(0),
    "a long µGraph": {**SAID, "mugraph": "x" * (MAX_MUGRAPH + 1)},
    "keys that are no texts": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e", 6: "f"},
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_well_signed_and_no_entry_is_refused(name):
    with pytest.raises(RemoteCacheFault):
        RemoteEntry.read(packed(FORGED[name]), KEY)


def test_what_cannot_be_unpacked_is_refused():
    for body in (b"", b"\x86", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xa4\xff\xff\xff\xff", b"\xdf\x7f\xff\xff\xff"):
        with pytest.raises(RemoteCacheFault):
            RemoteEntry.read(FORM + hashlib.sha256(body).digest() + body, KEY)


def test_an_entry_of_an_older_form_is_refused(monkeypatch):
    monkeypatch.setattr(remote_entry, "FORM", b"mirage entry 0\n")
    old = RemoteEntry.of(KEY, RESULT).to_bytes()
    monkeypatch.undo()
    with pytest.raises(RemoteCacheFault, match="no entry of this version"):
        RemoteEntry.read(old, KEY)
