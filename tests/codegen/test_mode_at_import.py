"""A module's kernels are of the kind that triton's own functions are, whatever TRITON_INTERPRET says when it is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, os, sys, traceback
import torch
import mirage as mi
from references import block

g = mi.new_kernel_graph()
X, W = g.new_input((16, 64)), g.new_input((64, 64))
b = block((2, 1, 1), 2)
x, w = b.new_input(X, (-1, -1, -1), 1), b.new_input(W, (1, -1, -1), 0)
b.new_output(b.div(b.forloop_accum(b.matmul(x, w)), b.forloop_accum(x, "rms")), (1, -1, -1))
g.mark_output(g.customized([X, W], b)[0])
g.kernels()  # written once, and not loaded
assert "triton" not in sys.modules
said = {}
for case in json.loads(sys.argv[1]):  # PyTorch is imported once; each child imports triton by itself
    mine, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            first, then = case
            exec(sys.argv[2])
        except BaseException:
            os.write(theirs, traceback.format_exc().encode()[-4000:])
            os._exit(1)
        os._exit(0)
    os.close(theirs)
    with open(mine) as told:
        text = told.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said["-".join(case)] = text or (f"status {status}" if status else "")
print(json.dumps(said))
"""

CHILD = """
if first != "none":
    os.environ["TRITON_INTERPRET"] = first
import triton
os.environ.pop("TRITON_INTERPRET", None)
if then != "none":
    os.environ["TRITON_INTERPRET"] = then
from mirage.codegen.interpreter import interpreting, load_module
from mirage.errors import MissingPackage

x, w = torch.randn(16, 64).half(), torch.randn(64, 64).half()
want = torch.nn.functional.rms_norm(x.double(), (64,)) @ w.double()
(got,) = g(inputs=[x, w])
assert (got.double() - want).abs().max() < 4e-3 * want.abs().max()
module = g.kernels().module
assert interpreting() is (first == "1") is not module._COMPILED
launch, called = module._run, []
module._run = lambda *tensors, **named: called.append(1) or launch(*tensors, **named)
g(inputs=[x, w])
assert bool(called) is interpreting(), "compiled kernels are not launched on the CPU, interpreted ones are"
try:
    load_module(g.kernels().text, interpret=not interpreting())
except MissingPackage as e:
    assert "fresh process" in e.next_step
else:
    raise AssertionError("a module of the other kind was loaded")
assert os.environ.get("TRITON_INTERPRET", "none") == then
"""


CASES = [("none", "1"), ("0", "1"), ("1", "none"), ("1", "0")]


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What each case raised; "" where nothing."""
    tests = Path(__file__).parent.parent
    env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | {"PYTHONPATH": str(tests / "original")}
    command = [sys.executable, "-c", SCRIPT, json.dumps(CASES), CHILD]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=400)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("case", ["-".join(c) for c in CASES])
def test_what_counts_is_how_triton_was_imported(said: dict[str, str], case: str) -> None:
    assert not said[case], said[case]
