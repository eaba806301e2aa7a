"""Reductions: sum and amax are primitives; the others expand into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mirage.ir.program import Attr
from mirage.ir.tensor_spec import TensorType
from mirage.operators import axis_rules, type_rules
from mirage.operators.entry import Attrs, Expand, Form, OperandsError, Operator
from mirage.operators.protocols import Arguments, Maker
from mirage.operators.type_rules import dims_of

_OVER = {"dim": "dim", "keepdim": "keepdim"}


def listed(dim: int | Sequence[int] | None) -> tuple[int, ...] | None:
    """A dim attribute as a tuple; None for all dims."""
    return None if dim is None or dim == () else (dim,) if isinstance(dim, int) else tuple(dim)


def form(op: str, **more: str) -> Form:
    """A call with `self`, perhaps `dim`, `keepdim`, `dtype`, and attributes taken from the schema arguments `more`."""

    def build(m: Maker, a: Arguments) -> int:
        attrs = {k: a[v] for k, v in more.items()}
        x = a["self"]
        if a.get("dtype") and a["dtype"] != m.type(x).dtype:
            x = m.op("cast", x, dtype=a["dtype"])
        return m.op(op, x, dim=listed(a.get("dim")), keepdim=bool(a.get("keepdim", False)), **attrs)

    return Form(build=build)


def with_indices(op: str) -> Form:
    """max and min over a dim give values and indices; the indices are not covered (UnknownOperator if they are used)."""
    return Form(build=lambda m, a: [m.op(op, a["self"], dim=listed(a["dim"]), keepdim=bool(a["keepdim"]))])


def over(a: Attrs) -> dict[str, Attr]:
    return {"dim": a.get("dim"), "keepdim": bool(a.get("keepdim", False))}


def mean(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    return m.op("mul", m.op("sum", xs[0], **over(a)), m.op("reciprocal", m.op("size", xs[0], dim=a.get("dim"))))


def amin(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    return m.op("neg", m.op("amax", m.op("neg", xs[0]), **over(a)))


def var(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """The mean of squared differences from the mean, n / (n - correction) of it."""
    d = m.op("sub", xs[0], m.op("mean", xs[0], dim=a.get("dim"), keepdim=True))
    total = m.op("sum", m.op("square", d), **over(a))
    n = m.op("size", xs[0], dim=a.get("dim"))
    c = a.get("correction", 1)
    return m.op("mul", total, m.op("reciprocal", m.op("sub", n, m.const(c)) if c else n))


def std(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    return m.op("sqrt", m.op("var", xs[0], **over(a), correction=a.get("correction", 1)))


def norm(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    order = float(a.get("order", 2.0))
    x = xs[0]
    if order == 2.0:
        return m.op("sqrt", m.op("sum", m.op("square", x), **over(a)))
    if order == 1.0:
        return m.op("sum", m.op("abs", x), **over(a))
    if order == float("inf"):
        return m.op("amax", m.op("abs", x), **over(a))
    raise OperandsError(f"norms of order {order} are not covered; 1, 2 and inf are")


def logsumexp(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """The largest, plus the logarithm of the sum of what is left: no exp overflows."""
    top = m.op("finite", m.op("amax", xs[0], dim=a.get("dim"), keepdim=True))
    total = m.op("sum", m.op("exp", m.op("sub", xs[0], top)), dim=a.get("dim"), keepdim=True)
    y = m.op("add", m.op("log", total), top)
    shape = m.type(xs[0]).shape
    gone = dims_of(a, len(shape)) if not a.get("keepdim") else ()
    return m.op("reshape", y, shape=tuple(n for i, n in enumerate(m.type(y).shape) if i not in gone)) if gone else y


def float_only(types: Sequence[TensorType], a: Attrs) -> TensorType:
    if not type_rules.is_float(types[0].dtype):
        raise OperandsError("this reduction takes floating-point tensors")
    return type_rules.reduced(types, a)


def expanding(name: str, summary: str, expand: Expand, torch: Mapping[str, Form], call: str = "",
              hazards: tuple[str, ...] = ()) -> Operator:  # fmt: skip
    text = call or f"{{0}}.{name}(dim={{dim}}, keepdim={{keepdim}})"
    return Operator(
        name, "reduction", summary, 1, 1, float_only, expand=expand, torch=torch, call=text, hazards=hazards
    )


def _corrected(m: Maker, a: Arguments, op: str) -> int:
    c = a.get("correction")
    c = int(bool(a.get("unbiased", True))) if c is None else int(c)
    return m.op(op, a["self"], dim=listed(a.get("dim")), keepdim=bool(a.get("keepdim", False)), correction=c)


def _correction(op: str) -> Form:
    return Form(build=lambda m, a: _corrected(m, a, op))


def _var_mean(m: Maker, a: Arguments) -> list[int]:
    return [
        _corrected(m, a, "var"),
        m.op("mean", a["self"], dim=listed(a.get("dim")), keepdim=bool(a.get("keepdim", False))),
    ]


_CANCELLATION = ("as E[x^2] - E[x]^2 it cancels when the mean is large",)
REDUCTION: tuple[Operator, ...] = (
    Operator("sum", "reduction", "the sum over dims", 1, 1, type_rules.reduced, axes=axis_rules.reduce_axes,
             term=axis_rules.reduce_term, torch={"aten.sum.default": form("sum"), "aten.sum.dim_IntList": form("sum")},
             call="{0}.sum(dim={dim}, keepdim={keepdim})"),
    Operator("amax", "reduction", "the largest over dims", 1, 1, type_rules.extremum, axes=axis_rules.reduce_axes,
             term=axis_rules.reduce_term, call="{0}.amax(dim={dim}, keepdim={keepdim})",
             torch={"aten.amax.default": form("amax"), "aten.max.default": form("amax"),
                    "aten.max.dim": with_indices("amax")}),
    expanding("amin", "the smallest over dims", amin,
              {"aten.amin.default": form("amin"), "aten.min.default": form("amin"), "aten.min.dim": with_indices("amin")}),
    expanding("mean", "the sum over dims, divided by how many", mean,
              {"aten.mean.default": form("mean"), "aten.mean.dim": form("mean")}),
    expanding("var", "variance", var, {f"aten.var.{k}": _correction("var") for k in ("default", "dim", "correction")} | {
        f"aten.var_mean.{k}": Form(build=_var_mean) for k in ("default", "dim", "correction")},
        "{0}.var(dim={dim}, keepdim={keepdim}, correction={correction})", _CANCELLATION),
    expanding("std", "standard deviation", std,
              {f"aten.std.{k}": _correction("std") for k in ("default", "dim", "correction")},
              "{0}.std(dim={dim}, keepdim={keepdim}, correction={correction})", _CANCELLATION),
    expanding("norm", "vector norm of order 1, 2 or inf", norm,
              {"aten.linalg_vector_norm.default": form("norm", order="ord"),
               "aten.norm.ScalarOpt_dim": form("norm", order="p"), "aten.norm.Scalar": form("norm", order="p")},
              "torch.linalg.vector_norm({0}, {order}, dim={dim}, keepdim={keepdim})"),
    expanding("logsumexp", "log of the sum of exp", logsumexp, {"aten.logsumexp.default": form("logsumexp")},
              "torch.logsumexp({0}, dim={dim}, keepdim={keepdim})"),
)  # fmt: skip
