"""Edits of what a module says of itself: its µGraph in comments, alone or together with the text, its original, its header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from hostile_modules.mutant import Edit, Family, each, line_of, of, places, section, together
from hostile_modules.mutant import every as at_all
from hostile_modules.text_families import NUMBER

GRAPH, KERNELS, ORIGINAL, HEADER = "mugraph", "kernels", "original", "header"
# An operator in the graph and in the text, and what takes its place in both.
OPERATORS = (
    ("rsqrt", r"tl\.rsqrt\(", "sqrt", "tl.sqrt("),
    ("exp", r"tl\.exp\(", "exp2", "tl.exp2("),
    ("max", r"tl\.max\(", "min", "tl.min("),
    ("sum", r"tl\.sum\(", "max", "tl.max("),
    ("sigmoid", r"tl\.sigmoid\(", "exp", "tl.exp("),
    ("sqrt", r"tl\.sqrt\(", "rsqrt", "tl.rsqrt("),
)
# Statements of two operands in the graph, by the operator's sign in the text.
SIGNS = (("mul", r"\*", "add", "+"), ("add", r"\+", "sub", "-"), ("sub", "-", "add", "+"), ("div", "/", "mul", "*"))


def constants(factor: Fraction) -> Edit:
    """A constant of the graph, changed there, in the kernels and in the original alike."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for match in places(text, GRAPH, r"const\(value=(-?\d+(?:/\d+)?)\)"):
            value = Fraction(match[1])
            if value == 0:
                continue
            new = value * factor
            graph = text[: match.start(1)] + str(new) + text[match.end(1) :]

            def changed(m: re.Match[str], old: float = float(value), now: float = float(new)) -> str:
                return repr(now) if abs(float(m[0]) - old) <= 1e-9 * abs(old) else m[0]

            both = [x for _, x in at_all(KERNELS, NUMBER, changed)(graph)]
            if both[0] != graph:
                yield f"{line_of(text, match.start())}", both[0]
                yield (
                    f"{line_of(text, match.start())}.original",
                    next(x for _, x in at_all(ORIGINAL, NUMBER, changed)(both[0])),
                )

    return edit


def statements(word: str, sign: str, other: str, new: str) -> Edit:
    """One statement of the graph and the statement of the text that has its name, both with another operator."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for match in places(text, GRAPH, rf"(?<= )(\w+)(\[[^]]*\] = ){word}\("):
            begin, end = section(text, KERNELS)
            lines = [
                m for m in re.compile(rf"^( +{match[1]} = [^\n]*?) {sign} ", re.MULTILINE).finditer(text, begin, end)
            ]
            for line in lines[:1]:
                graph = text[: match.start()] + f"{match[1]}{match[2]}{other}(" + text[match.end() :]
                yield (
                    f"{line_of(text, match.start())}",
                    graph[: line.start()] + f"{line[1]} {new} " + graph[line.end() :],
                )

    return edit


def sizes(change: str) -> Edit:
    """A size of the graph's axes, there and in the launcher's table."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for match in places(text, GRAPH, r"(?<= )(\w+)=(\d+)(?= |$)"):
            size = int(match[2])
            new = {"less": size - 1, "more": size + 1, "half": size // 2}[change]
            graph = text[: match.start()] + f"{match[1]}={new}" + text[match.end() :]
            both = next(
                x for _, x in at_all("launcher", rf'(?<=^SIZES = )(.*"{match[1]}": ){size}\b', rf"\g<1>{new}")(graph)
            )
            yield f"{match[1]}", both

    return edit


def without(part: str) -> Edit:
    def edit(text: str) -> Iterator[tuple[str, str]]:
        begin, end = section(text, part)
        if end:
            yield "all", text[:begin] + text[end:]
            yield (
                "half",
                text[:begin] + text[begin + (end - begin) // 2 :][text[begin + (end - begin) // 2 :].index("\n") + 1 :],
            )

    return edit


ALONE = (
    ("graph_size", each(GRAPH, r"(?<= )(\w+)=(\d+)(?= |$)", lambda m: f"{m[1]}={int(m[2]) + 1}")),
    (
        "graph_operator",
        each(
            GRAPH,
            r"= (mul|add|sub|div|sum|max|exp|rsqrt|dot)\(",
            lambda m: "= " + {"mul": "add", "sum": "max", "max": "sum"}.get(m[1], "mul") + "(",
        ),
    ),
    ("graph_constant", each(GRAPH, r"value=(\S+)\)", "value=3/7)")),
    ("graph_dtype", each(GRAPH, r"\b(fp16|fp32|bf16)\b", lambda m: "fp16" if m[1] == "fp32" else "fp32")),
    ("graph_tile", each(GRAPH, r"tile (\d+)", lambda m: f"tile {2 * int(m[1])}")),
    ("graph_line_dropped", each(GRAPH, r"^# .*\n", "")),
    ("graph_removed", without(GRAPH)),
)
TOGETHER = (
    *(
        (f"operator_{a}_as_{b}", together(at_all(GRAPH, rf"= {a}\(", f"= {b}("), at_all(KERNELS, text, new)))
        for a, text, b, new in OPERATORS
    ),
    *((f"statement_{a}_as_{b}", statements(a, sign, b, new)) for a, sign, b, new in SIGNS),
    ("constant_times_ten", constants(Fraction(10))),
    ("constant_in_the_fifth_digit", constants(Fraction(10003, 10000))),
    ("constant_negated", constants(Fraction(-1))),
    *((f"size_{x}", sizes(x)) for x in ("less", "more", "half")),
    (
        "graph_removed_and_text_changed",
        together(lambda text: iter([next(without(GRAPH)(text))]), at_all(KERNELS, r"tl\.sum\(", "tl.max(")),
    ),
    (
        "graph_removed_and_offset",
        together(lambda text: iter([next(without(GRAPH)(text))]), at_all(KERNELS, r"\bx_ptr \+ ", "x_ptr + 1 + ")),
    ),
)
ORIGINALS = (
    ("original_doubled", each(ORIGINAL, r"^    return (.*)$", r"    return (\1) * 2")),
    ("original_constant", each(ORIGINAL, NUMBER, r"(2 * \1)")),
    ("original_integer", each(ORIGINAL, r"(?<=[ (,-])(\d+)(?=[,) ]|$)", lambda m: str(int(m[1]) + 1))),
    ("original_operator", each(ORIGINAL, r" (\*|\+|@) (?=\w)", lambda m: " - ")),
    (
        "original_function",
        each(
            ORIGINAL,
            r"torch\.softmax|F\.silu|F\.rms_norm|F\.layer_norm|F\.gelu|torch\.logsumexp",
            lambda m: {"F.silu": "F.gelu", "torch.softmax": "torch.log_softmax"}.get(m[0], "torch.softmax"),
        ),
    ),
    ("original_emptied", each(ORIGINAL, r"^    return .*$", "    return None")),
    ("original_calls_the_kernel", each(ORIGINAL, r"^    return .*$", "    raise NotImplementedError")),
)

FAMILIES: tuple[Family, ...] = (
    *of("graph", "certify", ALONE),
    *of("graph", "certify", [(f"with_the_text_{name}", edit) for name, edit in TOGETHER]),
    *of("graph", "wrong", ORIGINALS),
)
