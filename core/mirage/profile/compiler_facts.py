"""The compiler's figures for an emitted module's kernels, without a GPU: shared memory, registers, spills, tensor cores.

The module's own `_run` is called on tensors without data, with each kernel replaced by a recorder: so signature, grid
and launch options are those of a real launch. Then each kernel is compiled ahead of time for the target.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeGuard, cast

from mirage.codegen.interpreter import load_module
from mirage.devices.table import Device, device
from mirage.errors import EmissionRefused
from mirage.ir.dtypes import DTYPES
from mirage.profile.worker_tasks import CompileAnswer, CompilePayload, KernelRow

if TYPE_CHECKING:
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

Constant = bool | int | float | str
POINTERS = {f"torch.{d.torch}": f"*{d.triton}" for d in DTYPES.values()}
INSTRUCTIONS = {
    "wgmma": ("wgmma.mma_async",),
    "mma": ("mma.sync",),
    "tcgen05": ("tcgen05.mma",),
    "cp_async": ("cp.async.ca", "cp.async.cg"),
    "tma": ("cp.async.bulk",),
}
USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


@dataclass(frozen=True)
class RecordedLaunch:
    """One recorded launch: the kernel's name, its grid, positional arguments (tensors without data), and keywords."""

    kernel: str
    grid: tuple[int, ...]
    args: tuple[torch.Tensor | TensorDescriptor, ...]
    keywords: dict[str, Constant]


@dataclass(frozen=True)
class CompilerFigures:
    """`grid` in blocks; `shared` bytes of a block, `limit` what the target allows; `registers` a thread;
    `spills`: bytes of stack a thread (registers that did not fit); instructions counted in the PTX text."""

    name: str
    grid: tuple[int, ...]
    warps: int
    stages: int
    cluster: int
    shared: int
    limit: int
    registers: int
    spills: int
    wgmma: int
    mma: int
    tcgen05: int
    cp_async: int
    tma: int

    @property
    def fits(self) -> bool:
        """Whether a block's shared memory is within the target's limit; the compiler does not check it."""
        return self.shared <= self.limit

    @property
    def tensor_cores(self) -> bool:
        return self.wgmma + self.mma + self.tcgen05 > 0


class _Recorder:
    """Stands in for a compiled kernel and keeps its launches."""

    def __init__(self, name: str, launches: list[RecordedLaunch]) -> None:
        self.name, self.launches = name, launches

    def __getitem__(self, grid: Sequence[int]) -> Callable[..., None]:
        def launch(*args: torch.Tensor, **keywords: Constant) -> None:
            self.launches.append(RecordedLaunch(self.name, tuple(int(g) for g in grid), args, keywords))

        return launch


def record_launches(module: ModuleType) -> list[RecordedLaunch]:
    """The launches of one call of the module's `_run` at its own sizes; nothing is computed."""
    import torch
    import triton

    launches: list[RecordedLaunch] = []
    kernels = {n: v for n, v in vars(module).items() if isinstance(v, triton.JITFunction)}
    inputs = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in module._EXPECTED]
    try:
        for name in kernels:
            setattr(module, name, _Recorder(name, launches))
        module._run(*inputs)
    finally:
        for name, kernel in kernels.items():
            setattr(module, name, kernel)
    return launches


def compile_module(text: str, target: str) -> list[CompilerFigures]:
    """Compiles every launch of an emitted module for `target` ("sm_80" ... "sm_120"), in launch order.

    Needs a process whose triton was imported without TRITON_INTERPRET=1. EmissionRefused: the compiler refused.
    """
    limits = device(target)
    module = load_module(text, interpret=False)
    return [compile_launch(module, launch, limits) for launch in record_launches(module)]


def described(argument: torch.Tensor | TensorDescriptor) -> TypeGuard[TensorDescriptor]:
    """Whether an argument of a launch is a tensor's descriptor."""
    return hasattr(argument, "block_shape")


def mangled(argument: torch.Tensor | TensorDescriptor) -> str:
    """An argument's type as Triton's signatures spell it."""
    if described(argument):
        return f"tensordesc<{POINTERS[str(argument.base.dtype)][1:]}{list(argument.block_shape)}>"
    return POINTERS[str(argument.dtype)]


def compile_launch(module: ModuleType, launch: RecordedLaunch, limits: Device) -> CompilerFigures:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(module, launch.kernel)
    names: Sequence[str] = kernel.arg_names
    options = {k: v for k, v in launch.keywords.items() if k not in names}
    constants = {k: v for k, v in launch.keywords.items() if k in names}
    tensors = dict(zip(names, launch.args, strict=False))
    signature = {n: mangled(tensors[n]) if n in tensors else "constexpr" for n in names}
    source = ASTSource(
        kernel,
        signature,
        constexprs={(names.index(n),): v for n, v in constants.items()},
        attrs={(names.index(n),): [["tt.divisibility", 16]] for n, t in tensors.items() if not described(t)},
    )
    try:
        compiled = triton.compile(source, target=GPUTarget("cuda", limits.capability, 32), options=options)
    except Exception as e:
        raise EmissionRefused(f"{launch.kernel} does not compile for {limits.target}: {first_line(e)}") from e
    registers, stack = resource_usage(compiled.asm["cubin"])
    ptx = compiled.asm["ptx"]
    counts = {name: sum(ptx.count(w) for w in words) for name, words in INSTRUCTIONS.items()}
    return CompilerFigures(
        launch.kernel,
        launch.grid,
        int(options.get("num_warps", 4)),
        int(options.get("num_stages", 3)),
        int(options.get("num_ctas", 1)),
        int(compiled.metadata.shared),
        limits.shared_per_block,
        registers,
        stack,
        **counts,
    )


def first_line(error: BaseException) -> str:
    lines = [x for x in str(error).strip().splitlines() if x.strip()]
    return f"{type(error).__name__}: {lines[-1][:200] if lines else ''}"


def resource_usage(cubin: bytes) -> tuple[int, int]:
    """Registers a thread and bytes of stack a thread, read from the binary by the cuobjdump that Triton brings."""
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as f:
        f.write(cubin)
        f.flush()
        done = subprocess.run([str(tool), "--dump-resource-usage", f.name], capture_output=True, text=True, timeout=60)
    found = USAGE.search(done.stdout)
    if found is None:
        raise EmissionRefused(f"cuobjdump says nothing of a kernel's registers: {done.stderr.strip()[:200]}")
    return int(found[1]), int(found[2]) + int(found[4])


def facts_of_module(payload: CompilePayload) -> CompileAnswer:
    """In the worker: the facts of each launch of a module."""
    facts = compile_module(payload["text"], payload.get("target", "sm_90"))
    rows = [{**asdict(f), "fits": f.fits, "tensor_cores": f.tensor_cores} for f in facts]
    return {"kernels": cast("list[KernelRow]", rows)}
