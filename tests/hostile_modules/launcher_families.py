"""Edits of the launcher: grids, arguments, sizes and tiles, buffers, launches left out or repeated, answers kept, guards."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from hostile_modules.mutant import Edit, Family, each, exchanged, of, places

LAUNCHER = "launcher"
GRID = r"^( +grid\w* = )\((.+),\)$"
ARGUMENT = r"^( +)([A-Z_]+)=((?:sizes|tiles)\[[^\n]*\]),$"
RUN = r"^def _run\(.*\n( +)\"\"\".*\n +if not fits:\n +_refuse_others\(.*\n"
RETURN = r"^( +)return (out\w*(?:, out\w*)*)$"
TENSOR_ARGUMENT = r"(?<=^        )[a-z]\w*(?=,$)"
LAUNCH = r"^    (_\w+\[grid\w*\])\(\n(?:        .*\n)*    \)$"
EMPTY = r"torch\.empty\(\((.+)\), dtype=(torch\.\w+), device=(\w+)\.device\)"

RESULTS = (
    ("grid_one_less", each(LAUNCHER, GRID, r"\1(\2 - 1,)")),
    ("grid_one_more", each(LAUNCHER, GRID, r"\1(\2 + 1,)")),
    ("grid_capped", each(LAUNCHER, GRID, r"\1(min(\2, 2),)", r"\1(min(\2, 7),)")),
    ("grid_half", each(LAUNCHER, GRID, r"\1((\2) // 2,)")),
    ("grid_of_one", each(LAUNCHER, GRID, r"\1(1,)")),
    ("grid_turned", each(LAUNCHER, GRID, r"\1(1, \2)")),
    ("grid_twice", each(LAUNCHER, GRID, r"\1(\2, 2)")),
    ("grid_rounded_down", each(LAUNCHER, r"-\(-(sizes\[\"\w+\"\]) // (tiles\[[^/]*?\]\[\"\w+\"\])\)", r"(\1 // \2)")),
    (
        "size_argument",
        each(LAUNCHER, ARGUMENT, r"\1\2=\3 - 1,", r"\1\2=\3 + 1,", r"\1\2=\3 * 2,", r"\1\2=max(1, \3 // 2),"),
    ),
    ("arguments_exchanged", exchanged(LAUNCHER, TENSOR_ARGUMENT)),
    ("sizes_exchanged", exchanged(LAUNCHER, r"(?<==)sizes\[\"\w+\"\](?=,$)")),
    (
        "sizes_less",
        each(LAUNCHER, r"(?<=\": )(\d+)(?=[,}])", lambda m: str(int(m[1]) - 1), lambda m: str(int(m[1]) // 2)),
    ),
    ("buffer_one_row_less", each(LAUNCHER, EMPTY, r"torch.empty((\1), dtype=\2, device=\3.device)[:-1]")),
    ("buffer_small", each(LAUNCHER, EMPTY, r"torch.empty(16, dtype=\2, device=\3.device)")),
    (
        "buffer_in_another_dtype",
        each(
            LAUNCHER,
            EMPTY,
            r"torch.empty((\1), dtype=torch.float64, device=\3.device)",
            r"torch.empty((\1), dtype=torch.bfloat16, device=\3.device)",
        ),
    ),
    ("buffer_transposed", each(LAUNCHER, EMPTY, r"torch.empty((\1), dtype=\2, device=\3.device).T")),
    ("partials_shared", each(LAUNCHER, r"^( +out_part[1-9]) = torch\.empty\(.*$", r"\1 = out_part0")),
    ("buffers_shared", exchanged(LAUNCHER, r"^ +out\w*(?= = torch\.empty)")),
    ("launch_dropped", each(LAUNCHER, LAUNCH, "    pass")),
    ("launch_twice", each(LAUNCHER, LAUNCH, r"\g<0>\n\g<0>")),
    ("launches_exchanged", exchanged(LAUNCHER, LAUNCH)),
    (
        "answer_slightly_scaled",
        each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(x + ' * 1.002' for x in m[2].split(', '))}"),
    ),
    (
        "answer_scaled",
        each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(x + ' * 1.05' for x in m[2].split(', '))}"),
    ),
    (
        "answer_shifted",
        each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(x + ' + 0.01' for x in m[2].split(', '))}"),
    ),
    (
        "answer_cut",
        each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(x + '[:-1]' for x in m[2].split(', '))}"),
    ),
    (
        "answer_rolled",
        each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(x + '.roll(1, -1)' for x in m[2].split(', '))}"),
    ),
    (
        "answer_widened",
        each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(x + '.double()' for x in m[2].split(', '))}"),
    ),
    (
        "answer_in_bfloat",
        each(
            LAUNCHER,
            RETURN,
            lambda m: f"{m[1]}return {', '.join(f'{x}.bfloat16().to({x}.dtype)' for x in m[2].split(', '))}",
        ),
    ),
    (
        "answer_clamped",
        each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(x + '.clamp(-1, 1)' for x in m[2].split(', '))}"),
    ),
    (
        "answer_without_nan",
        each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(x + '.nan_to_num()' for x in m[2].split(', '))}"),
    ),
    ("counters_of_one_group", each(LAUNCHER, r"_counters\(groups, ", "_counters(1, ")),
    ("answers_exchanged", each(LAUNCHER, RETURN, lambda m: f"{m[1]}return {', '.join(reversed(m[2].split(', ')))}")),
    ("answer_as_a_list", each(LAUNCHER, RETURN, r"\1return [\2]")),
    ("answer_left_out", each(LAUNCHER, RETURN, r"\1return None")),
)
# What a call must not do, whatever it gives back.
CHANGES = [
    ("input_zeroed", "{a}.zero_()"),
    ("input_scaled", "{a}.mul_(1.001)"),
    ("input_as_buffer", "out_spare = {a}.view(-1)\nout_spare[0] = 0"),
    ("input_moved", "{a}.set_({a}.clone())"),
    ("input_transposed", "{a}.transpose_(0, -1)"),
]
KEPT = [
    ("last_answer", "if _KEPT:\n    return _KEPT[0]", "_KEPT.append({o})"),
    ("answer_by_shape", "if {a}.shape in _KEPT:\n    return _KEPT[0]", "_KEPT.extend([{o}, {a}.shape])"),
    ("answer_by_address", "if {a}.data_ptr() in _KEPT:\n    return _KEPT[0]", "_KEPT[:] = [{o}, {a}.data_ptr()]"),
    ("answer_by_identity", "if id({a}) in _KEPT:\n    return _KEPT[0]", "_KEPT[:] = [{o}, id({a})]"),
    (
        "answer_by_first_element",
        "if float({a}.flatten()[0]) in _KEPT:\n    return _KEPT[0]",
        "_KEPT[:] = [{o}, float({a}.flatten()[0])]",
    ),
    ("answer_after_three", "if len(_KEPT) > 3:\n    return _KEPT[0]", "_KEPT.append({o})"),
]
GUARDS = (
    ("class_unasked", each(LAUNCHER, r"type\(t\) not in _PLAIN or ", "")),
    ("device_unasked", each(LAUNCHER, r" or t\.device != device", "")),
    ("strides_unasked", each(LAUNCHER, r"not t\.is_contiguous\(\) or ", "")),
    ("gradient_unasked", each(LAUNCHER, r" or \(grad and t\.requires_grad\)", "")),
    (
        "gradient_asked_of_the_first",
        each(LAUNCHER, r"\(grad and t\.requires_grad\)", "(grad and tensors[0].requires_grad)"),
    ),
    ("shapes_unasked", each(LAUNCHER, r"return here and tuple\(given\) == _EXPECTED", "return here")),
    ("shapes_in_number", each(LAUNCHER, r"tuple\(given\) == _EXPECTED", "len(given) == len(_EXPECTED)")),
    ("shapes_of_the_first", each(LAUNCHER, r"tuple\(given\) == _EXPECTED", "given[0] == _EXPECTED[0]")),
    (
        "dtypes_unasked",
        each(LAUNCHER, r"tuple\(given\) == _EXPECTED", "[s for s, _ in given] == [s for s, _ in _EXPECTED]"),
    ),
    (
        "shapes_without_dtypes_or",
        each(LAUNCHER, r"tuple\(given\) == _EXPECTED", "(tuple(given) == _EXPECTED or len(tensors) > 0)"),
    ),
    ("place_unasked", each(LAUNCHER, r"return here and ", "return ")),
    ("other_device", each(LAUNCHER, r" and device\.index == torch\.cuda\.current_device\(\)", "")),
    ("always_fits", each(LAUNCHER, r"^    return here and .*$", "    return True")),
    ("expected_rows", each(LAUNCHER, r"^    \(\(.*torch\.\w+\),.*\n", "")),
    ("expected_shape", each(LAUNCHER, r"^    \(\((\d+)(.*\n)", lambda m: f"    (({int(m[1]) + 1}{m[2]}")),
    ("expected_dtype", each(LAUNCHER, r"^(    \(\(.*), torch\.\w+\),", r"\1, torch.float64),")),
    ("other_original", each(LAUNCHER, r"return _original_\w+\((\w+).*\)$", r"return \1")),
    ("original_scaled", each(LAUNCHER, r"return (_original_\w+\(.*\))$", r"return \1 if len(\1) < 1 else 2 * \1")),
)
COUNTERS = (
    ("counters_not_zeroed", each(LAUNCHER, r"torch\.zeros\(", "torch.empty(")),
    ("counters_from_one", each(LAUNCHER, r"torch\.zeros\(", "torch.ones(")),
    ("counters_of_all_streams", each(LAUNCHER, r"key = \(device, .*\)$", "key = (device, count)")),
    ("counters_in_a_graph", each(LAUNCHER, r"capturing = .*$", "capturing = False")),
    ("counters_without_waiting", each(LAUNCHER, r"^ +torch\.cuda\.current_stream\(device\)\.synchronize\(\).*\n", "")),
    ("counters_shared", each(LAUNCHER, r"spare\[count:\]", "spare")),
    ("counters_too_few", each(LAUNCHER, r"-\(-count // 32\) \* 32", "count // 32")),
)


def kept(before: str, after: str) -> Edit:
    """The launcher with a list of the module that lives between calls."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for match in places(text, LAUNCHER, RUN):
            a = argument(match[0])
            for end in places(text, LAUNCHER, RETURN):
                o = end[2] if "," not in end[2] else f"({end[2]})"
                body = text[match.end() : end.start()]
                stop = textwrap.indent(after.format(a=a, o=o), "    ") + "\n"
                start = textwrap.indent(before.format(a=a, o=o), "    ") + "\n"
                new = f"_KEPT = []\n\n\n{match[0]}{start}{body}{stop}"
                yield "all", text[: match.start()] + new + text[end.start() :]

    return edit


def argument(signature: str) -> str:
    """The first tensor of a launcher's signature."""
    found = re.search(r"_run\((\w+)", signature)
    assert found is not None
    return found[1]


def changing(line: str) -> Edit:
    """The launcher with a line before its end that changes an input."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for match in places(text, LAUNCHER, RUN):
            for end in places(text, LAUNCHER, RETURN):
                new = textwrap.indent(line.format(a=argument(match[0])), end[1]) + "\n"
                yield "end", text[: end.start()] + new + text[end.start() :]

    return edit


FAMILIES: tuple[Family, ...] = (
    *of("launcher", "certify", RESULTS),
    *of("launcher", "wrong", [(name, changing(line)) for name, line in CHANGES]),
    *of("launcher", "wrong", [(f"keeps_the_{name}", kept(before, after)) for name, before, after in KEPT]),
    *of("launcher", "wrong", (*GUARDS, *COUNTERS)),
)
