"""Edits that leave what a module computes as it is, bit for bit: names, comments, orders that do not matter, other spellings."""

from __future__ import annotations

from hostile_modules.mutant import Edit, Family, each, exchanged, of
from hostile_modules.mutant import every as at_all

KERNELS, LAUNCHER = "kernels", "launcher"
ROWS: tuple[tuple[str, Edit], ...] = (
    ("name_changed", at_all(KERNELS, r"\bpid\b", "block")),
    ("accumulator_renamed", at_all(KERNELS, r"\b((?:acc|row_sum)\w*)", r"total_\1")),
    ("comment_added", each(KERNELS, r"^( +)(\w+ = )", r"\1# a remark\n\1\2")),
    ("parentheses_added", each(KERNELS, r"^( +\w+ = )([\w.]+ [*+/-] [\w.]+)$", r"\1(\2)")),
    ("product_commuted", each(KERNELS, r"^( +\w+ = )(\w+) \* (\w+)$", r"\1\3 * \2")),
    ("sum_commuted", each(KERNELS, r"^( +\w+ = )([a-z]\w*) \+ ([a-z]\w*)$", r"\1\3 + \2")),
    ("accumulated_in_full", each(KERNELS, r"^( +)(\w+) \+= (\w+)$", r"\1\2 = \2 + \3")),
    ("zeros_as_full", each(KERNELS, r"tl\.zeros\((\(.*\)), tl\.float32\)", r"tl.full(\1, 0.0, tl.float32)")),
    ("mask_commuted", each(KERNELS, r"mask=(in_\w+\[[^]]*\]) & (in_\w+\[[^]]*\])(?=[,)])", r"mask=\2 & \1")),
    ("comparison_turned", each(KERNELS, r"\((i_\w+) < (\w+)\)", r"(\2 > \1)")),
    ("policy_dropped", each(KERNELS, r'^ +eviction_policy="evict_first",\n', "")),
    (
        "blocks_backwards",
        each(KERNELS, r"^( +pid\w* = )tl\.program_id\(0\)$", r"\1tl.num_programs(0) - 1 - tl.program_id(0)"),
    ),
    (
        "ceiling_otherwise",
        each(LAUNCHER, r"-\(-(sizes\[\"\w+\"\]) // (tiles\[[^/]*?\]\[\"\w+\"\])\)", r"triton.cdiv(\1, \2)"),
    ),
    ("zeros_allocated", each(LAUNCHER, r"torch\.empty\(", "torch.zeros(")),
    ("allocations_exchanged", exchanged(LAUNCHER, r"^ +out\w* = torch\.empty\(.*$")),
    ("arguments_reordered", exchanged(LAUNCHER, r"^ +[A-Z_]+=(?:sizes|tiles)\[.*,$")),
    ("more_warps", each(LAUNCHER, r"num_warps=\d+", "num_warps=8", "num_warps=2")),
    ("fewer_stages", each(LAUNCHER, r"num_stages=\d+", "num_stages=1", "num_stages=2")),
    ("answer_copied", each(LAUNCHER, r"^    return (out)$", r"    return \1.clone()")),
    ("answer_named", each(LAUNCHER, r"^    return (out)$", r"    answer = \1\n    return answer")),
    ("docstring_changed", each(LAUNCHER, r'""".*"""', '"""Launches."""')),
    (
        "guard_split",
        each(
            LAUNCHER,
            r"return here and tuple\(given\) == _EXPECTED",
            "if not here:\n        return False\n    return tuple(given) == _EXPECTED",
        ),
    ),
    ("else_added", each(LAUNCHER, r"^    (return _original_.*)$", r"    else:\n        \1")),
    ("sizes_copied", each(LAUNCHER, r"^TILES = ", "SIZES = dict(SIZES)\nTILES = ")),
    ("line_added", each("imports", r"^import torch$", "import torch\n")),
    ("header_changed", each("header", r"^# time: .*$", "# time: unknown")),
)

FAMILIES: tuple[Family, ...] = of("equal", "equal", ROWS)
