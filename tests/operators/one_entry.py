"""One new entry, taken the whole way in a process of its own: `python one_entry.py` prints what came of each line `NAME CHANGE`
of its input.

What all of them import is imported once, and a child is forked for each. It registers the entry in its own table alone, and
computes what workers would: with Triton's interpreter.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":
    os.environ["TRITON_INTERPRET"] = "1"  # before anything imports triton
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from workloads.traced import trace

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.isolate.task_table import resolve
from mirage.mugraph.grammar import Compute
from mirage.mugraph.json_form import from_json, to_json
from mirage.mugraph.walk import computes, parts, sites
from mirage.operators import document, intervals, padding, signs
from mirage.operators.block_operators import everywhere
from mirage.operators.entry import BlockOperator
from mirage.operators.table import temporary
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.lower import lower
from mirage.search.engine import Bounds, Search
from mirage.verify.judge import Case, judge

HARDSIGMOID = BlockOperator(
    "hardsigmoid", 1, 1, lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "tl.minimum(tl.maximum({0} + 3.0, 0.0), 6.0) / 6.0",
    lambda f, x: f.div(f.minimum(f.maximum(f.add(x, f.const(3)), f.const(0)), f.const(6)), f.const(6)),
    "torch.nn.functional.hardsigmoid({0})", signs=signs.always(signs.NONNEGATIVE), interval=intervals.always(0.0, 1.0),
    padding=padding.by_state("finite", lowest="zero"), domain=everywhere, flops=4, hazards=("flat beyond 3",),
    aten=("hardsigmoid.default",), summary="min(max(x + 3, 0), 6) / 6",
)  # fmt: skip
# nothing but its values: all facts are the safe ones
LOG2 = BlockOperator(
    "log2", 1, 1, np.log2, "tl.log2({0})", torch="torch.log2({0})", aten=("log2.default",), summary="base-2 logarithm"
)
ENTRIES = {"hardsigmoid": HARDSIGMOID, "log2": LOG2}
TEXTS = {
    "hardsigmoid": "    return F.hardsigmoid(x + y).sum(-1)\n",
    "log2": "    return torch.log2(x * x + y * y + 1).sum(-1)\n",
}
CHANGES: dict[str, dict[str, object]] = {
    "": {},
    "triton": {"triton": "tl.minimum(tl.maximum({0} + 3.0, 0.0), 6.0) / 5.0"},
    "field": {"field": lambda f, x: f.div(f.maximum(f.add(x, f.const(3)), f.const(0)), f.const(6))},
    "padding": {"padding": padding.by_state("finite", zero="zero")},
}


def run(name: str, change: str) -> dict[str, object]:
    text = f"import torch\nimport torch.nn.functional as F\n\n\ndef f(x, y):\n{TEXTS[name]}"
    given = [("x", (5, 24), "fp32"), ("y", (5, 24), "fp32")]
    before = [n.op for n in trace(text, "f", given).nodes]
    with temporary(replace(ENTRIES[name], **CHANGES[change])):  # type: ignore[arg-type]
        program = trace(text, "f", given)
        posed = problem(program, lower(program))
        device = DEVICES["sm_90"]
        search = Search(posed, lambda g: estimate(g, device), bounds=Bounds(cuts=1, keep=4, tilings=2))
        list(search.run())
        graph = search.best[0].mugraph
        module = emit_module(program, graph, text, function="f", header={})
        case = Case(posed.t, posed.outputs, graph, module, program, text, "f")
        verdict = judge(case, lambda task, payload: resolve(task)(payload, lambda event: None))
        cost = estimate(graph, device)
        with temporary(replace(ENTRIES[name], special=2000.0)):
            dear = estimate(from_json(to_json(graph)), device)  # a body's facts are read once
        page = document.markdown()
    ops = [c.op for p in parts(graph) for s in sites(p) for c in computes(s.statement) if isinstance(c, Compute)]
    return {
        "before": before, "nodes": [n.op for n in program.nodes], "ops": ops, "module": module,
        "accepted": verdict.accepted,
        "words": [[e.link, e.opinion, e.word] for e in verdict.evidence],
        "summaries": {e.opinion: e.summary for e in verdict.evidence},
        "cost": cost, "dear": dear, "rows": sum(f"| `{name}` |" in line for line in page.splitlines()),
    }  # fmt: skip


if __name__ == "__main__":
    import torch.fx.experimental.symbolic_shapes  # noqa: F401 - as tracing and Triton's interpreter do, in each child
    import triton  # noqa: F401

    for line in sys.stdin:
        asked = line.rstrip("\n").split(" ")
        child = os.fork()
        if not child:
            print(json.dumps(run(*asked)), flush=True)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            print("null", flush=True)
