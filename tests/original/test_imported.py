"""Saved graphs built again: what they state is compared with what follows, and they are written as they were."""

from __future__ import annotations

import json

import pytest
from written import Block, Kernels, attention, rms_linear

from mirage.errors import SavedGraphInvalid
from mirage_original import export_2025, saved_files
from mirage_original.rebuild_saved import build


def read(rows):
    (entry,) = saved_files.entries([json.loads(json.dumps(rows))], "g.json")
    assert entry.graph is not None, entry.error
    return entry.graph


@pytest.mark.parametrize(
    "rows",
    [rms_linear(), rms_linear("2024-12", rms="red_ld_mean"), attention(), attention("2025"), attention(grid=4, loop=1)],
    ids=["rms", "mean", "May 2024", "2025", "one iteration"],
)
def test_a_graph_is_built_and_written_as_it_was(rows):
    saved = read(rows)
    g = build(saved)
    assert [t.shape for t in g.outputs] == [saved.tensors[p].shape for p in saved.outputs]
    again = export_2025.describe(g)
    assert again.tensors == saved.tensors and again.outputs == saved.outputs
    (entry,) = saved_files.entries(json.loads(json.dumps(export_2025.form([again]))), "again")
    marks = [o for o in entry.graph.ops if o.op == "output"]  # May 2024 has none
    assert len(marks) == 1
    assert export_2025.describe(build(entry.graph)).ops == (*(o for o in again.ops if o.op != "output"), *marks)


def online():
    """Attention with a running maximum, as the original writes it by hand."""
    g = Kernels()
    Q, K, V = g.input(2, 16, 8), g.input(2, 8, 64), g.input(2, 64, 8)
    b = Block(g, (2, 1, 1), 4)
    q, k, v = b.input(Q, (1, 16, 8), (0,), -1), b.input(K, (1, 8, 16), (0,), 2), b.input(V, (1, 16, 8), (0,), 1)
    s = b.op("matmul", [q, k], (1, 16, 16))
    top, change = b.tensor((1, 16, 1)), b.tensor((1, 16, 1))
    b.rows.append({"op_type": "tb_reduction_2_max_op", "input_tensors": [s], "output_tensors": [top, change]})
    e = b.op("exp", [b.op("sub", [s, top], (1, 16, 16))], (1, 16, 16))
    r = b.op("exp", [change], (1, 16, 1))

    def rescaled(kind, t, shape):
        out = b.tensor(shape, after=True)
        b.rows.append({"op_type": f"tb_forloop_accum_{kind}_op", "input_tensors": [t, r], "output_tensors": [out]})
        return out

    total = rescaled("red_ld_sum_rescale", e, (1, 16, 1))
    o = rescaled("nored_rescale", b.op("matmul", [e, v], (1, 16, 8)), (1, 16, 8))
    b.output(b.op("div", [o, total], (1, 16, 8), after=True), (2, 16, 8), (0,))
    return g.output(g.custom(b)[0]).rows


def test_a_running_maximum_is_written_as_it_was():
    saved = read(online())
    assert [o.op for o in saved.ops[3].block.ops].count("forloop_accum_rescale") == 2
    again = export_2025.form([export_2025.describe(build(saved))])
    (entry,) = saved_files.entries(again, "again")
    assert export_2025.describe(build(entry.graph)) == export_2025.describe(build(saved))


def lying(change):
    rows = json.loads(json.dumps(rms_linear()))
    change(rows[2]["bgraph"]["operators"], rows[2]["bgraph"], rows)
    return rows


def everywhere(rows, guid, **fields):
    """Another statement about a tensor, in every place where it stands."""
    if isinstance(rows, dict):
        if rows.get("guid") == guid:
            rows.update(fields)
        rows = list(rows.values())
    if isinstance(rows, list):
        for x in rows:
            everywhere(x, guid, **fields)


def result(ops, i):
    return ops[i]["output_tensors"][0]["guid"]


LIES = {
    "the tile of an input": lambda ops, b, rows: everywhere(rows, result(ops, 1), dim=[16, 32, 0, 0]),
    "the size of a result": lambda ops, b, rows: everywhere(rows, result(ops, 5), dim=[4, 32, 0, 0]),
    "the size of an output": lambda ops, b, rows: everywhere(rows, rows[2]["output_tensors"][0]["guid"], dim=[4, 128, 0, 0]),
    "a grid that does not divide": lambda ops, b, rows: b["grid_dim"].update(x=7),
    "a loop that does not divide": lambda ops, b, rows: b.update(forloop_range=7),
    "another map": lambda ops, b, rows: ops[1]["input_map"].update(x=0),
    "blocks that write the same": lambda ops, b, rows: ops[-1]["output_map"].update(x=-1),
    "both sides of the loop": lambda ops, b, rows: ops[5].update(input_tensors=[ops[4]["output_tensors"][0], ops[3]["output_tensors"][0]]),
    "no accumulator": lambda ops, b, rows: ops[-1].update(input_tensors=[ops[3]["output_tensors"][0]]),
    "7 threads": lambda ops, b, rows: b["block_dim"].update(x=7),
}  # fmt: skip


@pytest.mark.parametrize("what", LIES)
def test_what_does_not_follow_has_a_place(what):
    saved = read(lying(LIES[what]))
    with pytest.raises(SavedGraphInvalid) as caught:
        build(saved, "graph 5", "g.json")
    assert caught.value.path == "g.json" and caught.value.message.startswith("graph 5, operator 2")
