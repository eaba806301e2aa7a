"""The table of GPUs: the figures of each that the roofline and the capacity rules use.

Sources: NVIDIA's architecture whitepapers and data sheets (A100, GA10x, Ada, H100/H200, Blackwell B200, RTX 5090) for
bandwidth, dense tensor-core rates without sparsity, caches and multiprocessors; the CUDA programming guide's table of
compute capabilities for shared memory a block (227 KB on 9.0 and 10.0, 163 KB on 8.0, 99 KB on 8.6, 8.9 and 12.0) and
its arithmetic-throughput table for special functions (16 a clock and multiprocessor); the PTX manual for the conversion
of float8_e4m3fn (8.9), without which Triton does not compile it. `bandwidth` is what a large copy
reaches, about nine tenths of the data sheet's figure; on the H200 a plain read of 1 GB reached 4.6 of 4.8 TB/s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mirage.errors import UnknownTarget


@dataclass(frozen=True)
class Costs:
    """What the steps of a kernel take, in µs, but for the elements: those in ns of one thread. Fitted together on 1,236
    searched kernels of six programs at up to three batches, measured on an H200, for the order first and the time second
    (docs/performance.md, "Without a GPU"); kernels of other devices are assumed to be alike."""

    iteration: float = 0.093  # of a loop: its barriers, with four warps
    iteration_warps: float = 1.5  # the power by which that grows with the warps
    wait: float = 0.98  # for device memory, where nothing was loaded ahead
    dot: float = 0.0018
    depth: float = 0.00067  # of a product: 16 elements along the contracted dim, on a warp group's instruction
    fragments: float = 0.014  # the same on a warp's own
    reduction: float = 0.0048  # within a warp
    crossing: float = 0.18  # a reduction across four warps
    crossing_warps: float = 1.3
    operand: float = 0.3  # ns an element: a computed operand on its way through shared memory
    reduced: float = 0.3  # ns
    math: float = 1.3  # ns
    arrival: float = 0.83  # that the blocks of a group take to know which is the last
    wave: float = 1.4  # that each further wave of blocks takes to get its first loads
    latency: float = 0.2  # of device memory under load: what must be in flight is bandwidth times this
    overlap: float = 1.5  # the norm that joins the busiest resource and the path: 1 is their sum
    beside: float = (
        0.5  # of the elements' time, for each further block on the same multiprocessor: they share its issue slots
    )
    tail_draw: float = 0.14  # of a multiprocessor's share of the L2 bandwidth, that one block alone can draw
    l2: float = 1.0  # of the L2 bandwidth
    write: float = 1.2  # times the bytes written
    tensor: float = 0.45  # of the tensor-core peak (by a hand-written product; the searched ones wait for other things)
    wide: float = (
        0.72  # of it, by a tile of 128 x 128 sums or more (60 hand-written products: off by 1.13x in the mean)
    )
    narrow: float = 0.35  # of that, on a warp's own instruction


H200 = Costs()


@dataclass(frozen=True)
class Device:
    """Rates per second; `shared_per_block` and `l2` in bytes; `launch_us` from one kernel's end to the next one's start
    inside a CUDA graph; `ramp_us` until a grid's loads are under way."""

    target: str
    name: str
    bandwidth: float  # bytes, device memory
    l2_bandwidth: float  # bytes
    tensor_flops: float  # fp16 and bf16, dense, float32 accumulation
    fp32_flops: float
    special: float  # exp, sqrt, and their kin
    l2: int
    shared_per_block: int
    shared_per_sm: int
    sms: int
    launch_us: float = 1.0
    ramp_us: float = 1.0
    costs: Costs = H200

    @property
    def capability(self) -> int:
        """The number behind `sm_`."""
        return int(self.target.removeprefix("sm_"))

    @property
    def warp_groups(self) -> bool:
        """Whether four warps together have a matrix instruction (wgmma on 9.0, tcgen05 on 10.0) that reads shared memory."""
        return 90 <= self.capability < 120

    def lacks(self, dtypes: Iterable[str]) -> list[str]:
        """Those of the dtypes (short names) that its kernels cannot read or write."""
        return sorted({d for d in dtypes if self.capability < SINCE.get(d, 0)})


KB, MB = 1024, 1024 * 1024


def _special(sms: int, ghz: float) -> float:
    return 16 * sms * ghz * 1e9


SINCE = {"fp8e4m3": 89}  # compute capability from which a dtype can be read and written


DEVICES: dict[str, Device] = {
    d.target: d
    for d in (
        # A100 80 GB SXM: 2.04 TB/s, 312 TFLOPS, 108 SMs at 1.41 GHz
        Device("sm_80", "A100", 1.8e12, 5.1e12, 312e12, 19.5e12, _special(108, 1.41), 40 * MB, 163 * KB, 164 * KB, 108),
        # RTX 3090 (GA102): 936 GB/s, 71 TFLOPS with float32 accumulation, 82 SMs at 1.70 GHz
        Device("sm_86", "RTX 3090", 0.86e12, 2.2e12, 71e12, 35.6e12, _special(82, 1.70), 6 * MB, 99 * KB, 100 * KB, 82),
        # RTX 4090 (AD102): 1008 GB/s, 165 TFLOPS with float32 accumulation, 128 SMs at 2.52 GHz
        Device("sm_89", "RTX 4090", 0.92e12, 5e12, 165e12, 82.6e12, _special(128, 2.52), 72 * MB, 99 * KB, 100 * KB,
               128),
        # H100 and H200 SXM: 989 TFLOPS, 132 SMs at 1.83 GHz; the H200's 4.8 TB/s (an H100 has 3.35)
        Device("sm_90", "H200", 4.6e12, 10e12, 989e12, 67e12, _special(132, 1.83), 50 * MB, 227 * KB, 228 * KB, 132),
        # B200: 8 TB/s, 2.25 PFLOPS, 148 SMs at 1.85 GHz
        Device("sm_100", "B200", 7.2e12, 18e12, 2250e12, 75e12, _special(148, 1.85), 126 * MB, 227 * KB, 228 * KB, 148),
        # RTX 5090 (GB202): 1.79 TB/s, 210 TFLOPS with float32 accumulation, 170 SMs at 2.41 GHz
        Device("sm_120", "RTX 5090", 1.6e12, 7e12, 210e12, 105e12, _special(170, 2.41), 96 * MB, 99 * KB, 100 * KB,
               170),
    )
}  # fmt: skip


# What people call a GPU, beside the names of the table; one of a target without a row of its own is estimated by that row.
NAMES = {
    "h100": "sm_90",
    "a10": "sm_86",
    "a10g": "sm_86",
    "a40": "sm_86",
    "a6000": "sm_86",
    "l4": "sm_89",
    "l40": "sm_89",
    "l40s": "sm_89",
    **{d.name.lower().replace(" ", ""): d.target for d in DEVICES.values()},
}


def target_named(name: str) -> str:
    """The target that a GPU's name or a target in another spelling means ("h100", "RTX 4090", "sm90"); any other name as it is."""
    plain = re.sub(r"[\s_-]", "", name.lower())
    if plain in NAMES:
        return NAMES[plain]
    return f"sm_{plain[2:]}" if re.fullmatch(r"sm\d+[af]?", plain) else name


def device(target: str) -> Device:
    """The device of a target such as "sm_90" ("sm_90a" is the same)."""
    found = DEVICES.get(target.rstrip("af"))
    if found is None:
        known = ", ".join(f"{d.target} ({d.name})" for d in DEVICES.values())
        raise UnknownTarget(f"{target!r} is not one of {known}")
    return found
