"""What a module's guard hands to the original and its launchers refuse, beyond other sizes: each beside what they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

from mirage.codegen.launcher_text import RowNames, by_size_lines, expected_lines, guard_lines, refusal_lines
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec, TensorType

PROGRAM = Program("f", tuple(TensorSpec.of(n, TensorType((4, 8), "fp32")) for n in "xy"), (), (0,))
Tensors = tuple[torch.Tensor, torch.Tensor]


def guards(several: bool) -> tuple[Callable[..., bool], Callable[..., None]]:
    """A module's `_fits`, and its launcher's refusal; of a module without kernels, whose tensors may lie anywhere."""
    own = RowNames()
    lines = [*expected_lines(PROGRAM, own), *(by_size_lines([own]) if several else []), *guard_lines([], several)]
    space: dict[str, Any] = {"torch": torch, "_run": guards, "SIZES": {"m": 4}, "TILES": {}}
    exec("\n".join([*lines, *refusal_lines(several)]), space)
    made = (space["_run"], space["SIZES"], space["TILES"])
    return (lambda *t: bool(space["_fits"](*t))), (lambda *t: space["_refuse_others"](made, *t))


def plain() -> Tensors:
    return torch.ones(4, 8), torch.ones(4, 8)


BOTH = pytest.mark.parametrize("several", [False, True])
REFUSED: dict[str, tuple[Callable[[Tensors], Tensors], str]] = {
    "the first on another device": (lambda t: (t[0].to("meta"), t[1]), "several devices: meta and cpu"),
    "the last on another device": (lambda t: (t[0], t[1].to("meta")), "several devices: cpu and meta"),
    "a gradient": (lambda t: (t[0], t[1].requires_grad_()), "no gradient"),
    "another dtype": (lambda t: (t[0], t[1].half()), "made for"),
    "gaps": (lambda t: (t[0], torch.ones(8, 4).t()), "made for"),
    "one row for all": (lambda t: (t[0], torch.ones(1, 8).expand(4, 8)), "made for"),
    "fewer dimensions": (lambda t: (t[0], torch.ones(8)), "made for"),
    "one more dimension": (lambda t: (t[0], torch.ones(1, 4, 8)), "made for"),
    "no elements": (lambda t: (torch.ones(0, 8), torch.ones(0, 8)), "made for"),
}


@BOTH
@pytest.mark.parametrize("name", REFUSED)
def test_other_tensors_go_to_the_original_and_are_refused(name: str, several: bool) -> None:
    fits, refuse = guards(several)
    change, says = REFUSED[name]
    assert not fits(*change(plain()))
    with pytest.raises(ValueError, match=says) as e:
        refuse(*change(plain()))
    assert "\n" not in str(e.value)


@BOTH
def test_what_they_were_made_for_is_taken(several: bool) -> None:
    fits, refuse = guards(several)
    x, y = plain()
    with torch.no_grad():
        needing = y.clone().requires_grad_()
        for given in ((x, y), (x, x), (torch.nn.Parameter(x), needing), (x[:], torch.ones(9, 8)[5:])):
            assert fits(*given)
            refuse(*given)
    refuse(x.to("meta"), y.to("meta"))  # of one device, as the compiler's figures are asked for


@BOTH
def test_what_a_kernel_would_pass_over_goes_to_the_original(several: bool) -> None:
    fits, _ = guards(several)
    x, y = plain()
    assert not fits(x, torch._neg_view(y))
    with forward_ad.dual_level():
        assert not fits(x, forward_ad.make_dual(y, y))
    with torch.autocast("cpu"):  # of no GPU's tensors
        assert fits(x, y)
    torch.set_autocast_enabled("cuda", True)  # as torch.autocast does where there is a GPU
    try:
        assert not fits(x, y)
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert fits(x, y)


class Elsewhere:
    """A tensor of the second GPU, as far as a launcher looks at it."""

    shape, dtype, requires_grad, is_cuda, device = (
        torch.Size((4, 8)),
        torch.float32,
        False,
        True,
        torch.device("cuda", 1),
    )

    def is_contiguous(self) -> bool:
        return True


@BOTH
@pytest.mark.parametrize("current", [0, 1])
def test_a_launcher_runs_on_the_current_device_alone(
    several: bool, current: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "current_device", lambda: current)
    _, refuse = guards(several)
    if current == 1:
        refuse(Elsewhere(), Elsewhere())
    else:
        with pytest.raises(ValueError, match="cuda:1 is not the current device"):
            refuse(Elsewhere(), Elsewhere())
