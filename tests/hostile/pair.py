"""A pair of functions with what is known of it: that both compute the same, or inputs on which PyTorch shows that they do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Expected = Literal["differ", "equal"]
HEAD = "import math\n\nimport torch\nimport torch.nn.functional as F\n"


@dataclass(frozen=True)
class Pair:
    """Two bodies `a` and `b` over the `inputs` ("x fp32 8 16, y fp32 8 16").

    A body without `return` is an expression. `witness` is torch code that changes random inputs of these shapes until the
    bodies differ on them, and `under` the context manager in which both are called. `asked` is the word for what a body asks
    of its tensors or of PyTorch: a verdict may hold for one answer alone if it says so.
    """

    name: str
    group: str
    expected: Expected
    inputs: str
    a: str
    b: str
    witness: str = ""
    under: str = "nullcontext()"
    asked: str = ""

    @property
    def tensors(self) -> tuple[tuple[str, tuple[int, ...], str], ...]:
        """Name, shape and dtype of each input."""
        rows = [x.split() for x in self.inputs.split(",")]
        return tuple((name, tuple(map(int, sizes)), dtype) for name, dtype, *sizes in rows)

    def function(self, body: str, decorator: str = "") -> str:
        """The definition of `f` with one of the bodies."""
        lines = body.splitlines() if "return " in body else [f"return {body}"]
        names = ", ".join(name for name, _, _ in self.tensors)
        return f"{decorator}def f({names}):\n" + "".join(f"    {x}\n" for x in lines)

    def plain(self, body: str) -> str:
        """A module for PyTorch alone."""
        return f"{HEAD}\n\n{self.function(body)}"

    def decorated(self, body: str) -> str:
        """The file that a user would give to `mirage verify`."""
        inputs = ", ".join(f'({shape}, "{dtype}")' for _, shape, dtype in self.tensors)
        return f"{HEAD}\nimport mirage\n\n\n" + self.function(body, f"@mirage.optimize(inputs=[{inputs}])\n")


Row = tuple[object, ...]


@dataclass(frozen=True)
class Family:
    """Pairs whose texts have the same holes: `over` names them ("p q"), and `rows` fills them."""

    name: str
    inputs: str
    a: str
    b: str
    witness: str = ""
    over: str = ""
    rows: Sequence[Row] = ((),)
    under: str = "nullcontext()"
    asked: str = ""

    def pairs(self, group: str, expected: Expected) -> Iterable[Pair]:
        for row in self.rows:
            holes = dict(zip(self.over.split(), row, strict=True))
            name = "_".join([self.name, *(str(x) for x in row)])
            texts = (x.format(**holes) for x in (self.inputs, self.a, self.b, self.witness, self.under))
            inputs, a, b, witness, under = texts
            yield Pair(name, group, expected, inputs, a, b, witness, under, self.asked)


def every(group: str, expected: Expected, families: Iterable[Family]) -> tuple[Pair, ...]:
    """The pairs of all families."""
    return tuple(pair for family in families for pair in family.pairs(group, expected))


def product(*columns: Sequence[Row]) -> list[Row]:
    """Every row of the first column with every row of the others."""
    rows: list[Row] = [()]
    for column in columns:
        rows = [(*row, *more) for row in rows for more in column]
    return rows
