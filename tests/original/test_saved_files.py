"""Reading the original's files: every version, and every way in which a file can be broken or hostile."""

from __future__ import annotations

import json
import random
import time
import tracemalloc

import pytest
from written import Block, Kernels, attention, checkpoint, rms_linear, save, xyz

from mirage.errors import MirageError, SavedFileUnreadable
from mirage_original import export_2025, saved_files
from mirage_original.saved_files import MOST_OPERATORS

VERSIONS = {
    "May 2024": (checkpoint(attention(), attention()), 2),
    "December 2024": ([rms_linear("2024-12"), attention("2024-12")], 2),
    "2025": ([rms_linear("2025")] * 3, 3),
    "a single graph": (rms_linear(), 1),
    "a search that found nothing": (checkpoint(), 0),
    "an empty list": ([], 0),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read(version, tmp_path):
    data, count = VERSIONS[version]
    found = saved_files.read(save(tmp_path / "graphs.json", data))
    assert len(found) == count and not [e.error for e in found if e.error]


@pytest.mark.parametrize("style", ["2024-05", "2024-12", "2025"])
def test_a_block_graph_says_the_same_in_every_version(style):
    """The savers of May 2024 sum over the loop; later there are accumulators."""
    (entry,) = saved_files.entries([attention(style)], "x")
    (kernel,) = [o for o in entry.graph.ops if o.op == "customized"]
    b = kernel.block
    assert (b.grid, b.forloop_range) == ((2, 2, 1), 4)
    assert [o.attrs["input_map"] for o in b.ops if o.op == "input"] == [(0, 1, -1), (0, -1, -1), (0, -1, -1)]
    assert [o.attrs["forloop_dim"] for o in b.ops if o.op == "input"] == [-1, 2, 1]
    sums = [o for o in b.ops if o.op == "forloop_accum"]
    savers = [o for o in b.ops if o.op == "output"]
    assert [o.attrs["acc"] for o in sums] == [None, None]
    assert [o.args for o in savers] == [o.outs for o in sums]
    assert [entry.graph.tensors[p].shape for p in entry.graph.outputs] == [(2, 32, 16)]
    assert all(t.dtype == "float16" for t in entry.graph.tensors)
    assert any("column-major" in n for n in entry.graph.notes)


def test_what_is_read_is_what_was_written():
    for rows in (rms_linear(), attention("2025"), rms_linear("2024-12", rms="red_ld_mean")):
        (entry,) = saved_files.entries([rows], "x")
        again = saved_files.entries(json.loads(json.dumps(export_2025.form([entry.graph]))), "x")
        assert (again[0].graph.tensors, again[0].graph.ops) == (entry.graph.tensors, entry.graph.ops)


@pytest.mark.parametrize(
    ("codes", "names"),
    [
        ((921, 921), {"float16"}), ((941, 941), {"float16"}), ((920, 920), {"bfloat16"}), ((940, 940), {"bfloat16"}),
        ((921, 930), {"float16", "float32"}), ((941, 930), {"float16", "float8_e4m3"}), ((950, 950), {"float32"}),
    ],
)  # fmt: skip
def test_dtype_codes_of_both_numberings(codes, names):
    g = Kernels()
    a, b = g.input(4, 4), g.input(4, 4)
    a["data_type"], b["data_type"] = codes
    g.op("exp", [a], (4, 4))["data_type"] = codes[0]
    g.op("exp", [b], (4, 4))["data_type"] = codes[1]
    (entry,) = saved_files.entries([g.rows], "x")
    assert {t.dtype for t in entry.graph.tensors} == names


# ---- broken and hostile files
def deep(n):
    return b"[" * n + b"]" * n


BROKEN = {  # what -> bytes; the file as a whole is refused
    "nothing": b"",
    "white space": b" \n\t ",
    "no JSON": b"graphs: 3",
    "cut off": json.dumps([rms_linear()]).encode()[:2000],
    "something behind": json.dumps([rms_linear()]).encode() + b"]",
    "a number": b"7",
    "a text": b'"graphs"',
    "null": b"null",
    "an object of something else": b'{"version": 1, "mugraph": {}}',
    "a checkpoint of something else": b'{"generated_graphs": {"a": 1}}',
    "nested deeply": deep(200_000),
    "nested a little too deep": deep(65),
    "nested objects": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "not UTF-8": b"\xff\xfe[]",
    "NaN": b"[[NaN]]",
    "infinity": b"[[-Infinity]]",
    "a number beyond all": b"[[1e999]]",
    "an integer of 100,000 digits": b"[[" + b"9" * 100_000 + b"]]",
    "a field twice": b'[[{"op_type": "kn_exp_op", "op_type": "kn_input_op"}]]',
    "too many values": b"[" + b"0," * 3_000_001 + b"0]",
    "too many bytes": b"[" + b" " * (33 << 20) + b"]",
    "too many graphs": b"[" + b"[]," * 10_000 + b"[]]",
    "symbolic graphs": b'[{"operators": [], "tensors": [], "input_indices": [], "output_indices": [], "conds": []}]',
    "a surrogate alone": b'["\\ud800"' ,
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_has_a_code(what, tmp_path):
    path = tmp_path / "graphs.json"
    path.write_bytes(BROKEN[what])
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(SavedFileUnreadable) as caught:
        saved_files.read(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.code == "MIR312" and caught.value.path == str(path) and len(str(caught.value)) < 600
    assert time.process_time() - began < 10 and peak < 400 << 20


@pytest.mark.parametrize("where", ["missing.json", ".", "/dev/zero", "a\0b"])
def test_what_is_no_file_has_a_code(where, tmp_path):
    with pytest.raises(SavedFileUnreadable):
        saved_files.read(where if where.startswith("/") else str(tmp_path / where))


def bgraph(rows):
    return next(r for r in rows if r["op_type"] == "kn_customized_op")["bgraph"]


def at(rows, *path_and_value):
    """rows with the value at a path of keys; a callable is given what is there."""
    *path, value = path_and_value
    here = rows
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value(here[path[-1]]) if callable(value) else value


def inside(*path_and_value):
    return lambda rows: at(bgraph(rows), *path_and_value)


def outer(*path_and_value):
    return lambda rows: at(rows, *path_and_value)


OUT = ("output_tensors", 0)
HOSTILE = {  # what -> what is done to a right graph, and words of the message
    "no operator": (lambda rows: rows.clear(), "no operator"),
    "inputs alone": (lambda rows: rows.__delitem__(slice(2, None)), "computes nothing"),
    "no object": (outer(2, 7), "operator"),
    "an unknown operator": (outer(2, "op_type", "kn_concat_9_op"), "kn_concat_9_op"),
    "an operator's name is a list": (outer(2, "op_type", []), "a list"),
    "an operator of another level": (outer(2, "op_type", "tb_matmul_op"), "tb_matmul_op"),
    "a field is missing": (lambda rows: rows[0].pop("output_tensors"), "output_tensors"),
    "an unknown field": (outer(0, "believe_me", True), "believe_me"),
    "an unknown field with a long name": (outer(0, "x" * 100_000, True), "xxx"),
    "a size of 10^9 a dim": (outer(0, *OUT, "dim", [10**9] * 4), "2^40"),
    "a size beyond": (outer(0, *OUT, "dim", [10**30, 1, 0, 0]), "a size"),
    "a negative size": (outer(0, *OUT, "dim", [-4, 64, 0, 0]), "a size"),
    "a size of zero": (outer(0, *OUT, "dim", [0, 64, 0, 0]), "a size"),
    "a size is a truth value": (outer(0, *OUT, "dim", [True, 64, 0, 0]), "a size"),
    "a size is a fraction": (outer(0, *OUT, "dim", [4.5, 64, 0, 0]), "a size"),
    "no sizes": (outer(0, *OUT, "dim", []), "sizes"),
    "sizes are a text": (outer(0, *OUT, "dim", "4,64"), "list"),
    "five dims": (outer(0, *OUT, "num_dims", 5), "num_dims"),
    "a dtype that is none": (outer(0, *OUT, "data_type", 999), "data_type"),
    "a dtype that is a list": (outer(0, *OUT, "data_type", [941]), "data_type"),
    "two numberings of dtypes": (outer(0, *OUT, "data_type", 921), "numberings"),
    "a guid that is a text": (outer(0, *OUT, "guid", "1"), "guid"),
    "a guid without end": (outer(0, *OUT, "guid", 10**4000), "guid"),
    "a guid twice": (lambda rows: at(rows, 1, *OUT, "guid", rows[0]["output_tensors"][0]["guid"]), "twice"),
    "a tensor from nowhere": (outer(2, "input_tensors", 0, "guid", 5), "nothing before it"),
    "a cycle": (lambda rows: rows.insert(0, rows.pop(3)), "nothing before it"),
    "a cycle inside": (lambda rows: at(bgraph(rows), "operators", lambda ops: ops[::-1]), "nothing before it"),
    "three operands of a product": (inside("operators", 3, "input_tensors", lambda x: x * 2), "takes"),
    "no grid": (lambda rows: bgraph(rows).pop("grid_dim"), "grid_dim"),
    "a grid without end": (inside("grid_dim", xyz(10**12, 1, 1)), "grid_dim"),
    "a grid of many blocks": (inside("grid_dim", xyz(10**9, 10**9, 10**9)), "blocks"),
    "a grid of zero": (inside("grid_dim", xyz(0, 1, 1)), "grid_dim"),
    "threads without end": (inside("block_dim", xyz(4096, 4096, 1)), "threads"),
    "a loop without end": (inside("forloop_range", 10**15), "forloop_range"),
    "a loop of no iteration": (inside("forloop_range", 0), "forloop_range"),
    "a map beyond": (inside("operators", 0, "input_map", xyz(99)), "input_map"),
    "a map with one entry": (inside("operators", 0, "input_map", {"x": 1}), "lacks"),
    "a loop's dim beyond": (inside("operators", 0, "forloop_dim", 4), "forloop_dim"),
    "an iterator of no tensor": (inside("operators", 0, "dtensor", "guid", 3), "nothing before it"),
    "an iterator of an output": (
        lambda rows: at(bgraph(rows), "operators", 0, "dtensor", rows[2]["output_tensors"][0]), "no input of"),
    "a saver of an input": (
        lambda rows: at(bgraph(rows), "operators", -1, "dtensor", rows[0]["output_tensors"][0]), "no output of"),
    "other sizes where it is read": (outer(2, "input_tensors", 0, "dim", [8, 64, 0, 0]), "where it is made"),
    "other sizes inside": (inside("operators", 3, "input_tensors", 0, "dim", [4, 32, 0, 0]), "where it is made"),
    "no saver": (lambda rows: bgraph(rows)["operators"].pop(), "savers"),
    "a saver twice": (lambda rows: at(bgraph(rows), "operators", lambda o: [*o, o[-1]]), "savers"),
    "no operators inside": (inside("operators", None), "savers"),
    "operators inside are an object": (inside("operators", {}), "list"),
    "several GPUs": (inside("operators", -1, "epilogue", "tb_epilogue_allreduce"), "GPUs"),
    "too many operators": (outer(slice(0, 0), [{}] * (MOST_OPERATORS + 1)), "entries"),
    "a clamp without bounds": (inside("operators", 5, "op_type", "tb_clamp_op"), "min_val"),
    "a factor that the file leaves out": (inside("operators", 5, "op_type", "tb_mul_scalar_op"), "scalar"),
    "another dim than the name says": (
        lambda rows: bgraph(rows)["operators"][2].update(op_type="tb_reduction_1_op", reduce_dim=0), "reduce_dim"),
    "nested graphs": (lambda rows: at(rows, 2, [[[[]]]]), "operator"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_graph_has_a_code_and_the_others_are_read(what):
    change, words = HOSTILE[what]
    rows = json.loads(json.dumps(rms_linear()))  # no tensor is one object in two places
    change(rows)
    first, hostile, last = saved_files.entries([rms_linear(), rows, rms_linear()], "graphs.json")
    assert first.graph is not None and last.graph is not None
    assert hostile.graph is None and hostile.error.code == "MIR313"
    text = str(hostile.error)
    assert words in text and "graph 1" in text and "graphs.json" in text and len(text) < 600


def test_the_place_of_a_fault_is_said():
    rows = rms_linear()
    bgraph(rows)["operators"][3]["op_type"] = "tb_conv_op"
    (entry,) = saved_files.entries([rows], "g.json")
    assert "graph 0, operator 2, block operator 3: the operator 'tb_conv_op'" in str(entry.error)


def test_random_damage_is_read_or_has_a_code():
    """1,500 damaged files: bytes changed, cut and doubled, and values swapped for others."""
    r = random.Random(7)
    good = json.dumps([rms_linear("2025"), attention("2024-05")]).encode()
    values = [None, -1, 0, 10**18, 1.5, "kn_exp_op", [], {}, True, [[]], {"x": 1}, "tb_output_op"]
    faults = 0
    for _ in range(1500):
        data = bytearray(good)
        if r.random() < 0.5:
            for _ in range(r.randint(1, 4)):
                i = r.randrange(len(data))
                data[i : i + r.randint(0, 3)] = bytes(
                    r.choice(b'[]{}",:0123456789xne-.') for _ in range(r.randint(0, 3))
                )
        else:
            tree = json.loads(good)
            here, parents = tree, []
            while isinstance(here, (list, dict)) and here and r.random() < 0.93:
                key = r.choice(list(here)) if isinstance(here, dict) else r.randrange(len(here))
                parents.append((here, key))
                here = here[key]
            if parents:
                parents[-1][0][parents[-1][1]] = r.choice(values)
            data = bytearray(json.dumps(tree).encode())
        try:
            entries = saved_files.entries(saved_files.parse(bytes(data), "f"), "f")
        except MirageError as e:
            assert e.code == "MIR312"
            faults += 1
            continue
        for entry in entries:
            assert (entry.graph is None) == (entry.error is not None)
            faults += entry.error is not None
    assert faults > 700


def test_a_block_with_two_kinds_of_sums_is_refused():
    """A saver of May 2024 beside an accumulator of later: nobody knows which of them sums."""
    g = Kernels("2024-12")
    x = g.input(4, 64)
    b = Block(g, (4, 1, 1), 4)
    y = b.accum(b.input(x, (1, 16), (0,), 1), "red_ld_sum", (1, 1))
    b.output(y, (4, 1), (0,))
    b.rows[-1]["output_tensors"] = [b.tensor((1, 1))]
    (entry,) = saved_files.entries([g.output(g.custom(b)[0]).rows], "x")
    assert "beside an accumulator" in str(entry.error)
