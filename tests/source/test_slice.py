"""The slice holds what the function needs at its own lines, and refuses what may not be loaded."""

from __future__ import annotations

import ast

import pytest

from mirage.errors import FunctionNotFound, MirageError, SideEffect, UnsafeReference, UnsupportedFunctionKind
from mirage.source.slice import cut

FILE = '''\
"""A model file."""

import math
import os
from typing import TYPE_CHECKING

import mirage
import torch, json
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float16

os.environ["X"] = "1"
print("never run")
EPS = 1e-6; D = 128
SCALE: float = D ** -0.5
UNUSED = open("/etc/passwd")


class Layer(nn.Module):
    pass


def norm(
    x: Float16[
        Tensor, "b d"
    ], g  # the gain
) -> (
    Tensor
):
    y: Tensor
    y: (Tensor) = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype) * g


@mirage.optimize(
    dims={"b": 8}
)
@torch.no_grad()
def f(é: "Float16[Tensor, 'b 4']", g: Tensor = None, *, k: float = SCALE) -> Tensor:
    """Doc."""
    def inner(t: Tensor) -> Tensor:
        return norm(t, g) * k

    return F.silu(inner(é)) * math.pi
'''


def test_the_slice_runs_by_itself_and_keeps_the_lines() -> None:
    part = cut(FILE, "f")
    assert set(part.names) == {"math", "torch", "F", "EPS", "D", "SCALE", "norm", "f"}
    assert part.names[-1] == "f"
    for gone in ("os", "json", "open", "Layer", "mirage", "jaxtyping", "Float16", "no_grad", "Tensor"):
        assert gone not in part.text
    tree = ast.parse(part.text)
    (node,) = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "f"]
    assert FILE.split("\n")[node.lineno - 1].startswith("def f(")
    assert FILE.split("\n")[node.body[-1].lineno - 1] == part.text.split("\n")[node.body[-1].lineno - 1]
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.AnnAssign)]
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.arg) and n.annotation is not None]


def test_the_slice_computes_what_the_function_computes() -> None:
    torch = pytest.importorskip("torch")
    space: dict[str, object] = {}
    exec(compile(cut(FILE, "f").text, "slice", "exec"), space)
    x, g = torch.arange(8.0).reshape(2, 4), torch.ones(4)
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * 128**-0.5
    torch.testing.assert_close(space["f"](x, g), torch.nn.functional.silu(y) * 3.141592653589793)


HEAD = "import mirage, torch, math, os\nimport numpy as np\nfrom torch import nn\n"


def one(body: str, before: str = "", signature: str = "x") -> str:
    return f"{HEAD}{before}\n@mirage.optimize\ndef f({signature}):\n    {body}\n"


ALLOWED = [
    ("return x.softmax(-1)", "", ("f",)),
    ("return torch.ops.aten.mm(x, x)", "", ("torch", "f")),
    (
        "return helper(x)",
        "def helper(t):\n    return other(t)\ndef other(t):\n    return t * K\nK = 2 * 3",
        ("helper", "other"),
    ),
    ("return x * A", "A = math.sqrt(B)\nB = 4", ("A", "B", "math")),
    ("return x.to(T)", "T = torch.float16", ("T", "torch")),
    ("return x + NEG", 'NEG = float("-inf")', ("NEG",)),
    ("return f(x) if len(x.shape) > 1 else x", "", ("f",)),
    ("return [x for x in range(3)]", "", ("f",)),
    ("import math as m; return x * m.pi", "", ("f",)),
    ("return helper(x)", "@mirage.optimize\ndef helper(x): return x", ("helper",)),
    ("os = x; return os", "", ("f",)),
    ("print = x; return print", "", ("f",)),
]


@pytest.mark.parametrize(("body", "before", "names"), ALLOWED)
def test_allowed_references(body: str, before: str, names: tuple[str, ...]) -> None:
    part = cut(one(body, before), "f")
    assert set(names) <= set(part.names)
    ast.parse(part.text)


REFUSED = [
    (UnsafeReference, "return os.getcwd()", ""),
    (UnsafeReference, "return np.asarray(x)", ""),
    (UnsafeReference, "return missing(x)", ""),
    (UnsafeReference, "return C()(x)", "class C(nn.Module): pass"),
    (UnsafeReference, "return MODEL(x)", "MODEL = nn.Linear(3, 4)"),
    (UnsafeReference, "return x * K", 'K = int(os.environ["K"])'),
    (UnsafeReference, "return x * K", "K = [i for i in range(3)]"),
    (UnsafeReference, "return x * K", "K = 1\nK = 2"),
    (UnsafeReference, "return x * K", "K = 1\nK += 1"),
    (UnsafeReference, "return x * K", "K = 1\nif True:\n    K = 2"),
    (UnsafeReference, "return x * K[0]", "K = [1]\nK[0] = 2"),
    (UnsafeReference, "return x * K", "for K in range(3): pass"),
    (UnsafeReference, "return helper(x)", "def helper(x): return os.getpid() + x"),
    (UnsafeReference, "return helper(x)", "@torch.jit.script\ndef helper(x): return x"),
    (UnsafeReference, "return helper(x)", "def helper(x): return x\ndef helper(x): return -x"),
    (UnsafeReference, "return torch.load('weights')", ""),
    (UnsafeReference, "return torch.hub.load('a', 'b')", ""),
    (UnsafeReference, "return x.__class__.__base__", ""),
    (UnsafeReference, "return eval('x')", ""),
    (UnsafeReference, "return getattr(x, 'y')", ""),
    (UnsafeReference, "import subprocess; return x", ""),
    (UnsafeReference, "from torch.utils import cpp_extension; return x", ""),
    (UnsafeReference, "from . import sibling; return x", ""),
    (SideEffect, "print(x); return x", ""),
    (SideEffect, "open('/tmp/x', 'w'); return x", ""),
    (SideEffect, "return helper(x)", "def helper(x):\n    input()\n    return x"),
]


@pytest.mark.parametrize(("kind", "body", "before"), REFUSED)
def test_refused_references(kind: type[MirageError], body: str, before: str) -> None:
    text = one(body, before)
    with pytest.raises(kind) as caught:
        cut(text, "f", "file.py")
    line = caught.value.line
    assert caught.value.path == "file.py"
    assert line is not None and line > 3 and caught.value.column is not None


def test_a_default_is_a_reference() -> None:
    assert "K" in cut(one("return x * k", "K = 3", "x, k=K"), "f").names
    with pytest.raises(UnsafeReference):
        cut(one("return x", "", "x, k=os.getpid()"), "f")


def test_unknown_functions_and_refused_kinds() -> None:
    with pytest.raises(FunctionNotFound, match=r"`g`.*f"):
        cut(one("return x"), "g")
    with pytest.raises(UnsupportedFunctionKind):
        cut("import mirage\n@mirage.optimize\nasync def f(x): return x\n", "f")


@pytest.mark.parametrize(
    ("bound", "value"),
    [
        ("K, J = 2.0, 3", "2.0"),
        ("J, K = 3, 2.0", "2.0"),
        ("J = K = 2.0", "2.0"),
        ("J, K = (\n    3,\n    -1.5 * 2,\n)", "-1.5 * 2"),
    ],
)
def test_a_constant_of_several_is_cut_alone(bound: str, value: str) -> None:
    found = cut(one("return x * K", bound), "f")
    assert f"K = {value}" in found.text and "J" not in found.text
    assert found.digest == cut(one("return x * K", f"K = {value}"), "f").digest
    assert found.digest != cut(one("return x * J", bound), "f").digest or "J = K" in bound


@pytest.mark.parametrize(
    "bound", ["K, J = [1, 2], print(3)", "K, *J = 1, 2, 3", "K, J = PAIR\nPAIR = 1, 2", "K = 1\nK, J = 2, 3"]
)
def test_what_is_not_written_out_is_no_constant(bound: str) -> None:
    text = one("return x * K", bound)
    if "print" in bound:  # what the other name is made of is not looked at: it is not taken along
        assert "print" not in cut(text, "f").text
        return
    with pytest.raises(UnsafeReference):
        cut(text, "f")


def test_digest_follows_helpers_and_constants() -> None:
    base = one("return helper(x) * K", "K = 2\nJ = 3\ndef helper(x):\n    return x.exp()")
    digest = cut(base, "f").digest
    assert cut(base.replace("K = 2", "K = 4"), "f").digest != digest
    assert cut(base.replace("x.exp()", "x.log()"), "f").digest != digest
    assert cut(base.replace("J = 3", "J = 4  # not used"), "f").digest == digest
    assert cut(base.replace("def f(x)", "def f(x: Tensor) -> Tensor"), "f").digest == digest


def test_readable_leaves_no_gaps_and_changes_no_meaning():
    text = (
        "import torch\nimport mirage\n\n\n@mirage.optimize(inputs=[((3,), 'fp32')])\n"
        "def f(\n    x: torch.Tensor,\n    eps: float = 1e-6,\n) -> torch.Tensor:\n    return x + eps + len('a  ,b')\n"
    )
    cut_text = cut(text, "f")
    assert "    x,\n    eps= 1e-6,\n):\n" in cut_text.readable and "'a  ,b'" in cut_text.readable
    assert ast.dump(ast.parse(cut_text.readable)) == ast.dump(ast.parse(cut_text.text))
