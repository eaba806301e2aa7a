"""Mistakes as users make them: what they run, the one line that they get, and what they do when they follow it."""

from __future__ import annotations

from dataclasses import dataclass, field

HEAD = "import mirage\nimport torch\nimport torch.nn.functional as F\n\n\n"
DECORATOR = '@mirage.optimize(inputs=[((16, 64), "fp16")])\n'
GOOD = f"{HEAD}{DECORATOR}def f(x):\n    return x * 2\n"
Files = dict[str, str | bytes]


def body(*lines: str, parameters: str = "x") -> str:
    return HEAD + DECORATOR + f"def f({parameters}):\n" + "".join(f"    {x}\n" for x in lines)


@dataclass(frozen=True)
class Mistake:
    """`files` and the arguments of `mirage`; the `code`, the file and the line that the message names, a piece of its message and
    one of its next step. `mended` and `again`: the files and the arguments of who did what the next step says."""

    files: Files
    code: str
    says: str
    step: str
    mended: Files
    line: int | None = None
    path: str = "model.py"
    run: tuple[str, ...] = ("optimize", "model.py", "--no-daemon")
    again: tuple[str, ...] = field(default=())


def of(text: str, code: str, line: int | None, says: str, step: str, mended: str = GOOD) -> Mistake:
    """A mistake in the text of one file."""
    return Mistake({"model.py": text}, code, says, step, {"model.py": mended}, line)


def called(*arguments: str, code: str, says: str, step: str, again: tuple[str, ...], path: str = "") -> Mistake:
    """A mistake in the command, beside a file that has none."""
    good: Files = {"model.py": GOOD}
    return Mistake(good, code, says, step, good, None, path, arguments, again)


METHOD = f"{HEAD}class A:\n    {DECORATOR}    def f(self, x):\n        return x * 2\n"
NESTED = f"{HEAD}def outer():\n    {DECORATOR}    def f(x):\n        return x * 2\n\n    return f\n"
TWICE = f"{GOOD}\n\n{DECORATOR}def f(x):\n    return x * 3\n"
TO_TOP = "a plain function at the top level"
TWO = '@mirage.optimize(inputs=[((16, 64), "fp16"), ((64, 8), "{}")])\n'
TWO_INPUTS = HEAD + TWO + "def f(x, w):\n    return {}\n"

MISTAKES: dict[str, Mistake] = {
    "a file that is not there": called(
        "optimize", "modle.py", "--no-daemon", code="MIR100", says="No such file", step="check the path", path="modle.py",
        again=("optimize", "model.py", "--no-daemon"),
    ),
    "a file that is no text": Mistake(
        {"model.py": b"\xff\xfe\x00"}, "MIR100", "not UTF-8", "check the path", {"model.py": GOOD}),
    "a notebook": Mistake(
        {"model.ipynb": '{"cells": []}'}, "MIR100", "a notebook", "%%writefile model.py", {"model.py": GOOD}, None, "model.ipynb",
        ("optimize", "model.ipynb", "--no-daemon"), ("optimize", "model.py", "--no-daemon")),
    "a syntax error": of(body("return (x * 2"), "MIR101", 8, "never closed", "mend the syntax error"),
    "no decorator": of("import torch\n", "MIR102", 1, "no function carries", "above the function"),
    "no import of mirage": of(
        "import torch\n\n\n@mirage.optimize\ndef f(x):\n    return x * 2\n", "MIR102", 4, "does not import", "`import mirage`"),
    "a method": of(METHOD, "MIR103", 8, "a method", TO_TOP),
    "a lambda": of(HEAD + "f = mirage.optimize(lambda x: x * 2)\n", "MIR103", 6, "a lambda", "with `def`"),
    "a function in a function": of(NESTED, "MIR103", 8, "a nested function", TO_TOP),
    "an async function": of(
        f"{HEAD}{DECORATOR}async def f(x):\n    return x * 2\n", "MIR103", 7, "async", TO_TOP),
    "a generator": of(body("yield x * 2"), "MIR103", 8, "a generator", "return one tensor"),
    "*args": of(body("return x[0] * 2", parameters="*x"), "MIR103", 7, "*x", "name every parameter"),
    "two functions of one name": of(TWICE, "MIR103", 7, "line 12 too", "a name of its own", TWICE.replace("def f", "def g", 1)),
    "an input without a shape": of(
        body("return x + y", parameters="x, y"), "MIR104", 6, "1 entries for 2", "for every tensor parameter"),
    "a dtype that there is not": of(GOOD.replace("fp16", "half16"), "MIR104", 6, "'half16'", "fp16"),
    "an option that there is not": of(GOOD.replace("inputs=", "shapes="), "MIR104", 6, "`shapes`", "inputs"),
    "no shapes at all": of(
        GOOD.replace(DECORATOR, "@mirage.optimize\n"), "MIR105", 7, "`x`", "inputs=[...]"),
    "a size of zero": of(GOOD.replace("16, 64", "16, 0"), "MIR107", 6, "size zero", "one or more"),
    "a name without a size": of(
        GOOD.replace("(16, 64)", '("b", 64)'), "MIR106", 6, "`b`", "dims=",
        GOOD.replace("(16, 64)", '("b", 64)').replace(")])\n", ')], dims={"b": 16})\n')),
    "another package": of(
        body("return x * np.sqrt(2)").replace("import torch\n", "import numpy as np\nimport torch\n", 1), "MIR109", 9, "`numpy`",
        "use only torch, math", body("return x * math.sqrt(2)").replace("import mirage\n", "import math\n\nimport mirage\n", 1)),
    "a helper of another file": of(
        "from helpers import scale\n" + body("return scale(x)"), "MIR109", 9, "`helpers`", "of the same file"),
    "a constant that changes": of(
        HEAD + "S = 1.0\nS = 2.0\n\n\n" + DECORATOR + "def f(x):\n    return x * S\n", "MIR109", 12, "`S`", "bind it once",
        HEAD + "S = 2.0\n\n\n" + DECORATOR + "def f(x):\n    return x * S\n"),
    "a misspelt name": of(body("return x * tow"), "MIR109", 8, "`tow`", "constants"),
    "a print": of(body("print(x)", "return x * 2"), "MIR206", 8, "`print`", "only the tensor computation"),
    "a view of an input that is written in place": of(
        body("x.mul_(2)", "return x[0]"), "MIR204", 8, "`x`", "new tensor", body("x = x.mul(2)", "return x[0]")),
    "an if on the values of a tensor": of(
        body("if x.sum() > 0:", "    return x", "return -x"), "MIR202", 8, "value of a tensor", "torch.where",
        body("return torch.where(x.sum() > 0, x, -x)")),
    "item()": of(
        body("return x * x.sum().item()"), "MIR202", 8, "value of a tensor", "torch.where", body("return x * x.sum()")),
    "a random number": of(
        body("return x + torch.rand(16, 64)"), "MIR206", 8, "random", "pass them as an input",
        body("return x + noise", parameters="x, noise").replace('((16, 64), "fp16")', '((16, 64), "fp16"), ((16, 64), "fp16")')),
    "a move to the GPU": of(body("return x.cuda() * 2"), "MIR206", 8, "another device", "only the tensor computation"),
    "two dtypes in a product": of(
        TWO_INPUTS.format("fp32", "x @ w"), "MIR203", 8, "fp16 and fp32", ".to(", TWO_INPUTS.format("fp16", "x @ w")),
    "shapes that do not fit": of(
        TWO_INPUTS.format("fp16", "w @ x"), "MIR200", 8, "[64, 8]", "correct", TWO_INPUTS.format("fp16", "x @ w")),
    "an operator that there is not": of(
        body("return x.bernoulli()"), "MIR201", 8, "bernoulli", "outside"),
    "no result": of(body("x * 2"), "MIR207", 7, "NoneType", "return a tensor"),
    "a function that there is not": called(
        "optimize", "model.py::g", "--no-daemon", code="MIR108", says="f", step="the message lists", path="model.py",
        again=("optimize", "model.py::f", "--no-daemon")),
    "a GPU that there is not": called(
        "optimize", "model.py", "--no-daemon", "--target", "h10", code="MIR304", says="sm_90 (H200)", step="list",
        again=("optimize", "model.py", "--no-daemon", "--target", "h200")),
    "a folder that there is not": called(
        "optimize", "model.py", "--no-daemon", "--out", "made/f.py", code="MIR404", says="no folder", step="a folder that exists",
        path="made/f.py", again=("optimize", "model.py", "--no-daemon", "--out", ".")),
    "a rules file that there is not": called(
        "optimize", "model.py", "--no-daemon", "--rules", "r.txt", code="MIR100", says="No such file", step="check the path",
        path="r.txt", again=("optimize", "model.py", "--no-daemon")),
    "a setting that there is not": Mistake(
        {"model.py": GOOD, "pyproject.toml": '[tool.mirage]\ntargets = "h100"\n'}, "MIR111", "`targets`", "target =",
        {"model.py": GOOD, "pyproject.toml": '[tool.mirage]\ntarget = "sm_90"\n'}, None, "pyproject.toml"),
    "an explanation of no kernel": called(
        "explain", "model.py", code="MIR306", says="no kernel is written", step="mirage optimize model.py", path="model.py",
        again=("optimize", "model.py", "--no-daemon")),
}  # fmt: skip
WRONG_USAGE: dict[str, tuple[str, ...]] = {
    "no kernels": ("optimize", "model.py", "--kernels", "0"),
    "less than no time": ("optimize", "model.py", "--seconds", "-1"),
    "no loops": ("optimize", "model.py", "--loops", "0"),
    "words for a number": ("optimize", "model.py", "--seconds", "ten"),
    "an option that there is not": ("optimize", "model.py", "--fast"),
    "a command that there is not": ("optimise", "model.py"),
    "nothing": ("optimize",),
}
