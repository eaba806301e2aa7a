"""The text link's field opinion: the emitted module itself, its public function called in the fields on a small launch.

The module runs in a worker (`task`); the opinion compares what it gives with what the program's terms give.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mirage.codegen.interpreter import load_module
from mirage.errors import MirageError
from mirage.ir.dtypes import TORCH_NAMES
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import CustomKernel, LibraryKernel, MuGraph
from mirage.mugraph.resized import tiny_sizes, whole_sizes
from mirage.results.details import FieldDetails
from mirage.results.verdict import Counterexample, Evidence
from mirage.verify.field import algebra_opinion
from mirage.verify.field.arithmetic import Array, Field
from mirage.verify.field.device_memory import Kept, TextFault, TorchProxy
from mirage.verify.field.public_function import Public
from mirage.verify.field.schedule_opinion import Small, Target, small_case
from mirage.verify.field.triton_in_field import field_interpreter
from mirage.verify.semantics.evaluate_terms import Fault

DRAWS = 32
WHOLE_DRAWS = 4  # of the launch without tails
ORDERS = 32  # launches among which the one with the most changes of order is taken
RunTask = Callable[[str, dict[str, Any]], dict[str, Any]]


def launch_tiles(graph: MuGraph) -> dict[str, dict[str, int]]:
    """TILES for a µGraph as it is: every dim's tile, of a split its number of parts."""
    out: dict[str, dict[str, int]] = {}
    for k in graph.kernels:
        if isinstance(k, CustomKernel):
            for name, block in ((k.name, k.block), (f"{k.name}.tail", k.tail)):
                if block is not None:
                    out[name] = {d.name: d.parts if d.role == "split" else d.tile for d in block.dims}
    return out


def encode(x: Array) -> dict[str, Any]:
    return {"shape": list(x.shape), "dtype": str(x.dtype), "data": np.ascontiguousarray(x).tobytes()}


def decode(data: Mapping[str, Any]) -> Array:
    return np.asarray(np.frombuffer(data["data"], np.dtype(data["dtype"])).reshape(data["shape"]))


def payload_of(
    module: str, parameters: Sequence[str], small: Small, calls: Sequence[LibraryKernel] = ()
) -> dict[str, Any]:
    """What the worker needs: the text, the field's seed, inputs in the order of `parameters`, what each call gives."""
    field = small.sample.field
    dtypes = {t.name: t.dtype for t in small.graph.inputs}
    inputs = []
    for name in parameters:
        known = name in dtypes  # an input that no kernel reads is passed all the same
        value = small.sample.inputs[name] if known else np.zeros((1, 1), np.uint64)
        inputs.append({"name": name, "type": dtypes.get(name, "fp32"), **encode(value)})
    given = [
        {
            "op": k.op,
            "attrs": k.attrs,
            "arguments": len(k.args),
            "type": dtypes[k.out],
            **encode(small.sample.inputs[k.out]),
        }
        for k in calls
    ]
    return {
        "calls": given,
        "module": module,
        "seed": field.seed,
        "draws": field.draws,
        "opaque": sorted(field.opaque),
        "inputs": inputs,
        "sizes": dict(small.sizes),
        "tiles": launch_tiles(small.graph),
    }


def task(payload: dict[str, Any]) -> dict[str, Any]:
    """In the worker: calls the module's public function in the field. Gives outputs as packed arrays, faults in words."""
    import os

    os.environ["TRITON_INTERPRET"] = "1"
    import torch

    module = load_module(payload["module"])
    field = Field(payload["seed"], payload["draws"], payload["opaque"])
    with field_interpreter(field) as memory:
        arguments = {}
        for item in payload["inputs"]:
            value, dtype = decode(item), getattr(torch, TORCH_NAMES[item["type"]])
            arguments[item["name"]] = memory.given(value, dtype)
        inputs = len(memory.regions)
        calls = [Kept(**{**c, "type": getattr(torch, TORCH_NAMES[c["type"]])}) for c in kept_calls(payload)]
        module.__dict__["torch"] = proxy = TorchProxy(memory, calls)
        constants = {"SIZES": dict(module.SIZES), "TILES": {k: dict(v) for k, v in module.TILES.items()}}
        try:
            public = Public(module, payload["module"], payload["sizes"], payload["tiles"])
            with proxy.operators():
                result = public(arguments)
            public.check_guard(arguments)
            results = result if isinstance(result, tuple) else (result,)
            outputs = [memory.known(r) for r in results]
            if len(proxy.ops.taken) != len(calls):
                return {"outputs": [], "faults": [f"{len(proxy.ops.taken)} of {len(calls)} calls are made"]}
        except TextFault as e:
            return {"outputs": [], "faults": [str(e)]}
        except Exception as e:
            return {"outputs": [], "faults": [f"the launch raised {type(e).__name__}: {_innermost(e)}"[:600]]}
    for i, region in enumerate(memory.regions):
        if i < inputs and region.writes.any():
            memory.fault(f"input {i} is written")
        if (region.writes > 1).any():
            n = int((region.writes > 1).sum())
            memory.fault(f"{n} elements of a tensor of shape {tuple(region.tensor.shape)} are written more than once")
    return {
        "outputs": [encode(o) for o in outputs],
        "calls": [[encode(x) for x in taken] for taken in proxy.ops.taken],
        "faults": memory.faults,
        "constants": constants,
        "expected": public.expected,
    }


def kept_calls(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of a payload with what they give as an array."""
    return [{**{k: c[k] for k in ("op", "attrs", "arguments", "type")}, "value": decode(c)} for c in payload["calls"]]


def _differences(module: Mapping[str, Any], mugraph: Mapping[str, Any]) -> str:
    """Where the numbers that a module launches with by default differ from its µGraph's, in words; "" if nowhere. A
    tail's row of TILES has only what differs from its block's."""
    if set(module) - set(mugraph):
        return f"{sorted(set(module) - set(mugraph))[0]} is too much"
    for key, want in mugraph.items():
        have = module.get(key)
        if isinstance(want, Mapping):
            have = {**(module.get(key.removesuffix(".tail")) or {}), **(have or {})}
            have = {d: have.get(d) for d in want}
        if have != want:
            return f"{key} is {have}, not {want}"
    return ""


def _innermost(e: BaseException) -> str:
    while e.__cause__ is not None:
        e = e.__cause__
    return f"{type(e).__name__}: {e}"


def text_opinion(
    t: Terms,
    targets: Sequence[Target],
    mugraph: MuGraph,
    module: str,
    parameters: Sequence[str],
    run_task: RunTask,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    tiles: Mapping[str, Mapping[str, int]] | None = None,
    calls: Sequence[LibraryKernel] = (),
    returned: Sequence[str] = (),
) -> Evidence:
    """Does the emitted module, run in the fields, give the targets' values? TESTED with a bound, or REJECTED.

    `parameters`: the function's tensor parameters in order. `run_task(name, payload)` runs a worker's task. `calls` stay
    PyTorch's own: `mugraph` is without them (`opened`), the text must make them in this order, with what the targets say, and
    gets random values from them. `returned` names what the function returns (the µGraph's outputs if empty).
    """
    about = About(
        t, targets, mugraph, module, parameters, run_task, calls, returned or [o.name for o in mugraph.outputs]
    )
    start = time.perf_counter()
    evidence: Evidence | None = None
    for opaque in algebra_opinion.variants(t, [x.term for x in targets], algebra_opinion.OPAQUE_IN_TEXT):
        evidence = _opinion(about, draws, seed, sizes, tiles, opaque, start)
        if evidence.word == "REJECTED":
            continue
        if sizes is not None:
            return evidence
        told = evidence.details
        assert isinstance(told, FieldDetails)
        first = told.sizes
        others = {
            "whole_tiles": ("where tiles divide their dims", whole_launch(mugraph, first, seed)),
            "other_order": ("where other axes are the longer ones", reordered_launch(mugraph, first, seed)),
        }
        sizes_of: dict[str, dict[str, int]] = {}
        for name, (what, launch) in others.items():
            if launch is None:
                continue
            again = _opinion(about, WHOLE_DRAWS, seed, *launch, opaque, start)
            if again.word == "REJECTED":
                return replace(again, summary=f"{what}: {again.summary}")
            assert isinstance(again.details, FieldDetails)
            sizes_of[name] = again.details.sizes
            evidence = replace(evidence, seconds=again.seconds)
        told = replace(told, whole_tiles=sizes_of.get("whole_tiles"), other_order=sizes_of.get("other_order"))
        return replace(evidence, details=told)
    assert evidence is not None
    return evidence


def whole_launch(
    mugraph: MuGraph, sizes: Mapping[str, int], seed: int
) -> tuple[dict[str, int], dict[str, dict[str, int]]] | None:
    """Sizes and tiles of a second launch: where the real tiles divide their dims, these do too (no tails)."""
    tiles = tiny_sizes(mugraph, seed)[1]
    whole = whole_sizes(mugraph, sizes, tiles)
    return None if whole is None else (whole, tiles)


def reordered_launch(
    mugraph: MuGraph, sizes: Mapping[str, int], seed: int
) -> tuple[dict[str, int], dict[str, dict[str, int]]] | None:
    """Sizes and tiles of a third launch, in which as many axes as can be found change places by length: a text that takes
    one axis' size for another's may do no harm where the wrong one is the longer."""

    def changed(other: Mapping[str, int]) -> int:
        axes = [a for a in sizes if a in other]
        return sum((sizes[a] - sizes[b]) * (other[a] - other[b]) < 0 for a in axes for b in axes if a < b)

    best = max((tiny_sizes(mugraph, seed + i) for i in range(1, ORDERS)), key=lambda found: changed(found[0]))
    return best if changed(best[0]) else None


@dataclass(frozen=True)
class About:
    """What is judged (see `text_opinion`)."""

    t: Terms
    targets: Sequence[Target]
    mugraph: MuGraph
    module: str
    parameters: Sequence[str]
    run_task: RunTask
    calls: Sequence[LibraryKernel]
    returned: Sequence[str]


def _opinion(
    about: About,
    draws: int,
    seed: int,
    sizes: Mapping[str, int] | None,
    tiles: Mapping[str, Mapping[str, int]] | None,
    opaque: tuple[str, ...],
    start: float,
) -> Evidence:
    def rejected(text: str, info: FieldDetails | None = None, shown: Counterexample | None = None) -> Evidence:
        return Evidence(
            link="text", opinion="field", word="REJECTED", summary=text, seconds=time.perf_counter() - start,
            details=info, counterexample=shown,
        )  # fmt: skip

    mugraph, parameters = about.mugraph, about.parameters
    try:
        small = small_case(
            about.t, about.targets, mugraph, draws=draws, seed=seed, opaque=opaque, sizes=sizes, tiles=tiles
        )
        result = about.run_task("field_text", payload_of(about.module, parameters, small, about.calls))
    except Fault as e:
        return rejected(f"the program cannot be evaluated: {e}")
    except MirageError as e:
        return rejected(f"the emitted text could not be run: {e}")
    good = int(small.sample.generic.sum())
    info = replace(
        algebra_opinion.details_of(small.bound, small.sample, small.sizes, good), tiles=launch_tiles(small.graph)
    )
    if result["faults"]:
        return rejected(result["faults"][0], replace(info, faults=tuple(result["faults"])))
    for name, own in (("SIZES", dict(mugraph.axes)), ("TILES", launch_tiles(mugraph))):
        differing = _differences(result["constants"][name], own)
        if differing:
            return rejected(f"the module's {name} are not those of its µGraph: {differing}", info)
    made_for = {i.name: (list(mugraph.shape(i)), f"torch.{TORCH_NAMES[i.dtype]}") for i in mugraph.inputs}
    for name, (shape, dtype) in zip(parameters, result["expected"], strict=False):
        if name in made_for and (list(shape), dtype) != made_for[name]:
            return rejected(f"the guard asks {name} to be {dtype} {shape}, the µGraph is for {made_for[name]}", info)
    if len(result["expected"]) != len(parameters):
        return rejected(f"the guard looks at {len(result['expected'])} of {len(parameters)} tensors", info)
    if len(result["outputs"]) != len(about.returned):
        return rejected(
            f"the launcher returns {len(result['outputs'])} tensors, the program {len(about.returned)}", info
        )
    if good == 0:
        return rejected("no point was found at which every root has a square", info)
    took: list[tuple[str, str, Array]] = [
        ("output", name, decode(o)) for name, o in zip(about.returned, result["outputs"], strict=True)
    ]
    for k, arguments in zip(about.calls, result["calls"], strict=True):
        took += [(f"{k.op} of", a, decode(x)) for a, x in zip(k.args, arguments, strict=True)]
    for i, (what, name, got) in enumerate(took):
        want = small.expected[name] if name in small.expected else small.sample.inputs[name]
        if got.shape[1:] != want.shape[1:]:
            return rejected(f"{what} {name} has shape {got.shape[1:]}, not {want.shape[1:]}", info)
        at = algebra_opinion.mismatch(small.sample.field, want, got, small.sample.valid, small.sample.ties)
        if at is not None:
            shown = algebra_opinion.counterexample(small.sample.field, i, at, want, got, small.sizes)
            return rejected(f"the emitted text differs from its program at a random point ({what} {name})", info, shown)
    total, said = algebra_opinion.summary_of(small.bound, good)
    return Evidence(
        link="text", opinion="field", word="TESTED", summary=said, bound=total, seconds=time.perf_counter() - start,
        details=info,
    )  # fmt: skip
