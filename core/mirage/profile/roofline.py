"""How long kernels take by the roofline: no GPU, no torch, cheap enough to be called for every candidate of a search.

A kernel's time is its launch and ramp plus the largest of: device-memory traffic at the bandwidth that the loads in
flight can draw (Little's law), traffic through L2, tensor-core and float32 work, special functions, and the chain of
loop iterations that one block after the other must walk. It ranks; what is reported to users as measured is measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

from mirage.mugraph.grammar import (
    Accumulate,
    BlockGraph,
    Compute,
    CustomKernel,
    DTensor,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    ThreadGraph,
)
from mirage.operators.table import BLOCK, OPERATORS
from mirage.profile.devices import Device
from mirage.program.ir import DTYPES, Program, TensorType
from mirage.program.ways import OPERATORS as OPERATORS_OF_CALLS

LATENCY = 0.36e-6  # seconds of a device-memory load under load: what must be in flight is bandwidth times this
SECTOR, BURST = 32, 64  # bytes: the least that travels between L2 and a multiprocessor, between memory and L2
REGISTERS = 65536  # of a multiprocessor
OWN, MOST = 26.0, 222.0  # registers that any thread needs, and with how many the compiler begins to spill
# The chain of one loop iteration, in µs. These constants are fitted together on 175 searched kernels of ten programs and six
# hand-written ones, measured on an H200 (docs/performance.md): for the order first, and for the time.
STEP_ACROSS = 0.12  # a reduction across the warps of a block, each time a loop comes to it
STEP_REDUCED = 0.0003  # for each element of a reduced tile
TAIL_DRAW = 0.4  # of a multiprocessor's share of the L2 bandwidth, that one block alone can draw
STEP_LOAD, STEP_DOT, STEP_DOT_K, STEP_OPERAND, STEP_REDUCE, STEP_MATH = 0.09, 0.01, 0.028, 0.03, 0.02, 0.11
ARRIVAL = 1.0  # µs that the blocks of a group take to know which is the last
OVERLAP = 0.22  # of the shorter of two that does not hide behind the longer
WAVE = 1.7  # µs that each further wave of blocks takes to get its first loads
EFFICIENCY = 0.55  # of the tensor-core peak, at best
NARROW = 0.35  # of it when a tile has fewer than 64 rows (mma instead of wgmma)


@dataclass
class Work:
    """What one launch does, over all its blocks. Bytes are device-memory bytes touched (`unique`) and bytes requested
    (`requested`); `chain` µs of one block's longest path; `flight` bytes that one block keeps in flight."""

    blocks: int = 1
    unique: float = 0.0
    requested: float = 0.0
    written: float = 0.0
    wasted: float = 0.0  # bytes that travel from memory beside short pieces
    tensor_flops: float = 0.0
    narrow: bool = False
    flops: float = 0.0
    special: float = 0.0
    chain: float = 0.0
    flight: float = 0.0
    shared: float = 0.0
    registers: float = 0.0  # 32-bit registers of a block: accumulators, operand fragments, addresses of copies
    copies: float = 0.0  # those of one warp, which every warp of the block holds
    reads: dict[str, float] = field(default_factory=dict)  # bytes requested of each tensor
    touched: dict[str, float] = field(default_factory=dict)  # bytes of each tensor that are read at least once


def speed_of_light(program_bytes: float, flops: float, special: float, launches: int, device: Device) -> float:
    """The µs below which nothing can run: bytes moved once, tensor-core flops, special functions; and the launches."""
    seconds = max(program_bytes / device.bandwidth, flops / device.tensor_flops, special / device.special)
    return seconds * 1e6 + launches * device.launch_us


def estimate(mugraph: MuGraph, device: Device) -> float:
    """The µs of a µGraph: its kernels one after the other."""
    sizes = dict(mugraph.axes)
    tensors = {t.name: t for t in mugraph.tensors}
    total = 0.0
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            total += custom_us(k, sizes, tensors, device)
        else:
            moved = sum(_bytes(mugraph, tensors[a]) for a in (*k.args, k.out))
            flops = library_flops(mugraph, k.op, [tensors[a] for a in k.args], tensors[k.out])
            known = OPERATORS_OF_CALLS.get(k.op, k.op)
            depth = flops / (2.0 * math.prod(mugraph.shape(tensors[k.out]))) if known != ATTENTION else 0.0
            total += _library(moved, flops, depth, device) + EAGER.get(known, Eager()).us
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


def _bytes(mugraph: MuGraph, t: DTensor) -> float:
    return float(math.prod(mugraph.shape(t)) * DTYPES[t.dtype][0])


def _library(moved: float, flops: float, depth: float, device: Device) -> float:
    """A PyTorch operator as its own kernel. `depth`: the elements that each element of a contraction's result sums."""
    seconds = max(moved / (0.85 * device.bandwidth), flops / (EFFICIENCY * device.tensor_flops))
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
        moved = n.type.bytes + sum(t.bytes for t in types)
        flops = operator_flops(n.op, types, n.type)
        depth = flops / (2.0 * n.type.numel) if n.op != ATTENTION else 0.0
        more = EAGER.get(n.op, Eager())
        total += _library(more.bytes * moved, flops, depth, device)
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


def custom_us(k: CustomKernel, sizes: dict[str, int], tensors: dict[str, DTensor], device: Device) -> float:
    """The µs of one custom kernel, its tail included."""
    w = work(k.block, sizes, tensors, k.stages)
    if k.tail is None:
        return _time(w, k.warps, device)
    t = work(k.tail, sizes, tensors, 1)
    room = MOST * k.warps * 32
    spilled = max(0.0, t.registers - room) / room
    w.registers = max(w.registers, min(t.registers, room))  # one kernel: its registers are the hungrier part's
    # Only the last block of each group goes on; one multiprocessor draws its loads, and nothing hides their latency.
    own = t.requested / t.blocks / (TAIL_DRAW * device.l2_bandwidth / device.sms) * 1e6
    return _time(w, k.warps, device) + own * (1.0 + 2.0 * spilled) + t.chain + ARRIVAL


@dataclass(frozen=True)
class Times:
    """The µs that each resource takes in one launch, were it alone, and what does not overlap. `chain` is the longest path of
    the blocks that run one after the other; `fixed` the launch, the ramp and the further waves."""

    memory: float
    l2: float
    tensor: float
    arithmetic: float
    special: float
    chain: float
    fixed: float

    @property
    def total(self) -> float:
        busy = max(self.memory, self.l2, self.tensor, self.arithmetic, self.special)
        return self.fixed + max(busy, self.chain) + OVERLAP * min(busy, self.chain)


def kernel_times(k: CustomKernel, mugraph: MuGraph, device: Device) -> tuple[Times, Work]:
    """The times of a custom kernel by resource, without its tail, and what it does."""
    w = work(k.block, dict(mugraph.axes), {t.name: t for t in mugraph.tensors}, k.stages)
    return times(w, k.warps, device), w


def _time(w: Work, warps: int, device: Device) -> float:
    return times(w, warps, device).total


def times(w: Work, warps: int, device: Device) -> Times:
    thread = OWN + w.registers / (warps * 32) + w.copies / 32
    spilled = max(0.0, thread - MOST) / 60  # every value that does not fit travels to memory and back
    room = [
        device.shared_per_sm / w.shared if w.shared else 32.0,
        64 / warps,
        REGISTERS / (min(thread, 255.0) * warps * 32),
        16.0,
    ]
    together = max(1, int(min(room)))
    slots = device.sms * together
    running = min(w.blocks, slots)
    waves = math.ceil(w.blocks / slots)
    busy = min(1.0, w.blocks / device.sms)
    draw = min(1.0, running * w.flight / (device.bandwidth * LATENCY)) if w.flight else 1.0
    again = max(0.0, w.requested - w.unique)
    # What is read again comes from L2 as far as it stays there.
    missed = 0.0 if w.unique <= 0.8 * device.l2 else min(again, w.unique * (waves - 1))
    memory = (w.unique + w.wasted + missed) / (device.bandwidth * max(draw, 0.02)) + w.written / device.bandwidth
    memory_s, l2_s, tensor_s, float_s, special_s = (
        memory,
        (w.requested + w.written) / (device.l2_bandwidth * busy),
        w.tensor_flops / (device.tensor_flops * EFFICIENCY * (NARROW if w.narrow else 1.0) * busy),
        w.flops / (0.5 * device.fp32_flops * busy),
        w.special / (device.special * busy),
    )
    chained = w.chain * (1.0 + spilled) * waves * max(1.0, 0.5 + 0.5 * together * min(1.0, w.blocks / slots))
    fixed = device.launch_us + device.ramp_us + WAVE * (waves - 1)
    return Times(memory_s * 1e6, l2_s * 1e6, tensor_s * 1e6, float_s * 1e6, special_s * 1e6, chained, fixed)


@lru_cache(maxsize=65536)
def _computes(s: Statement) -> tuple[Compute, ...]:
    return s.body if isinstance(s, ThreadGraph) else (s,) if isinstance(s, Compute) else ()


def work(graph: BlockGraph, sizes: dict[str, int], tensors: dict[str, DTensor], stages: int) -> Work:
    """What a block graph's launch does at these sizes."""
    return _Meter(graph, sizes, tensors, stages).measure()


class _Meter:
    def __init__(self, graph: BlockGraph, sizes: dict[str, int], tensors: dict[str, DTensor], stages: int) -> None:
        self.graph, self.sizes, self.tensors, self.stages = graph, sizes, tensors, stages
        self.dims = {d.name: d for d in graph.dims}
        self.extent = {d.name: math.prod(sizes[a] for a in d.axes) for d in graph.dims if d.role != "split"}
        self.tiles = {d.name: math.ceil(self.extent[d.name] / d.tile) for d in graph.dims if d.role != "split"}
        self.dim_of = {a: d.name for d in graph.dims for a in d.axes}
        self.w = Work()
        self.seen: dict[str, float] = {}
        self.wasted: dict[str, float] = {}
        self.loaded: dict[str, bool] = {}
        self.dotted = False  # whether the loop at hand has a dot
        self.looped = False
        self.summed: frozenset[str] = frozenset()  # what the loop at hand adds to its accumulators

    def measure(self) -> Work:
        w = self.w
        for d in self.graph.dims:
            if d.role == "grid":
                w.blocks *= self.tiles[d.name]
            elif d.role == "split":
                w.blocks *= d.parts
        for item in self.graph.body:
            if isinstance(item, Loop):
                self.loop(item)
            else:
                w.chain += self.statement(item, 1.0, "")
        w.unique, w.touched, w.wasted = sum(self.seen.values()), self.seen, sum(self.wasted.values())
        return w

    def parts(self, dim: str) -> int:
        return math.prod(d.parts for d in self.graph.dims if d.role == "split" and d.splits == dim)

    def loop(self, loop: Loop) -> None:
        w = self.w
        count = math.ceil(self.tiles[loop.dim] / self.parts(loop.dim))
        step = flight = 0.0
        before = w.shared
        self.dotted = any(c.op == "dot" for s in loop.body for c in _computes(s))
        self.looped = True
        self.summed = frozenset(
            s.arg for s in loop.body if isinstance(s, Accumulate) and s.op == "sum" and not s.update
        )
        for s in loop.body:
            step += self.statement(s, float(count), loop.dim)
            if isinstance(s, Load):
                size = self.tile_bytes(s)
                flight += size
                w.registers += size / 8  # a 64-bit address for each 16 bytes copied
        pipelined = min(self.stages, count + 1)
        w.shared = before + flight * pipelined
        w.flight = max(w.flight, flight * max(1, pipelined - 1))
        w.chain += step * count
        self.dotted = self.looped = False
        self.summed = frozenset()

    def elements(self, dims: tuple[str, ...]) -> int:
        n = 1
        for d in dims:
            n *= self.dims[d].tile
        return n

    def tile_bytes(self, s: Load) -> float:
        return float(self.elements(s.dims) * DTYPES[self.tensors[s.tensor].dtype][0])

    def statement(self, s: Statement, times: float, loop: str) -> float:
        """Counts a statement that each block runs `times` times; returns its share of the chain, in µs."""
        w = self.w
        if isinstance(s, Load):
            return self.load(s, loop)
        if isinstance(s, Store):
            axes = [a for d in s.index for a in d.axes]
            w.written += math.prod(self.sizes[a] for a in axes) * DTYPES[self.tensors[s.tensor].dtype][0]
            return 0.0
        if isinstance(s, Accumulate):
            w.registers += self.elements(s.dims)
            w.flops += 2.0 * self.elements(s.dims) * times * w.blocks * (len(s.update) + 1) if s.update else 0.0
            return STEP_MATH if s.update else 0.0
        return sum(self.compute(c, times) for c in _computes(s))

    def load(self, s: Load, loop: str) -> float:
        size = DTYPES[self.tensors[s.tensor].dtype][0]
        own = {self.dim_of[a] for d in s.index for a in d.axes}
        unique = float(size * math.prod(self.sizes[a] for d in s.index for a in d.axes))
        again = 1.0
        for d in self.graph.dims:
            if d.role == "grid" and d.name not in own:
                again *= self.tiles[d.name]
            elif d.role == "split" and d.name not in own and d.splits not in own:
                again *= d.parts
        last = {self.dim_of[a] for a in s.index[-1].axes} if s.index else set()
        piece = size * math.prod(min(self.dims[d].tile, self.extent.get(d, 1)) for d in last)
        if last:  # short pieces of a row: whole sectors travel, from memory two at a time
            again *= max(1.0, SECTOR / piece)
            self.wasted[s.tensor] = max(self.wasted.get(s.tensor, 0.0), unique * max(0.0, BURST / piece - 1.0))
        self.w.requested += unique * again
        self.w.reads[s.tensor] = self.w.reads.get(s.tensor, 0.0) + unique * again
        self.seen[s.tensor] = max(self.seen.get(s.tensor, 0.0), unique)
        self.loaded[s.out] = True
        if not loop:
            self.w.flight = max(self.w.flight, self.tile_bytes(s))
            self.w.registers += self.elements(s.dims)
            return STEP_LOAD
        return STEP_LOAD * 0.5

    def compute(self, c: Compute, times: float) -> float:
        w = self.w
        entry = BLOCK.get(c.op)
        if entry is not None and not entry.flops and not entry.special:
            return 0.0
        if c.op == "dot":
            return self.dot(c, times)
        n = self.elements(c.dims)
        if c.op in ("sum", "max"):
            n *= self.dims[c.attr("dim")].tile
            w.flops += float(n) * times * w.blocks
            # Beside a narrow dot the tile is in the layout of its fragments, which every warp holds and walks by itself.
            rows = min(max(self.elements(c.dims), 16), 64)
            if self.dotted:
                return STEP_REDUCE + STEP_REDUCED * n * (16 / rows) ** 2
            if c.out in self.summed:  # added up whole, and reduced once after the loop
                w.registers += n
                return 0.0
            return STEP_ACROSS if self.looped else STEP_REDUCE
        w.flops += (entry.flops if entry else 1.0) * n * times * w.blocks
        w.special += (entry.special if entry else 0.0) * n * times * w.blocks
        return STEP_MATH * min(4.0, max(0.1, n / 4096))

    def dot(self, c: Compute, times: float) -> float:
        w = self.w
        k = self.dims[c.attr("dim")].tile
        wide = [self.dims[d].tile for d in c.dims if self.dims[d].tile > 1]
        flops = 2.0 * self.elements(c.dims) * k * times * w.blocks
        if k < 16 or len(wide) < 2 or min(wide[-2:]) < 16:
            n = self.elements(c.dims) * k
            w.flops += flops
            w.registers += n  # the products are added up whole, or reduced from registers
            return STEP_MATH * max(0.1, n / 4096)
        w.tensor_flops += flops
        if max(wide[-2:]) < 64:  # mma.sync: fragments of both operands are in registers, the first one's in every warp
            w.narrow = True
            w.registers += k * wide[-1] / 2
            w.copies += k * wide[-2] / 2
        computed = sum(not self.loaded.get(a, False) for a in c.args)
        return STEP_DOT + STEP_DOT_K * k / 16 + STEP_OPERAND * computed
