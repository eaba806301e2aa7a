"""The µGraph of a module that a tuner wrote is found again, far down the model's order too."""

from __future__ import annotations

from mirage.codegen.emit import emit_module
from mirage.codegen.kernel_text import tiles_of
from mirage.devices.table import DEVICES
from mirage.pipeline.search_problems import problems
from mirage.plan import plan
from mirage.profile.candidate_choice import KEPT
from mirage.profile.roofline import estimate
from mirage.program.trace import trace
from mirage.search.engine import Bounds, Search
from mirage.verify.cases import found_again

TEXT = "import torch\n\n\ndef f(x, w):\n    return torch.relu(x @ w) / 2\n"
NORM = "import torch\n\n\ndef f(x, w, g):\n    return torch.nn.functional.rms_norm(x, (512,), g) @ w\n"
INPUTS = [("x", (8, 512), "fp16"), ("w", (512, 768), "fp16")]


def test_a_module_far_down_the_order_is_found_again() -> None:
    program = trace(TEXT, "f", INPUTS)
    (found,) = problems(program)
    search = Search(found, lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=KEPT))
    list(search.run())
    assert len(search.best) > 4 * Bounds().keep
    graph = plan(search.best[-1].mugraph)
    module = emit_module(program, graph, TEXT, function="f", header={})
    tables = dict(graph.axes), tiles_of(graph)
    assert found_again(program, TEXT, "f", module, *tables, "sm_90") == graph
    nobodys = {**tables[0], "k": 511} if "k" in tables[0] else {**tables[0], next(iter(tables[0])): 511}
    assert found_again(program, TEXT, "f", module, nobodys, tables[1], "sm_90") is None


def test_of_several_with_the_same_tiles_the_one_with_the_kernels_is_found() -> None:
    program = trace(NORM, "f", [*INPUTS, ("g", (512,), "fp16")])
    (found,) = problems(program)
    search = Search(found, lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=KEPT))
    list(search.run())
    alike: dict[str, list] = {}
    for c in search.best:
        alike.setdefault(repr((dict(c.mugraph.axes), tiles_of(c.mugraph))), []).append(c)
    several = next(cs for cs in alike.values() if len({c.structure for c in cs}) > 1)
    modules = set()
    for c in several[:3]:
        graph = plan(c.mugraph)
        module = emit_module(program, graph, NORM, function="f", header={})
        modules.add(module)
        again = found_again(program, NORM, "f", module, dict(graph.axes), tiles_of(graph), "sm_90")
        assert again is not None and emit_module(program, again, NORM, function="f", header={}) == module
    assert len(modules) > 1
