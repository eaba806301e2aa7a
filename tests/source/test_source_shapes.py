"""Shapes from annotations, `dims=` and `inputs=`; each way to get them wrong is an error at its place."""

from __future__ import annotations

import pytest

from mirage.errors import BadAnnotation, MissingShape, SymbolWithoutSize, ZeroSizeAxis
from mirage.source.detect import find
from mirage.source.shapes import models, read, rows

HEAD = """import mirage, torch, jaxtyping, jaxtyping as jt
from jaxtyping import *
from torch import Tensor
B, C = 2, 3
D = 4 * 8
"""


def function(signature: str, options: str = "", head: str = HEAD):
    call = f"({options})" if options else ""
    (f,) = find(f"{head}@mirage.optimize{call}\ndef f({signature}):\n    return x\n", "file.py").functions
    return f


def specs(signature: str, options: str = "", head: str = HEAD) -> list[tuple[str, tuple[int, ...], str]]:
    return [(s.name, s.shape, s.dtype) for s in read(function(signature, options, head))]


@pytest.mark.parametrize(
    ("annotation", "shape", "dtype"),
    [
        ('Float16[Tensor, "16 4096"]', (16, 4096), "fp16"),
        ('BFloat16[torch.Tensor, "8"]', (8,), "bf16"),
        ('Float32[Tensor, ""]', (), "fp32"),
        ('Float64[Tensor, "b=16 d=4"]', (16, 4), "fp64"),
        ('Float[Tensor, "2 3"]', (2, 3), "fp32"),
        ('jaxtyping.Float8e4m3fn[Tensor, "2"]', (2,), "fp8e4m3"),
        ('jt.Bool[Tensor, "2"]', (2,), "bool"),
        ('Int32[Tensor, "5 1"]', (5, 1), "int32"),
        ("\"Float16[Tensor, '7 9']\"", (7, 9), "fp16"),
        ('Float16[Tensor, f"{D} 2"]', (32, 2), "fp16"),
    ],
)
def test_annotations(annotation: str, shape: tuple[int, ...], dtype: str) -> None:
    assert specs(f"x: {annotation}") == [("x", shape, dtype)]


def test_aliases_are_followed() -> None:
    head = HEAD + 'from jaxtyping import Float16 as F16\nRow = F16[Tensor, "1 D=32"]\n'
    assert specs('x: Row, y: F16[Tensor, "3"]', head=head) == [("x", (1, 32), "fp16"), ("y", (3,), "fp16")]


def test_dims_give_rows_and_names() -> None:
    f = function('x: Float16[Tensor, "b 4096"], w: Float16[Tensor, "4096 h"], eps: float = 1e-6',
                 'dims={"b": (1, 8, 16), "h": (2, 3)}')  # fmt: skip
    assert [[s.shape for s in row] for row in rows(f)] == [[(b, 4096), (4096, h)] for b in (1, 8, 16) for h in (2, 3)]
    assert [s.names for s in read(f)] == [("b", ""), ("", "h")]


def test_a_range_gives_every_size_and_where_its_kernel_comes_from() -> None:
    f = function('x: Float16[Tensor, "b 8"], w: Float16[Tensor, "8 h"]', 'dims={"b": mirage.any(3, 9), "h": (2, 3)}')
    assert [[s.shape for s in row] for row in rows(f)] == [[(b, 8), (8, h)] for b in range(3, 10) for h in (2, 3)]
    sizes = [(row[0].shape[0], row[1].shape[1]) for row in rows(f)]
    assert [sizes[i] for i in models(f)] == [({3: 4, 4: 4}.get(b, 8 if b < 9 else 9), h) for b, h in sizes]
    assert models(function('x: Float16[Tensor, "b 8"]', 'dims={"b": (3, 4)}')) == [
        0,
        1,
    ]  # these are asked for one by one


@pytest.mark.parametrize(
    "value",
    ["any(1, 8)", "mirage.any(8)", "mirage.any(0, 8)", "mirage.any(8, 1)", "mirage.any(1, 65)", "mirage.any(least=1, most=2)",
     "range(1, 8)", "mirage.any(1, 8, 2)", "mirage.any(1, x)"],
)  # fmt: skip
def test_what_is_no_range_of_sizes_is_said_at_its_place(value: str) -> None:
    with pytest.raises(BadAnnotation) as e:
        rows(function('x: Float16[Tensor, "b 8"]', f'dims={{"b": {value}}}'))
    assert e.value.line == HEAD.count("\n") + 1 and e.value.next_step


def test_a_size_in_one_annotation_serves_the_others() -> None:
    signature = 'x: Float16[Tensor, "b=16 d"], y: Float16[Tensor, "b 2*d"]'
    assert [s[1] for s in specs(signature, 'dims={"d": 5}')] == [(16, 5), (16, 10)]


@pytest.mark.parametrize(
    "inputs",
    [
        '[((16, 4096), "fp16"), ((4096,), "bfloat16")]',
        "[((16, D * 128), torch.float16), (4096, torch.bfloat16)]",
        '[torch.empty(16, 4096, dtype=torch.half, device="meta"), torch.empty((4096,), dtype=torch.bfloat16)]',
        '[(("b", 4096), "float16"), ((4096,), "bf16")], dims={"b": 16}',
        "SHAPES",
    ],
)
def test_inputs(inputs: str) -> None:
    head = HEAD + 'HALF = "fp16"\nSHAPES = [((16, 4096), HALF), ((4096,), "bf16")]\n'
    assert specs("x, g, eps=1e-6", f"inputs={inputs}", head) == [("x", (16, 4096), "fp16"), ("g", (4096,), "bf16")]


@pytest.mark.parametrize(
    "inputs",
    [
        '[[((1, 8), "fp16"), ((8,), "bf16")], [((4, 8), "fp16"), ((8,), "bf16")]]',
        "[(torch.empty(1, 8, dtype=torch.half), ((8,), torch.bfloat16)), (((4, 8), HALF), (8, torch.bfloat16))]",
        '[[(("b", 8), "fp16"), ((8,), "bf16")]], dims={"b": (1, 4)}',
    ],
)
def test_rows_of_inputs(inputs: str) -> None:
    found = rows(function("x, g", f"inputs={inputs}", HEAD + 'HALF = "fp16"\n'))
    assert [[(s.shape, s.dtype) for s in row] for row in found] == [[((b, 8), "fp16"), ((8,), "bf16")] for b in (1, 4)]


def test_rows_of_inputs_times_dims() -> None:
    inputs = '[[(("b", 8), "fp16")], [((8, "b"), "fp16")]], dims={"b": (1, 4)}'
    assert [row[0].shape for row in rows(function("x", f"inputs={inputs}"))] == [(1, 8), (4, 8), (8, 1), (8, 4)]


def test_constants_need_no_shape() -> None:
    assert specs('x: Float16[Tensor, "2"], *, eps: float = 1e-6, causal: bool = False, m: "float | None" = None') == [
        ("x", (2,), "fp16")
    ]


WRONG = [
    (MissingShape, "x", ""),
    (MissingShape, "x: Tensor", ""),
    (MissingShape, "x: Tensor = None", ""),
    (MissingShape, "x: float", ""),
    (MissingShape, "", ""),
    (MissingShape, 'x: Float16[Tensor, "2"], y=make()', ""),
    (SymbolWithoutSize, 'x: Float16[Tensor, "b 4096"]', ""),
    (SymbolWithoutSize, "x", 'inputs=[(("b", 4), "fp16")]'),
    (ZeroSizeAxis, 'x: Float16[Tensor, "0 4"]', ""),
    (ZeroSizeAxis, 'x: Float16[Tensor, "b 4"]', 'dims={"b": 0}'),
    (ZeroSizeAxis, "x", 'inputs=[((0, 4), "fp16")]'),
    (BadAnnotation, 'x: Float16[Tensor, "-1 4"]', ""),
    (BadAnnotation, 'x: Float16[Tensor, "... 4"]', ""),
    (BadAnnotation, 'x: Float16[Tensor, "*b 4"]', ""),
    (BadAnnotation, 'x: Float16[Tensor, "_ 4"]', ""),
    (BadAnnotation, 'x: Float16[Tensor, "1.5 4"]', ""),
    (BadAnnotation, "x: Float16[Tensor]", ""),
    (BadAnnotation, "x: Float16[Tensor, 16]", ""),
    (BadAnnotation, "x: Float16[Tensor, shape()]", ""),
    (BadAnnotation, 'x: Num[Tensor, "4"]', ""),
    (BadAnnotation, 'x: Int16[Tensor, "4"]', ""),
    (BadAnnotation, 'x: Float16[Tensor, "b=2"], y: Float16[Tensor, "b=3"]', ""),
    (BadAnnotation, 'x: Float16[Tensor, "b=2"]', 'dims={"b": 3}'),
    (BadAnnotation, 'x: Float16[Tensor, "4"]', 'dims={"b": 3}'),
    (BadAnnotation, 'x: Float16[Tensor, "b"]', 'dims={"b": "many"}'),
    (BadAnnotation, 'x: Float16[Tensor, "b"]', "dims=make()"),
    (BadAnnotation, 'x: Float16[Tensor, "b"]', 'dims={"b": tuple(range(1, 9))}'),
    (BadAnnotation, 'x: Float16[Tensor, "b c"]', f'dims={{"b": {tuple(range(1, 11))}, "c": {tuple(range(1, 11))}}}'),
    (BadAnnotation, "x", 'inputs=[((4,), "fp17")]'),
    (BadAnnotation, "x, y", 'inputs=[((4,), "fp16")]'),
    (BadAnnotation, "x", 'inputs=[((4,), "fp16"), ((4,), "fp16")]'),
    (BadAnnotation, "x", 'inputs=[[((4,), "fp16")], [((4,), "fp16"), ((4,), "fp16")]]'),
    (BadAnnotation, "x", 'inputs=[[((4,), "fp16")], ((4,), "fp16")]'),
    (BadAnnotation, "x", f"inputs={[[((4,), 'fp16')]] * 33}, dims={{'b': (1, 2)}}"),
    (BadAnnotation, "x", f"inputs={[[(('b',), 'fp16')]] * 33}, dims={{'b': (1, 2)}}"),
    (BadAnnotation, "x", "inputs=make()"),
    (BadAnnotation, "x", 'inputs=[((n,), "fp16")]'),
    (BadAnnotation, "x", 'inputs=[((2 ** 10000,), "fp16")]'),
    (BadAnnotation, "x", 'inputs=[((2 ** "a",), "fp16")]'),
    (BadAnnotation, "x", '[((4,), "fp16")]'),
]


@pytest.mark.parametrize(("kind", "signature", "options"), WRONG)
def test_wrong_shapes(kind: type, signature: str, options: str) -> None:
    with pytest.raises(kind) as caught:
        rows(function(signature, options))
    assert caught.value.path == "file.py"
    assert caught.value.line in (6, 7) and caught.value.column is not None


def test_the_place_is_that_of_the_annotation() -> None:
    with pytest.raises(SymbolWithoutSize) as caught:
        read(function('x: Float16[Tensor, "2"], é: Float16[Tensor, "b"]'))
    assert (caught.value.line, caught.value.column) == (7, 34)
    assert '"b": 8' in caught.value.next_step
