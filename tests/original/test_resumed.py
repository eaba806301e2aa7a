"""`to_json`, `from_json`, and searches that go on from a file: what is verified joins, nothing is believed."""

from __future__ import annotations

import json

import pytest
import space
from written import attention, checkpoint, rms_linear, save

import mirage as mi
from mirage.errors import NotVerified, SavedFileUnreadable, SavedGraphInvalid
from mirage.mugraph.structure import canonical

RMS = space.rms(4, 64, 64)


def program():
    g = mi.new_kernel_graph()
    x, w = g.new_input(dims=(4, 64)), g.new_input(dims=(64, 64))
    g.mark_output(g.matmul(g.rms_norm(x, (64,)), w))
    return g


@pytest.fixture(scope="module")
def best():
    return mi.superoptimize(program(), max_num_new_graphs=1)[0]


def test_a_graph_that_was_built_is_written_as_the_original_does(tmp_path):
    g = program()
    h = g.new_input(dims=(4, 64))
    g.mark_output(g.clamp(h, -1.0, 2.5))
    g.to_json(tmp_path / "g.json")
    rows = json.loads((tmp_path / "g.json").read_text())
    assert [r["op_type"] for r in rows[:4]] == ["kn_input_op", "kn_input_op", "kn_rms_norm_op", "kn_matmul_op"]
    again = mi.new_kernel_graph().from_json(tmp_path / "g.json")
    assert again.source() == g.source() and all(t.graph is again for t in again.tensors)
    assert again.exp(again.outputs[0]).shape == (4, 64)


def test_how_tensors_lie_is_kept(tmp_path):
    g = mi.new_kernel_graph()
    x, w = g.new_input(dims=(2, 4, 8)), g.new_input(dims=(2, 8, 6), strides=(48, 1, 8))
    g.mark_output(g.matmul(x, w), strides=(24, 1, 4))
    g.to_json(tmp_path / "g.json")
    rows = json.loads((tmp_path / "g.json").read_text())
    assert [r["input_strides"] for r in rows[:2]] == [[32, 8, 1], [48, 1, 8]]
    assert rows[-1]["output_strides"] == [24, 1, 4]
    assert mi.new_kernel_graph().from_json(tmp_path / "g.json").source() == g.source()


def test_a_graph_with_block_graphs_reads_back(tmp_path):
    first = mi.new_kernel_graph().from_json(save(tmp_path / "a.json", [rms_linear(), attention("2025")]), index=1)
    first.to_json(tmp_path / "b.json")
    again = mi.new_kernel_graph().from_json(tmp_path / "b.json")
    assert canonical(again.check()) == canonical(first.check())
    assert [t.shape for t in again.outputs] == [(2, 32, 16)]


def test_a_found_graph_reads_back_and_is_verified_again(best, tmp_path):
    best.to_json(tmp_path / "found.json")
    again = mi.new_kernel_graph().from_json(tmp_path / "found.json")
    assert again.found.mugraph == best.found.mugraph and again.found.text == best.found.text
    text = (tmp_path / "found.json").read_text()
    wrong = text.replace('"rsqrt"', '"sqrt"') if '"rsqrt"' in text else text.replace('"sqrt"', '"exp"')
    assert wrong != text
    (tmp_path / "wrong.json").write_text(wrong)
    with pytest.raises(NotVerified):
        mi.new_kernel_graph().from_json(tmp_path / "wrong.json")


def test_files_that_are_no_graph(best, tmp_path):
    g = mi.new_kernel_graph()
    with pytest.raises(SavedFileUnreadable, match="no graph 3"):
        g.from_json(save(tmp_path / "a.json", [rms_linear()]), index=3)
    with pytest.raises(SavedGraphInvalid):
        g.from_json(save(tmp_path / "b.json", [[{"op_type": "kn_conv_op"}]]))
    own = best.found.json()
    with pytest.raises(SavedFileUnreadable, match="without the program"):
        g.from_json(save(tmp_path / "c.json", own))
    with pytest.raises(SavedFileUnreadable):
        g.from_json(save(tmp_path / "d.json", own | {"mugraph": {"name": "m"}}))


def test_what_is_verified_of_a_file_joins_the_search(tmp_path, capsys):
    right, wrong = list(RMS.graphs()), next(RMS.graphs("no norm"))
    file = save(tmp_path / "graphs.json", checkpoint(wrong, right[0], attention(), right[2], right[0]))
    found = mi.superoptimize(program(), previous_checkpoint=file, max_num_new_graphs=24)
    assert "2 of the 5 graphs" in capsys.readouterr().err
    given = [g for g in found if g.found.label.startswith("graphs.json")]
    assert sorted(g.found.label for g in given) == ["graphs.json, graph 1", "graphs.json, graph 3"]
    assert len(found) > len(given) and [g.found.us for g in found] == sorted(g.found.us for g in found)
    assert all("def program(" in g.found.text for g in given)


def test_a_search_goes_on_from_its_own_checkpoint(tmp_path, monkeypatch):
    from mirage.search import checkpoint

    taken = []
    real = checkpoint.Checkpoint.get
    monkeypatch.setattr(checkpoint.Checkpoint, "get", lambda self, key: taken.append(x := real(self, key)) or x)
    file = tmp_path / "search.ckpt"
    first = mi.superoptimize(program(), previous_checkpoint=str(file), max_num_new_graphs=2)
    assert taken and not any(taken)
    taken.clear()
    again = mi.superoptimize(program(), previous_checkpoint=str(file), max_num_new_graphs=2)
    assert taken and all(taken)
    assert [g.found.mugraph for g in again] == [g.found.mugraph for g in first]
    before = file.read_bytes()
    with pytest.raises(SavedFileUnreadable, match="another search"):
        mi.superoptimize(program(), previous_checkpoint=str(file), max_num_new_graphs=2, griddims=[(4, 1, 1)])
    assert file.read_bytes() == before


@pytest.mark.parametrize("data", [b"", b"[", b"{}", b'{"version": 3}', b"\x00" * 100])
def test_a_broken_file_ends_the_search_with_a_code(data, tmp_path):
    file = tmp_path / "graphs.json"
    file.write_bytes(data)
    with pytest.raises(SavedFileUnreadable) as caught:
        mi.superoptimize(program(), previous_checkpoint=str(file))
    assert caught.value.code == "MIR312" and file.read_bytes() == data
    with pytest.raises(SavedFileUnreadable):
        mi.superoptimize(program(), previous_checkpoint=str(tmp_path / "missing.json"))
    assert not (tmp_path / "missing.json").exists()
