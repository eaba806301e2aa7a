"""Contractions: one primitive (an equation of letters); matmul and its kin are written as equations."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

from mirage.ir.tensor_spec import TensorType
from mirage.operators import axis_rules
from mirage.operators.entry import Attrs, Form, OperandsError, Operator, ShapeError
from mirage.operators.protocols import Arguments, Maker
from mirage.operators.type_rules import broadcast, dim, one_dtype

Types = Sequence[TensorType]


def einsum_type(types: Types, a: Attrs) -> TensorType:
    operands, _, result = a["equation"].partition("->")
    sizes: dict[str, int] = {}
    for t, letters in zip(types, operands.split(","), strict=True):
        if len(letters) != len(t.shape):
            raise ShapeError(f"einsum: {letters!r} does not have the dims of {list(t.shape)}")
        for letter, n in zip(letters, t.shape, strict=True):
            if sizes.setdefault(letter, n) != n and 1 not in (sizes[letter], n):
                raise ShapeError(f"einsum: {letter!r} has size {n} and size {sizes[letter]}")
            sizes[letter] = max(sizes[letter], n)
    return TensorType(tuple(sizes[letter] for letter in result), one_dtype(types, "einsum"))


def explicit(equation: str, ranks: Sequence[int]) -> str:
    """An equation with its result written out and ellipses as letters."""
    text = equation.replace(" ", "")
    free = [c for c in ascii_letters if c not in text]
    operands, arrow, result = text.partition("->")
    parts = operands.split(",")
    if len(parts) != len(ranks):
        raise ShapeError(f"einsum: {equation!r} names {len(parts)} operands, not {len(ranks)}")
    spread = max((r - len(p.replace("...", "")) for p, r in zip(parts, ranks) if "..." in p), default=0)
    dots = "".join(free[:spread])
    filled = []
    for p, r in zip(parts, ranks, strict=True):
        n = r - len(p.replace("...", ""))
        filled.append(p.replace("...", dots[spread - n :] if n else ""))
    if not arrow:
        letters = [c for c in sorted({c for p in parts for c in p if c != "."}) if sum(p.count(c) for p in parts) == 1]
        result = ("..." if "..." in operands else "") + "".join(letters)
    return ",".join(filled) + "->" + result.replace("...", dots)


def matmul_equation(a: int, b: int) -> str:
    """PyTorch's matmul for operands of these ranks; batch dims are aligned at the end."""
    batch = ascii_letters[3 : 3 + max(a, b, 2) - 2]
    left = "c" if a == 1 else batch[len(batch) - (a - 2) :] + "ac"
    right = "c" if b == 1 else batch[len(batch) - (b - 2) :] + "cb"
    return f"{left},{right}->{batch}{'a' if a > 1 else ''}{'b' if b > 1 else ''}"


def matmul_type(types: Types, a: Attrs) -> TensorType:
    x, y = types[0].shape, types[1].shape
    if not x or not y:
        raise ShapeError("matmul takes tensors with dims")
    k = y[0] if len(y) == 1 else y[-2]
    if x[-1] != k:
        raise ShapeError(f"matmul: {list(x)} and {list(y)} contract {x[-1]} with {k}")
    batch = broadcast([x[:-2], y[:-2]])
    return TensorType(batch + x[-2:-1] * (len(x) > 1) + y[-1:] * (len(y) > 1), one_dtype(types, "matmul"))


def matmul(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    x, y = (m.type(v).shape for v in xs)
    return m.op("einsum", *xs, equation=matmul_equation(len(x), len(y)))


def linear_type(types: Types, a: Attrs) -> TensorType:
    x, w = types[0].shape, types[1].shape
    if len(w) not in (1, 2) or not x or x[-1] != w[-1]:
        raise ShapeError(f"linear: input {list(x)} and weight {list(w)} do not fit")
    out = TensorType(x[:-1] + w[:-1], one_dtype(types, "linear"))
    if len(types) == 3 and broadcast([out.shape, types[2].shape]) != out.shape:
        raise ShapeError(f"linear: bias {list(types[2].shape)} and weight {list(w)} do not fit")
    return out


def linear(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    x, w = (m.type(v).shape for v in xs[:2])
    batch = ascii_letters[3 : 2 + len(x)]
    n = "b" if len(w) == 2 else ""
    y = m.op("einsum", xs[0], xs[1], equation=f"{batch}c,{n}c->{batch}{n}")
    return m.op("add", y, xs[2]) if len(xs) == 3 else y


def _einsum(m: Maker, a: Arguments) -> int:
    tensors = list(a["tensors"])
    equation = explicit(a["equation"], [len(m.type(x).shape) for x in tensors])
    return m.op("einsum", *tensors, equation=equation)


def _added(first: str, second: str) -> Form:
    """beta * self + alpha * (first @ second)."""

    def build(m: Maker, a: Arguments) -> int:
        y = m.op("matmul", a[first], a[second])
        y = m.op("mul", y, m.const(a["alpha"])) if a["alpha"] != 1 else y
        base = m.op("mul", a["self"], m.const(a["beta"])) if a["beta"] != 1 else a["self"]
        if m.type(base).dtype != m.type(y).dtype:
            raise OperandsError("the added tensor has another dtype than the product")
        return m.op("add", base, y)

    return Form(build=build)


def _outer(m: Maker, a: Arguments) -> int:
    return m.op("einsum", a["self"], a["vec2"], equation="a,b->ab")


def _tensordot(m: Maker, a: Arguments) -> int:
    n, k = len(m.type(a["self"]).shape), len(m.type(a["other"]).shape)
    left, right = list(ascii_letters[:n]), list(ascii_letters[n : n + k])
    for i, j in zip(a["dims_self"], a["dims_other"], strict=True):
        right[dim(j, k)] = left[dim(i, n)]
    shared = set(left) & set(right)
    result = "".join(c for c in left + right if c not in shared)
    return m.op("einsum", a["self"], a["other"], equation=f"{''.join(left)},{''.join(right)}->{result}")


CONTRACTION: tuple[Operator, ...] = (
    Operator("einsum", "contraction", "products summed over the letters that the result lacks", 1, 8, einsum_type,
             axes=axis_rules.einsum_axes, term=axis_rules.einsum_term, call="torch.einsum({equation!r}, {all})",
             texts={"equation": r"[A-Za-z,.> -]{1,200}"},
             torch={"aten.einsum.default": Form(build=_einsum), "aten.outer.default": Form(build=_outer),
                    "aten.tensordot.default": Form(build=_tensordot)}),
    Operator("matmul", "contraction", "matrix products, batched by broadcasting", 2, 2, matmul_type, expand=matmul,
             call="({0} @ {1})",
             torch={"aten.matmul.default": Form(("self", "other")), "aten.mm.default": Form(("self", "mat2")),
                    "aten.bmm.default": Form(("self", "mat2")), "aten.mv.default": Form(("self", "vec")),
                    "aten.dot.default": Form(("self", "tensor")), "aten.vdot.default": Form(("self", "other")),
                    "aten.addmm.default": _added("mat1", "mat2"), "aten.baddbmm.default": _added("batch1", "batch2"),
                    "aten.addmv.default": _added("mat", "vec")}),
    Operator("linear", "contraction", "x @ w.T + b", 2, 3, linear_type, expand=linear, call="F.linear({all})",
             torch={"aten.linear.default": Form(("input", "weight", "bias"))}),
)  # fmt: skip
