"""The roofline cost model of kernels: no GPU, no torch, cheap enough to be called for every candidate of a search.

A kernel's time is its launch and ramp plus the busiest of: device-memory traffic at the bandwidth that the loads in
flight can draw (Little's law), traffic through L2, tensor-core and float32 work, special functions; and the path of
loop iterations that one block after the other must walk, as far as that does not hide behind it. `work_counts.py` counts, a
device's `costs` are fitted to measurements. It ranks; what is reported to users as measured is measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mirage.devices.table import Costs, Device
from mirage.ir.dtypes import DTYPES
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorType
from mirage.mugraph.block_order import GROUPS, KEPT, TensorReads, best_order, from_memory
from mirage.mugraph.grammar import CustomKernel, DTensor, MuGraph
from mirage.operators.table import OPERATORS
from mirage.profile.work_counts import Path, WorkCounts, work
from mirage.program.library_variants import OPERATORS as OPERATORS_OF_CALLS

REGISTERS = 65536  # of a multiprocessor
OWN, MOST = 26.0, 222.0  # registers that any thread needs, and with how many the compiler begins to spill
SPILLED = 250.0  # registers beyond, for which a thread's path takes twice as long
BUSY = 4.0  # the norm that joins what a multiprocessor's units do side by side
BLOCKS = 32.0  # that a multiprocessor holds
RESERVED = 1024  # bytes of shared memory that the system takes of each block
LIBRARY = 0.67  # of the tensor-core peak, of a library's product: 4096 by 4096 by 4096 takes 210 µs (h200-eager.json)


def speed_of_light(program_bytes: float, flops: float, special: float, launches: int, device: Device) -> float:
    """The µs below which nothing can run: bytes moved once, tensor-core flops, special functions; and the launches."""
    seconds = max(program_bytes / device.bandwidth, flops / device.tensor_flops, special / device.special)
    return seconds * 1e6 + launches * device.launch_us


@dataclass(frozen=True)
class Compiled:
    """What a compiler made of a kernel: `shared` bytes of a block, `registers` and `spills` (bytes) of a thread."""

    shared: int
    registers: int
    spills: int


def estimate(mugraph: MuGraph, device: Device, compiled: Sequence[Compiled] = ()) -> float:
    """The µs of a µGraph: its kernels one after the other. With `compiled`, one for each custom kernel in launch order, what
    the compiler says takes the place of what the µGraph lets expect."""
    sizes = dict(mugraph.axes)
    tensors = {t.name: t for t in mugraph.tensors}
    facts = iter(compiled)
    total = 0.0
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            total += custom_us(k, sizes, tensors, device, next(facts, None))
        else:
            out = _bytes(mugraph, tensors[k.out])
            moved = moved_bytes(k.op, [_bytes(mugraph, tensors[a]) for a in k.args], out)
            flops = library_flops(mugraph, k.op, [tensors[a] for a in k.args], tensors[k.out])
            known = OPERATORS_OF_CALLS.get(k.op, k.op)
            depth = flops / (2.0 * math.prod(mugraph.shape(tensors[k.out]))) if known != ATTENTION else 0.0
            total += library_us(moved, flops, depth, device) + EAGER.get(known, Eager()).us
    return total


def memory_floor(mugraph: MuGraph, device: Device) -> float:
    """The µs in which a µGraph's kernels move what they read and write through device memory, each byte of a kernel once, and are
    launched: no tiles, warps or stages make them faster."""
    tensors = {t.name: t for t in mugraph.tensors}
    total = 0.0
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            w = work(k.block, dict(mugraph.axes), tensors, k.stages, k.warps)
            seconds = (w.unique + device.costs.write * w.written) / device.bandwidth
        else:
            args = [_bytes(mugraph, tensors[a]) for a in k.args]
            seconds = moved_bytes(k.op, args, _bytes(mugraph, tensors[k.out])) / device.bandwidth
        total += seconds * 1e6 + device.launch_us
    return total


def library_flops(mugraph: MuGraph, op: str, args: list[DTensor], out: DTensor) -> float:
    """Flops of a contraction: two for each element of the result and each contracted element of the first operand."""
    if OPERATORS_OF_CALLS.get(op) == ATTENTION:
        types = [TensorType(mugraph.shape(x), x.dtype) for x in (*args, out)]
        return operator_flops(ATTENTION, types[:-1], types[-1])
    entry = OPERATORS.get(op)
    if entry is None or entry.family != "contraction":
        return 0.0
    kept = {a for axes in out.dims for a in axes}
    inner = math.prod(mugraph.size(a) for axes in args[0].dims for a in axes if a not in kept)
    return 2.0 * inner * math.prod(mugraph.shape(out))


# Operators that read of their first argument what indices pick: no more than they write.
PICKING = frozenset({"gather", "aten.embedding.default", "aten.gather.default", "aten.index_select.default"})


def moved_bytes(op: str, args: Sequence[float], out: float) -> float:
    """The bytes that an operator reads of its arguments and writes, each once."""
    return out + sum(min(a, out) if op in PICKING and not i else a for i, a in enumerate(args))


def _bytes(mugraph: MuGraph, t: DTensor) -> float:
    return float(math.prod(mugraph.shape(t)) * DTYPES[t.dtype].bytes)


def library_us(moved: float, flops: float, depth: float, device: Device) -> float:
    """A PyTorch operator as its own kernel. `depth`: the elements that each element of a contraction's result sums."""
    seconds = max(moved / (0.85 * device.bandwidth), flops / (LIBRARY * device.tensor_flops))
    chain = DEPTH * depth
    return device.launch_us + device.ramp_us + max(seconds * 1e6, chain) + 0.5 * min(seconds * 1e6, chain)


def baseline(program: Program, device: Device) -> float:
    """The µs of the program run eagerly: each operator a kernel that reads its arguments and writes its result; views
    move nothing. `EAGER` corrects the operators that PyTorch runs as several kernels or slower than their bytes."""
    total = 0.0
    for n in program.nodes:
        if n.op in VIEWS or not n.args:
            continue
        types = [program.type_of(a) for a in n.args]
        moved = moved_bytes(n.op, [t.bytes for t in types], n.type.bytes)
        flops = operator_flops(n.op, types, n.type)
        depth = flops / (2.0 * n.type.numel) if n.op != ATTENTION else 0.0
        more = EAGER.get(n.op, Eager())
        total += library_us(more.bytes * moved, flops, depth, device)
        total += more.kernels * (device.launch_us + device.ramp_us) + more.us
        total += more.row * n.type.numel / n.type.shape[-1] if n.type.shape else 0.0
        if n.op == ATTENTION and len(types[0].shape) < 4:
            scores = types[0].numel // types[0].shape[-1] * types[1].shape[-2]
            total += 10 * (device.launch_us + device.ramp_us) + SCORE * scores
    return total


@dataclass(frozen=True)
class Eager:
    """What an operator takes beside one kernel that moves its bytes: further kernels, µs, µs a row, and how many times
    the bytes."""

    kernels: int = 0
    us: float = 0.0
    row: float = 0.0
    bytes: float = 1.0


# Measured on an H200 with torch 2.11, cold L2, CUDA graphs (benchmarks/results/h200-eager.json): an RMS norm of 16 rows
# of 4096 takes 7.4 µs and one of 131,072 rows of 128 takes 82, a layer norm 9.6 and 140; a softmax of 128 rows of 4096
# takes 4.0 µs and one of 4096 such rows 55. The library attention of 8 heads of 1024 tokens takes 14 µs.
ATTENTION = "scaled_dot_product_attention"
EAGER: dict[str, Eager] = {
    "rms_norm": Eager(kernels=2, us=1.0, row=0.00043),
    "normalize": Eager(kernels=2),
    "layer_norm": Eager(us=7.0, row=0.00085),
    "softmax": Eager(us=1.0, bytes=2.7),
    ATTENTION: Eager(us=9.0),
}
# Tensors of fewer than four dimensions get no fused attention but the plain one, in float32: 8 heads of 1024 tokens take
# 182 µs and 16 heads of 4096 tokens 4249 µs, about ten kernels and 16 ps a score.
SCORE = 16e-6
# µs an element of a contraction's depth where few blocks share its work: 16x4096 by 4096x16 takes 6.9 µs, 2x8x8192 by
# 2x8192x128 takes 13.
DEPTH = 0.0012


def operator_flops(op: str, args: list[TensorType], out: TensorType) -> float:
    """Tensor-core flops of one operator of a program: contractions and attention have them."""
    if op == ATTENTION and len(args) > 1 and len(args[1].shape) > 1:
        return 2.0 * args[1].shape[-2] * (args[0].numel + out.numel)
    entry = OPERATORS.get(op)
    if entry is None or entry.family != "contraction" or not args or not args[0].shape:
        return 0.0
    return 2.0 * out.numel * args[0].shape[-1]


VIEWS = frozenset(
    {"view", "reshape", "transpose", "permute", "t", "expand", "unsqueeze", "squeeze", "slice", "select", "detach"}
    | {"alias", "unflatten", "flatten"}
)


def custom_us(
    k: CustomKernel,
    sizes: dict[str, int],
    tensors: dict[str, DTensor],
    device: Device,
    compiled: Compiled | None = None,
) -> float:
    """The µs of one custom kernel, its tail included."""
    w = work(k.block, sizes, tensors, k.stages, k.warps)
    if k.tail is None:
        return times(w, k.warps, device, compiled).total
    t = work(k.tail, sizes, tensors, 1, k.warps)
    room = MOST * k.warps * 32
    spilled = max(0.0, t.registers - room) / room if compiled is None else 0.0
    w.registers = max(w.registers, min(t.registers, room))  # one kernel: its registers are the hungrier part's
    # Only the last block of each group goes on; one multiprocessor draws its loads, and nothing hides their latency.
    own = t.requested / t.blocks / (device.costs.tail_draw * device.l2_bandwidth / device.sms) * 1e6
    after = own * (1.0 + 2.0 * spilled) + device.costs.arrival
    after += steps_us(t.path, k.warps, device.costs) + elements_us(t.path, k.warps, device.costs)
    return times(w, k.warps, device, compiled).total + after


def norm(values: Sequence[float], power: float) -> float:
    """The norm of that power: 1 is the sum, and the higher the power, the nearer it is to the largest."""
    most = max(values)
    return most * math.pow(sum(math.pow(v / most, power) for v in values), 1 / power) if most else 0.0


@dataclass(frozen=True)
class Times:
    """The µs that each resource takes in one launch, were it alone, and what does not overlap. `chain` is the longest path of
    the blocks that run one after the other; `fixed` the launch, the ramp and the further waves; `overlap` how far the
    rest hides the chain (1: not at all, it comes on top)."""

    memory: float
    l2: float
    tensor: float
    arithmetic: float
    special: float
    chain: float
    fixed: float
    overlap: float = 1.0

    @property
    def total(self) -> float:
        busy = norm((self.memory, self.l2, self.tensor, self.arithmetic, self.special), BUSY)
        return self.fixed + norm((busy, self.chain), self.overlap)


def kernel_times(k: CustomKernel, mugraph: MuGraph, device: Device) -> tuple[Times, WorkCounts]:
    """The times of a custom kernel by resource, without its tail, and what it does."""
    w = work(k.block, dict(mugraph.axes), {t.name: t for t in mugraph.tensors}, k.stages, k.warps)
    return times(w, k.warps, device), w


def steps_us(p: Path, warps: int, costs: Costs) -> float:
    """The µs of the steps of one block's longest path: what a block waits for, however few others there are."""
    wider = warps / 4
    return (
        costs.iteration * math.pow(wider, costs.iteration_warps) * p.iterations
        + costs.wait * p.waits
        + costs.dot * p.dots
        + costs.depth * p.depth
        + costs.fragments * p.fragments
        + costs.reduction * p.reductions
        + costs.crossing * math.pow(wider, costs.crossing_warps) * p.crossings
    )


def elements_us(p: Path, warps: int, costs: Costs) -> float:
    """The µs in which one block's threads go through its elements."""
    elements = costs.operand * p.operands + costs.reduced * p.reduced + costs.math * p.math
    return elements / (1000 * 32 * warps)


def read_again(w: WorkCounts, running: int, device: Device) -> float:
    """The bytes that come from memory more than once, with the blocks in their best order (the plan gives them that one)."""
    again = {name for name, read in w.reads.items() if read > w.touched[name]}
    kept = KEPT * device.l2
    if sum(w.touched[name] for name in again) <= kept:
        return 0.0
    readings = {name: TensorReads(w.touched[name], w.along[name]) for name in again}
    counts = dict(w.grid)
    order = best_order(w.grid, readings, kept, () if w.split else GROUPS)
    moved = from_memory(order.digits(counts), readings, running, kept)
    return moved - sum(r.bytes for r in readings.values())


def times(w: WorkCounts, warps: int, device: Device, compiled: Compiled | None = None) -> Times:
    """What a launch takes by resource, with what is known of its compiled kernel."""
    costs = device.costs
    thread = OWN + w.registers / (warps * 32) + w.copies / 32
    shared, spilled = w.shared, max(0.0, thread - MOST) / SPILLED  # what does not fit travels to memory and back
    if compiled is not None:
        thread, shared, spilled = compiled.registers, compiled.shared + RESERVED, compiled.spills / 4 / SPILLED
    room = [
        device.shared_per_sm / shared if shared else 32.0,
        64 / warps,
        REGISTERS / (min(thread, 255.0) * warps * 32),
        BLOCKS,
    ]
    together = max(1, int(min(room)))
    slots = device.sms * together
    running = min(w.blocks, slots)
    waves = math.ceil(w.blocks / slots)
    busy = min(1.0, w.blocks / device.sms)
    draw = min(1.0, running * w.flight / (device.bandwidth * costs.latency * 1e-6)) if w.flight else 1.0
    missed = read_again(w, running, device) if w.unique > KEPT * device.l2 else 0.0
    read = (w.unique + w.wasted + missed) / (device.bandwidth * max(draw, 0.02))
    memory_s, l2_s, tensor_s, float_s, special_s = (
        read + costs.write * w.written / device.bandwidth,
        (w.requested + w.written) / (costs.l2 * device.l2_bandwidth * busy),
        (w.tensor_flops + (1 / costs.narrow - 1) * w.narrow_flops + (costs.tensor / costs.wide - 1) * w.wide_flops)
        / (device.tensor_flops * costs.tensor * busy),
        w.flops / (0.5 * device.fp32_flops * busy),
        w.special / (device.special * busy),
    )
    sharing = together * min(1.0, warps / 4) * min(1.0, w.blocks / slots)  # blocks of four warps or more
    beside = max(1.0, 1.0 - costs.beside + costs.beside * sharing)
    chained = (steps_us(w.path, warps, costs) + elements_us(w.path, warps, costs) * beside) * (1.0 + spilled) * waves
    fixed = device.launch_us + device.ramp_us + (costs.wave * (waves - 1) if together == 1 else 0.0)
    return Times(
        memory_s * 1e6, l2_s * 1e6, tensor_s * 1e6, float_s * 1e6, special_s * 1e6, chained, fixed, costs.overlap
    )
