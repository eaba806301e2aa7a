"""Functions with operators that the table has no meaning for: traced, searched, made into cases for the judge."""

from __future__ import annotations

from functools import cache

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.ir.program import Program
from mirage.mugraph.grammar import MuGraph
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.lower import lower
from mirage.search.engine import Bounds, Search
from mirage.verify.judge import Case
from workloads.traced import trace

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
FEW = Bounds(keep=8, tilings=3, structures=3, cuts=1)
X, W = ("x", (24, 40), "fp32", ("m", "k")), ("w", (40, 20), "fp32", ("k", "n"))
# name -> (body, inputs)
FUNCTIONS = {
    "running sum": (
        "y = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)\nreturn torch.relu((y @ w).cumsum(1)) * 2.0",
        [X, W],
    ),
    "sorted": ("v, i = torch.sort(torch.softmax(x @ w, -1), -1)\nreturn v * 2.0, i", [X, W]),
    "convolution": (
        "y = F.conv1d(torch.relu(x * 2.0), w, padding=2)\nreturn (y * torch.sigmoid(y)).sum(-1)",
        [("x", (2, 6, 33), "fp32"), ("w", (7, 6, 5), "fp32")],
    ),
    "two arguments": ("return torch.atan2(x @ w, (x * x) @ w).sum(-1)", [X, W]),
    "looked up": ("return F.embedding(i, w * 2.0) @ w.T", [("i", (9,), "int64"), W]),
    "one after another": (
        "y = torch.cumsum(x * 2.0, 1)\nreturn torch.cummax(y @ w, 0)[0] + y.sum(-1, keepdim=True)",
        [X, W],
    ),
    "an output and an argument": ("y = x @ w\nreturn y, torch.cumsum(y, 0)", [X, W]),
    "square": ("return torch.linalg.inv(w.T @ w * 4.0) @ w.T", [W]),
}


def text(name: str) -> str:
    body, inputs = FUNCTIONS[name]
    arguments = ", ".join(str(i[0]) for i in inputs)
    return f"{HEAD}def f({arguments}):\n    " + body.replace("\n", "\n    ") + "\n"


@cache
def program(name: str) -> Program:
    return trace(text(name), "f", FUNCTIONS[name][1])


@cache
def searched(name: str) -> Search:
    p = program(name)
    search = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICES["sm_90"]), bounds=FEW)
    list(search.run())
    return search


def module(name: str, graph: MuGraph) -> str:
    return emit_module(program(name), graph, text(name), function="f", header={})


def case(name: str, graph: MuGraph | None = None, emitted: str | None = None) -> Case:
    """The best answer, or another µGraph or module in its place."""
    found = searched(name)
    graph = graph or found.best[0].mugraph
    p = found.problem
    return Case(
        p.t, p.outputs, graph, module(name, graph) if emitted is None else emitted, program(name), text(name), "f", None,
        p.calls, p.returns,
    )  # fmt: skip
