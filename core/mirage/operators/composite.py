"""Composite operators: each is its expansion into the others."""

from __future__ import annotations

from collections.abc import Sequence

from mirage.ir.dtypes import DTYPES
from mirage.ir.tensor_spec import TensorType
from mirage.operators import type_rules
from mirage.operators.entry import Attrs, Expand, Form, OperandsError, Operator, ShapeError
from mirage.operators.protocols import Arguments, Maker
from mirage.operators.reduction import listed
from mirage.operators.type_rules import broadcast, one_dtype

Types = Sequence[TensorType]


def shifted(m: Maker, x: int, dim: int | tuple[int, ...]) -> tuple[int, int]:
    """(x minus its largest over dims, the exp's sum over dims). The largest counts as 0 where it is -inf."""
    top = m.op("finite", m.op("amax", x, dim=dim, keepdim=True))
    y = m.op("sub", x, top)
    return y, m.op("sum", m.op("exp", y), dim=dim, keepdim=True)


def softmax(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    y, total = shifted(m, xs[0], a["dim"])
    return m.op("div", m.op("exp", y), total)


def log_softmax(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    y, total = shifted(m, xs[0], a["dim"])
    return m.op("sub", y, m.op("log", total))


def last(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


def _affine(m: Maker, x: int, params: Sequence[int]) -> int:
    y = m.op("mul", x, params[0]) if params else x
    return m.op("add", y, params[1]) if len(params) > 1 else y


def rms_norm(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    mean = m.op("mean", m.op("square", xs[0]), dim=last(a["rank"]), keepdim=True)
    return _affine(m, m.op("mul", xs[0], m.op("rsqrt", m.op("add", mean, m.const(a["eps"])))), xs[1:])


def layer_norm(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    over = last(a["rank"])
    d = m.op("sub", xs[0], m.op("mean", xs[0], dim=over, keepdim=True))
    variance = m.op("mean", m.op("square", d), dim=over, keepdim=True)
    return _affine(m, m.op("mul", d, m.op("rsqrt", m.op("add", variance, m.const(a["eps"])))), xs[1:])


def normalize(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    size = m.op("norm", xs[0], order=a.get("order", 2.0), dim=a["dim"], keepdim=True)
    return m.op("div", xs[0], m.op("clamp", size, min=a.get("eps", 1e-12), max=None))


def batch_norm(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """With running statistics, as in inference: each channel (dim 1) has a mean, a variance, a weight and a bias."""
    rank = len(m.type(xs[0]).shape)
    mean, variance, *params = (m.op("reshape", x, shape=(-1,) + (1,) * (rank - 2)) for x in xs[1:])
    centred = m.op("sub", xs[0], mean)
    return _affine(m, m.op("mul", centred, m.op("rsqrt", m.op("add", variance, m.const(a["eps"])))), params)


def group_norm(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """Over the channels of a group (dim 1 has the groups one after the other) and all that follows them."""
    shape, groups = m.type(xs[0]).shape, a["groups"]
    inner = (shape[1] // groups, *shape[2:])
    x = m.op("reshape", xs[0], shape=(shape[0], groups, *inner))
    over = last(len(inner))
    d = m.op("sub", x, m.op("mean", x, dim=over, keepdim=True))
    variance = m.op("mean", m.op("square", d), dim=over, keepdim=True)
    params = [m.op("reshape", p, shape=(groups, inner[0]) + (1,) * (len(inner) - 1)) for p in xs[1:]]
    y = _affine(m, m.op("mul", d, m.op("rsqrt", m.op("add", variance, m.const(a["eps"])))), params)
    return m.op("reshape", y, shape=shape)


def _grouped(m: Maker, a: Arguments) -> int:
    params = _both(m, a)
    return m.op("group_norm", a["input"], *params, groups=a["num_groups"], eps=a["eps"])


def _both(m: Maker, a: Arguments) -> list[int]:
    """The weight and the bias that are there; ones beside a bias alone."""
    weight, bias = a["weight"], a["bias"]
    if weight is None and bias is not None:
        weight = m.op("expand", m.const(1.0), shape=m.type(bias).shape)
    return [x for x in (weight, bias) if x is not None]


def glu(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    half = m.type(xs[0]).shape[a["dim"]] // 2
    value, gate = (m.op("slice", xs[0], dim=a["dim"], start=start, length=half) for start in (0, half))
    return m.op("mul", value, m.op("sigmoid", gate))


def _glu_type(types: Types, a: Attrs) -> TensorType:
    shape, at = list(float_same(types, a).shape), a["dim"]
    if shape[at] % 2:
        raise ShapeError(f"glu halves dim {at} of {shape}, which is odd")
    return TensorType((*shape[:at], shape[at] // 2, *shape[at + 1 :]), types[0].dtype)


def log_sigmoid(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    return m.op("neg", m.op("softplus", m.op("neg", xs[0]), beta=1.0))


def sign(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """1 above zero, -1 below it; 0 of zero and of NaN."""
    dtype = m.type(xs[0]).dtype
    zero = m.const(0.0 if type_rules.is_float(dtype) else 0)
    above, below = (m.op("cast", m.op(op, xs[0], zero), dtype=dtype) for op in ("gt", "lt"))
    return m.op("sub", above, below)


def ceil(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    return m.op("neg", m.op("floor", m.op("neg", xs[0])))


def _of_one(name: str, summary: str, expand: Expand, call: str, hazards: tuple[str, ...] = ()) -> Operator:
    """A function of each element by itself."""
    form = Form(("self",), when=lambda m, a: m.type(a["self"]).dtype != "bool")
    infer = type_rules.floating if name.startswith("log") else type_rules.same
    return Operator(name, "pointwise", summary, 1, 1, infer, expand=expand, torch={f"aten.{name}.default": form},
                    call=call, hazards=hazards)  # fmt: skip


def _channel_type(types: Types, a: Attrs) -> TensorType:
    shape = types[0].shape
    for t in types[1:]:
        if len(shape) < 2 or t.shape != shape[1:2]:
            raise ShapeError(f"{list(t.shape)} is not one number for each channel, the second dim of {list(shape)}")
    return TensorType(shape, type_rules.promote(types))


def _batch_norm(m: Maker, a: Arguments) -> int:
    params = _both(m, a)
    return m.op("batch_norm", a["input"], a["running_mean"], a["running_var"], *params, eps=a["eps"])


def _is_inference(m: Maker, a: Arguments) -> bool:
    return not a["training"] and a["running_mean"] is not None and a["running_var"] is not None


def _norm_type(types: Types, a: Attrs) -> TensorType:
    shape, rank = types[0].shape, a["rank"]
    for t in types[1:]:
        if t.shape != shape[len(shape) - rank :]:
            raise ShapeError(f"the weights {list(t.shape)} do not have the normalized dims {list(shape[-rank:])}")
    return TensorType(shape, type_rules.promote(types))


def _normed(op: str, shape: str) -> Form:
    """rms_norm and layer_norm; without eps, that of the dtype PyTorch computes in."""

    def build(m: Maker, a: Arguments) -> int:
        params = [a[k] for k in ("weight", "bias") if a.get(k) is not None]
        x = a["self" if "self" in a else "input"]
        if a.get("weight") is None and params:
            params.insert(0, m.const(1.0))
        eps = a["eps"] if a["eps"] is not None else DTYPES["fp64" if m.type(x).dtype == "fp64" else "fp32"].epsilon
        if params and m.type(params[0]).shape == () and len(params) == 2:
            return m.op("add", m.op(op, x, rank=len(a[shape]), eps=eps), params[1])
        return m.op(op, x, *params, rank=len(a[shape]), eps=eps)

    return Form(build=build)


def sdpa_type(types: Types, a: Attrs) -> TensorType:
    q, k, v = (t.shape for t in types[:3])
    if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        raise ShapeError(f"scaled_dot_product_attention: {list(q)}, {list(k)} and {list(v)} do not fit")
    if a.get("gqa"):
        if len(q) < 3 or q[-3] % k[-3] or q[-3] % v[-3]:
            raise ShapeError(f"{q[-3:-2]} query heads are not a multiple of the key heads of {list(k)}")
        k, v = (*k[:-3], q[-3], *k[-2:]), (*v[:-3], q[-3], *v[-2:])
    batch = broadcast([q[:-2], k[:-2], v[:-2]])
    return TensorType((*batch, q[-2], v[-1]), one_dtype(types[:3], "scaled_dot_product_attention"))


def sdpa(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """softmax(q @ k.T * scale + mask) @ v. A row whose keys are all masked gives zero, as in PyTorch."""
    q, k, v = xs[:3]
    if a.get("gqa"):
        k, v = (_shared(m, x, m.type(q).shape[-3]) for x in (k, v))
    rank = len(m.type(k).shape)
    turned = m.op("permute", k, dims=(*range(rank - 2), rank - 1, rank - 2))
    scores = m.op("matmul", q, turned)
    scale = a.get("scale")
    factor = m.const(scale) if scale is not None else m.op("rsqrt", m.op("size", q, dim=(-1,)))
    scores = m.op("mul", scores, factor)
    rows, cols = m.type(scores).shape[-2:]
    if a.get("causal"):
        i = m.op("reshape", m.op("iota", size=rows), shape=(rows, 1))
        scores = m.op("where", m.op("le", m.op("iota", size=cols), i), scores, m.const(float("-inf")))
    if len(xs) == 4:
        mask = xs[3]
        boolean = m.type(mask).dtype == "bool"
        scores = m.op("where", mask, scores, m.const(float("-inf"))) if boolean else m.op("add", scores, mask)
        y, total = shifted(m, scores, (-1,))
        one = m.op("where", m.op("eq", total, m.const(0.0)), m.const(1.0), total)
        return m.op("matmul", m.op("div", m.op("exp", y), one), v)
    return m.op("matmul", m.op("softmax", scores, dim=(-1,)), v)


def _shared(m: Maker, x: int, heads: int) -> int:
    shape = m.type(x).shape
    times = heads // shape[-3]
    return x if times == 1 else m.op("repeat_interleave", x, repeats=times, dim=len(shape) - 3)


def _sdpa(m: Maker, a: Arguments) -> int:
    if a["dropout_p"]:
        raise OperandsError("dropout draws random numbers; pass dropout_p=0")
    mask = [a["attn_mask"]] if a["attn_mask"] is not None else []
    return m.op("scaled_dot_product_attention", a["query"], a["key"], a["value"], *mask, causal=bool(a["is_causal"]),
                scale=a["scale"], gqa=bool(a.get("enable_gqa", False)))  # fmt: skip


def _over(op: str) -> Form:
    def build(m: Maker, a: Arguments) -> int:
        x = a["self"]
        if a.get("dtype") and a["dtype"] != m.type(x).dtype:
            x = m.op("cast", x, dtype=a["dtype"])
        return m.op(op, x, dim=listed(a["dim"]))

    return Form(build=build)


def float_same(types: Types, a: Attrs) -> TensorType:
    if not type_rules.is_float(types[0].dtype):
        raise OperandsError("this operator takes floating-point tensors")
    return type_rules.same(types, a)


_EXP = ("a row of -inf alone gives NaN",)
COMPOSITE: tuple[Operator, ...] = (
    Operator("finite", "composite", "x, but 0 where x is -inf: the shift of a softmax", 1, 1, type_rules.same,
             value=lambda t, xs, a: t.fn("finite", xs[0]),
             call="torch.where({0} == -float('inf'), torch.zeros_like({0}), {0})"),
    Operator("softmax", "composite", "exp(x - max) over its sum", 1, 1, float_same, expand=softmax,
             torch={"aten.softmax.int": _over("softmax"), "aten._softmax.default": _over("softmax")},
             call="torch.softmax({0}, dim={dim[0]})", hazards=_EXP),
    Operator("log_softmax", "composite", "x - max - log(sum(exp(x - max)))", 1, 1, float_same, expand=log_softmax,
             torch={"aten.log_softmax.int": _over("log_softmax"), "aten._log_softmax.default": _over("log_softmax")},
             call="torch.log_softmax({0}, dim={dim[0]})", hazards=_EXP),
    Operator("rms_norm", "composite", "x / sqrt(mean(x^2) + eps), times a weight", 1, 2, _norm_type, expand=rms_norm,
             torch={"aten.rms_norm.default": _normed("rms_norm", "normalized_shape")},
             call="F.rms_norm({0}, {0}.shape[-{rank}:], *[{rest}], eps={eps})"),
    Operator("layer_norm", "composite", "(x - mean) / sqrt(var + eps), times a weight, plus a bias", 1, 3, _norm_type,
             expand=layer_norm, torch={"aten.layer_norm.default": _normed("layer_norm", "normalized_shape")},
             call="F.layer_norm({0}, {0}.shape[-{rank}:], *[{rest}], eps={eps})",
             hazards=("as E[x^2] - E[x]^2 it cancels when the mean is large",)),
    Operator("batch_norm", "composite", "(x - mean) / sqrt(var + eps) with the given mean and var of each channel", 3, 5,
             _channel_type, expand=batch_norm, torch={"aten.batch_norm.default": Form(build=_batch_norm, when=_is_inference)},
             call="F.batch_norm({all}, training=False, eps={eps})"),
    Operator("group_norm", "composite", "(x - mean) / sqrt(var + eps) over groups of channels, times a weight, plus a bias", 1, 3,
             _channel_type, expand=group_norm, torch={"aten.group_norm.default": Form(build=_grouped)},
             call="F.group_norm({0}, {groups}, *[{rest}], eps={eps})",
             hazards=("as E[x^2] - E[x]^2 it cancels when the mean is large",)),
    Operator("glu", "composite", "the first half of a dim times the sigmoid of the second", 1, 1, _glu_type, expand=glu,
             torch={"aten.glu.default": Form(build=lambda m, a: m.op(
                 "glu", a["self"], dim=type_rules.dim(a["dim"], len(m.type(a["self"]).shape))))},
             call="F.glu({0}, {dim})"),
    _of_one("log_sigmoid", "log(sigmoid(x)) = -softplus(-x)", log_sigmoid, "F.logsigmoid({0})"),
    _of_one("sign", "-1, 0 or 1", sign, "torch.sign({0})", ("jumps at 0",)),
    _of_one("ceil", "the smallest whole number that is not smaller", ceil, "torch.ceil({0})", ("jumps at integers",)),
    Operator("normalize", "composite", "x / max(norm(x), eps)", 1, 1, float_same, expand=normalize,
             call="F.normalize({0}, dim={dim[0]})"),
    Operator("scaled_dot_product_attention", "composite", "softmax(q @ k.T * scale + mask) @ v", 3, 4, sdpa_type,
             expand=sdpa, torch={"aten.scaled_dot_product_attention.default": Form(build=_sdpa)},
             call="F.scaled_dot_product_attention({all}, is_causal={causal}, scale={scale}, enable_gqa={gqa})",
             hazards=("a row whose keys are all masked gives zero",)),
)  # fmt: skip
