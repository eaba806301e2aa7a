"""Edits of a kernel's precision: values, accumulators and partial results narrowed, casts moved, functions and constants less exact."""

from __future__ import annotations

import re

from hostile_modules.mutant import Replacement, each, of, together
from hostile_modules.mutant import every as at_all
from hostile_modules.text_families import NUMBER

KERNELS, LAUNCHER = "kernels", "launcher"
NARROW = (".to(tl.float16).to(tl.float32)", ".to(tl.bfloat16).to(tl.float32)")
# A value of floats on one line: what makes indices, masks, numbers of tiles and blocks has other names or is no float.
VALUE = (
    r"^( +(?!(?:pid|in|i|blocks|tiles|share|first|group|arrived)(?:_|\b))\w+) = "
    r"(?!tl\.(?:zeros|full|load|program_id|arange))([^\n#]*[^\n(#:,])$"
)
ADDED = r"^( +)(\w+) \+= (.+)$"
FUNCTION = r"tl\.(exp2?|rsqrt|sqrt|sigmoid|log2?|erf|sin|cos)\((\w+)\)"


def narrowed(form: str) -> tuple[Replacement, ...]:
    """The replacement with each of the two narrow dtypes as {c}."""
    return tuple(form.replace("{c}", x) for x in NARROW)


def digits(count: int) -> Replacement:
    """A constant with that many digits; one that has no more is moved in that digit."""

    def new(match: re.Match[str]) -> str:
        value = float(match[0])
        cut = float(f"{value:.{count}g}")
        return repr(cut if cut != value else value * (1 + 3 * 10.0**-count))

    return new


FAMILIES = of(
    "precision",
    "certify",
    (
        ("value_narrowed", each(KERNELS, VALUE, *narrowed(r"\1 = (\2){c}"))),
        ("accumulator_narrowed", each(KERNELS, ADDED, *narrowed(r"\1\2 = (\2 + \3){c}"))),
        ("product_accumulated_in_half", each(KERNELS, r"(tl\.dot\([^\n]*\))$", *narrowed(r"\1{c}"))),
        (
            "product_of_halves_in_half",
            each(KERNELS, r"= (tl\.dot\([^\n]*), (acc\w*)\)$", *narrowed(r"= \2 + (\1)){c}")),
        ),
        ("sum_of_halves", each(KERNELS, r"tl\.sum\((\w+), axis", *narrowed(r"tl.sum(\1{c}, axis"))),
        ("maximum_of_halves", each(KERNELS, r"tl\.max\((\w+), axis", *narrowed(r"tl.max(\1{c}, axis"))),
        ("function_of_a_half", each(KERNELS, FUNCTION, *narrowed(r"tl.\1((\2){c})"))),
        ("function_in_half", each(KERNELS, FUNCTION, *narrowed(r"tl.\1(\2){c}"))),
        ("function_rounded", each(KERNELS, FUNCTION, r"(tl.\1(\2) * 1.0005)", r"(tl.\1(\2) + 1e-4)")),
        (
            "cast_of_a_load_dropped",
            each(KERNELS, r"\)\.to\(tl\.float32\)", ")", ").to(tl.float16)", ").to(tl.bfloat16)"),
        ),
        ("load_narrowed", each(KERNELS, r"(other=[^\n]*\n(?:[^\n]*policy[^\n]*\n)? +\))$", *narrowed(r"\1{c}"))),
        (
            "operand_in_bfloat",
            each(KERNELS, r"\.to\((\w+)\.dtype\)", r".to(tl.bfloat16).to(\1.dtype)", r".to(tl.float8e5).to(\1.dtype)"),
        ),
        (
            "result_in_bfloat",
            each(KERNELS, r"\.to\((\w+)\.dtype\.element_ty\)", r".to(tl.bfloat16).to(\1.dtype.element_ty)"),
        ),
        (
            "result_in_eight_bits",
            each(KERNELS, r"\.to\((\w+)\.dtype\.element_ty\)", r".to(tl.float8e5).to(\1.dtype.element_ty)"),
        ),
        ("partial_in_half", each(LAUNCHER, r"dtype=torch\.float32", "dtype=torch.float16", "dtype=torch.bfloat16")),
        (
            "all_partials_in_half",
            at_all(LAUNCHER, r"dtype=torch\.float32", "dtype=torch.float16", "dtype=torch.bfloat16"),
        ),
        (
            "everything_in_half",
            together(
                at_all(KERNELS, ADDED, r"\1\2 = (\2 + \3).to(tl.float16).to(tl.float32)"),
                at_all(KERNELS, r"(tl\.dot\([^\n]*\))$", r"\1.to(tl.float16).to(tl.float32)"),
            ),
        ),
        ("constant_in_three_digits", each(KERNELS, NUMBER, digits(3))),
        ("constant_in_four_digits", each(KERNELS, NUMBER, digits(4))),
        ("constant_in_five_digits", each(KERNELS, NUMBER, digits(5))),
        ("constant_in_half", each(KERNELS, NUMBER, r"(\1 * 1.0009765625)")),
        (
            "quotient_by_inverse_in_half",
            each(KERNELS, r"^( +\w+ = [^\n/]+) / ([^\n/]+)$", *narrowed(r"\1 * (1.0 / (\2 + 0.0)){c}")),
        ),
    ),
)
