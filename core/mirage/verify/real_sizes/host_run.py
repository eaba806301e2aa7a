"""Calls a module's public function, with stand-ins for triton: each launch is evaluated here for its whole grid."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from mirage.codegen.interpreter import bf16_bits, from_bits
from mirage.ir.dtypes import BY_TORCH_NAME
from mirage.verify.real_sizes.host_tensors import Allocations, OnDevice, WideTensor, storage_of
from mirage.verify.real_sizes.kept_tables import kept
from mirage.verify.real_sizes.kernel_run import DTYPES, BatchRun, argument
from mirage.verify.real_sizes.module_text import ModuleText, bound_names
from mirage.verify.real_sizes.operator_table import Context
from mirage.verify.real_sizes.tensor_descriptors import HostDescriptor, allocator, base_tensor
from mirage.verify.real_sizes.tile_memory import Accesses, Region
from mirage.verify.real_sizes.tile_values import NamedDtype, Pointer, Precision, Unknown, Wrong

LANES = 1 << 20  # of one batch of programs
MOST_PROGRAMS = 1 << 22
OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "launch_cooperative_grid", "grid"}
MULTIPROCESSORS = (132, 5)


@dataclass
class HostCall:
    """One call of the public function. `choice`: which configuration of each autotuner; `device`: which number of
    multiprocessors; `configurations`: the most that an autotuner has; `until`: the processor time at which it ends; `elsewhere`:
    whether it may launch nothing and leave the whole call to PyTorch."""

    precision: Precision
    text: ModuleText
    until: float
    choice: int = 0
    device: int = 0
    elsewhere: bool = False
    configurations: int = 1
    asked_device: bool = False
    launches: int = 0
    programs: int = 0

    def __post_init__(self) -> None:
        self.regions: dict[int, tuple[Region, torch.Tensor]] = {}
        self.given: dict[int, str] = {}
        self.gives: type = torch.Tensor


class Stand:
    """A part of triton that is used on the host."""

    def __init__(self, name: str, parts: Mapping[str, object]) -> None:
        self._name, self._parts = name, parts

    def __getattr__(self, part: str) -> object:
        if part.startswith("__"):
            raise AttributeError(part)
        if part not in self._parts:
            raise Unknown(f"{self._name}.{part} is used outside the kernels")
        return self._parts[part]


class Jitted:
    """A kernel as the public function sees it."""

    def __init__(self, host: Host, name: str) -> None:
        self.host, self.name = host, name
        self.configs: list[tuple[dict[str, object], Callable[..., object] | None]] = []
        self.values: dict[str, Callable[[Mapping[str, object]], object]] = {}
        self.zeroed: tuple[str, ...] = ()
        self.tuned = False

    def __getitem__(self, grid: object) -> Callable[..., None]:
        def launch(*args: object, **kwargs: object) -> None:
            self.host.followed(self, grid, args, kwargs)

        return launch


class Config:
    def __init__(self, kwargs: Mapping[str, object], **options: object) -> None:
        if options.get("pre_hook") is not None:
            raise Unknown("a configuration with a hook")
        self.kwargs = dict(kwargs)


class TorchOnDevice:
    """`torch` as the module sees it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.cuda = Stand(
            "torch.cuda",
            {
                "device": lambda *a: nullcontext(),
                "current_device": lambda: 0,
                "is_available": lambda: True,
                "get_device_properties": lambda *a: self._host.properties(),
                "get_device_capability": lambda *a: (9, 0),
            },
        )

    def __getattr__(self, name: str) -> object:
        return getattr(torch, name)


class Host:
    """The module, loaded once; each call of `call` has a session of its own."""

    def __init__(self, text: ModuleText) -> None:
        self.text = text
        self.session: HostCall | None = None
        self.allocates = False
        self.allocations = Allocations(Precision(wide=False))
        language = Stand("triton.language", {**{n: NamedDtype(d) for n, d in DTYPES.items()}, "constexpr": lambda x: x})
        active = SimpleNamespace(get_active_torch_device=lambda: torch.device("cuda", 0))
        runtime = SimpleNamespace(driver=SimpleNamespace(active=active))
        tools = SimpleNamespace(tensor_descriptor=SimpleNamespace(TensorDescriptor=HostDescriptor))
        parts: dict[str, object] = {
            "jit": self._jit, "autotune": self._autotune, "heuristics": self._heuristics, "Config": Config,
            "cdiv": lambda a, b: -(-a // b), "next_power_of_2": lambda n: 1 << max(0, int(n) - 1).bit_length(),
            "language": language, "runtime": runtime, "JITFunction": Jitted, "set_allocator": self._allocator, "tools": tools,
        }  # fmt: skip
        self.roots: dict[str, object] = {
            "triton": Stand("triton", parts),
            "torch": TorchOnDevice(self),
            "triton.language": language,
        }
        self.names = self._loaded()
        numbers = {n: v for n, v in self.names.items() if isinstance(v, (bool, int, float, str)) and n != "__name__"}
        self.text.constants.update({n: v for n, v in numbers.items() if n not in self.text.constants})

    def _loaded(self) -> dict[str, Any]:
        """The top level, run with the stand-ins in place of its imports."""
        names: dict[str, Any] = {"__name__": "module", "type": class_of}
        for name, path in self.text.imported.items():
            names[name] = self._imported(path)
        future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
        try:
            for s in self.text.tree.body:
                if not isinstance(s, ast.Import | ast.ImportFrom):
                    tree = ast.fix_missing_locations(ast.Module([future, s], []))
                    exec(compile(tree, "<module>", "exec"), names)
                    if isinstance(s, ast.Assign | ast.AnnAssign):
                        names |= {n: kept(n, names[n]) for n in bound_names(s) if n in names}
        except (Unknown, Wrong):
            raise
        except Exception as e:
            raise Unknown(f"the module cannot be loaded: {type(e).__name__}: {e}", _line(e)) from None
        return names

    def _imported(self, path: str) -> object:
        for root in ("triton.language", "triton", "torch"):
            if path == root:
                return self.roots[root]
            if path.startswith(root + "."):
                found: object = self.roots[root] if root != "torch" or path.startswith("torch.cuda") else torch
                try:
                    for part in path.removeprefix(root + ".").split("."):
                        found = getattr(found, part)
                except Unknown:  # what only kernels use
                    return Stand(path, {})
                return found
        module, _, name = path.rpartition(".")
        found = __import__(module or name, fromlist=[name])
        return getattr(found, name) if module else found

    def _allocator(self, function: Callable[[int, int, object], object]) -> None:
        self.allocates = True
        allocator(function)

    # ---- decorators
    def _jit(self, fn: Any = None, **options: object) -> object:
        if fn is None:
            return self._jit
        return Jitted(self, fn.__name__)

    def _autotune(self, configs: Sequence[Config], key: object = (), **options: Any) -> Callable[[Jitted], Jitted]:
        if set(options) - {"reset_to_zero", "restore_value", "warmup", "rep", "use_cuda_graph", "cache_results"}:
            raise Unknown("an autotuner with options that choose configurations")

        def put(kernel: Jitted) -> Jitted:
            kernel.configs = [(c.kwargs, None) for c in configs]
            kernel.zeroed = tuple(options.get("reset_to_zero") or ()) + tuple(options.get("restore_value") or ())
            kernel.tuned = True
            return kernel

        return put

    def _heuristics(self, values: Mapping[str, Callable[[Mapping[str, object]], object]]) -> Callable[[Jitted], Jitted]:
        def put(kernel: Jitted) -> Jitted:
            kernel.values = dict(values)
            return kernel

        return put

    def properties(self) -> object:
        assert self.session is not None
        self.session.asked_device = True
        count = MULTIPROCESSORS[self.session.device]
        return Stand("device properties", {"multi_processor_count": count, "warp_size": 32})

    # ---- a call
    def call(self, session: HostCall, arguments: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        """The results. Raises Wrong or Unknown."""
        self.session = session
        self.allocations = Allocations(session.precision)
        self.allocations.inputs = {storage_of(t) for t in arguments.values()}
        session.given = {storage_of(t): n for n, t in arguments.items()}
        function = self.names[self.text.public]
        try:
            with OnDevice(), self.allocations:
                out = function(**arguments)
        except (Unknown, Wrong):
            raise
        except Exception as e:
            raise Wrong(f"the call raises {type(e).__name__}: {str(e)[:300]}", _line(e)) from None
        session.gives = type(out)
        found = list(out) if isinstance(out, (tuple, list)) else [out]
        if not all(isinstance(t, torch.Tensor) for t in found):
            raise Wrong("the function gives something that is no tensor")
        if session.launches or not session.elsewhere:
            self._kernels_count(found)
        return found

    def _kernels_count(self, results: Sequence[torch.Tensor]) -> None:
        """Raises Unknown unless every result comes from a kernel, and what each kernel wrote is used."""
        assert self.session is not None
        made, given = self.allocations.made, {storage_of(t) for t in results}
        for i, t in enumerate(results):
            if storage_of(t) not in made:
                raise Unknown(f"output {i} of {self.text.public} is not what a kernel wrote")
        for key, (region, _) in self.session.regions.items():
            if region.written and not region.used and key not in self.allocations.read | given:
                raise Unknown(f"what kernels write to {region.name} is not used")

    def followed(self, kernel: Jitted, grid: object, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """A launch. What cannot be evaluated for any other reason is not the text's fault."""
        if not self.allocates and "make_tensor_descriptor" in ast.unparse(self.text.jitted[kernel.name]):
            raise Unknown(
                f"{kernel.name} makes tensor descriptors, and {self.text.public} calls no triton.set_allocator before"
            )
        self.allocations.paused = True
        try:
            self.launch(kernel, grid, args, kwargs)
        except (Wrong, Unknown):
            raise
        except Exception as e:
            raise Unknown(f"the launch of {kernel.name} cannot be followed: {type(e).__name__}: {str(e)[:200]}") from e
        finally:
            self.allocations.paused = False

    def launch(self, kernel: Jitted, grid: object, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        s = self.session
        if s is None:
            raise Unknown("a kernel is launched when the module is imported")
        f = self.text.jitted[kernel.name]
        names = [a.arg for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)]
        constants = {a.arg for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs) if self._constant(a)}
        bound: dict[str, object] = dict(zip(names, args))
        bound |= {n: v for n, v in kwargs.items() if n in names or n not in OPTIONS}
        if kernel.configs:
            s.configurations = max(s.configurations, len(kernel.configs))
            bound |= kernel.configs[s.choice % len(kernel.configs)][0]
        for a, d in zip(reversed(f.args.args), reversed(f.args.defaults)):
            if a.arg not in bound:
                bound[a.arg] = self._default(d)
        for name, value in kernel.values.items():
            bound[name] = value(bound)
        if len(args) > len(names) or set(bound) != set(names):
            wrong = sorted(set(bound) ^ set(names))
            raise Wrong(f"{kernel.name} is launched with other arguments than it has: {', '.join(wrong)}", f.lineno)
        shape = self._grid(grid, bound, kernel.name)
        regions = self._run(kernel, bound, constants, shape)
        for r in regions:
            if r.stored_to:
                key = next(n for n, (region, _) in s.regions.items() if region is r)
                self.allocations.made[key] = s.regions[key][1]
        if kernel.tuned:
            self._tuned(kernel, bound, regions)

    def _constant(self, a: ast.arg) -> bool:
        return a.annotation is not None and ast.unparse(a.annotation).strip("'\"").split(".")[-1] == "constexpr"

    def _default(self, d: ast.expr) -> object:
        return eval(compile(ast.Expression(d), "<default>", "eval"), self.names)

    def _grid(self, grid: object, bound: Mapping[str, object], name: str) -> tuple[int, int, int]:
        made = grid(dict(bound)) if callable(grid) else grid
        parts = list(made) if isinstance(made, (tuple, list)) else [made]
        sizes = [n for n in [*parts, 1, 1, 1][:3] if isinstance(n, int)]
        if not parts or len(parts) > 3 or len(sizes) < 3:
            raise Wrong(f"the grid of {name} is {made}")
        x, y, z = sizes
        if min(sizes) < 0 or x >= 2**31 or max(y, z) > 65535:
            raise Wrong(f"the grid of {name} is {made}, which no device launches")
        return x, y, z

    def _run(
        self, kernel: Jitted, bound: Mapping[str, object], constants: set[str], grid: tuple[int, int, int]
    ) -> list[Region]:
        s = self.session
        assert s is not None
        total = math.prod(grid)
        if total > MOST_PROGRAMS:
            raise Unknown(f"{kernel.name} is launched with {total} programs")
        tensors = [t for t in map(base_tensor, bound.values()) if isinstance(t, torch.Tensor)]
        pointers = {id(t): self.pointer(t) for t in tensors}
        regions = list({id(p.region): p.region for p in pointers.values()}.values())
        for r in regions:
            r.began()
        s.launches, s.programs = s.launches + 1, s.programs + total
        lengths = sorted(
            v for n, v in bound.items() if n in constants and type(v) is int and v >= 16 and not v & (v - 1)
        )
        step = max(1, LANES // max(1, math.prod(min(n, 1 << 16) for n in lengths[-2:])))
        for first in range(0, total, step):
            programs = np.arange(first, min(total, first + step))
            x, rest = programs % grid[0], programs // grid[0]
            ids = (x.astype(np.int32), (rest % grid[1]).astype(np.int32), (rest // grid[1]).astype(np.int32))
            ids = tuple(i[:1] if (i == i[0]).all() else i for i in ids)  # type: ignore[assignment]
            accesses = Accesses(s.precision, programs)
            context = Context(s.precision, accesses, regions, ids, grid)
            given = {n: argument(context, v, lambda t: pointers.get(id(t)), n in constants) for n, v in bound.items()}
            try:
                BatchRun(self.text, context, s.until).start(kernel.name, given)
            except (Wrong, Unknown) as e:
                e.line = e.line or context.line
                raise
        return regions

    def _tuned(self, kernel: Jitted, bound: Mapping[str, object], regions: Sequence[Region]) -> None:
        """An autotuner runs a kernel many times on the same tensors."""
        for n, v in ((n, base_tensor(v)) for n, v in bound.items()):
            if isinstance(v, torch.Tensor) and n not in kernel.zeroed:
                r = self.pointer(v).region
                if r.summed is not None or (r.stored_to and r.reader is not None):
                    raise Unknown(
                        f"{kernel.name} changes {n} otherwise when it is run again, and its autotuner does not reset it",
                        self.text.jitted[kernel.name].lineno,
                    )

    def pointer(self, t: object) -> Pointer:
        """Where a tensor begins in its storage."""
        assert isinstance(t, torch.Tensor) and self.session is not None
        inner = t.inner if isinstance(t, WideTensor) else t
        key = storage_of(t)
        found = self.session.regions.get(key)
        if found is None:
            found = self.session.regions[key] = (self._region(t, inner, key), inner)
        return Pointer(found[0], np.asarray([inner.storage_offset()], np.int64))

    def _region(self, t: torch.Tensor, inner: torch.Tensor, key: int) -> Region:
        assert self.session is not None
        name = BY_TORCH_NAME.get(str(t.dtype).removeprefix("torch."), str(t.dtype).removeprefix("torch."))
        dtype = {"bool": "int1"}.get(name, name)
        storage = inner.untyped_storage()
        flat = torch.empty(0, dtype=inner.dtype).set_(storage)
        given = self.session.given.get(key, "")
        label = given or f"a tensor of shape {list(t.shape)}"
        if inner.dtype == torch.bfloat16:
            region = Region(label, flat.view(torch.int16).numpy().view(np.uint16), dtype, bool(given))
            region.decode, region.encode = from_bits, bf16_bits
            return region
        if dtype not in DTYPES.values():
            raise Unknown(f"kernels on tensors of {name}")
        return Region(label, flat.numpy(), dtype, bool(given))


def class_of(value: object) -> type:
    """`type(value)` as the module sees it: a tensor of any precision is one of PyTorch's own."""
    return torch.Tensor if isinstance(value, WideTensor) else type(value)


def _line(e: BaseException) -> int:
    """The last line of the module that an exception passed."""
    found, tb = 0, e.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == "<module>":
            found = tb.tb_lineno
        tb = tb.tb_next
    return found
