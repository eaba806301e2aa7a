"""The float opinion at the real shape: an emitted module on the GPU that it is for, in every regime of inputs, against float64 there."""

from __future__ import annotations

import time

from mirage.errors import MirageError
from mirage.mugraph.without_calls import calls_of
from mirage.results.details import FloatDetails, RegimeError
from mirage.results.verdict import Counterexample, Evidence
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.floats.launch_sizes import INTEGERS, compared_indices, contraction, first_contraction
from mirage.verify.floats.regimes import added_masks
from mirage.verify.worker_tasks import DevicePayload, RunTask, run_on_device

DEVICE = "cuda"


def device_opinion(
    emitted: EmittedModule, run_task: RunTask, *, seed: int = 0, device: str = DEVICE
) -> Evidence | None:
    """The evidence of a worker that has the device; None where no regime could be run there, which says nothing.

    `device`: torch's name of it ("cpu" is Triton's interpreter). The module must carry its original."""
    start = time.perf_counter()
    t, graph, roots = emitted.t, emitted.mugraph, [x.term for x in emitted.targets]
    sizes = dict(t.sizes) | dict(graph.axes)
    known = {x.name for x in graph.inputs}
    counts = {} if calls_of(graph) else compared_indices(t, emitted.targets, sizes)
    payload: DevicePayload = {
        "text": emitted.module,
        "function": emitted.function,
        "names": list(emitted.parameters),
        "integers": {n: counts.get(n, INTEGERS) for n in emitted.parameters},
        "masks": sorted(added_masks(t, roots) & known),
        "k": contraction(t, emitted.targets, sizes),
        "products": first_contraction(t, emitted.targets, sizes),
        "seed": seed,
        "device": device,
    }
    try:
        answer = run_on_device(run_task, payload)
    except MirageError as error:
        return Evidence(
            link="text", opinion="float", word="REJECTED", where="GPU", seconds=time.perf_counter() - start,
            summary=f"the kernels could not be run at their real shape: {error.message}",
        )  # fmt: skip
    rows = answer["rows"]
    if not rows:
        return None
    details = FloatDetails(
        sizes=sizes,
        regimes=tuple(
            RegimeError(
                r["regime"], r["output"], r["dtype"], "eager", r["error"], r["eager"], r["budget"], r["allowed"],
                far=bool(r["why"]), why=r["why"], roundings=r["roundings"],
            )
            for r in rows
        ),
    )  # fmt: skip
    failed = next((r for r in rows if r["why"]), None)
    worst = max(r["error"] / max(r["allowed"], 1e-300) for r in rows)
    ran = len({r["regime"] for r in rows})
    said = f"{ran} regimes of inputs at the real shape; the largest error is {worst:.2g} of what is allowed"
    shown = None
    if failed is not None:
        said = f"{failed['regime']} at the real shape: {failed['why']}"
        shown = Counterexample(
            "float", failed["output"], tuple(failed["index"]), failed["expected"], failed["actual"], sizes, seed
        )
    return Evidence(
        link="text", opinion="float", word="TESTED" if failed is None else "REJECTED", where=answer["where"],
        summary="; ".join([said, *answer["skipped"]]), details=details, counterexample=shown,
        seconds=time.perf_counter() - start,
    )  # fmt: skip
