"""The lightened interpreter gives the same bits as Triton's own, and leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

from forked_python import ForkedPython

SCRIPT = """
import sys
import torch
import triton.language.core as core
import triton.language.semantic as semantic
import triton.runtime.interpreter as interpreter
from mirage.codegen import interpreter as ours
from workloads.hand import small
from mutants.bases import module_of

graph = small()["attention_split"].mugraph
module = ours.load_module(module_of(graph))
g = torch.Generator().manual_seed(0)
tensors = [torch.randn(graph.shape(t), generator=g).half() for t in graph.inputs]
places = [(core.tensor, "__init__"), (core.block_type, "__init__"), (interpreter.GridExecutor, "__call__"),
          (interpreter.InterpretedFunction, "__call__"), (semantic.TritonSemantic, "broadcast_impl_value"),
          (semantic.TritonSemantic, "binary_op_type_checking_impl"), (interpreter, "_patch_attr"), (interpreter, "_patch_builtin"),
          (interpreter.interpreter_builder, "options")]
before = [getattr(*p) for p in places]
runs, calls = [], []
lighten = ours.lighten
for own in (lighten, lambda patches: None):
    ours.lighten = own
    with ours.float_interpreter():
        calls.append([getattr(*p) is not b for p, b in zip(places, before)])
        runs.append(module._run(*tensors))
        runs.append(module._run(*tensors))  # a second launch
assert all(calls[0]) and not any(calls[1]), calls
assert all(torch.equal(runs[0], r) and r.isfinite().all() for r in runs)
assert [getattr(*p) for p in places] == before

scalars = [x for x in vars(core).values() if isinstance(x, core.dtype) and x.name != "void"]
kinds = [k for x in scalars for k in (x, core.block_type(x, [4, 8]), core.pointer_type(x), core.block_type(core.pointer_type(x), [4]))]
own = [interpreter._get_np_dtype(k) for k in kinds]
patches, theirs = ours.Patches(), interpreter._get_np_dtype
lighten(patches)
assert interpreter._get_np_dtype is not theirs
assert [interpreter._get_np_dtype(k) for k in (*kinds, *kinds)] == own * 2 and len({*own}) > 8
patches.restore()
assert interpreter._get_np_dtype is theirs
"""


def test_the_same_bits_and_nothing_left_behind(forked_python: ForkedPython) -> None:
    tests = str(Path(__file__).parent.parent)
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": tests}
    done = forked_python.run("-c", SCRIPT, env=env)
    assert done.returncode == 0, done.stderr
