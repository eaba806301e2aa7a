"""The operators of block graphs, one entry each: form, values, sign, interval, padding, derivative, Triton text, cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from mirage.operators import block_operator_values, error_rules, intervals, padding, signs
from mirage.operators.entry import BlockOperator, Domain
from mirage.operators.padding import State, by_state
from mirage.operators.protocols import Array, FieldArithmetic, TermBuilder
from mirage.operators.signs import NONNEGATIVE, NONZERO, POSITIVE, Signs

MANY = 1 << 10
_CANCELS = "loses digits where its operands are nearly equal"


def everywhere(t: TermBuilder, *xs: int) -> tuple[tuple[Signs, int], ...]:
    """The domain of a function that has a value for all arguments."""
    return ()


def where_first(needed: Signs) -> Domain:
    """The domain of a function whose first argument must have one of these signs."""
    return lambda t, *xs: ((needed, xs[0]),)


def where_second(needed: Signs) -> Domain:
    return lambda t, *xs: ((needed, xs[1]),)


def _leaf(name: str, attr: str, **more: Any) -> BlockOperator:
    return BlockOperator(
        name, 0, 0, triton=f"{{{attr}}}", field=name, form="leaf", attrs=(attr,), flops=0, domain=everywhere, **more
    )


def _flag(name: str, arity: int, value: Callable[..., Array], triton: str, **more: Any) -> BlockOperator:
    """An operator that gives 0 or 1, also of NaN."""
    return BlockOperator(
        name, arity, arity, value, f"{triton}.to(tl.float32)", flag=True, domain=everywhere,
        signs=signs.always(NONNEGATIVE), interval=intervals.always(0.0, 1.0), **({"padding": padding.flag} | more)
    )  # fmt: skip


def _rounding(dtype: str, triton: str, torch: str, value: Callable[..., Array], **more: Any) -> BlockOperator:
    """A narrowing that the dtypes of a program do not imply. It keeps 0 and 1, and -inf where the
    format has infinities; a large value may become infinite."""
    return BlockOperator(
        f"round_{dtype}", 1, 1, value, f"{{0}}.to(tl.{triton}).to(tl.float32)", rounds=dtype, error=error_rules.narrowed(dtype),
        torch=f"{{0}}.to(torch.{torch}).to({{0}}.dtype)", interval=intervals.increasing(value), signs=signs.or_zero,
        domain=everywhere, **({"padding": by_state("huge", zero="zero", one="one", lowest="lowest")} | more)
    )  # fmt: skip


def _tanh(f: FieldArithmetic, x: Array) -> Array:
    """2 sigmoid(2x) - 1, so that it keeps the laws of whatever reading sigmoid has."""
    two = f.const(2)
    return f.sub(f.mul(two, f.sigmoid(f.mul(two, x))), f.const(1))


# Of the whole numbers around x the nearer one, of two as near the even one; exact wherever x is, and zeros keep x's sign.
_NEAREST = (
    "tl.where({0} - tl.floor({0}) < 0.5, tl.floor({0}), "
    "tl.where({0} - tl.floor({0}) > 0.5, -tl.floor(-{0}), -2.0 * tl.floor(-0.5 * tl.floor({0}))))"
)


def _nearest(f: FieldArithmetic, x: Array) -> Array:
    half = f.const(Fraction(1, 2))
    low = f.fn("floor", x)
    above = f.sub(x, low)
    even = f.mul(f.const(-2), f.fn("floor", f.mul(f.const(Fraction(-1, 2)), low)))
    high = f.neg(f.fn("floor", f.neg(x)))
    return f.where(f.lt(above, half), low, f.where(f.lt(half, above), high, even))


def _compare(name: str, value: Callable[..., Array], sign: str, **more: Any) -> BlockOperator:
    return _flag(
        name, 2, value, f"({{0}} {sign} {{1}})", field=name, torch=f"({{0}} {sign} {{1}})", scaling="invariant",
        error=error_rules.comparison,
        aten=(f"{name}.Tensor", f"{name}.Scalar"), summary=f"0/1: {sign}",
        hazards=("jumps where the operands are equal",), **more
    )  # fmt: skip


def _extremum(
    name: str, value: Callable[..., Array], other: str, larger: Callable[..., tuple[int, ...]], **more: Any
) -> BlockOperator:
    return BlockOperator(
        name, 2, 2, value, f"tl.{name}({{0}}, {{1}}, propagate_nan=tl.PropagateNan.ALL)", name, f"torch.{name}({{0}}, {{1}})",
        commutes=True, integral=True, scaling="homogeneous", domain=everywhere, error=error_rules.same, derivative=larger,
        aten=(f"{name}.default", f"{other}.other"), **more
    )  # fmt: skip


def _unary(name: str, value: Callable[..., Array], **more: Any) -> BlockOperator:
    """A function of one argument that PyTorch has under the same name."""
    stated = {"triton": f"tl.{name}({{0}})", "torch": f"torch.{name}({{0}})", "aten": (f"{name}.default",)}
    return BlockOperator(name, 1, 1, value, **(stated | more))


_ENTRIES = (
    _leaf("const", "value"),
    _leaf("size", "axis"),
    _leaf("index", "axis"),
    _leaf("mask", "dim", flag=True),
    BlockOperator("add", 1, MANY, block_operator_values.total, field="add", torch="({0} + {1})", joiner=" + ", commutes=True,
                  integral=True, term=lambda t, *xs: t.add(*xs), derivative=lambda t, *xs: (t.const(1),) * len(xs),
                  signs=signs.total, interval=intervals.plus, padding=padding.add, error=error_rules.total, domain=everywhere,
                  partial={"sum": "all", "max": "one"}, scaling="homogeneous", hazards=(_CANCELS,)),
    BlockOperator("mul", 1, MANY, block_operator_values.product, field="mul", torch="({0} * {1})", joiner=" * ", commutes=True,
                  integral=True, term=lambda t, *xs: t.mul(*xs),
                  derivative=lambda t, *xs: tuple(t.mul(*xs[:i], *xs[i + 1 :]) for i in range(len(xs))),
                  signs=signs.product_of, interval=intervals.product, padding=padding.mul,
                  error=error_rules.product, domain=everywhere, partial={"sum": "one"}),
    BlockOperator("sub", 2, 2, np.subtract, "{0} - {1}", "sub", "({0} - {1})", integral=True,
                  term=lambda t, x, y: t.sub(x, y), derivative=lambda t, x, y: (t.const(1), t.const(-1)),
                  signs=signs.minus, interval=intervals.minus, padding=padding.sub, error=error_rules.total, domain=everywhere,
                  partial={"sum": "all", "max": "first"}, scaling="homogeneous", hazards=(_CANCELS,)),
    BlockOperator("div", 2, 2, np.divide, "{0} / {1}", "div", "({0} / {1})", term=lambda t, x, y: t.mul(x, t.inv(y)),
                  derivative=lambda t, x, y: (t.inv(y), t.neg(t.mul(x, t.inv(y), t.inv(y)))),
                  signs=signs.over, interval=intervals.over, padding=padding.div, error=error_rules.quotient, domain=where_second(NONZERO),
                  partial={"sum": "first"}, special=1, hazards=("divides by zero",)),
    _unary("neg", np.negative, triton="-{0}", field="neg", integral=True, term=lambda t, x: t.neg(x),
           derivative=lambda t, x: (t.const(-1),), signs=signs.negative, interval=intervals.negative, padding=padding.neg,
           error=error_rules.same, domain=everywhere, partial={"sum": "all"}, scaling="homogeneous", summary="-x"),
    BlockOperator("inv", 1, 1, lambda x: 1.0 / x, "1.0 / {0}", "inv", "torch.reciprocal({0})", term=lambda t, x: t.inv(x),
                  derivative=lambda t, x: (t.neg(t.mul(t.inv(x), t.inv(x))),), signs=signs.inverse,
                  interval=intervals.inverse, padding=by_state("huge", one="one", nonzero="nonzero"),
                  error=error_rules.inverse, domain=where_first(NONZERO), special=1, hazards=("divides by zero",)),
    _unary("exp", np.exp, field="exp", exp2="tl.exp2({0})", term=lambda t, x: t.exp(x),
           derivative=lambda t, x: (t.exp(x),), signs=signs.always(POSITIVE), interval=intervals.exponential,
           padding=by_state("huge", zero="one", lowest="zero"), error=error_rules.exponential, domain=everywhere, special=1,
           hazards=("overflows above 88.7 in float32",), summary="exp(x)"),
    _unary("sqrt", np.sqrt, field="sqrt", term=lambda t, x: t.sqrt(x),
           derivative=lambda t, x: (t.mul(t.literal(0.5), t.inv(t.sqrt(x))),), signs=signs.root, interval=intervals.root,
           padding=by_state(zero="zero", one="one"), error=error_rules.root, domain=where_first(NONNEGATIVE), special=1,
           hazards=("NaN below zero",), summary="square root"),
    _unary("rsqrt", lambda x: 1.0 / np.sqrt(x), field=lambda f, x: f.inv(f.sqrt(x)), term=lambda t, x: t.inv(t.sqrt(x)),
           derivative=lambda t, x: (t.mul(t.literal(-0.5), t.inv(x), t.inv(t.sqrt(x))),),
           signs=signs.always(POSITIVE), interval=intervals.inverse_root, padding=by_state(one="one", zero="huge"),
           error=error_rules.inverse_root, domain=where_first(POSITIVE), special=1, hazards=("NaN below zero, infinite at zero",),
           summary="1 / sqrt(x)"),
    _unary("sigmoid", block_operator_values.sigmoid, field="sigmoid",
           derivative=lambda t, x: (t.mul(t.fn("sigmoid", x), t.sub(t.const(1), t.fn("sigmoid", x))),),
           signs=signs.always(POSITIVE), interval=intervals.always(0.0, 1.0), padding=by_state("finite", lowest="zero"),
           error=error_rules.sigmoid, domain=everywhere, flops=3, special=2, summary="1 / (1 + exp(-x))"),
    _unary("log", np.log, at_infinity=np.log, derivative=lambda t, x: (t.inv(x),), interval=intervals.logarithm,
           padding=by_state(one="zero", zero="lowest"), error=error_rules.logarithm, domain=where_first(POSITIVE), special=1,
           hazards=("NaN below zero, -inf at zero",), summary="natural logarithm"),
    _unary("erf", block_operator_values.erf, at_infinity=np.sign,
           derivative=lambda t, x: (t.mul(t.literal(2 / math.sqrt(math.pi)), t.exp(t.neg(t.mul(x, x)))),),
           signs=signs.same, interval=intervals.always(-1.0, 1.0), padding=by_state("finite", zero="zero"),
           error=error_rules.error_function, domain=everywhere, flops=12, special=1, summary="error function"),
    _unary("tanh", np.tanh, triton="2.0 * tl.sigmoid(2.0 * {0}) - 1.0", field=_tanh,
           derivative=lambda t, x: (t.sub(t.const(1), t.mul(t.fn("tanh", x), t.fn("tanh", x))),),
           signs=signs.same, interval=intervals.always(-1.0, 1.0), padding=by_state("finite", zero="zero"),
           error=error_rules.tanh, domain=everywhere, flops=5, special=2, hazards=("absolute error 6e-8 near zero",),
           summary="hyperbolic tangent"),
    _unary("abs", np.abs, field="abs", integral=True,
           derivative=lambda t, x: (t.where(t.fn("lt", x, t.const(0)), t.const(-1), t.const(1)),),
           signs=signs.absolute, interval=intervals.absolute,
           padding=by_state("huge", zero="zero", one="one", nonzero="nonzero", finite="finite"), error=error_rules.same, domain=everywhere,
           summary="absolute value"),
    _unary("sin", np.sin, derivative=lambda t, x: (t.fn("cos", x),), interval=intervals.always(-1.0, 1.0),
           padding=by_state(zero="zero", one="finite", nonzero="finite", finite="finite"),
           error=error_rules.wave("sin"), domain=everywhere, special=1,
           hazards=("inexact for large arguments",), summary="sine"),
    _unary("cos", np.cos, derivative=lambda t, x: (t.neg(t.fn("sin", x)),), interval=intervals.always(-1.0, 1.0),
           padding=by_state(zero="one", one="finite", nonzero="finite", finite="finite"),
           error=error_rules.wave("cos"), domain=everywhere, special=1,
           hazards=("inexact for large arguments",), summary="cosine"),
    _unary("floor", np.floor, aten=(), signs=signs.or_zero, interval=intervals.increasing(np.floor),
    error=error_rules.floor, domain=everywhere,
           padding=by_state("huge", zero="zero", one="one", nonzero="finite", finite="finite", lowest="lowest"),
           hazards=("jumps at integers",)),
    _unary("round", np.rint, triton=_NEAREST, field=_nearest, signs=signs.or_zero, interval=intervals.increasing(np.rint),
           error=error_rules.nearest, domain=everywhere,
           padding=by_state("huge", zero="zero", one="one", nonzero="finite", finite="finite", lowest="lowest"),
           hazards=("jumps between whole numbers",), summary="the nearest whole number, of two the even one"),
    BlockOperator("quotient", 2, 2, block_operator_values.quotient, "tl.floor({0} / {1})", "quotient", "torch.floor({0} / {1})",
                  integral=True, error=error_rules.whole_quotient, domain=where_second(NONZERO), special=1,
                  hazards=("jumps at integers", "divides by zero")),
    _extremum("maximum", np.maximum, "max", lambda t, x, y: (t.fn("le", y, x), t.fn("lt", x, y)), signs=signs.pick(max),
              interval=intervals.largest, padding=padding.maximum, partial={"max": "all"}, summary="the larger; NaN if one is"),
    _extremum("minimum", np.minimum, "min", lambda t, x, y: (t.fn("le", x, y), t.fn("lt", y, x)), signs=signs.pick(min),
              interval=intervals.smallest, padding=padding.minimum, summary="the smaller; NaN if one is"),
    BlockOperator("where", 3, 3, block_operator_values.where, "tl.where({0} != 0, {1}, {2})", "where",
                  "torch.where({0} != 0, {1}, {2})", integral=True, term=lambda t, c, x, y: t.where(c, x, y), signs=signs.either,
                  interval=intervals.either, padding=padding.where, error=error_rules.select, domain=everywhere),
    _compare("lt", np.less, "<"),
    _compare("le", np.less_equal, "<="),
    _compare("eq", np.equal, "==", commutes=True, padding=padding.equal),
    _flag("and", 2, block_operator_values.conjunction, "(({0} != 0) & ({1} != 0))", field="conjunction", commutes=True,
          error=error_rules.conjunction,
          torch="torch.logical_and({0}, {1})", padding=padding.conjunction),
    _flag("or", 2, block_operator_values.disjunction, "(({0} != 0) | ({1} != 0))", field="disjunction", commutes=True,
          error=error_rules.disjunction,
          torch="torch.logical_or({0}, {1})", padding=padding.disjunction),
    _flag("not", 1, block_operator_values.negation, "({0} == 0)", field="negation", torch="torch.logical_not({0})",
          error=error_rules.same, padding=padding.negation),
    BlockOperator("finite", 1, 1, block_operator_values.finite, "tl.where({0} == float('-inf'), 0.0, {0})", "finite",
                  "torch.where({0} == float('-inf'), 0.0, {0})", scaling="homogeneous", signs=signs.or_zero,
                  interval=intervals.or_zero, error=error_rules.same, domain=everywhere,
                  padding=by_state("huge", lowest="zero", zero="zero", one="one", nonzero="nonzero", finite="finite")),
    _rounding("fp16", "float16", "float16", block_operator_values.rounding(11, -13, 65504.0, np.inf)),
    _rounding("bf16", "bfloat16", "bfloat16", block_operator_values.rounding(8, -125, 3.3895313892515355e38, np.inf)),
    _rounding("fp8e4m3", "float8e4nv", "float8_e4m3fn", block_operator_values.rounding(4, -5, 448.0, 448.0),
              padding=by_state(zero="zero", one="one", nonzero="huge", finite="huge"),  # it has no infinities
              hazards=("saturates at 448; NaN in older PyTorch",)),
    _rounding("fp8e5m2", "float8e5", "float8_e5m2", block_operator_values.rounding(3, -13, 57344.0, np.inf)),
    BlockOperator("sum", 1, 1, np.sum, "tl.sum({0}, axis={dim})", "sum", form="reduce", attrs=("dim",),
                  partial={"sum": "all"}),
    BlockOperator("max", 1, 1, np.max, "tl.max({0}, axis={dim})", "max", form="reduce", attrs=("dim",),
                  partial={"max": "all"}, scaling="homogeneous", hazards=("a NaN in the tile may be dropped",)),
    BlockOperator("dot", 2, 2, np.matmul, "tl.dot({0}, {1})", "dot", form="dot", attrs=("dim",), flops=2,
                  partial={"sum": "one"}),
)  # fmt: skip
BLOCK: dict[str, BlockOperator] = {entry.name: entry for entry in _ENTRIES}


def commutes(name: str) -> bool:
    entry = BLOCK.get(name)
    return entry is not None and entry.commutes


def rounds(name: str) -> bool:
    """Is it a rounding to a dtype?"""
    entry = BLOCK.get(name)
    return entry is not None and bool(entry.rounds)


def is_flag(name: str) -> bool:
    entry = BLOCK.get(name)
    return entry is not None and entry.flag


def state_of(name: str, args: Sequence[State], flags: Sequence[bool]) -> State:
    """The state in the padding of a pointwise operator's result; `flags` say which arguments are 0/1, and so select in a
    product."""
    if name == "mul" and any(f and x == "zero" for f, x in zip(flags, args, strict=True)):
        return "zero"
    entry = BLOCK.get(name)
    return "any" if entry is None else entry.padding(*args)


class _Degrees:
    """An arithmetic whose values are degrees in the arguments (2: more than one): which methods a composition calls, and
    of what degree their arguments are."""

    def __init__(self) -> None:
        self.called: dict[str, int] = {}

    def const(self, value: object) -> int:
        return 0

    def fn(self, name: str, *xs: int) -> int:
        found = BLOCK[name].in_field(self, *xs) if name in BLOCK else None  # type: ignore[arg-type]
        return 2 * min(1, max(xs)) if found is None else int(found)

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*xs: int) -> int:
            self.called[name] = max(self.called.get(name, 0), *xs)
            if name in ("add", "sub", "neg"):
                return max(xs)
            return min(2, sum(xs)) if name == "mul" else 2 * min(1, max(xs))

        return call


@lru_cache(maxsize=1024)
def field_methods(entry: BlockOperator) -> Mapping[str, int]:
    """The methods of the field arithmetic that an operator's value in the field is made of, each with the degree in the
    operator's arguments of what it is applied to (2: more than one, or not a polynomial)."""
    calls = _Degrees()
    entry.in_field(calls, *[1] * entry.least)  # type: ignore[arg-type]
    return calls.called


def is_exponential(name: str) -> bool:
    """Is an exponential part of the operator's value in the field, or may be (a sigmoid that is no oracle)?"""
    entry = BLOCK.get(name)
    return entry is not None and entry.form == "pointwise" and not {"exp", "sigmoid"}.isdisjoint(field_methods(entry))
