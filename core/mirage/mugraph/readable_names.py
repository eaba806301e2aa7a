"""Names of tiles by what computes them: `row_max`, `sum_sq`, `scores`, `acc_out` in the place of `t_2` and `acc_3`.

The words come from a table by operator and from the names of tensors, never from a µGraph's own tile names; who knows what the user
calls a tile's value gives that. A name stands once
in its block. Equal µGraphs but for the names of their tiles get equal ones."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from mirage.mugraph import old_value, rename
from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    ThreadGraph,
)
from mirage.mugraph.walk import each_block

PLAIN = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
AVOIDED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "tl", "triton", "torch", "math", "self"})
OTHER = "value"  # of what no word of the table fits
EXP, MAX = "exp(", "max("  # beside names of tensors: what a value flows into

MASKS = ("lt", "le", "eq", "and", "or", "not", "mask")
# What an operator's result is called, whatever its arguments are.
WORDS = {
    "neg": "negated",
    "inv": "inverse",
    "sqrt": "root",
    "div": "ratio",
    "mul": "scaled",
    "add": "added",
    "sub": "difference",
    "where": "chosen",
    "maximum": "largest",
    "minimum": "smallest",
    "round_bf16": "rounded",
    "round_fp16": "rounded",
    "round_fp8e4m3": "rounded",
    "round_fp8e5m2": "rounded",
    "round": "rounded",
    "floor": "floored",
    "abs": "magnitude",
    "const": "number",
    **dict.fromkeys(MASKS, "mask"),
}
REDUCING = ("sum", "max", "dot")
Body = tuple[Statement | Loop, ...]


def readable(mugraph: MuGraph, own: Iterable[Mapping[str, str]] = ()) -> MuGraph:
    """The µGraph with its tiles named by what computes them. `own`: for each block in launch order, a tail after its block, names that
    win where they can be a tile's: those of the user's source."""
    given = iter(own)

    def named(block: BlockGraph) -> BlockGraph:
        names = BlockNames(block, next(given, {})).names
        return rename.tiles(lambda x: names.get(x, x), block)

    return each_block(mugraph, named)


class ReadableNames:
    """Readable names of many µGraphs that share their blocks' bodies, as those of one search do: tiles of other sizes and other
    launches are the same statements, which are named once. It keeps the bodies that it was given."""

    def __init__(self) -> None:
        self._named: dict[int, tuple[Body, Body]] = {}  # by the identity of a body: that body, and its statements named

    def of(self, mugraph: MuGraph) -> MuGraph:
        """The µGraph with its tiles named by what computes them."""
        return each_block(mugraph, self._block)

    def _block(self, block: BlockGraph) -> BlockGraph:
        if id(block.body) not in self._named:
            names = BlockNames(block, {}).names
            self._named[id(block.body)] = block.body, rename.tiles(lambda x: names.get(x, x), block).body
        return replace(block, body=self._named[id(block.body)][1])


class BlockNames:
    """The new name of each tile of a block, in `names`. Statements are looked at in their order, so that what an argument is
    called is known; what a value flows into, in the opposite one."""

    def __init__(self, block: BlockGraph, own: Mapping[str, str]) -> None:
        self.made: dict[str, Load | Compute | Accumulate] = {}
        self.summed: dict[str, str] = {}  # a tile -> the accumulator that takes it
        self.stored: dict[str, str] = {}  # a tile -> the tensor that it is stored into
        self.flows: dict[str, set[str]] = {}  # a tile -> tensors that it reaches by pointwise operators, and EXP, MAX
        self.words: dict[str, str] = {}
        self.names: dict[str, str] = {}
        every = [
            p for item in block.body for s in (item.body if isinstance(item, Loop) else (item,)) for p in _parts(s)
        ]
        for s in every:
            if isinstance(s, Store):
                self.stored.setdefault(old_value.bare(s.tile), s.tensor.lower())
            else:
                self.made.setdefault(s.out, s)
            if isinstance(s, Accumulate):
                self.summed.setdefault(s.arg, s.out)
        for s in reversed(every):
            self._flow(s)
        taken: set[str] = set()
        for name in self.made:
            self.words[name] = self._word(name)
        chosen = {x: self._guarded(x, word) for x, name in own.items() if x in self.made and (word := _usable(name))}
        for name, word in chosen.items():
            self.names[name] = _fresh(word, taken)
        for name, word in self.words.items():
            if name not in chosen:
                total = chosen.get(self.summed.get(name, "")) if self._of_one_tile(name) else None
                self.names[name] = _fresh(f"{total}_tile" if total else word, taken)

    def _flow(self, s: Load | Compute | Accumulate | Store) -> None:
        into: set[str] = set()
        args: tuple[str, ...]
        if isinstance(s, Store):
            into, args = {s.tensor.lower()}, (s.tile,)
        elif isinstance(s, Compute):
            args = s.args
            into = {MAX} if s.op == "max" else {EXP} if s.op == "exp" else set()
            into |= set() if s.op in REDUCING else self.flows.get(s.out, set())
        else:
            args = (s.arg,) if isinstance(s, Accumulate) else ()
            into = self.flows.get(s.out, set()) if isinstance(s, Accumulate) and s.op == "sum" else {MAX}
        for a in args:
            self.flows.setdefault(old_value.bare(a), set()).update(into)

    def _word(self, name: str) -> str:
        s = self.made[name]
        if isinstance(s, Load):
            return s.tensor.lower()
        if isinstance(s, Accumulate):
            return self._reduced(self.made.get(s.arg), s.out, "acc")
        if self._of_one_tile(name):
            return f"{self._word(self.summed[name])}_tile"
        if name in self.stored:
            return self.stored[name]
        if s.op in REDUCING:
            return self._reduced(s, name, "product")
        return self._pointwise(s)

    def _guarded(self, name: str, word: str) -> str:
        """A variable's name for a tile that is its value but for masks, or for rows without any finite number."""
        s = self.made[name]
        if isinstance(s, Compute) and s.op == "finite":
            return f"{word}_finite"
        args = [self.made.get(old_value.bare(a)) for a in s.args] if isinstance(s, Compute) else []
        masks = any(isinstance(a, Compute) and a.op in MASKS for a in args)
        return _masked(word) if masks and s.op in ("where", "mul") else word  # type: ignore[union-attr]

    def _of_one_tile(self, name: str) -> bool:
        """Is it what an accumulator takes of one tile?"""
        s = self.made[name]
        return name in self.summed and isinstance(s, Compute) and s.op in REDUCING

    def _reduced(self, s: Load | Compute | Accumulate | None, name: str, product: str) -> str:
        """What a sum, a maximum or a product is called: by what is reduced and where the result goes."""
        if not isinstance(s, Compute) or s.op not in REDUCING:
            return "acc"
        if s.op == "max":
            return "row_max"
        if s.op == "sum":
            inner = self.made.get(s.args[0])
            if isinstance(inner, Load):
                return f"sum_{inner.tensor.lower()}"
            square = isinstance(inner, Compute) and inner.op == "mul" and len(inner.args) == 2
            return "sum_sq" if square and len(set(inner.args)) == 1 else "row_sum"  # type: ignore[union-attr]
        into = self.flows.get(name, set())
        if len(set(s.args)) == 1:
            return "sum_sq"
        if into & {EXP, MAX}:
            return "scores"
        return f"{product}_{next(iter(into))}" if product == "acc" and len(into) == 1 else product

    def _pointwise(self, s: Compute) -> str:
        words = [self.words.get(old_value.bare(a), "") for a in s.args]
        kinds = [self.made.get(old_value.bare(a)) for a in s.args]
        ops = [k.op if isinstance(k, Compute) else "" for k in kinds]
        if s.op in ("size", "index"):
            return f"{s.op}_{s.attr('axis').lower()}"
        if s.op in ("div", "mul"):
            return self._factor(s, words, kinds, ops)
        if s.op in ("add", "sub") and (said := self._sum(s, words, kinds, ops)):
            return said
        if s.op == "exp":
            return {"max_change": "rescale", "shifted": "weights"}.get(words[0], "exponential")
        if s.op == "rsqrt":
            return "rstd" if words[0].startswith(("mean", "var", "sum", "row_sum")) else "inverse_root"
        if s.op == "where" and ops[0] in MASKS:
            return _masked(words[1])
        first = words[0] if kinds and isinstance(kinds[0], Load) else OTHER
        return f"{words[0]}_finite" if s.op == "finite" else WORDS.get(s.op, f"{s.op}_{first}")

    def _sum(
        self, s: Compute, words: list[str], kinds: list[Load | Compute | Accumulate | None], ops: list[str]
    ) -> str:
        """The name of a sum or a difference with a mean, a maximum or a small number; "" of any other."""
        inner = [self._inner(k) if op == "neg" else w for k, op, w in zip(kinds, ops, words, strict=True)]
        minus = inner[1:] if s.op == "sub" else [w for w, op in zip(inner, ops, strict=True) if op == "neg"]
        if any(w.startswith("mean") for w in minus):
            return "centered"
        if any(w.startswith("row_max") for w in minus):
            return "max_change" if all(w.startswith("row_max") for w in inner) else "shifted"
        return f"{words[0]}_eps" if words[0].startswith(("mean", "var")) and ops[1:] == ["const"] else ""

    def _factor(
        self, s: Compute, words: list[str], kinds: list[Load | Compute | Accumulate | None], ops: list[str]
    ) -> str:
        """A product's or a quotient's name."""
        if s.op == "div" and ops[1] == "size" and words[0].startswith(("sum", "row_sum")):
            return "mean_sq" if words[0].startswith("sum_sq") else "mean"
        if any(w.startswith("rstd") for w in words) or (s.op == "div" and ops[1] == "sqrt"):
            return "normed"
        if len(s.args) == 2 and s.args[0] == s.args[1]:
            return f"{words[0]}_sq" if isinstance(kinds[0], Load) else "squared"
        if any(isinstance(k, Compute) and k.op == "sigmoid" and k.args[0] in s.args for k in kinds):
            return "silu"
        kept = [w for w, op in zip(words, ops, strict=True) if op not in MASKS]
        return _masked(kept[0]) if len(kept) == 1 < len(words) else WORDS[s.op]

    def _inner(self, s: Load | Compute | Accumulate | None) -> str:
        """The word of what is negated."""
        return self.words.get(old_value.bare(s.args[0]), "") if isinstance(s, Compute) else ""


def _masked(word: str) -> str:
    return word if word.endswith("_masked") else f"{word}_masked"


def _parts(s: Statement) -> tuple[Load | Compute | Accumulate | Store, ...]:
    return s.body if isinstance(s, ThreadGraph) else (s,)


def _usable(name: str) -> str:
    """A variable's name as a tile's; "" where it cannot be one."""
    word = name.lower().strip("_")
    return word if PLAIN.match(word) and word not in AVOIDED else ""


def _fresh(word: str, taken: set[str]) -> str:
    """`word`, or what stands for one that is no plain identifier, with a number behind it when it is taken."""
    base = word if PLAIN.match(word) else OTHER
    if base in AVOIDED:
        base = f"{base}_tile"
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}_{n}"
    taken.add(name)
    return name
