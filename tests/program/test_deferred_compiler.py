"""PyTorch's compiler put off: a trace does without it, and whoever uses it has it whole. Each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

TEXT = """
import torch
import torch.nn.functional as F
def f(x, w):
    return torch.softmax(F.rms_norm(x, (7,)) @ w, -1) * (x.sum() > 3)
"""
PAYLOAD = {
    "text": TEXT,
    "function": "f",
    "inputs": [{"name": "x", "shape": [5, 7], "dtype": "fp32"}, {"name": "w", "shape": [7, 11], "dtype": "fp32"}],
}
HEAD = f"""
import json, sys, types
import torch
from mirage.program import deferred_compiler
from mirage.program.trace_task import trace_task
def traced(text={TEXT!r}):
    return json.dumps(trace_task({{**{PAYLOAD!r}, "text": text}}), sort_keys=True)
def ran(name):
    return name in sys.modules and type(sys.modules[name]) is types.ModuleType
"""


Alone = Callable[..., list[str]]
FORKS = """
import contextlib, io, os, traceback
def forked(code):
    there, here = os.pipe()
    child = os.fork()
    if not child:
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                exec(code, dict(globals()))
        except BaseException:
            said.write(traceback.format_exc())
        os.write(here, said.getvalue().encode())
        os._exit(0)
    os.close(here)
    with open(there) as text:
        said = text.read().strip()
    os.waitpid(child, 0)
    return said
for line in sys.stdin:
    print(json.dumps([forked(code) for code in json.loads(line)]), flush=True)
"""


@pytest.fixture(scope="module")
def alone() -> Iterator[Alone]:
    """What each code prints in a process of its own, which has imported PyTorch and nothing of its compiler."""
    with subprocess.Popen(
        [sys.executable, "-c", HEAD + FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        into, out = server.stdin, server.stdout

        def said(*codes: str) -> list[str]:
            into.write(json.dumps(codes) + "\n")
            into.flush()
            return list(json.loads(out.readline()))

        yield said
        into.close()


def test_a_trace_runs_neither_package_and_gives_the_same(alone: Alone) -> None:
    without, beside = alone(
        "print(traced())\nassert not ran('torch._dynamo') and not ran('torch._inductor')",
        "import torch._dynamo, torch._inductor\nprint(traced())\nassert ran('torch._dynamo')",
    )
    assert without == beside
    assert len(json.loads(without)["program"]["nodes"]) > 3


USES = (
    "torch._dynamo.reset()",
    "from torch._dynamo.utils import counters",
    "from torch._inductor.utils import sympy_str",
    "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))",
)
AFTER = """
assert ran('torch._dynamo') and not deferred_compiler.run()
import torch._dynamo.exc, torch._dynamo.utils
for name, module in list(sys.modules.items()):  # what the package imported is what there is
    if name.startswith('torch._dynamo.') and name.count('.') == 2 and isinstance(module, types.ModuleType):
        held = getattr(torch._dynamo, name.rpartition('.')[2], module)
        assert held is module or not isinstance(held, types.ModuleType), name
        assert 'deferred' not in type(module.__spec__.loader).__module__, name
function = torch.compile(lambda x: x * 2, backend='eager', fullgraph=True)
assert function(torch.ones(3)).tolist() == [2.0] * 3
assert traced() == before
print('same')
"""


def test_a_use_after_a_trace_runs_it_once(alone: Alone) -> None:
    assert alone(*(f"before = traced()\n{use}\n{AFTER}" for use in USES)) == ["same"] * len(USES)


def test_a_disabled_function_is_disabled_once_there_is_a_compiler(alone: Alone) -> None:
    (said,) = alone("""
deferred_compiler.defer()
seen = []
@torch._dynamo.disable
def inner(x):
    seen.append(torch.compiler.is_compiling())
    return x + 1
assert not ran('torch._dynamo') and inner(torch.ones(1)).item() == 2
graphs = []
def backend(graph, _):
    graphs.append([n.name for n in graph.graph.nodes])
    return graph.forward
assert torch.compile(lambda x: inner(x * 3) * 5, backend=backend)(torch.ones(1)).item() == 20
print(seen, sum(name.startswith('add') for names in graphs for name in names))
""")
    assert said == "[False, False] 0"


REFUSED = """
from mirage.errors import MirageError, SideEffect
import mirage.program.load_function as load_function
times = []
def counted(*a):
    deferred_compiler.defer()
    times.append(ran('torch._dynamo'))
    raise SideEffect('an import'){cause}
load_function.record = counted
try:
    traced()
except MirageError as error:
    print(error.code, times)
"""


def test_what_a_rule_refuses_is_traced_once(alone: Alone) -> None:
    rule, missing = alone(*(REFUSED.format(cause=x) for x in ("", " from ModuleNotFoundError('of PyTorch')")))
    assert rule == "MIR206 [False]"
    assert missing == "MIR206 [False, True]"  # the compiler might have brought it


def test_a_trace_that_fails_is_made_again_with_the_compiler(alone: Alone) -> None:
    (said,) = alone("""
from mirage.errors import MirageError
import mirage.program.load_function as load_function
times = []
record = load_function.record
def counted(*a):
    deferred_compiler.defer()
    times.append(ran('torch._dynamo'))
    if not times[-1]:
        raise AttributeError('what the import of the compiler brings')
    return record(*a)
load_function.record = counted
before = traced()
print(times[:2], all(times[1:]))
try:
    traced("import torch\\ndef f(x, w):\\n    return x if x.sum() > 3 else w\\n")
except MirageError as error:
    print(error.code)
""")
    assert said.split("\n") == ["[False, True] True", "MIR202"]


def test_what_is_imported_already_is_left_as_it_is(alone: Alone) -> None:
    (said,) = alone("""
import torch._dynamo
had = torch._dynamo
deferred_compiler.defer()
assert torch._dynamo is had and not deferred_compiler.run()
print(ran('torch._dynamo'))
""")
    assert said == "True"
