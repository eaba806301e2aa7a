"""Ahead-of-time compilation of emitted modules: in a process whose triton was imported for a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
from workloads import hand
from mirage.codegen.emit import emit_module
from mirage.errors import MirageError
from mirage.profile.compiler_facts import facts_of_module
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec

out = {}
for label, name, more, target in json.loads(sys.argv[1]):
    case = hand.BUILDERS[name](**more)
    graph = case.mugraph
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    source = "\\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")
    text = emit_module(Program(name, inputs, (), (0,)), graph, source, function=name, header={})
    try:
        out[label] = facts_of_module({"text": text, "target": target})["kernels"]
    except MirageError as e:
        out[label] = e.to_dict()
print(json.dumps(out))
"""
JOBS = [
    ("rms", "rmsnorm_linear", {}, "sm_90"),
    ("split", "attention_split", {}, "sm_90"),
    ("tail", "attention_tail", {}, "sm_90"),
    ("cluster", "cluster_linear", {"tm": 64, "tn": 64}, "sm_90"),
    ("ampere", "gated_mlp", {}, "sm_80"),
    ("ampere cluster", "cluster_linear", {}, "sm_80"),
    ("blackwell", "cluster_linear", {"tm": 128, "tn": 64}, "sm_100"),
    ("large", "gated_mlp", {"m": 256, "k": 2048, "n": 512, "tm": 128, "tk": 256, "tn": 64}, "sm_90"),
    ("unknown", "rmsnorm_linear", {}, "sm_12"),
]


@pytest.fixture(scope="module")
def facts():
    env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    env["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), env.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(JOBS)], capture_output=True, text=True, env=env, timeout=250
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_kernel_is_compiled_with_its_launch(facts):
    (kernel,) = facts["rms"]
    assert kernel["name"] == "_rmsnorm_linear_fused"
    assert kernel["grid"] == [2 * 3] and kernel["warps"] == 4 and kernel["stages"] == 3
    assert 16 < kernel["registers"] <= 255 and kernel["spills"] == 0
    assert 0 < kernel["shared"] <= kernel["limit"] and kernel["fits"]
    assert [k["name"] for k in facts["split"]] == ["_attention_split_partial", "_attention_split_combine"]
    assert [k["name"] for k in facts["tail"]] == ["_attention_tail_partial"]


def test_tensor_cores_are_those_of_the_target(facts):
    assert facts["rms"][0]["mma"] > 0 and facts["rms"][0]["wgmma"] == 0  # 16 rows are too few for wgmma
    assert facts["cluster"][0]["wgmma"] > 0 and facts["cluster"][0]["cluster"] == 2
    assert facts["ampere"][0]["mma"] > 0 and facts["ampere"][0]["wgmma"] == 0
    assert facts["blackwell"][0]["tcgen05"] > 0
    assert facts["split"][0]["tensor_cores"] and not facts["split"][1]["tensor_cores"]


def test_shared_memory_over_the_limit_is_said(facts):
    assert facts["large"][0]["shared"] > facts["large"][0]["limit"] and not facts["large"][0]["fits"]


def test_refusals(facts):
    assert facts["ampere cluster"]["code"] == "MIR302" and "sm_80" in facts["ampere cluster"]["message"]
    assert facts["unknown"]["code"] == "MIR304" and "sm_90" in facts["unknown"]["message"]
