"""Certificates made by hand: what an attacker would send to have a false equality accepted, sealed like any other."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mirage_certificate.certificate import FORMAT, VERSION, seal

Data = dict[str, Any]
MUGRAPH = """mugraph f
axes i=3 j=4 k=5
input x fp32 [i, j]
input y fp32 [i, j]
input z fp32 [i]
input b bool [i, j]
output out fp32 [i, j]
"""


def sealed(data: Data) -> bytes:
    """The bytes of a certificate, with a seal that fits."""
    data = {k: v for k, v in data.items() if k != "seal"}
    return json.dumps({**data, "seal": seal(data)}).encode()


@dataclass
class Forge:
    """Rows of terms, and one equation over them."""

    rows: list[list[Any]] = field(default_factory=list)

    def row(self, *row: Any) -> int:
        self.rows.append(list(row))
        return len(self.rows) - 1

    def input(self, name: str, *axes: str, offset: int = 0) -> int:
        return self.row("in", name, [[[a], offset] for a in axes])

    def number(self, text: str) -> int:
        return self.row("num", text)

    def negative(self, x: int) -> int:
        return self.row("mul", self.number("-1"), x)

    def certificate(self, first: int, second: int, *steps: Data, defined: list[Data] | None = None) -> Data:
        """A whole certificate of first = second."""
        sides = [{"kind": k, "name": k, "sha256": "0" * 64} for k in ("function", "mugraph")]
        inputs = [["x", "fp32", 2], ["y", "fp32", 2], ["z", "fp32", 1], ["b", "bool", 2]]
        equation = {"shows": "out", "first": first, "second": second, "steps": list(steps), "defined": defined or []}
        row = {
            "scope": "all sizes", "mugraph": MUGRAPH, "inputs": inputs, "axes": {"i": 3, "j": 4, "k": 5},
            "terms": self.rows, "equations": [equation],
        }  # fmt: skip
        return {"format": FORMAT, "version": VERSION, "first": sides[0], "second": sides[1], "rows": [row]}


def step(law: str, at: int, turned: bool = False, **letters: Any) -> Data:
    return {"law": law, "at": at, "with": letters, **({"turned": True} if turned else {})}


Falsehood = Callable[[Forge], Data]
FALSE: dict[str, Falsehood] = {}


def false(f: Falsehood) -> Falsehood:
    FALSE[f.__name__.replace("_", " ")] = f
    return f


@false
def two_inputs_are_one(f: Forge) -> Data:
    return f.certificate(f.input("x", "i", "j"), f.input("y", "i", "j"))


@false
def two_axes_are_one(f: Forge) -> Data:
    return f.certificate(f.input("z", "i"), f.input("z", "j"))


@false
def transposed(f: Forge) -> Data:
    return f.certificate(f.input("x", "i", "j"), f.input("x", "j", "i"))


@false
def an_offset_is_lost(f: Forge) -> Data:
    return f.certificate(f.input("z", "i"), f.input("z", "i", offset=1))


@false
def lengths_are_one(f: Forge) -> Data:
    return f.certificate(f.row("size", "i"), f.row("size", "j"))


@false
def a_length_is_its_number(f: Forge) -> Data:
    return f.certificate(f.row("size", "i"), f.number("3"))


@false
def a_sum_over_nothing(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(f.row("sum", ["k"], x), x)


@false
def a_number_changes(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(f.row("mul", f.number("2/3"), x), f.row("mul", f.number("666/1000"), x))


@false
def a_float_is_its_square(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(f.row("mul", x, x), x)


@false
def a_comparison_is_turned(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    return f.certificate(f.row("fn", "lt", x, y), f.row("fn", "lt", y, x))


@false
def branches_change_places(f: Forge) -> Data:
    b, x, y = f.input("b", "i", "j"), f.input("x", "i", "j"), f.input("y", "i", "j")
    return f.certificate(f.row("fn", "where", b, x, y), f.row("fn", "where", b, y, x))


@false
def a_quotient_is_turned(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    return f.certificate(f.row("mul", x, f.row("inv", y)), f.row("mul", y, f.row("inv", x)))


@false
def functions_are_one(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(f.row("fn", "sin", x), f.row("fn", "cos", x))


@false
def a_maximum_is_a_sum(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(f.row("sum", ["j"], x), f.row("max", ["j"], x))


@false
def a_maximum_of_a_negative(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    one, other = f.row("max", ["j"], f.negative(x)), f.negative(f.row("max", ["j"], x))
    return f.certificate(one, other, step("factor of a maximum", one, A=["j"], c=f.number("-1"), a=x))


@false
def a_varying_factor_leaves_a_sum(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one, other = f.row("sum", ["j"], f.row("mul", x, y)), f.row("mul", x, f.row("sum", ["j"], y))
    return f.certificate(one, other, step("factor of a sum", one, A=[], B=["j"], c=x, a=y))


@false
def a_sum_of_products(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    inner = f.row("sum", ["j"], y)
    one, other = f.row("sum", ["j"], f.row("mul", x, y)), f.row("mul", f.row("sum", ["j"], x), inner)
    return f.certificate(other, one, step("factor of a sum", one, True, A=["j"], B=["j"], c=x, a=y))


@false
def an_axis_is_captured(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    nested = f.row("sum", ["i"], f.row("mul", x, f.row("sum", ["j"], y)))
    joined = f.row("sum", ["i", "j"], f.row("mul", x, y))
    return f.certificate(nested, joined, step("factor of a sum", nested, True, A=["i"], B=["j"], c=x, a=y))


@false
def a_varying_term_leaves_a_maximum(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one = f.row("max", ["j"], f.row("add", x, y))
    other = f.row("add", y, f.row("max", ["j"], x))
    return f.certificate(one, other, step("term of a maximum", one, A=["j"], a=x, c=y))


@false
def an_exponential_of_a_product(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one, other = f.row("exp", f.row("mul", x, y)), f.row("mul", f.row("exp", x), f.row("exp", y))
    return f.certificate(one, other, step("exponential of a sum", one, a=x, b=y))


@false
def an_exponential_to_another_power(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    one, e = f.row("exp", f.row("mul", f.number("2"), x)), f.row("exp", x)
    return f.certificate(one, f.row("pow", e, 3), step("exponential of a multiple", one, a=x, n=3))


@false
def a_root_of_a_square(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    one = f.row("sqrt", f.row("mul", x, x))
    return f.certificate(
        one, x, step("root of a square", one, a=x), step("what is not negative", f.row("fn", "abs", x), a=x)
    )


@false
def a_root_of_a_product(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one, other = f.row("sqrt", f.row("mul", x, y)), f.row("mul", f.row("sqrt", x), f.row("sqrt", y))
    return f.certificate(one, other, step("root of a product", one, a=x, b=y))


@false
def a_logarithm_of_a_product(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one, other = f.row("fn", "log", f.row("mul", x, y)), f.row("add", f.row("fn", "log", x), f.row("fn", "log", y))
    return f.certificate(one, other, step("logarithm of a product", one, a=x, b=y))


@false
def an_absolute_value_is_dropped(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    one = f.row("fn", "abs", x)
    return f.certificate(one, x, step("what is not negative", one, a=x))


@false
def the_lesser_is_the_greater(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one = f.row("fn", "maximum", x, y)
    return f.certificate(one, x, step("the greater of two", one, a=x, b=y))


@false
def a_law_at_the_power_of_another(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    one = f.row("sqrt", x)
    return f.certificate(one, x, step("square of a root", one, a=x))


@false
def a_square_turned(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(x, f.row("sqrt", x), step("square of a root", x, True, a=x))


@false
def a_law_at_another_atom(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one = f.row("fn", "sigmoid", x)
    found = f.row("inv", f.row("add", f.number("1"), f.row("exp", f.negative(y))))
    return f.certificate(one, found, step("sigmoid", one, a=y))


@false
def a_denominator_that_is_not_there(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    return f.certificate(x, y, step("denominator multiplied out", f.row("inv", f.row("add", x, y))))


@false
def a_denominator_that_is_none(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    return f.certificate(x, y, step("denominator multiplied out", x))


@false
def a_guarded_denominator(f: Forge) -> Data:
    b, x = f.input("b", "i", "j"), f.input("x", "i", "j")
    below = f.row("inv", f.row("mul", b, f.row("add", x, f.number("1"))))
    one = f.row("mul", b, below, f.row("add", x, f.number("1")))
    return f.certificate(one, f.number("1"), step("denominator multiplied out", below))


@false
def a_value_where_there_was_one(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(f.number("1"), f.row("mul", x, f.row("inv", x)))


@false
def a_root_of_what_may_be_negative(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    root = f.row("sqrt", x)
    return f.certificate(x, f.row("mul", root, root), step("square of a root", root, a=x))


@false
def a_condition_by_a_sign_that_is_not_known(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    reason = {"needs": "is not 0", "of": x, "because": "sign"}
    return f.certificate(f.number("1"), f.row("mul", x, f.row("inv", x)), defined=[reason])


@false
def a_condition_on_what_the_first_side_lacks(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    because = {"first": x, "factor": f.number("1"), "steps": []}
    reason = {"needs": "is not 0", "of": x, "because": because}
    return f.certificate(f.number("1"), f.row("mul", x, f.row("inv", x)), defined=[reason])


@false
def a_condition_times_what_may_be_zero(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    product = f.row("mul", x, y)
    one = f.row("mul", x, f.row("inv", x))
    other = f.row("mul", product, f.row("inv", f.row("add", product, f.number("0"))))
    because = {"first": x, "factor": y, "steps": []}
    return f.certificate(one, other, defined=[{"needs": "is not 0", "of": product, "because": because}])


@false
def a_guarded_condition_for_an_open_one(f: Forge) -> Data:
    b, x = f.input("b", "i", "j"), f.input("x", "i", "j")
    quotient = f.row("mul", x, f.row("inv", x))
    first = f.row("add", f.row("mul", b, quotient), f.row("mul", f.number("-1"), b), f.number("1"))
    because = {"first": x, "factor": f.number("1"), "steps": []}
    return f.certificate(first, quotient, defined=[{"needs": "is not 0", "of": x, "because": because}])


@false
def weights_of_a_row_that_is_masked(f: Forge) -> Data:
    """Where every flag is 0 the first side is 0: the quotient is left out."""
    b, x = f.input("b", "i", "j"), f.input("x", "i", "j")
    total = f.row("sum", ["j"], f.row("mul", b, x))
    below = f.row("inv", total)
    one = f.row("sum", ["j"], f.row("mul", b, x, below))
    pulled = step("factor of a sum", one, A=[], B=["j"], c=below, a=f.row("mul", b, x))
    return f.certificate(one, f.number("1"), pulled, step("denominator multiplied out", below))


@false
def a_value_at_the_other_indices(f: Forge) -> Data:
    """The second side divides by every element, the first one by its own."""
    z = f.input("z", "i")
    below = f.row("inv", z)
    second = f.row("add", below, f.row("mul", f.number("0"), f.row("sum", ["i"], below)))
    because = {"first": z, "factor": f.number("1"), "steps": []}
    return f.certificate(below, second, defined=[{"needs": "is not 0", "of": z, "because": because}])


@false
def a_quotient_of_one_thing(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    below = f.row("inv", x)
    return f.certificate(f.row("fn", "where", f.input("b", "i", "j"), f.row("mul", x, below), f.number("1")), f.number("1"),
                         step("denominator multiplied out", below))  # fmt: skip


@false
def letters_that_bring_a_division_in(f: Forge) -> Data:
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one, below = f.row("exp", x), f.row("inv", f.row("add", y, f.number("1")))
    rest = f.row("add", x, f.negative(below))
    law = step("exponential of a sum", one, a=below, b=rest)
    return f.certificate(one, f.row("exp", y), law, step("denominator multiplied out", below))


@false
def infinity_less_infinity(f: Forge) -> Data:
    b, x, none = f.input("b", "i", "j"), f.input("x", "i", "j"), f.row("ninf")
    masked = f.row("fn", "where", b, x, none)
    return f.certificate(f.row("add", masked, f.negative(masked)), f.number("0"))


@false
def zero_times_infinity(f: Forge) -> Data:
    return f.certificate(f.row("mul", f.number("0"), f.row("ninf")), f.number("0"))


@false
def a_guard_of_what_may_be_infinite(f: Forge) -> Data:
    b, x, none = f.input("b", "i", "j"), f.input("x", "i", "j"), f.row("ninf")
    top = f.row("max", ["j"], f.row("fn", "where", b, x, none))
    one = f.row("fn", "finite", top)
    return f.certificate(one, top, step("guard of a number", one, a=top))


@false
def a_division_by_zero(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(f.row("inv", f.row("add", x, f.negative(x))), f.number("0"))


@false
def an_unknown_function_where_there_was_none(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    called = f.row("fn", "gamma", x)
    return f.certificate(x, f.row("add", x, called, f.negative(called)))


@false
def a_rounding_is_dropped(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    return f.certificate(f.row("fn", "round_fp16", x), x)


@false
def nothing_is_shown(f: Forge) -> Data:
    data = f.certificate(f.input("x", "i", "j"), f.input("y", "i", "j"))
    data["rows"][0]["equations"] = []
    return data


@false
def no_row_at_all(f: Forge) -> Data:
    return {**f.certificate(f.input("x", "i", "j"), f.input("x", "i", "j")), "rows": []}


@false
def a_float_called_a_flag(f: Forge) -> Data:
    x = f.input("x", "i", "j")
    data = f.certificate(f.row("mul", x, x), x)
    data["rows"][0]["inputs"][0][1] = "bool"
    return data


def hostile(good: Data) -> Iterator[tuple[str, bytes]]:
    """Texts that are no certificates, or would take long to read. `good` is one that holds."""
    text = json.dumps(good)
    yield "nothing", b""
    yield "no text", b"\xff\xfe\x00"
    yield "another value", b"null"
    yield "a list", b"[]"
    yield "a float", text.replace('"version": 1', '"version": 1.0').encode()
    yield "not a number", text.replace('"version": 1', '"version": NaN').encode()
    yield "a truth value", sealed({**good, "version": True})
    yield "another version", sealed({**good, "version": 2})
    yield "a key twice", text.replace('"version": 1', '"version": 1, "version": 1').encode()
    yield "deep lists", b"[" * 200_000 + b"]" * 200_000
    yield "deep objects", b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    yield "a huge number", text.replace('"version": 1', '"version": ' + "9" * 100_000).encode()
    yield "cut off", text[: len(text) // 2].encode()

    def terms(rows: list[list[Any]]) -> bytes:
        data = copy.deepcopy(good)
        own = data["rows"][0]
        own["terms"] = rows
        own["equations"] = [{**e, "first": len(rows) - 1, "second": 0} for e in own["equations"]]
        return sealed(data)

    axis = next(iter(good["rows"][0]["axes"]))
    x: list[Any] = ["in", "free#new", [[[axis], 0]]]
    yield "powers of powers", terms([x, *(["pow", i, 200] for i in range(40))])
    yield "squares of squares", terms([x, *(["mul", i, i] for i in range(60))])
    yield "numbers of many digits", terms([["num", "9" * 40], *(["mul", i, i] for i in range(60))])
    yield "a number with an exponent", terms([["num", "1e999999999"]])
    yield "a literal without an end", terms([["lit", "1" * 10_000]])
    yield "a literal that is infinite", terms([["lit", "1e999"]])
    yield "exponentials of exponentials", terms([x, *(["exp", i] for i in range(2000))])
    many = [["in", f"v{i}#new", [[[axis], 0]]] for i in range(400)]
    yield "sums times sums", terms([*many, ["add", *range(400)], *(["mul", 400 + i, 400 + i] for i in range(12))])
    nested: list[list[Any]] = [x, ["in", "other#new", [[[axis], 0]]]]
    for _ in range(50):  # each is read twice by the next
        last = len(nested) - 1
        nested += [["mul", 0, last], ["mul", 1, last], ["add", last + 1, last + 2], ["max", [axis], last + 3]]
    yield "each sum read twice", terms(nested)
    guards = [["in", f"v{i}#new", [[[axis], 0]]] for i in range(40)]
    rows: list[list[Any]] = [*guards, ["inv", 0]]
    for i in range(40):
        rows.append(["fn", "where", i, len(rows) - 1, len(rows) - 1 if i % 2 else 0])
    yield "guards of guards", terms(rows)
    yield "a row before its parts", terms([["exp", 1], x])
    yield "a row below zero", terms([x, ["exp", -1]])
    yield "a truth value for a row", terms([x, x, ["exp", True]])
    yield "many rows", terms([x] * 60_000)
    yield "an empty row", terms([[]])
    yield "a row of another kind", terms([["call", "exec"]])
    yield "an axis twice", terms([["in", "free#new", [[[axis, axis], 0]]]])
    yield "an axis that is not known", terms([["in", "free#new", [[["nowhere"], 0]]]])
    yield "an input that is not known", terms([["in", "nothing", [[[axis], 0]]]])
