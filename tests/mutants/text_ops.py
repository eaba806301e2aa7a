"""Mutation operators on emitted modules: what stands in the place of one match of a pattern in the kernels' text (or in
the launcher's `_run`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

NAME = r"[a-z]\w*"
SLICE = r"(?:\[[^\]]*\])?"
NUMBER = r"(?<![\w.])(\d+\.\d+(?:e-?\d+)?|\d+e-?\d+)(?![\w.])"
KERNELS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("one mask of two is removed", rf"(in_\w+{SLICE}) & (in_\w+{SLICE})", (r"\1", r"\2")),
    ("a bound is one off", r"\((i_\w+) < (\w+)\)", (r"(\1 < \2 - 1)", r"(\1 <= \2)")),
    ("the padding is taken for data", r"% (\w+) == 0\)", (r"% \1 != 0)",)),
    ("a block's offset", r"((?:pid|tile)_\w+) \* (BLOCK_\w+)", (r"\1 * (\2 - 1)", r"(\1 + 1) * \2", r"\1")),
    ("masked elements are 1", r"other=0\.0", ("other=1.0",)),
    ("masked elements are not -inf", r'other=float\("-inf"\)', ("other=0.0",)),
    ("the other axis is reduced", r"axis=([01])", ("axis=1 - \\1",)),
    ("the last tile is dropped", r"range\((.+?)(, num_stages=\d+)?\):", (r"range(\1 - 1\2):", r"range(max(\1 - 1, 1)\2):")),
    ("the last tile of a share is dropped", r"(tiles_\w+)\)(, num_stages=\d+)?\):", (r"\1 - 1)\2):",)),
    ("rounding down the number of tiles", r"\+ (BLOCK_\w+) - 1\) // \1", (r") // \1",)),
    ("shares overlap", r"(pid_\w+) \* (share_\w+)", (r"\1 * (\2 - 1)", r"\1")),
    ("every second tile", r"range\((?!0, )([^,\n]+)(, num_stages=\d+)?\):", (r"range(0, \1, 2\2):",)),
    ("a sign", r" - (?![1 ])", (" + ",)),
    ("the other sign", r"= ([\w\[\], :]+) \+ ([a-z])", (r"= \1 - \2",)),
    ("no _old", r"\b(\w+)_old\b(?! =)", (r"\1",)),
    ("max for sum", r"tl\.sum\(", ("tl.max(",)),
    ("sum or min for max", r"tl\.max\(", ("tl.sum(", "tl.min(")),
    ("minimum for maximum", r"tl\.maximum\(", ("tl.minimum(",)),
    ("exp2 for exp", r"tl\.exp\(", ("tl.exp2(",)),
    ("exp for exp2", r"tl\.exp2\(", ("tl.exp(",)),
    ("another function", r"tl\.(?:rsqrt|sigmoid)\(", ("tl.sqrt(", "tl.exp(", "tl.abs(")),
    ("sqrt forgotten", r"tl\.sqrt\(", ("(", "tl.abs(")),
    ("a rescale is lost", rf" \* (?:rescale|decay|f)\w*{SLICE}", ("",)),
    ("a factor is lost", rf" \* {NAME}{SLICE}(?=\n|,|\))", ("",)),
    ("a term is lost", rf" \+ {NAME}{SLICE}\n", ("\n",)),
    ("a literal is 1% off", NUMBER, (r"(\1 * 1.01)", r"(\1 + 1.0)")),
    ("another epsilon", r"(1e-0\d)", (r"\1 * 10.0",)),
    ("the mean over another size", r" / ([A-Z]+)\b", (" / 4096", r" / (\1 + 1)")),
    ("a mask selects nothing", rf"tl\.where\(([^,()]+{SLICE}), ([^,()]+{SLICE}), (0\.0|float\(\"-inf\"\))\)", (r"\2",)),
    ("a selection is turned round", rf"tl\.where\((\w+{SLICE}), ([^,()]+), ([^,()]+)\)", (r"tl.where(\1, \3, \2)",)),
    ("the sum is not carried", r"(\w+) \+= ", (r"\1 = ",)),
    ("the dot is not carried", r"(tl\.dot\(.+, .+), [^,()]+\)", (r"\1)",)),
    ("accumulators begin at 1", r"tl\.zeros\((.+?), tl\.float32\)", (r"tl.full(\1, 1.0, tl.float32)",)),
    ("maxima begin at 0", r'tl\.full\((.+?), float\("-inf"\)', (r"tl.full(\1, 0.0",)),
    ("product for quotient", r" / (?=[a-z(])", (" * ",)),
    ("blocks are confused", r"pid(\w*) % ", (r"pid\1 // ",)),
    ("another block first", r"pid(\w*) // ", (r"pid\1 % ",)),
    ("a stride is off", r" \* ([A-Z])\b(?! \*)", (r" * (\1 + 1)", "")),
    ("another index", r"\+ i_(\w+)(\[[^\]]*\])", (r"+ 0 * i_\1\2", r"+ (i_\1 + 1)\2")),
    ("not the last block", r"== (PARTS_\w+) - 1", (r"== \1 - 2", "== 0")),
    ("a store is left out", r"\n( +)tl\.store\(", (r"\n\1(lambda *a, **k: None)(",)),
)  # fmt: skip
LAUNCHER: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("pointers are exchanged", r"\n        (\w+),\n        (\w+),", (r"\n        \2,\n        \1,",)),
    ("a size is one off", r"=sizes\[(\"\w+\")\],", (r"=sizes[\1] - 1,", r"=sizes[\1] + 1,")),
    ("a tile is another one", r"=tiles\[(\"[\w.]+\")\]\[(\"\w+\")\],", (r"=2 * tiles[\1][\2],", r"=max(1, tiles[\1][\2] // 2),")),
    ("a block is missing", r"grid = \((.+),\)\n", (r"grid = (\1 - 1,)\n", r"grid = (\1 + 1,)\n")),
)  # fmt: skip
PUBLIC: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("arguments are exchanged", r"return _run\((.*, )?(\w+), (\w+), fits=True\)", (r"return _run(\1\3, \2, fits=True)",)),
    ("an argument twice", r"return _run\((.*, )?(\w+), (\w+), fits=True\)", (r"return _run(\1\2, \2, fits=True)",)),
    ("a guard less", r" or (?:t\.device != device|\(grad and t\.requires_grad\))|not t\.is_contiguous\(\) or ", ("",)),
    ("another comparison", r"tuple\(given\) == _EXPECTED", ("True", "tuple(given[1:]) == _EXPECTED[1:]", "given == _EXPECTED")),
    ("the guard skips a tensor", r"if (.*)_fits\((\w+), ", (r"if \1_fits(",)),
    ("made for another shape", r"\(\((\d+),", (r"((1\1,",)),
    ("made for another dtype", r"torch\.float16\),", ("torch.float32),",)),
    ("the fallback's arguments", r"return (_original_\w+)\((\w+), (\w+)", (r"return \1(\3, \2",)),
)  # fmt: skip
VARIABLES = "a variable for another"
POINTERS = "a load of another tensor"
SIZES = "the size of another axis"
OPERATORS: tuple[str, ...] = (
    *(k[0] for k in KERNELS),
    *(k[0] for k in (*LAUNCHER, *PUBLIC)),
    VARIABLES,
    POINTERS,
    SIZES,
)


def part(text: str, name: str) -> tuple[str, str, str]:
    head, begin, rest = text.partition(f"# mirage:begin {name}")
    body, end, tail = rest.partition(f"# mirage:end {name}")
    return head + begin, body, end + tail


def replaced(body: str, pattern: str, new: tuple[str, ...]) -> Iterator[str]:
    """`body` with one match replaced, for each match and each replacement."""
    for m in re.finditer(pattern, body):
        for n in new:
            changed = body[: m.start()] + m.expand(n) + body[m.end() :]
            if changed != body:
                yield changed


def other_names(body: str, pattern: str, found: list[str]) -> Iterator[str]:
    """Each match of the pattern's group 1 by each other name of `found`."""
    for m in re.finditer(pattern, body):
        for name in found:
            if name != m.group(1):
                yield body[: m.start(1)] + name + body[m.end(1) :]


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """(operator, mutated module), every operator at every place."""
    head, body, tail = part(text, "kernels")
    for name, pattern, new in KERNELS:
        for changed in replaced(body, pattern, new):
            yield name, head + changed + tail
    defined = sorted(set(re.findall(rf"\n +({NAME}) = ", body)))
    tiles = [v for v in defined if not v.startswith(("i_", "in_", "pid", "tile", "blocks", "first", "group"))]
    for changed in other_names(body, rf"(?<=[(=*+/-] )({'|'.join(map(re.escape, tiles)) or '(?!)'})\b(?!\s*=)", tiles):
        yield VARIABLES, head + changed + tail
    pointers = sorted(set(re.findall(r"(\w+_ptr),", body)))
    for changed in other_names(body, r"\n\s+(\w+_ptr) \+", pointers):
        yield POINTERS, head + changed + tail
    sizes = sorted(set(re.findall(r"\n    ([A-Z]+): tl\.constexpr", body)))
    for changed in other_names(body, r"[(*%<] ?\b([A-Z]+)\b", sizes):
        yield SIZES, head + changed + tail
    head, body, tail = part(text, "launcher")
    run, mark, rest = body.partition("_EXPECTED = ")
    for name, pattern, new in LAUNCHER:
        for changed in replaced(run, pattern, new):
            yield name, head + changed + mark + rest + tail
    for name, pattern, new in PUBLIC:
        for changed in replaced(rest, pattern, new):
            yield name, head + run + mark + changed + tail
