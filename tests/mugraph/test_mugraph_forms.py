"""Text and JSON: what is written reads back exactly; what is off is refused, at a bounded cost."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workloads.hand import BUILDERS, real, small

from mirage.errors import MugraphSyntax
from mirage.ir.index import DimIndex
from mirage.mugraph.draw import svg
from mirage.mugraph.grammar import Compute, CustomKernel, DTensor, LibraryKernel, Load, MuGraph, TileDim
from mirage.mugraph.json_form import from_json, to_json
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.plan import plan

NAMES = sorted(BUILDERS)


def _odd() -> MuGraph:
    """A µGraph with every rare form: offsets, flattened axes, rigid sizes, pads, attributes, notes."""
    m = small()["attention_tail"].mugraph
    k = m.kernels[0]
    assert isinstance(k, CustomKernel)
    rare = (
        Load("r1", "Q", (DimIndex(("h", "q"), 4), DimIndex((), 3), DimIndex()), ("h", "q"), float("inf")),
        Load("r2", "Q", (), (), -0.0),
        Load("r3", "Q", (DimIndex((), -2),), (), 1e-30),
        Compute("r4", "index", (), (), (("axis", "h"), ("value", "~-0.125e-3"))),
        Compute("r5", "add", ("m@old", "r4"), (), (("k", "-3/7"),)),
    )
    block = replace(k.block, dims=(*k.block.dims, TileDim("hq", ("h", "q"), 8, "grid")), body=(*rare, *k.block.body))
    library = LibraryKernel("lib", "matmul", ("Q", "K"), "O", (("dims", (1, (2, None))), ("on", True), ("x", 0.5)))
    tensor = DTensor("R", "bf16", (("h", "q"), (), ("d",)), (None, 3, 99))
    kernels = (replace(k, block=block), library)
    return replace(m, tensors=(*m.tensors, tensor), kernels=kernels, notes=('a "note", µ',))


def _graphs() -> list[MuGraph]:
    made = [c.mugraph for c in small().values()] + [real(n).mugraph for n in NAMES]
    return made + [plan(m) for m in made] + [_odd()]


def test_text_reads_back_exactly() -> None:
    for m in _graphs():
        text = to_text(m)
        back = parse(text)
        assert back == m and back.notes == m.notes and to_text(back) == text


def test_json_reads_back_exactly() -> None:
    for m in _graphs():
        data = json.loads(json.dumps(to_json(m), allow_nan=False))
        back = from_json(data)
        assert back == m and back.notes == m.notes and to_json(back) == data


def test_a_negative_zero_pad_survives() -> None:
    assert "pad -0.0" in to_text(parse(to_text(_odd())))


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    m = plan(real(name).mugraph)
    golden(f"mugraph/{name}.txt", to_text(m))
    golden(f"mugraph/{name}.svg", svg(m))


@pytest.mark.parametrize("name", NAMES)
def test_svg_is_wellformed_and_says_what_it_shows(name: str) -> None:
    m = small()[name].mugraph
    root = ElementTree.fromstring(svg(m))
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg" and root.attrib["role"] == "img" and m.name in root.attrib["aria-label"]
    words = "\n".join(t.text or "" for t in root.iter(space + "text"))
    for k in m.kernels:
        assert f"kernel {k.name}" in words
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for r in root.iter(space + "rect"):
        assert float(r.attrib["x"]) + float(r.attrib["width"]) <= width + 0.01
        assert float(r.attrib["y"]) + float(r.attrib["height"]) <= height + 0.01


def test_svg_escapes_what_it_quotes() -> None:
    m = replace(small()["gated_mlp"].mugraph, name="a<b&c")
    ElementTree.fromstring(svg(m))
    assert "a<b" not in svg(m)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mugraph rmsnorm_linear\n", ""),
        ("axes m=19", "axes m=x"),
        ("input X fp16", "inptu X fp16"),
        ("tile 32", "tile big"),
        ("loop tile", "lop tile"),
        ("x[m, k] = load X[m, k]", "x[m k] = load X[m, k]"),
        ("x[m, k] = load X[m, k]", "x[m, k] = load X[m, k"),
        ("  block cluster 1:", "  tail cluster 1:"),
        ("    for k:", "     for k:"),
        ("store O[m, n] = o", "store O[m, n] = o\nstore O[m, n] = o"),
        ("const(value=1/1000000)", 'const(value="open)'),
        ("const(value=1/1000000)", "const(value=1/1000000, )"),
        ("tile 32", "tile 9999999999999999999999"),
    ],
)
def test_text_that_is_off_is_refused_with_its_line(old: str, new: str) -> None:
    text = to_text(small()["rmsnorm_linear"].mugraph)
    assert old in text
    with pytest.raises(MugraphSyntax) as error:
        parse(text.replace(old, new, 1))
    assert error.value.line is not None


def _set(path: str, value: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        *way, last = [int(p) if p.isdigit() else p for p in path.split(".")]
        for p in way:
            data = data[p]
        if value is DELETE:
            del data[last]
        else:
            data[last] = value

    return change


DELETE = object()
DEEP: Any = 1
for _ in range(400):
    DEEP = [DEEP]

HOSTILE = [
    ("version", 2), ("version", True), ("version", "1"), ("extra", 1), ("mugraph", None), ("mugraph", []),
    ("mugraph.name", 3), ("mugraph.name", "x" * 101), ("mugraph.name", "a b"), ("mugraph.name", DELETE),
    ("mugraph.more", 1), ("mugraph.axes", {"m": 3}), ("mugraph.axes.0", ["m"]), ("mugraph.axes.0.1", 3.0),
    ("mugraph.axes.0.1", 1 << 60), ("mugraph.axes.0.1", True), ("mugraph.axes", [["m", 2]] * 30_000),
    ("mugraph.tensors.0.kind", "spare"), ("mugraph.tensors.0.kind", ["input"]), ("mugraph.tensors.0.rigid", [1.5]),
    ("mugraph.kernels.0.node", "BlockGraph"), ("mugraph.kernels.0.node", ["x"]), ("mugraph.kernels.0", "k"),
    ("mugraph.kernels.0.block.dims.0.role", "grids"), ("mugraph.kernels.0.block.dims.0.role", None),
    ("mugraph.kernels.0.block.body.0.node", "Kernel"), ("mugraph.kernels.0.block.body.0.body.0.node", "Loop"),
    ("mugraph.kernels.0.block.body.0.body.0.pad", "NaN"), ("mugraph.kernels.0.block.body.0.body.0.pad", None),
    ("mugraph.kernels.0.block.body.0.body.3.attrs", [["k", 1]]), ("mugraph.kernels.0.tail", []),
    ("mugraph.notes", [1]), ("mugraph.notes", ["x" * 20_000]), ("mugraph.notes", DEEP),
    ("mugraph.tensors", [[[0] * 1000] * 1000]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), HOSTILE)
def test_json_that_is_off_is_refused(path: str, value: Any) -> None:
    data = copy.deepcopy(to_json(small()["rmsnorm_linear"].mugraph))
    _set(path, value)(data)
    with pytest.raises(MugraphSyntax):
        from_json(data)


@pytest.mark.parametrize(
    "value", ["a, x=1", 'we"ird', "", "0; raise", "1e99999999", "1" * 401, "~" + "9" * 99, "f()", "x.y", "\u2028"]
)
def test_a_block_operators_attribute_is_a_name_or_a_short_number(value: str) -> None:
    m = small()["rmsnorm_linear"].mugraph
    text, data = to_text(m), to_json(m)
    statement = next(s for s in data["mugraph"]["kernels"][0]["block"]["body"] if s.get("attrs"))
    key, old = statement["attrs"][0]
    assert from_json(data) == m and f"{key}={old}" in text
    statement["attrs"][0][1] = value
    with pytest.raises(MugraphSyntax):
        from_json(data)
    with pytest.raises(MugraphSyntax):
        parse(text.replace(f"{key}={old}", f"{key}={json.dumps(value)}", 1))


@pytest.mark.parametrize("value", [{}, [[[1]]] * 3, {"a": 1}, DEEP])
def test_a_library_attribute_is_plain_and_shallow(value: Any) -> None:
    m = _odd()
    data = json.loads(json.dumps(to_json(m)))
    data["mugraph"]["kernels"][1]["attrs"][0][1] = value
    if value == [[[1]]] * 3:
        assert from_json(data) != m
    else:
        with pytest.raises(MugraphSyntax):
            from_json(data)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_text_is_read_or_refused(data: st.DataObject) -> None:
    text = to_text(small()["attention_tail"].mugraph)
    at = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 12))
    put = data.draw(st.text(alphabet='[]()=;,@*+ \nabc019"', max_size=4))
    damaged = text[:at] + put + text[at + length :]
    try:
        m = parse(damaged)
    except MugraphSyntax:
        return
    assert parse(to_text(m)) == m
