"""What the decorated function does with and without an installed kernel."""

from __future__ import annotations

import importlib.util
import inspect
import marshal
import py_compile
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

import mirage
from mirage.codegen.baseline_module import emit_baselines
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.runtime import installed_kernels
from mirage.runtime.decorator import KernelNotUsed, with_kernel
from mirage.source.slice import cut

USER = '''
import mirage
import torch

SCALE = 2.0

def helper(x):
    return x * SCALE

@mirage.optimize
def f(x, y=None, *, k: float = 1.0):
    """Words."""
    if x.dim() == 3:
        raise ValueError("three dimensions")
    return helper(x) + k
'''
# It answers with something that the function never gives, so that a test sees which of the two ran.
KERNEL = "import torch\n\ndef f(x, y=None, *, k=1.0):\n    return torch.zeros_like(x) + 7.0\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


Load = Callable[[str], ModuleType]


@pytest.fixture
def load(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    def make(text: str) -> ModuleType:
        path = tmp_path / f"user_{time.monotonic_ns()}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        return module

    return make


X = torch.ones(2, 3)


def as_written(out: torch.Tensor) -> bool:
    return bool((out == 3.0).all())


def from_kernel(out: torch.Tensor) -> bool:
    return bool((out == 7.0).all())


def test_without_a_kernel_it_is_the_function(load: Load) -> None:
    f = load(USER).f
    assert as_written(f(X))
    assert f.__doc__ == "Words." and f.__name__ == "f"
    assert list(inspect.signature(f).parameters) == ["x", "y", "k"]


def test_with_a_kernel_it_is_the_kernel(load: Load) -> None:
    installed_kernels.install_for(USER, "f", KERNEL)
    assert from_kernel(load(USER).f(X))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+ k", "- k"),
        ("SCALE = 2.0", "SCALE = 2.5"),
        ("return x * SCALE", "return x / SCALE"),
        ("k: float = 1.0", "k=1"),
    ],
)
def test_a_kernel_of_another_text_is_not_used(load: Load, old: str, new: str) -> None:
    installed_kernels.install(cut(USER, "f").digest, KERNEL)
    assert not from_kernel(load(USER.replace(old, new)).f(X))


def test_options_and_comments_do_not_make_another_text(load: Load) -> None:
    installed_kernels.install(cut(USER, "f").digest, KERNEL)
    text = USER.replace("@mirage.optimize", '@mirage.optimize(inputs=[((2, 3), "fp32")])  # more')
    assert from_kernel(load(text).f(X))


def test_a_file_edited_after_its_import_is_not_trusted(load: Load) -> None:
    edited = USER.replace("+ k", "- k")
    installed_kernels.install(cut(edited, "f").digest, KERNEL)
    module = load(USER)
    Path(module.__file__ or "").write_text(edited)
    assert as_written(module.f(X))


@pytest.mark.parametrize("name", ["helper", "SCALE"])
def test_a_replaced_global_is_not_trusted(load: Load, name: str) -> None:
    installed_kernels.install(cut(USER, "f").digest, KERNEL)
    module = load(USER)
    setattr(module, name, {"helper": lambda x: x * 5, "SCALE": 5.0}[name])
    assert bool((module.f(X) == 6.0).all())


def test_a_needed_gradient_takes_the_function(load: Load) -> None:
    installed_kernels.install(cut(USER, "f").digest, KERNEL)
    f = load(USER).f
    x = torch.ones(2, requires_grad=True)
    out = f(x)
    out.sum().backward()
    assert as_written(out) and bool((x.grad == 2.0).all())
    assert as_written(f(X, x))
    with torch.no_grad():
        assert from_kernel(f(x))


def test_another_constant_takes_the_function(load: Load) -> None:
    installed_kernels.install(cut(USER, "f").digest, KERNEL)
    f = load(USER).f
    assert from_kernel(f(X, k=1.0)) and from_kernel(f(X, None)) and from_kernel(f(x=X, y=None))
    assert bool((f(X, k=2.0) == 4.0).all()) and bool((f(X, None, k=2) == 4.0).all())
    assert as_written(f(X, 3)) and as_written(f(X, y=X))


def test_watched_calls_take_the_function(load: Load) -> None:
    installed_kernels.install(cut(USER, "f").digest, KERNEL)
    f = load(USER).f
    assert from_kernel(f(X))
    assert as_written(torch.func.vmap(f)(X))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert as_written(f(X))
    with torch.autograd.forward_ad.dual_level():
        assert as_written(f(X))

    class Mine(torch.Tensor):
        pass

    assert as_written(f(X.as_subclass(Mine)))
    from torch.fx.experimental.proxy_tensor import make_fx

    traced = make_fx(lambda x: f(x))(X)
    assert as_written(traced(X)) and "zeros_like" not in traced.code


@pytest.mark.parametrize("installed", [False, True])
def test_under_torch_compile_it_is_the_function(load: Load, installed: bool) -> None:
    if installed:
        installed_kernels.install(cut(USER, "f").digest, KERNEL)
    f = load(USER).f
    torch._dynamo.reset()
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    assert as_written(compiled(X)) and as_written(compiled(X))


def test_errors_of_the_call_are_the_functions_own(load: Load) -> None:
    installed_kernels.install(cut(USER, "f").digest, KERNEL.replace("zeros_like(x)", "cat([x, x], dim=9)"))
    f = load(USER).f
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="three dimensions"):
            f(torch.ones(1, 1, 1))
    with pytest.warns(KernelNotUsed, match="it raised IndexError: Dimension out of range"):
        assert as_written(f(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_written(f(X))


@pytest.mark.parametrize("text", ["def f(:", "raise OSError('no')", "import not_a_module", "g = 1"])
def test_a_kernel_that_cannot_be_imported_warns_once(load: Load, text: str) -> None:
    installed_kernels.install(cut(USER, "f").digest, text)
    f = load(USER).f
    with pytest.warns(KernelNotUsed) as caught:
        assert as_written(f(X)) and as_written(f(X))
    assert len(caught) == 1


def test_a_folder_open_to_others_is_not_used(load: Load, home: Path) -> None:
    installed_kernels.install(cut(USER, "f").digest, KERNEL)
    (home / "kernels").chmod(0o777)
    with pytest.warns(KernelNotUsed, match="MIR408"):
        assert as_written(load(USER).f(X))


def test_what_is_no_plain_function_stays_as_it_is() -> None:
    async def later() -> int:
        return 1

    def some():  # type: ignore[no-untyped-def]
        yield 1

    for thing in (later, some, print, int):
        assert mirage.optimize(thing) is thing


def test_less_than_two_microseconds_a_call(load: Load) -> None:
    f = load("import mirage\n\n@mirage.optimize\ndef f(x):\n    return x\n").f
    plain = f.__wrapped__

    def best(call: Callable[[int], int]) -> float:
        times = []
        for _ in range(20):
            start = time.perf_counter()
            for i in range(2000):
                call(i)
            times.append((time.perf_counter() - start) / 2000)
        return min(times)

    extra = best(f) - best(plain)
    assert extra < 2e-6, f"{extra * 1e6:.2f} us"


def test_importing_mirage_is_light() -> None:
    import subprocess

    code = "import mirage, sys; print([m for m in ('torch', 'triton', 'numpy', 'z3') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert mirage.Result.__module__ == "mirage.results.result"
    with pytest.raises(AttributeError):
        mirage.nothing  # noqa: B018


def test_a_tensor_that_a_transform_left_behind_takes_the_function_that_once(load: Load) -> None:
    def kernel(x: torch.Tensor, y: object = None, *, k: float = 1.0) -> torch.Tensor:
        x.data_ptr()  # as a launch reads it
        return torch.zeros_like(x) + 7.0

    f = with_kernel(load(USER).f.__wrapped__, kernel)
    left: list[torch.Tensor] = []
    torch.func.grad(lambda x: left.append(x) or x.sum())(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_written(f(left[0]))
        assert from_kernel(f(X))


def by_pytorch(rows: int) -> str:
    """The module that runs `f` by PyTorch's compiler for so many rows, as on a device of this machine's kind."""
    program = Program("f", (TensorSpec("x", (rows, 3), "fp32"),), (), (0,), False)
    source = USER.replace("@mirage.optimize\n", "").replace("import mirage\n", "")
    text = emit_baselines([(program, "compile_max")], source, function="f", header={})
    return text.replace('_DEVICE = "cuda"', '_DEVICE = "cpu"')


def test_a_function_is_compiled_at_its_first_call(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def make(function: Callable[..., object], *, dynamic: bool, mode: str) -> Callable[..., object]:
        asked.append(mode)
        return lambda x, y=None, *, k: torch.full_like(x, 7.0)

    monkeypatch.setattr(torch, "compile", make)
    installed_kernels.install(cut(USER, "f").digest, by_pytorch(2))
    f = load(USER).f
    assert not asked and as_written(f(torch.ones(4, 3))) and not asked
    assert from_kernel(f(X)) and from_kernel(f(X)) and asked == ["max-autotune-no-cudagraphs"]
    with torch.enable_grad():
        assert as_written(f(torch.ones(2, 3, requires_grad=True)))
    assert as_written(torch.func.vmap(f)(torch.ones(5, 2, 3)))


def test_a_compiler_that_fails_leaves_the_function(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuses(*_: object, **__: object) -> Callable[..., object]:
        asked.append(1)
        raise RuntimeError("no C++ compiler")

    monkeypatch.setattr(torch, "compile", refuses)
    installed_kernels.install(cut(USER, "f").digest, by_pytorch(2))
    f = load(USER).f
    with pytest.warns(KernelNotUsed, match="the module installed for `f` is not used: it raised RuntimeError: no C"):
        assert as_written(f(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_written(f(X)) and len(asked) == 1


def test_a_planted_module_does_not_run(load: Load, home: Path, tmp_path: Path) -> None:
    """A file of this user's in the right place is not enough, nor is a compiled one beside it."""
    ran = tmp_path / "ran"
    attack = f"open({str(ran)!r}, 'w').close()\n{KERNEL}"
    path = installed_kernels.install(cut(USER, "f").digest, KERNEL)
    signed = path.read_text()
    path.write_text(attack)
    with pytest.warns(KernelNotUsed, match="MIR410"):
        assert as_written(load(USER).f(X))
    path.write_text(signed)
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    cached = next((home / "kernels" / "__pycache__").iterdir())
    code = compile(attack, str(path), "exec")
    cached.write_bytes(cached.read_bytes()[:16] + marshal.dumps(code))
    assert from_kernel(load(USER).f(X))
    assert not ran.exists()


def test_a_signed_module_with_an_effect_does_not_run(load: Load, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for attack in (f"open({str(ran)!r}, 'w').close()\n", "import os\n", "X = torch.os.mkdir('x')\n"):
        installed_kernels.install(cut(USER, "f").digest, KERNEL.replace("\n\n", f"\n{attack}\n", 1))
        with pytest.warns(KernelNotUsed, match="MIR409"):
            assert as_written(load(USER).f(X))
    assert not ran.exists()


def test_kernels_planted_in_a_project_do_not_run(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Path
) -> None:
    """A project that brings along a whole home, its key too, where a relative or a project's MIRAGE_HOME would find it."""
    installed_kernels.install(cut(USER, "f").digest, KERNEL)
    assert from_kernel(load(USER).f(X))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MIRAGE_HOME", home.name)
    with pytest.warns(KernelNotUsed, match="no full path"):
        assert as_written(load(USER).f(X))
    monkeypatch.setenv("MIRAGE_HOME", str(home))
    (tmp_path / "pyproject.toml").write_text("")
    with pytest.warns(KernelNotUsed, match="inside the project"):
        assert as_written(load(USER).f(X))
