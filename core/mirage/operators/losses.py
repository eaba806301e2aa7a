"""Losses of torch.nn.functional: each is its expansion into the others, reduced at its end as its call says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mirage.ir.tensor_spec import TensorType
from mirage.operators import type_rules
from mirage.operators.entry import Attrs, Form, Indices, Operator
from mirage.operators.protocols import Arguments, Maker

Types = Sequence[TensorType]
NONE, MEAN, SUM = 0, 1, 2  # at::Reduction
REDUCTIONS = ("none", "mean", "sum")
Loss = Callable[[Maker, Sequence[int], Attrs], int]


def reduced_loss(types: Types, a: Attrs) -> TensorType:
    t = type_rules.floating(types, a)
    return t if a["reduction"] == NONE else TensorType((), t.dtype)


def _reduced(loss: Loss) -> Loss:
    """The loss, then its mean or sum over all elements."""

    def expand(m: Maker, xs: Sequence[int], a: Attrs) -> int:
        each = loss(m, xs, a)
        how = {NONE: "", MEAN: "mean", SUM: "sum"}[a["reduction"]]
        return m.op(how, each, dim=None, keepdim=False) if how else each

    return expand


def _half_square(m: Maker, d: int) -> int:
    return m.op("mul", m.op("square", d), m.const(0.5))


def mse(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    return m.op("square", m.op("sub", xs[0], xs[1]))


def huber(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """Half the square up to delta, beyond it a line with that slope."""
    delta = float(a["delta"])
    d = m.op("sub", xs[0], xs[1])
    far = m.op("abs", d)
    line = m.op("mul", m.op("sub", far, m.const(delta / 2)), m.const(delta))
    return m.op("where", m.op("le", far, m.const(delta)), _half_square(m, d), line)


def smooth_l1(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """Half the square over beta up to beta, beyond it the distance."""
    beta = float(a["beta"])
    d = m.op("sub", xs[0], xs[1])
    far = m.op("abs", d)
    near = m.op("div", _half_square(m, d), m.const(beta))
    return m.op("where", m.op("lt", far, m.const(beta)), near, m.op("sub", far, m.const(beta / 2)))


def kl_div(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """target * (log(target) - input), 0 * log(0) being 0; with `log_target` the target is a logarithm."""
    x, target = xs
    if a["log_target"]:
        return m.op("mul", m.op("exp", target), m.op("sub", target, x))
    zero = m.const(0.0)
    own = m.op("where", m.op("eq", target, zero), zero, m.op("mul", target, m.op("log", target)))
    return m.op("sub", own, m.op("mul", target, x))


def bce_with_logits(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """(1 - target) x + softplus(-x), the latter times 1 + (pos_weight - 1) target."""
    x, target, *positive = xs
    tail = m.op("softplus", m.op("neg", x), beta=1.0)
    for weight in positive:
        rest = m.op("mul", m.op("sub", weight, m.const(1.0)), target)
        tail = m.op("mul", tail, m.op("add", rest, m.const(1.0)))
    return m.op("add", m.op("mul", m.op("sub", m.const(1.0), target), x), tail)


def _bce(m: Maker, a: Arguments) -> int:
    positive = [a["pos_weight"]] if a.get("pos_weight") is not None else []
    return m.op("binary_cross_entropy_with_logits", a["self"], a["target"], *positive, reduction=a["reduction"])


def _classes(shape: Sequence[int]) -> int:
    """The dim of the classes: the second, or the only one."""
    return min(1, len(shape) - 1)


def _rows(shape: Sequence[int]) -> tuple[int, ...]:
    """The dims that are not that of the classes."""
    at = _classes(shape)
    return (*shape[:at], *shape[at + 1 :])


def nll(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """Minus the element of each row that its label names; their mean is over the rows whose label is not to be ignored."""
    x, labels = xs
    shape = m.type(x).shape
    at = _classes(shape)
    index = m.op("reshape", labels, shape=(*shape[:at], 1, *shape[at + 1 :]))
    own = _unless_ignored(m, index, m.op("gather", x, index, dim=at), a)
    return _over_rows(m, m.op("reshape", own, shape=_rows(shape)), labels, a)


def _unless_ignored(m: Maker, labels: int, x: int, a: Attrs) -> int:
    """x, but zero where a label is the one to be ignored. None: there is no such label."""
    ignored = a["ignore_index"]
    return x if ignored is None else m.op("where", m.op("eq", labels, m.const(ignored)), m.const(0.0), x)


def _over_rows(m: Maker, each: int, labels: int, a: Attrs) -> int:
    """Minus what each row has, or the sum or the mean of that."""
    if a["reduction"] == NONE:
        return m.op("neg", each)
    total = m.op("neg", m.op("sum", each, dim=None, keepdim=False))
    if a["reduction"] == SUM:
        return total
    if a["ignore_index"] is None:
        return m.op("neg", m.op("mean", each, dim=None, keepdim=False))
    seen = m.op("cast", m.op("ne", labels, m.const(a["ignore_index"])), dtype="fp32")
    return m.op("div", total, m.op("sum", seen, dim=None, keepdim=False))


def cross_entropy(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """The negative log-likelihood of log_softmax; smoothed, a part of it is the mean over the classes."""
    x, labels = xs
    shape = m.type(x).shape
    at = _classes(shape)
    logs = m.op("log_softmax", x, dim=(at,))
    smoothing = float(a["smoothing"])
    loss = m.op("nll_loss", logs, labels, reduction=a["reduction"], ignore_index=a["ignore_index"])
    if not smoothing:
        return loss
    flat = m.op("reshape", labels, shape=_rows(shape))
    seen = _unless_ignored(m, flat, m.op("mean", logs, dim=(at,), keepdim=False), a)
    rest = _over_rows(m, seen, labels, a)
    return m.op("add", m.op("mul", loss, m.const(1 - smoothing)), m.op("mul", rest, m.const(smoothing)))


def _row_type(types: Types, a: Attrs) -> TensorType:
    x = types[0]
    return TensorType(_rows(x.shape) if a["reduction"] == NONE else (), x.dtype)


def _of_labels(m: Maker, a: Arguments) -> bool:
    """Labels that are integers, classes that weigh the same."""
    x, labels = m.type(a["self"]), m.type(a["target"])
    return (
        a.get("weight") is None
        and type_rules.is_float(x.dtype)
        and labels.dtype in ("int32", "int64")
        and labels.shape == _rows(x.shape)
    )


def _entropy(m: Maker, a: Arguments) -> int:
    return m.op("cross_entropy", a["self"], a["target"], reduction=a["reduction"], ignore_index=a["ignore_index"],
                smoothing=float(a["label_smoothing"]))  # fmt: skip


def _likelihood(m: Maker, a: Arguments) -> int:
    return m.op("nll_loss", a["self"], a["target"], reduction=a["reduction"], ignore_index=a["ignore_index"])


def _elementwise(name: str, summary: str, loss: Loss, attrs: Mapping[str, str], call: str) -> Operator:
    form = Form(("self", "target"), {"reduction": "reduction", **attrs})
    reduction = "reduction=('none', 'mean', 'sum')[{reduction}]"
    return Operator(
        name, "composite", summary, 2, 2, reduced_loss, expand=_reduced(loss), torch={f"aten.{name}.default": form},
        call=f"F.{name}({{0}}, {{1}}, {call}{reduction})",
    )  # fmt: skip


def _of_classes(types: Types, a: Attrs) -> Indices:
    return Indices(1, types[0].shape[_classes(types[0].shape)], "ignore_index")


_LABELS = ("a label outside of the classes, an error in PyTorch, counts as one that picks nothing",)
LOSSES: tuple[Operator, ...] = (
    _elementwise("mse_loss", "(x - y)^2, its mean or sum", mse, {}, ""),
    _elementwise("huber_loss", "(x - y)^2 / 2 up to delta, a line beyond; its mean or sum", huber, {"delta": "delta"}, "delta={delta}, "),
    Operator("smooth_l1_loss", "composite", "(x - y)^2 / (2 beta) up to beta, |x - y| - beta / 2 beyond; its mean or sum", 2, 2,
             reduced_loss, expand=_reduced(smooth_l1),
             torch={"aten.smooth_l1_loss.default": Form(("self", "target"), {"reduction": "reduction", "beta": "beta"},
                                                        when=lambda m, a: a["beta"] > 0)},
             call="F.smooth_l1_loss({0}, {1}, beta={beta}, reduction=('none', 'mean', 'sum')[{reduction}])"),
    _elementwise("kl_div", "y (log(y) - x), its mean or sum", kl_div, {"log_target": "log_target"}, "log_target={log_target}, "),
    Operator("binary_cross_entropy_with_logits", "composite", "(1 - y) x + softplus(-x), perhaps weighted where y is; its mean or sum",
             2, 3, reduced_loss, expand=_reduced(bce_with_logits),
             torch={"aten.binary_cross_entropy_with_logits.default": Form(build=_bce, when=lambda m, a: a.get("weight") is None)},
             call="F.binary_cross_entropy_with_logits({0}, {1}, pos_weight=dict(enumerate([{rest}])).get(1), "
                  "reduction=('none', 'mean', 'sum')[{reduction}])"),
    Operator("nll_loss", "composite", "minus each row's element that its label names; its mean or sum", 2, 2, _row_type, expand=nll,
             torch={"aten.nll_loss_nd.default": Form(build=_likelihood, when=_of_labels)},
             call="F.nll_loss({0}, {1}, ignore_index={ignore_index}, reduction=('none', 'mean', 'sum')[{reduction}])", hazards=_LABELS,
             indices=_of_classes),
    Operator("cross_entropy", "composite", "nll_loss of log_softmax, perhaps with smoothed labels", 2, 2, _row_type,
             expand=cross_entropy, torch={"aten.cross_entropy_loss.default": Form(build=_entropy, when=_of_labels)},
             call="F.cross_entropy({0}, {1}, ignore_index={ignore_index}, label_smoothing={smoothing}, "
                  "reduction=('none', 'mean', 'sum')[{reduction}])", hazards=_LABELS,
             indices=_of_classes),
)  # fmt: skip
