"""The table of bad inputs: what a user gets wrong, the code that says so, and the line that it names."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """\
import torch
from jaxtyping import Float16, Float32
from torch import Tensor

import mirage

open(MARKER, "w").close()  # a side effect of the module: it must never happen


"""


@dataclass(frozen=True)
class Bad:
    """`body` is the function with its decorator; `at` is a piece of the one line that the error has to name; `says` a
    piece of its message."""

    code: str
    body: str
    at: str
    says: str

    def text(self, marker: str, other: str) -> str:
        """The file; `marker` and `other` are paths that its module level and its function would create."""
        return (HEAD + self.body).replace("MARKER", repr(marker)).replace("OTHER", repr(other))

    def line(self) -> int:
        """1-based; the only line of the body with `at`."""
        found = [i for i, line in enumerate((HEAD + self.body).split("\n"), 1) if self.at in line]
        assert len(found) == 1, (self.at, found)
        return found[0]


def one(arguments: str, *body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body)
    return f"@mirage.optimize\ndef f({arguments}):\n{lines}\n"


X = 'x: Float16[Tensor, "16 64"]'
BAD = {
    "wrong annotation": Bad("MIR104", one('\n    x: Float16[Tensor, "16 6x"],\n', "return x + 1.0"), "6x", "`6x`"),
    "annotation without a shape": Bad("MIR105", one("\n    x: Tensor,\n", "return x + 1.0"), "x: Tensor", "`x`"),
    "no annotation": Bad("MIR105", one(f"{X},\n    y,\n", "return x + y"), "    y,", "`y`"),
    "rank mismatch": Bad(
        "MIR200", one(f'{X}, w: Float16[Tensor, "32 8"]', "y = x + 1.0", "return y @ w"), "y @ w", "[16, 64]"
    ),
    "unknown operator": Bad("MIR201", one(X, "y = x + 1.0", "return y.bernoulli()"), "bernoulli", "aten.bernoulli"),
    "data-dependent branch": Bad(
        "MIR202", one(X, "if x.sum() > 0:", "    return x", "return -x"), "if x.sum()", "value of a tensor"
    ),
    "dtype mix": Bad(
        "MIR203", one(f'{X}, w: Float32[Tensor, "64 8"]', "y = x + 1.0", "return y @ w"), "y @ w", "fp16 and fp32"
    ),
    "zero-size axis": Bad("MIR107", one('\n    x: Float16[Tensor, "16 0"],\n', "return x + 1.0"), '"16 0"', "`x`"),
    "symbol without a size": Bad(
        "MIR106", one('\n    x: Float16[Tensor, "batch 64"],\n', "return x + 1.0"), "batch", "`batch`"
    ),
    "does not parse": Bad("MIR101", one(X, "y = x + 1.0", "return (y +"), "return (y +", "never closed"),
    "no decorated function": Bad("MIR102", "def f(x):\n    return x\n", "import torch", "@mirage.optimize"),
    "method": Bad(
        "MIR103", "class A:\n    @mirage.optimize\n    def f(self, x):\n        return x\n", "def f(", "a method"
    ),
    "prints": Bad("MIR206", one(X, "y = x + 1.0", 'print("hello")', "return y"), "print", "`print`"),
    "helper prints": Bad(
        "MIR206",
        "def helper(y):\n    print(y)\n    return y\n\n\n" + one(X, "return helper(x + 1.0)"),
        "print",
        "`print`",
    ),
    "opens a file": Bad("MIR206", one(X, 'open(OTHER, "w").close()', "return x + 1.0"), "OTHER", "`open`"),
    "saves a tensor": Bad("MIR109", one(X, "torch.save(x, OTHER)", "return x + 1.0"), "OTHER", "`torch.save`"),
    "leaves for numpy": Bad("MIR206", one(X, "x.numpy().tofile(OTHER)", "return x + 1.0"), "OTHER", "numpy"),
    "opens a file for a default": Bad(
        "MIR105", one(f'{X},\n    y=open(OTHER, "w"),\n', "return x + 1.0"), "OTHER", "not a constant"
    ),
    "in-place edit of an input whose view is returned": Bad(
        "MIR204", one(X, "x.add_(1.0)", "return x[1]"), "add_", "`x`"
    ),
    "assignment into an input of which more is returned": Bad(
        "MIR204", one(X, "x[0] = 1.0", "return x.T"), "x[0]", "`x`"
    ),
    "returns a number": Bad("MIR207", one(X, "return 3"), "def f(", "int"),
}
