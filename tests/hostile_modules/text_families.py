"""Edits of what a kernel computes at its real size: masks, loops, indices, strides, offsets, reductions, constants, stores."""

from __future__ import annotations

import re

from hostile_modules.mutant import Replacement, each, exchanged, of

KERNELS = "kernels"
INSIDE = r"^(    +in_\w+) = \((i_\w+) < (\w+)\) \| \((\w+ % \w+) == 0\)$"
INDEX = r"^(    +i_(\w+)) = (.*tl\.arange\(0, (\w+)\))$"
MASKED = r"(mask=[^=\n]*?)\bin_(\w+?)\b"
LOOP = r"in (tl\.)?range\((.+?)(, num_stages=\d+)?\):$"
NUMBER = r"(?<![\w.\[])(\d+\.\d+(?:e-?\d+)?|\d+e-\d+)(?![\w.])"


def arguments(text: str) -> list[str]:
    """The arguments of a call, cut at the commas outside parentheses; a range from 0 is written with its start."""
    found, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    found = [x.strip() for x in found]
    return ["0", *found] if len(found) == 1 else found


def looping(form: str) -> Replacement:
    """The loop's header with the arguments of its range as {0} and {1}."""

    def new(match: re.Match[str]) -> str:
        start, stop, *more = arguments(match[2])
        return f"in {match[1] or ''}range({', '.join([form.format(start, stop), *more])}{match[3] or ''}):"

    return new


MASKS = (
    ("mask_half", each(KERNELS, INSIDE, r"\1 = \2 < \3 // 2")),
    ("mask_one_less", each(KERNELS, INSIDE, r"\1 = \2 < \3 - 1")),
    ("mask_last_tile", each(KERNELS, INSIDE, r"\1 = (\2 < \3) & (\2 < \3 // 64 * 64)")),
    ("mask_first", each(KERNELS, INSIDE, r"\1 = (\2 > 0) & (\2 < \3)")),
    ("mask_one_column", each(KERNELS, INSIDE, r"\1 = (\2 != \3 // 2) & (\2 < \3)")),
    ("mask_every_seventh", each(KERNELS, INSIDE, r"\1 = (\2 % 7 != 6) & (\2 < \3)")),
    ("mask_one_more", each(KERNELS, INSIDE, r"\1 = \2 <= \3")),
    ("mask_none", each(KERNELS, INSIDE, r"\1 = \2 >= 0")),
    ("mask_far", each(KERNELS, INSIDE, r"\1 = \2 < min(\3, 4000)")),
    ("mask_of_one_use_cut", each(KERNELS, MASKED, r"\1(in_\2 & (i_\2 != 5))", r"\1(in_\2 & (i_\2 < 256))")),
    ("mask_of_one_use_dropped", each(KERNELS, MASKED, r"\1(i_\2 >= 0)")),
)
LOOPS = (
    ("loop_one_less", each(KERNELS, LOOP, looping("{0}, {1} - 1"))),
    ("loop_one_more", each(KERNELS, LOOP, looping("{0}, {1} + 1"))),
    ("loop_from_one", each(KERNELS, LOOP, looping("{0} + 1, {1}"), looping("{0} + 1, {1} + 1"))),
    ("loop_from_before", each(KERNELS, LOOP, looping("{0} - 1, {1}"))),
    ("loop_every_second", each(KERNELS, LOOP, looping("{0}, {1}, 2"))),
    ("loop_half", each(KERNELS, LOOP, looping("{0}, ({0} + {1}) // 2"))),
    ("loop_once", each(KERNELS, LOOP, r"in range(0, 1):")),
    ("tiles_rounded_down", each(KERNELS, r"\((\w+) \+ (BLOCK_\w+) - 1\) // \2", r"\1 // \2")),
    ("share_rounded_down", each(KERNELS, r"\((tiles_\w+) \+ (PARTS_\w+) - 1\) // \2", r"\1 // \2")),
    ("share_moved", each(KERNELS, r"(first_\w+ = \w+ \* share_\w+)", r"\1 + 1", r"\1 - 1", r"\1 // 2")),
    ("share_of_no_end", each(KERNELS, r"min\((first_\w+ \+ share_\w+), (tiles_\w+)\)", r"\1", r"\2")),
)
INDICES = (
    ("index_by_one", each(KERNELS, INDEX, r"\1 = \3 + 1")),
    ("index_next_tile", each(KERNELS, INDEX, r"\1 = \3 + \4")),
    ("index_wrapped", each(KERNELS, INDEX, r"\1 = (\3) % 512", r"\1 = (\3) % (\4 - 1)")),
    ("index_stuck", each(KERNELS, INDEX, r"\1 = (\3) // 2")),
    ("index_in_16_bits", each(KERNELS, INDEX, r"\1 = (\3).to(tl.int16)")),
    ("index_in_8_bits", each(KERNELS, INDEX, r"\1 = (\3).to(tl.int8)")),
    ("tile_overlap", each(KERNELS, r"((?:tile|pid)_\w+) \* (BLOCK_\w+)", r"\1 * (\2 - 1)", r"\1 * (\2 // 2)")),
    ("tile_mirrored", each(KERNELS, r"tl\.arange\(0, (\w+)\)", r"(\1 - 1 - tl.arange(0, \1))")),
    ("block_quotient_for_rest", each(KERNELS, r"(= pid\w*) % (\w+)$", r"\1 // \2")),
    ("block_rest_for_quotient", each(KERNELS, r"(= pid\w*) // (\w+)$", r"\1 % \2")),
    ("block_next", each(KERNELS, r"= (pid\w*) % (\w+)$", r"= (\1 + 1) % (\2 + 1)")),
    ("block_of_another_axis", each(KERNELS, r"program_id\((\d)\)", r"program_id(2)")),
    ("stride_by_one", each(KERNELS, r"(\] \* )(\w+|\([A-Z_ *]+\))", r"\1(\2 + 1)", r"\1(\2 - 1)")),
    ("stride_dropped", each(KERNELS, r"(\]) \* (?:\w+|\([A-Z_ *]+\))", r"\1")),
    ("stride_of_a_block", each(KERNELS, r"(pid_\w+ \* )(\w+|\([A-Z_ *]+\))( \+)", r"\1(\2 + 1)\3", r"\1(\2 // 2)\3")),
    ("offset_up", each(KERNELS, r"(\w+_ptr \+) ", r"\1 1 + ")),
    ("offset_down", each(KERNELS, r"(\w+_ptr) \+ ", r"\1 - 1 + ")),
    ("another_tensor", exchanged(KERNELS, r"\b\w+_ptr(?= \+)")),
)
VALUES = (
    ("other_one", each(KERNELS, r"other=0\.0", "other=1.0", 'other=float("nan")', "other=-0.001")),
    ("padding_kept", each(KERNELS, r"tl\.where\(in_\w+[^,]*(?:, [^,]*?\])?, (\w+), [^)]+\)+$", r"\1")),
    ("padding_of_a_maximum", each(KERNELS, r'(tl\.where\(.*), float\("-inf"\)\)', r"\1, 0.0)", r"\1, -1.0)")),
    ("padding_of_a_sum", each(KERNELS, r"(tl\.where\(.*), 0\.0\)", r"\1, 1.0)", r"\1, 1e-3)")),
    ("sum_for_maximum", each(KERNELS, r"tl\.max\(", "tl.sum(", "tl.min(")),
    ("maximum_for_sum", each(KERNELS, r"tl\.sum\(", "tl.max(", "tl.min(")),
    ("smaller_of_two", each(KERNELS, r"tl\.maximum\(", "tl.minimum(")),
    ("exp_for_exp2", each(KERNELS, r"tl\.exp2\(", "tl.exp(")),
    ("exp2_for_exp", each(KERNELS, r"tl\.exp\(", "tl.exp2(")),
    ("root_for_its_inverse", each(KERNELS, r"tl\.rsqrt\(", "tl.sqrt(")),
    ("tanh_for_sigmoid", each(KERNELS, r"tl\.sigmoid\((\w+)\)", r"(2 * tl.sigmoid(2 * \1) - 1)")),
    ("accumulator_from_one", each(KERNELS, r"tl\.zeros\((.*), tl\.float32\)", r"tl.full(\1, 1.0, tl.float32)")),
    ("maximum_from_zero", each(KERNELS, r'(tl\.full\(.*)float\("-inf"\)', r"\g<1>0.0", r"\g<1>-1.0")),
    ("accumulator_replaced", each(KERNELS, r"(\w+) \+= ", r"\1 = ")),
    ("product_without_its_sum", each(KERNELS, r"(tl\.dot\(.*), [^,()]*acc\w*[^,()]*(\[[^]]*\])?\)$", r"\1)")),
    ("rescale_dropped", each(KERNELS, r"((?:acc|row_sum)\w*) \* \w+(\[[^]]*\])?( \+|\)$)", r"\1\3")),
    ("shift_dropped", each(KERNELS, r"^(    +\w+ = \w+) - finite\w*(\[[^]]*\])?$", r"\1")),
    ("old_maximum_for_new", each(KERNELS, r"- -(\w+)_old$", r"- -\1")),
    ("product_for_sum", each(KERNELS, r"^(    +\w+ = [\w\[\]:, ]+) \* ([\w\[\]:, ]+)$", r"\1 + \2", r"\1 - \2", r"\1")),
    (
        "sum_for_difference",
        each(KERNELS, r"^(    +[a-z]\w* = )([\w\[\]:, ]+) - ([\w\[\]:, ]+)$", r"\1\2 + \3", r"\1\2", r"\1\3 - \2"),
    ),
    ("quotient_by_one_more", each(KERNELS, r"(?<!/)/ (\w+(?:\[[^]]*\])?)$", r"/ (\1 + 1)", r"/ (\1 - 1)", r"* \1")),
    ("constant_dropped", each(KERNELS, r" [-+*/] " + NUMBER, "")),
    ("constant_factor_dropped", each(KERNELS, NUMBER + r" \* ", "")),
    ("constant_times_ten", each(KERNELS, NUMBER, r"(10 * \1)")),
    ("constant_by_a_thousandth", each(KERNELS, NUMBER, r"(1.001 * \1)")),
    ("constant_negated", each(KERNELS, NUMBER, r"(-\1)")),
)
STORES = (
    ("store_dropped", each(KERNELS, r"^( +)tl\.store\((\w+_ptr)", r"\1(lambda *a, **b: None)(\2")),
    ("store_of_zero", each(KERNELS, r"(\w+)\.to\((\w+)\.dtype\.element_ty\)", r"(\1 * 0).to(\2.dtype.element_ty)")),
    ("store_negated", each(KERNELS, r"(\w+)\.to\((\w+)\.dtype\.element_ty\)", r"(-\1).to(\2.dtype.element_ty)")),
    (
        "store_slightly_scaled",
        each(KERNELS, r"(\w+)\.to\((\w+)\.dtype\.element_ty\)", r"(\1 * 1.01).to(\2.dtype.element_ty)"),
    ),
    (
        "store_shifted_value",
        each(KERNELS, r"(\w+)\.to\((\w+)\.dtype\.element_ty\)", r"(\1 + 0.01).to(\2.dtype.element_ty)"),
    ),
    ("store_by_another_block", each(KERNELS, r"if (pid_\w+) == 0:", r"if \1 == 1:", r"if \1 < 0:")),
    ("transpose_dropped", each(KERNELS, r"tl\.trans\((\w+)\)", r"\1")),
    ("permuted_otherwise", each(KERNELS, r"tl\.permute\((\w+), \(1, 0, 2\)\)", r"\1")),
    ("another_axis", each(KERNELS, r"axis=0", "axis=1")),
    ("another_axis_back", each(KERNELS, r"axis=1", "axis=0")),
)

FAMILIES = of("text", "certify", (*MASKS, *LOOPS, *INDICES, *VALUES, *STORES))
