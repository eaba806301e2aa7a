"""What PyTorch and Triton's interpreter say of the cases: is what is called right right, and what is called wrong wrong?

    TRITON_INTERPRET=1 python tests/strangers/certify.py [EVERY]

Names the cases of which that cannot be said; the exit code is then 1.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from strangers import pairs  # noqa: E402
from strangers.edit_table import BASES, Base  # noqa: E402
from strangers.edited.edit import Edit  # noqa: E402
from strangers.pair import OTHER_KIND, Difference, Pair, difference, drawn, function, outputs, widened, worst  # noqa: E402
from strangers.text_table import TEXTS  # noqa: E402

BEHIND = 4096  # elements behind an input, more than a block of the texts reads


def first_configuration(text: str) -> str:
    """The text with one configuration for each `autotune`: the interpreter has no device to time several on."""
    return re.sub(r"(\[\s*triton\.Config\([^\n]*\n)(\s*triton\.Config\([^\n]*\n)+", r"\1", text)


def loaded(text: str, folder: Path, name: str) -> Callable[..., Any]:
    """The function `f` of a module's text. `TRITON_INTERPRET=1` has to be set before Triton is imported."""
    path = folder / f"{name}.py"
    path.write_text(first_configuration(text), "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.f
    return found


def against(pair: Pair, run: Callable[..., Any], inputs: dict[str, torch.Tensor]) -> Difference:
    """How far `run` is from the pair's function in float64: the worst output. `rounding` is the function's own."""
    f = function(pair, "a")
    own, exact, got = (
        outputs(x) for x in (f(*inputs.values()), f(*map(widened, inputs.values())), run(*inputs.values()))
    )
    return worst([_one(*x) for x in zip(own, exact, got, strict=True)])


def _one(a: torch.Tensor, aw: torch.Tensor, b: torch.Tensor) -> Difference:
    if a.shape != b.shape or a.dtype != b.dtype:
        return OTHER_KIND
    eps = torch.finfo(a.dtype).eps
    a, aw, b = a.double(), aw.double(), b.double()
    fine = a.isfinite() & b.isfinite()
    apart, rounding, largest = (float(x[fine].abs().max()) if fine.any() else 0.0 for x in (b - aw, a - aw, aw))
    return Difference(apart, rounding, rounding, not torch.equal(a.isfinite(), b.isfinite()), largest, eps)


def before_nan(x: torch.Tensor) -> torch.Tensor:
    """A copy of the same form at the end of its memory's own part: behind the last element lies NaN, in integers the largest value."""
    fill = float("nan") if x.is_floating_point() else 1 if x.dtype == torch.bool else torch.iinfo(x.dtype).max
    form = torch.empty_like(x)
    extent = sum((n - 1) * s for n, s in zip(form.shape, form.stride(), strict=True)) + 1
    memory = torch.full((extent + BEHIND,), fill, dtype=x.dtype)
    return memory.as_strided(form.shape, form.stride()).copy_(x)


def text_is_wrong(pair: Pair, run: Callable[..., Any]) -> bool:
    """Does a text differ from its function by more than four times the function's own error and half an ulp of the largest value?
    What it reads behind its inputs is NaN, whatever the process had there."""
    return against(pair, run, {n: before_nan(x) for n, x in drawn(pair).items()}).wrong


def text_is_right(pair: Pair, run: Callable[..., Any]) -> bool:
    """Does it agree within rounding, on inputs of either size?"""
    return all(against(pair, run, drawn(pair, scale)).agrees for scale in (1.0, 3.0))


def pair_is_wrong(pair: Pair, kind: str) -> bool:
    """Does the pair differ as its class says: by more than rounding, or by more than the wider dtypes' rounding?"""
    found = difference(pair, drawn(pair))
    return found.wrong or (kind == "casts" and found.imprecise)


def pair_is_equal(pair: Pair) -> bool:
    """Does it agree within rounding, on inputs of three sizes?"""
    return all(difference(pair, drawn(pair, scale)).agrees for scale in (1.0, 10.0, 0.01))


def edit_shows(base: Base, edit: Edit | None, folder: Path) -> bool:
    """Does the module differ from its function, after the edit: by its own statements, else by drawn inputs? New tensors hold NaN."""
    text = base.text if edit is None else edit.applied(base.text)
    run = loaded(text, folder, f"{base.pair.name}_{edit.name if edit else 'emitted'}")
    pair = replace(base.pair, setup=edit.setup if edit else "")
    filled = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        if edit is None or not edit.shows:
            return text_is_wrong(pair, run)
        scope = {"f": run, "wanted": function(pair, "a"), "inputs": list(drawn(pair).values()), "torch": torch}
        exec(edit.shows, scope)
    except (AssertionError, RuntimeError):  # a wrong result, or one of a shape that cannot be compared
        return True
    finally:
        torch.use_deterministic_algorithms(filled)
    return False


def checks(folder: Path) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Each case's name, and what says whether it is what it is called."""
    for kind, found in pairs.WRONG.items():
        for p in found:
            yield f"{kind}/{p.name}", lambda p=p, kind=kind: pair_is_wrong(p, kind)
    for p in pairs.EQUAL:
        yield f"equal/{p.name}", lambda p=p: pair_is_equal(p)
    for t in TEXTS:
        yield f"right/{t.name}", lambda t=t: text_is_right(t.pair, loaded(t.right, folder, f"{t.name}_right"))
        yield f"wrong/{t.name}", lambda t=t: text_is_wrong(t.pair, loaded(t.wrong, folder, f"{t.name}_wrong"))
    for base in BASES:
        yield f"{base.pair.name}/as_emitted", lambda base=base: not edit_shows(base, None, folder)
        for edit in base.edits:
            yield (
                f"{base.pair.name}/{edit.name}",
                lambda base=base, edit=edit: edit_shows(base, edit, folder) != edit.right,
            )


def main() -> int:
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        some = list(checks(Path(folder)))[::every]
        failed = [name for name, check in some if not check()]
    print(f"{len(some) - len(failed)} of {len(some)} certified", *failed, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
