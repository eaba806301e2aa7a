"""The reader of the original's saved graphs, of all its versions, as descriptions (`saved_data.py`).

A file is a list of graphs, each a list of operators (since September 2024; a single graph is a list of operators), or the
checkpoint object of May 2024 with such a list under `generated_graphs`. Reading checks every field's form and bounds what a
file can cost. What is wrong with the file is SavedFileUnreadable; what is wrong with one graph is kept beside it, and the
others are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, cast

from mirage.errors import SavedFileUnreadable, SavedGraphInvalid
from mirage.ir.json_value import Json, JsonObject
from mirage_original.bounded_json import parse, read_bytes
from mirage_original.operator_names import BLOCK, KERNEL, MANY, NEW, OLD, Named
from mirage_original.saved_data import MAPS, NUMBERS, SavedAttrs, SavedBlock, SavedGraph, SavedOp, SavedTensor

MOST_GRAPHS, MOST_OPERATORS, MOST_TENSORS, MOST_DIMS = 10_000, 256, 64, 4
MOST_SIZE, MOST_ELEMENTS, MOST_BLOCKS, MOST_RANGE, MOST_GUID = 1 << 31, 1 << 40, 1 << 31, 1 << 20, 1 << 64
TENSOR_FIELDS = {"guid", "dim", "num_dims"}
TENSOR_MAY = {"data_type", "layout", "after_accum", "smem_offset", "data_offset", "fp_offset"}
BLOCK_FIELDS = {"grid_dim", "block_dim", "forloop_range", "operators"}
BLOCK_MAY = {"graph_level", "reduction_dimx", "smem_offset"}
Made = list[tuple[int, SavedTensor]]  # tensors with their guids
DIMX = 64  # where an old file does not say


@dataclass(frozen=True)
class SavedEntry:
    """A graph of a file, or why it is none."""

    index: int
    graph: SavedGraph | None
    error: SavedGraphInvalid | None = None


def read(path: str) -> list[SavedEntry]:
    """The graphs of a file. Raises SavedFileUnreadable."""
    return entries(parse(read_bytes(path), path), path)


def entries(data: object, path: str) -> list[SavedEntry]:
    """The graphs of JSON data."""
    if isinstance(data, dict):
        if "mugraph" in data or "mugraphs" in data:
            raise SavedFileUnreadable(
                "it is a µGraph of this project", path=path, next_step="`mirage show` and `mirage verify` read it"
            )
        if "generated_graphs" not in data:
            raise SavedFileUnreadable("it is an object without generated_graphs", path=path)
        data = data["generated_graphs"]
        if data is None:
            data = []  # a search that had found nothing yet
    if not isinstance(data, list):
        raise SavedFileUnreadable("expected a list of graphs", path=path)
    if data and all(isinstance(x, dict) for x in data):
        if any("input_indices" in x for x in data):
            raise SavedFileUnreadable(
                "it holds symbolic graphs, whose sizes are not chosen",
                path=path,
                next_step="save the graphs that they give",
            )
        data = [data]
    if len(data) > MOST_GRAPHS:
        raise SavedFileUnreadable(f"it has more than {MOST_GRAPHS} graphs", path=path)
    return [_entry(i, x, path) for i, x in enumerate(data)]


def program(path: str) -> SavedGraph:
    """The program of a file: its one graph, or what a checkpoint of May 2024 was searching for. Raises SavedFileUnreadable,
    SavedGraphInvalid."""
    data = parse(read_bytes(path), path)
    if isinstance(data, dict) and data.get("computation_graph"):
        data = [data["computation_graph"]]
    found = entries(data, path)
    if len(found) != 1:
        raise SavedFileUnreadable(f"it has {len(found)} graphs: which is the program is not said", path=path)
    if found[0].graph is None:
        assert found[0].error is not None
        raise found[0].error
    return found[0].graph


def _entry(index: int, data: object, path: str) -> SavedEntry:
    try:
        return SavedEntry(index, _Reader(f"graph {index}", path).graph(data))
    except SavedGraphInvalid as e:
        return SavedEntry(index, None, e)


class _Reader:
    """Reads one graph; `place` says where it is."""

    def __init__(self, place: str, path: str) -> None:
        self.top, self.place, self.path = place, place, path
        self.codes: set[int] = set()
        self.notes: set[str] = set()

    def fail(self, message: str) -> NoReturn:
        raise SavedGraphInvalid(f"{self.place}: {message}", path=self.path)

    # ---- graphs
    def graph(self, data: object) -> SavedGraph:
        rows = self.items(data, "a graph", MOST_OPERATORS)
        if not rows:
            self.fail("it has no operator")
        self.codes = self._codes(rows)
        names = self.numbering()
        tensors: list[SavedTensor] = []
        places: dict[int, int] = {}
        ops: list[SavedOp] = []
        for i, row in enumerate(rows):
            self.place = f"{self.top}, operator {i}"
            named, fields = self.operator(row, KERNEL)
            args = self.args(fields, named.takes, places, tensors)
            outs = self.new_all(self.made(fields, named.gives, names), tensors, places)
            block = None
            if named.op == "customized":
                block = self.block(fields["bgraph"], args, outs, places, tensors)
            attrs = SavedAttrs() if named.op in ("input", "output", "customized") else self.attrs(named, fields)
            if named.op == "input":
                t = tensors[outs[0]]
                tensors[outs[0]] = replace(t, strides=self.strides(fields.get("input_strides"), t.shape))
            if named.op == "output":
                strides = self.strides(fields.get("output_strides"), tensors[args[0]].shape)
                attrs = SavedAttrs() if strides is None else SavedAttrs(strides=strides)
            ops.append(SavedOp(named.op, args, outs, attrs, block))
        self.place = self.top
        if not any(o.op not in ("input", "output") for o in ops):
            self.fail("it computes nothing")
        return SavedGraph(tuple(tensors), tuple(ops), tuple(sorted(self.notes)))

    def block(
        self,
        data: object,
        args: tuple[int, ...],
        outs: tuple[int, ...],
        above: Mapping[int, int],
        outside: Sequence[SavedTensor],
    ) -> SavedBlock:
        """`args` and `outs`: the kernel's; `above`: the kernel graph's tensors (`outside`) by guid."""
        place = self.place
        have = self.fields(data, "a block graph", BLOCK_FIELDS, BLOCK_MAY)
        grid, threads = (self.xyz(have[k], k, 1, MOST_BLOCKS) for k in ("grid_dim", "block_dim"))
        if math.prod(grid) > MOST_BLOCKS or math.prod(threads) > 1024:
            self.fail(f"a grid of {grid} blocks of {threads} threads")
        forloop_range = self.whole(have["forloop_range"], "forloop_range", 1, MOST_RANGE)
        dimx = self.whole(have.get("reduction_dimx", DIMX), "reduction_dimx", 1, MOST_SIZE)
        tensors: list[SavedTensor] = []
        places: dict[int, int] = {}
        ops: list[SavedOp] = []
        accumulates = False
        for i, row in enumerate(self.items(have["operators"], "operators", MOST_OPERATORS)):
            self.place = f"{place}, block operator {i}"
            named, fields = self.operator(row, BLOCK)
            taken = self.args(fields, named.takes, places, tensors)
            made = self.made(fields, named.gives, {})
            attrs = self.attrs(named, fields)
            accumulates = accumulates or named.op.startswith("forloop_accum")
            if named.op in ("input", "output"):
                attrs["source"] = self.known(fields["dtensor"], above, outside)
                if attrs["source"] not in (args if named.op == "input" else outs):
                    self.fail(f"its dtensor is no {named.op} of the kernel")
            if named.op == "output" and made:
                # in the files of May 2024 a saver sums over the loop, and the sum is a tensor of its own
                if accumulates:
                    self.fail("its saver sums over the loop, beside an accumulator")
                ops.append(SavedOp("forloop_accum", taken, self.new_all(made, tensors, places), {"acc": None}))
                taken, made = ops[-1].outs, []
            if named.op == "reduction_to_dimx" and "reduction_dimx" not in have and made:
                dimx = (made[0][1].shape + (DIMX,) * MOST_DIMS)[attrs["dim"]]
            ops.append(SavedOp(named.op, taken, self.new_all(made, tensors, places), attrs))
        self.place = place
        written = [o.attrs["source"] for o in ops if o.op == "output"]
        if sorted(written) != sorted(outs):
            self.fail("its savers do not write each of the kernel's outputs once")
        return SavedBlock(grid, threads, forloop_range, dimx, tuple(tensors), tuple(ops))

    # ---- operators
    def operator(self, row: object, table: Mapping[str, Named]) -> tuple[Named, JsonObject]:
        """What its name stands for, and its further fields."""
        if not isinstance(row, dict):
            self.fail("expected an operator, which is an object")
        name = row.get("op_type")
        if not isinstance(name, str) or name not in table:
            self.fail(f"the operator {shown(name)} cannot be read")
        named = table[name]
        have = self.fields(row, name, {"op_type", "input_tensors", "output_tensors"}, set(named.fields))
        if missing := [f for f in named.needs if f not in have]:
            self.fail(f"the file does not say {' and '.join(missing)} of {name}, so nobody knows what it computes")
        return named, have

    def attrs(self, named: Named, fields: Mapping[str, object]) -> SavedAttrs:
        out = cast(SavedAttrs, dict(named.attrs))  # the table's words are its fields
        for name in MAPS:
            if name in fields:
                out[name] = self.xyz(fields[name], name, -1, MOST_DIMS - 1)
        if "forloop_dim" in fields:
            out["forloop_dim"] = self.whole(fields["forloop_dim"], "forloop_dim", -1, MOST_DIMS - 1)
        for number in NUMBERS:
            if number in fields:
                out[number] = self.number(fields[number], number)
        for key in ("reduce_dim", "concat_dim"):
            if fields.get(key, out.get("dim")) != out.get("dim"):
                self.fail(f"its {key} is {shown(fields[key])}, its name says {out.get('dim')}")
        if fields.get("epilogue", "tb_epilogue_none") not in ("tb_epilogue_none", 3100):
            self.fail("its epilogue joins several GPUs")
        return out

    def args(
        self, row: Mapping[str, object], takes: int, places: Mapping[int, int], tensors: Sequence[SavedTensor]
    ) -> tuple[int, ...]:
        rows = self.items(row["input_tensors"], "input_tensors", MOST_TENSORS)
        if takes != MANY and len(rows) != takes:
            self.fail(f"{row['op_type']} takes {takes} tensors, not {len(rows)}")
        return tuple(self.known(x, places, tensors) for x in rows)

    def known(self, data: object, places: Mapping[int, int], tensors: Sequence[SavedTensor]) -> int:
        """The place of a tensor that was made before, with the sizes that it has there."""
        guid, here = self.tensor(data, {})
        if guid not in places:
            self.fail(f"it reads tensor {guid}, which nothing before it makes")
        made = tensors[places[guid]].shape
        if made != here.shape:
            self.fail(f"tensor {guid} has the sizes {here.shape} here, and {made} where it is made")
        return places[guid]

    def made(self, row: Mapping[str, object], gives: int, names: Mapping[int, str]) -> Made:
        rows = self.items(row["output_tensors"], "output_tensors", MOST_TENSORS)
        if gives != MANY and len(rows) != gives:
            self.fail(f"{row['op_type']} gives {gives} tensors, not {len(rows)}")
        return [self.tensor(x, names) for x in rows]

    def new_all(self, made: Made, tensors: list[SavedTensor], places: dict[int, int]) -> tuple[int, ...]:
        for guid, tensor in made:
            if guid in places:
                self.fail(f"tensor {guid} is made twice")
            tensors.append(tensor)
            places[guid] = len(tensors) - 1
        return tuple(places[guid] for guid, _ in made)

    def tensor(self, data: object, names: Mapping[int, str]) -> tuple[int, SavedTensor]:
        """(its guid, the tensor), its dtype by `names` of codes."""
        have = self.fields(data, "a tensor", TENSOR_FIELDS, TENSOR_MAY)
        guid = self.whole(have["guid"], "guid", -MOST_GUID, MOST_GUID)
        rank = self.whole(have["num_dims"], "num_dims", 1, MOST_DIMS)
        dims = self.items(have["dim"], "dim", 16)
        if len(dims) < rank:
            self.fail(f"a tensor of {rank} dims has {len(dims)} sizes")
        shape = tuple(self.whole(n, "a size", 1, MOST_SIZE) for n in dims[:rank])
        if math.prod(shape) > MOST_ELEMENTS:
            self.fail(f"a tensor of {shape} has more than 2^40 elements")
        if have.get("layout") == "DmemColumnMajor":
            self.notes.add("a tensor is column-major: its values are judged, wherever they lie")
        if not names:
            return guid, SavedTensor(shape)
        code = have.get("data_type")
        if type(code) is not int or code not in names:
            self.fail(f"its data_type is {shown(code)}")
        return guid, SavedTensor(shape, names[code])

    def strides(self, data: object, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """None for row-major."""
        if data is None:
            return None
        have = tuple(self.whole(n, "a stride", 0, MOST_ELEMENTS) for n in self.items(data, "strides", MOST_DIMS))
        if have == tuple(math.prod(shape[i + 1 :]) for i in range(len(shape))):
            return None
        self.notes.add(f"a tensor of {shape} has the strides {have}: its values are judged, wherever they lie")
        return have

    # ---- dtypes
    def _codes(self, rows: Sequence[object]) -> set[int]:
        found = set()
        for row in rows:
            outs = row.get("output_tensors") if isinstance(row, dict) else None
            for x in outs if isinstance(outs, list) else ():
                code = x.get("data_type") if isinstance(x, dict) else None
                if type(code) is int:
                    found.add(code)
        return found

    def numbering(self) -> Mapping[int, str]:
        """The codes' names: at first 921 was float16, since the end of 2024 it is 941. 920, 930 and 940 are in both: they
        are read as the dtypes that kernels had then, bfloat16, float32 and bfloat16; the program's own decide."""
        old, new = self.codes & (OLD.keys() - NEW.keys()), self.codes & (NEW.keys() - OLD.keys())
        if old and new:
            self.fail(f"its data_types {sorted(self.codes)} are of two numberings")
        return NEW if new or (not old and 940 in self.codes) else OLD

    # ---- JSON
    def fields(self, data: object, what: str, needs: set[str], may: set[str]) -> JsonObject:
        if not isinstance(data, dict):
            self.fail(f"expected {what}, which is an object")
        if missing := sorted(needs - data.keys()):
            self.fail(f"{what} lacks {missing[0]}")
        if odd := sorted(data.keys() - needs - may):
            self.fail(f"{what} has an unknown field {odd[0][:60]!r}")
        return data

    def items(self, data: object, what: str, most: int) -> list[Json]:
        if data is None and what == "operators":
            data = []
        if not isinstance(data, list):
            self.fail(f"expected {what}, which is a list")
        if len(data) > most:
            self.fail(f"{what} has more than {most} entries")
        return data

    def whole(self, data: object, what: str, least: int, most: int) -> int:
        if not isinstance(data, int) or isinstance(data, bool) or not least <= data <= most:
            self.fail(f"{what} is {shown(data)}, not a number from {least} to {most}")
        return data

    def number(self, data: object, what: str) -> float:
        if not isinstance(data, (int, float)) or isinstance(data, bool) or not math.isfinite(data) or abs(data) > 1e300:
            self.fail(f"{what} is no number")
        return float(data)

    def xyz(self, data: object, what: str, least: int, most: int) -> tuple[int, int, int]:
        have = self.fields(data, what, {"x", "y", "z"}, set())
        x, y, z = (self.whole(have[k], f"{what}.{k}", least, most) for k in "xyz")
        return x, y, z


def shown(data: object) -> str:
    """A value of a file for a message, short whatever it is."""
    if isinstance(data, str):
        return repr(data[:60])
    if isinstance(data, int | float) or data is None:
        return str(data)[:30]
    return "a list" if isinstance(data, list) else "an object"
