"""Concatenations are read where they are used, each part within its bounds: no kernel writes one down."""

import numpy as np
import pytest
from workloads.evaluate import evaluate

from mirage.devices.table import DEVICES
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import Load
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.builder import Builder
from mirage.program.lower import lower
from mirage.search.engine import Bounds, Search
from mirage.verify.proof.opinion import proof_opinion

X, Y, W = (6, 20), (6, 12), (32, 18)


def program(name: str):
    b = Builder(name)
    x, y = b.input("x", X, "fp32"), b.input("y", Y, "fp32")
    w = b.input("w", W, "fp32") if name == "matmul" else None
    joined = b.op("concat", x, y, dim=1)
    if w is not None:
        b.output(b.op("matmul", joined, w))
    else:
        b.output(joined if name == "itself" else b.op(name, joined, dim=(1,), keepdim=False))
    return b.program()


def search(name: str) -> Search:
    p = program(name)
    found = Search(problem(p, lower(p)), lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=16, tilings=3))
    list(found.run())
    return found


EXPECTED = {
    "sum": lambda x, y: np.concatenate([x, y], 1).sum(1),
    "amax": lambda x, y: np.concatenate([x, y], 1).max(1),
    "matmul": lambda x, y, w: np.concatenate([x, y], 1) @ w,
    "itself": lambda x, y: np.concatenate([x, y], 1),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_concatenation_in_one_kernel(name):
    found = search(name)
    p = found.problem
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(s) for s in (X, Y, W)[: len(p.inputs)]]
    assert len(found.best[0].mugraph.kernels) == 1
    for c in found.best:
        proof = proof_opinion(p.t, {o.tensor: (o.term, o.dims) for o in p.outputs}, c.mugraph)
        assert proof is not None and proof.word == "PROVED", c.label
    for c in found.best[:3]:
        assert np.allclose(evaluate(c.mugraph, *inputs), EXPECTED[name](*inputs), atol=1e-9)


def test_an_index_that_misses_its_tensor_is_rejected():
    m = search("sum").best[0].mugraph
    text = to_text(m)
    shifted = next(s for s in _loads(m) if any(d.offset for d in s.index))
    wrong = text.replace(f"{shifted.index[1].axes[0]}{shifted.index[1].offset}]", f"{shifted.index[1].axes[0]}-200]")
    assert wrong != text
    assert broken_rule(m) is None
    found = broken_rule(parse(wrong))
    assert found is not None and found[0] == "tiles"
    free = text.replace(" sizes [_, 12]", "")
    assert free != text
    found = broken_rule(parse(free))
    assert found is not None and found[0] == "tiles"


def _loads(m) -> list[Load]:
    body = [s for k in m.kernels for s in k.block.body]
    return [x for s in body for x in (s.body if hasattr(s, "body") else (s,)) if isinstance(x, Load)]
