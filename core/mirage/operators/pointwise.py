"""Pointwise operators: each is a term of its arguments' terms, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from mirage.ir.tensor_spec import TensorType
from mirage.operators import type_rules
from mirage.operators.entry import Attrs, Form, Infer, OperandsError, Operator, Value
from mirage.operators.protocols import Arguments, Maker, TermBuilder

UNARY = ("self",)
BINARY = ("self", "other")
BINARY_ONLY: Mapping[str, tuple[object, ...]] = {"alpha": (1, 1.0), "rounding_mode": (None,)}


def pointwise(
    name: str, summary: str, arity: int, value: Value, torch: Mapping[str, Form], call: str, infer: Infer | None = None,
    hazards: tuple[str, ...] = (),
) -> Operator:  # fmt: skip
    """An entry of this family."""
    rule = infer or (type_rules.floating if arity == 1 else type_rules.pointwise)
    return Operator(
        name, "pointwise", summary, arity, arity, rule, value=value, torch=torch, call=call, hazards=hazards
    )


def unary(name: str, value: Callable[[TermBuilder, int], int], summary: str, call: str = "", aten: str = "",
          hazards: tuple[str, ...] = (), infer: Infer | None = None) -> Operator:  # fmt: skip
    forms = {f"aten.{a}.default": Form(UNARY) for a in (aten or name).split()}
    return pointwise(
        name, summary, 1, lambda t, xs, a: value(t, xs[0]), forms, call or f"torch.{name}({{0}})", infer, hazards
    )


def binary(name: str, value: Callable[[TermBuilder, int, int], int], summary: str, call: str, aten: Sequence[str],
           infer: Infer | None = None, hazards: tuple[str, ...] = (),
           when: Callable[[Maker, Arguments], bool] | None = None) -> Operator:  # fmt: skip
    forms = {f"aten.{a}": Form(BINARY, only=BINARY_ONLY, when=when) for a in aten}
    return pointwise(name, summary, 2, lambda t, xs, a: value(t, xs[0], xs[1]), forms, call, infer, hazards)


def power(t: TermBuilder, xs: Sequence[int], a: Attrs) -> int:
    """x ** n: a product for small integers, roots for halves, exp(n log x) for the rest."""
    x, n = xs[0], float(a["exponent"])
    if n == int(n) and abs(n) <= 16:
        p = t.mul(*[x] * abs(int(n)))
        return t.inv(p) if n < 0 else p
    if n * 2 == int(n * 2) and abs(n) <= 8:
        p = t.mul(*[t.sqrt(x)] * int(abs(n) * 2)) if abs(n) < 1 else t.mul(t.sqrt(x), *[x] * int(abs(n)))
        return t.inv(p) if n < 0 else p
    return t.exp(t.mul(t.literal(n), t.fn("log", x)))


def gelu(t: TermBuilder, xs: Sequence[int], a: Attrs) -> int:
    x, half = xs[0], t.literal(0.5)
    if a.get("approximate", "none") == "tanh":
        cubic = t.add(x, t.mul(t.literal(0.044715), x, x, x))
        inner = t.fn("tanh", t.mul(t.literal(math.sqrt(2 / math.pi)), cubic))
    else:
        inner = t.fn("erf", t.mul(t.literal(math.sqrt(0.5)), x))
    return t.mul(half, x, t.add(t.const(1), inner))


def clamp(t: TermBuilder, xs: Sequence[int], a: Attrs) -> int:
    x = xs[0]
    if a.get("min") is not None:
        x = t.fn("maximum", x, t.literal(float(a["min"])))
    if a.get("max") is not None:
        x = t.fn("minimum", x, t.literal(float(a["max"])))
    return x


def cast(t: TermBuilder, xs: Sequence[int], a: Attrs) -> int:
    """A narrowing that the program's own dtypes do not imply is a precision event: an opaque rounding."""
    if a.get("event") and a["dtype"] == "int8":
        return eight_bit_integer(t, xs[0])
    if a.get("event"):
        return t.fn(f"round_{a['dtype']}", xs[0])
    if a["dtype"] == "bool" and t.is_const(xs[0]):
        return t.const(0 if t.is_const(xs[0], 0) else 1)
    if a["dtype"] == "bool" and not t.is_boolean(xs[0]):
        return t.fn("not", t.fn("eq", xs[0], t.const(0)))
    return xs[0]


def eight_bit_integer(t: TermBuilder, x: int) -> int:
    """x without its fraction, where int8 does not hold that, what is left of it in eight bits. Beyond int32 PyTorch says nothing."""
    low, high = t.range_of(x)
    if not t.is_whole(x):
        x = t.where(t.fn("lt", x, t.const(0)), t.neg(t.fn("floor", t.neg(x))), t.fn("floor", x))
    if low >= -128 and high <= 127:
        return x
    turns = t.fn("floor", t.mul(t.const(Fraction(1, 256)), t.add(x, t.const(128))))
    return t.sub(x, t.mul(t.const(256), turns))


def cast_type(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    t = types[0]
    whole = attrs["dtype"] == "int8" and attrs.get("event")
    if type_rules.is_float(t.dtype) and not (type_rules.is_float(attrs["dtype"]) or attrs["dtype"] == "bool" or whole):
        raise OperandsError(f"a cast of {t.dtype} to {attrs['dtype']} drops the fraction; no entry covers that")
    return TensorType(t.shape, str(attrs["dtype"]))


def flags_only(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    if any(t.dtype != "bool" for t in types):
        raise OperandsError("bitwise operators are covered for booleans only")
    return type_rules.flag(types, attrs)


def _of_flags(m: Maker, a: Arguments) -> bool:
    """Operators of bits are those of truth where all are flags."""
    given = [a[k] for k in BINARY if k in a]
    return all(isinstance(x, bool) or m.type(x).dtype == "bool" for x in given)


def where_type(types: Sequence[TensorType], attrs: Attrs) -> TensorType:
    if types[0].dtype != "bool":
        raise OperandsError("where takes a boolean condition")
    return TensorType(type_rules.broadcast([t.shape for t in types]), type_rules.promote(types[1:]))


def _scaled(op: str) -> Callable[[Maker, Arguments], int]:
    """self (+|-) alpha * other."""
    return lambda m, a: m.op(op, a["self"], _times(m, a["other"], a["alpha"]))


def _times(m: Maker, x: int, alpha: float) -> int:
    return x if alpha == 1 else m.op("mul", x, m.const(alpha))


def _fused(outer: str) -> Callable[[Maker, Arguments], int]:
    """addcmul and addcdiv."""

    def build(m: Maker, a: Arguments) -> int:
        inner = m.op(outer, a["tensor1"], a["tensor2"])
        return m.op("add", a["self"], _times(m, inner, a["value"]))

    return build


def _quotient(t: TermBuilder, xs: Sequence[int], a: Attrs) -> int:
    return t.fn("quotient", xs[0], t.const(int(a["by"])))


def _rest(t: TermBuilder, xs: Sequence[int], a: Attrs) -> int:
    """What is left of x, with the sign of what divides it."""
    return t.sub(xs[0], t.mul(t.const(int(a["by"])), _quotient(t, xs, a)))


def _whole(m: Maker, a: Arguments) -> bool:
    """Integers by a whole number: a quotient of floats jumps where it is rounded."""
    x, by = a["self"], a["other"]
    named = type(x) is not int and type(by) is int and by != 0
    return named and not type_rules.is_float(m.type(x).dtype) and m.type(x).dtype != "bool"


def _by_number(op: str, aten: str) -> Mapping[str, Form]:
    return {f"aten.{k}": Form(build=lambda m, a: m.op(op, a["self"], by=a["other"]), when=_whole) for k in aten.split()}


def _divided(m: Maker, a: Arguments) -> int:
    if a.get("rounding_mode") is None:
        return m.op("div", a["self"], a["other"])
    return m.op("floor_divide", a["self"], by=a["other"])


def _is_divided(m: Maker, a: Arguments) -> bool:
    """What rounds a quotient of floats, or towards zero, stays PyTorch's own call."""
    mode = a.get("rounding_mode")
    return mode is None or (mode == "floor" and _whole(m, a))


_DIVIDED = {f"aten.div.{k}": Form(build=_divided, when=_is_divided) for k in ("Tensor_mode", "Scalar_mode")}
_ADD = {k: Form(build=_scaled("add")) for k in ("aten.add.Tensor", "aten.add.Scalar")}
_SUB = {k: Form(build=_scaled("sub")) for k in ("aten.sub.Tensor", "aten.sub.Scalar")}
_RSUB = {
    k: Form(build=lambda m, a: m.op("sub", a["other"], _times(m, a["self"], a["alpha"])))
    for k in ("aten.rsub.Scalar", "aten.rsub.Tensor")
}
_JUMPS = ("jumps at integers",)
_NEGATIVE = ("NaN for negative operands unless the exponent is an integer",)


def _compare(name: str, value: Callable[[TermBuilder, int, int], int], sign: str) -> Operator:
    aten = [f"{name}.Tensor", f"{name}.Scalar"]
    jumps = ("jumps where the operands are equal",)
    return binary(name, value, f"0/1: {sign}", f"({{0}} {sign} {{1}})", aten, type_rules.flag, jumps)


POINTWISE: tuple[Operator, ...] = (
    pointwise("add", "x + y", 2, lambda t, xs, a: t.add(*xs), _ADD, "({0} + {1})"),
    pointwise("sub", "x - y", 2, lambda t, xs, a: t.sub(*xs), {**_SUB, **_RSUB}, "({0} - {1})"),
    binary("mul", lambda t, x, y: t.mul(x, y), "x * y", "({0} * {1})", ["mul.Tensor", "mul.Scalar"]),
    binary("div", lambda t, x, y: t.mul(x, t.inv(y)), "x / y", "({0} / {1})",
           ["div.Tensor", "div.Scalar", "true_divide.Tensor"], type_rules.floating, ("divides by zero",)),
    unary("square", lambda t, x: t.mul(x, x), "x * x", infer=type_rules.same),
    unary("reciprocal", lambda t, x: t.inv(x), "1 / x", hazards=("divides by zero",)),
    unary("relu", lambda t, x: t.fn("maximum", x, t.const(0)), "max(x, 0)", infer=type_rules.same),
    unary("relu6", lambda t, x: clamp(t, [x], {"min": 0, "max": 6}), "min(max(x, 0), 6)", "F.relu6({0})",
          infer=type_rules.same),
    unary("silu", lambda t, x: t.mul(x, t.fn("sigmoid", x)), "x * sigmoid(x)", "F.silu({0})"),
    replace(
        pointwise("gelu", "x times the normal distribution's cdf, exactly or by tanh", 1, gelu,
                  {"aten.gelu.default": Form(UNARY, {"approximate": "approximate"})},
                  "F.gelu({0}, approximate={approximate!r})"),
        texts={"approximate": "none|tanh"}),
    pointwise("pow", "x ** n, n a number", 1, power,
              {"aten.pow.Tensor_Scalar": Form(UNARY, {"exponent": "exponent"})}, "({0} ** {exponent})",
              type_rules.pointwise, _NEGATIVE),
    pointwise("exponential", "b ** x, b a positive number", 1,
              lambda t, xs, a: t.exp(t.mul(xs[0], t.literal(math.log(a["base"])))),
              {"aten.pow.Scalar": Form(build=lambda m, a: _exponential(m, a["exponent"], float(a["self"]))),
               "aten.exp2.default": Form(build=lambda m, a: m.op("exponential", a["self"], base=2.0))},
              "({base} ** {0})", hazards=("overflows for large x",)),
    pointwise("clamp", "x kept within min and max (numbers)", 1, clamp,
              {**{f"aten.{k}.default": Form(build=lambda m, a: m.op("clamp", a["self"], min=a.get("min"), max=a.get("max")))
                  for k in ("clamp", "clamp_min", "clamp_max")},
               "aten.hardtanh.default": Form(UNARY, {"min": "min_val", "max": "max_val"})},
              "{0}.clamp(min={min}, max={max})", type_rules.same),
    pointwise("lerp", "x + w * (y - x)", 3,
              lambda t, xs, a: t.add(xs[0], t.mul(xs[2], t.sub(xs[1], xs[0]))),
              {f"aten.lerp.{k}": Form(("self", "end", "weight")) for k in ("Tensor", "Scalar")},
              "torch.lerp({0}, {1}, {2})"),
    pointwise("addcmul", "x + v * (y * z)", 3, lambda t, xs, a: t.add(xs[0], t.mul(xs[1], xs[2])),
              {"aten.addcmul.default": Form(build=_fused("mul")), "aten.addcdiv.default": Form(build=_fused("div"))},
              "torch.addcmul({0}, {1}, {2})"),
    pointwise("where", "x where the condition holds, else y", 3, lambda t, xs, a: t.select(*xs),
              {f"aten.where.{k}": Form(("condition", "self", "other"))
               for k in ("self", "ScalarOther", "ScalarSelf", "Scalar")}, "torch.where({0}, {1}, {2})", where_type),
    pointwise("masked_fill", "v where the mask holds, else x", 3,
              lambda t, xs, a: t.select(xs[1], xs[2], xs[0]),
              {f"aten.masked_fill.{k}": Form(("self", "mask", "value")) for k in ("Scalar", "Tensor")},
              "torch.masked_fill({0}, {1}, {2})",
              lambda types, a: TensorType(type_rules.broadcast([x.shape for x in types[:2]]), types[0].dtype)),
    _compare("gt", lambda t, x, y: t.fn("lt", y, x), ">"),
    _compare("ge", lambda t, x, y: t.fn("le", y, x), ">="),
    _compare("ne", lambda t, x, y: t.fn("not", t.fn("eq", x, y)), "!="),
    binary("logical_and", lambda t, x, y: t.mul(x, y), "both", "({0} & {1})",
           ["bitwise_and.Tensor", "logical_and.default", "__and__.Tensor"], flags_only, when=_of_flags),
    binary("logical_or", lambda t, x, y: t.fn("or", x, y), "one of them", "({0} | {1})",
           ["bitwise_or.Tensor", "logical_or.default", "__or__.Tensor"], flags_only, when=_of_flags),
    pointwise("logical_not", "the opposite", 1, lambda t, xs, a: t.negation(xs[0]),
              {"aten.bitwise_not.default": Form(UNARY, when=_of_flags), "aten.logical_not.default": Form(UNARY, when=_of_flags)},
              "(~{0})", flags_only),
    unary("floor", lambda t, x: t.fn("floor", x), "the largest whole number that is not larger", hazards=_JUMPS, infer=type_rules.same),
    pointwise("floor_divide", "x / n rounded down, of integers by a whole number", 1, _quotient,
              {**_by_number("floor_divide", "floor_divide.default floor_divide.Scalar"), **_DIVIDED}, "({0} // {by})", type_rules.same),
    pointwise("remainder", "what x // n leaves of x, of integers by a whole number", 1, _rest,
              _by_number("remainder", "remainder.Scalar remainder.Tensor"), "({0} % {by})", type_rules.same),
    pointwise("cast", "another dtype; a narrowing below the inputs' dtype is a precision event", 1, cast, {},
              "{0}.to({torch_dtype})", cast_type, ("narrowing rounds and may overflow",)),
    pointwise("softplus", "log(1 + exp(b x)) / b", 1,
              lambda t, xs, a: _softplus(t, xs[0], t.literal(float(a.get("beta", 1.0)))),
              {"aten.softplus.default": Form(UNARY, {"beta": "beta"}, only={"threshold": (20, 20.0)})},
              "F.softplus({0}, beta={beta})"),
    pointwise("leaky_relu", "x, times a slope below zero", 1,
              lambda t, xs, a: t.where(t.fn("lt", t.const(0), xs[0]), xs[0],
                                       t.mul(t.literal(float(a.get("slope", 0.01))), xs[0])),
              {"aten.leaky_relu.default": Form(UNARY, {"slope": "negative_slope"})}, "F.leaky_relu({0}, {slope})",
              type_rules.same),
)  # fmt: skip


def _exponential(m: Maker, x: int, base: float) -> int:
    if base <= 0:
        raise OperandsError("b ** x is covered for b above zero only")
    return m.op("exponential", x, base=base)


def _softplus(t: TermBuilder, x: int, beta: int) -> int:
    """max(x, 0) + log(1 + exp(-|b x|)) / b: the form that does not overflow."""
    y = t.mul(beta, x)
    tail = t.fn("log", t.add(t.const(1), t.exp(t.neg(t.fn("abs", y)))))
    return t.add(t.fn("maximum", x, t.const(0)), t.mul(t.inv(beta), tail))
