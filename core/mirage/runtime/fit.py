"""Whether a kernel may stand in for the function in this call. Shape, dtype, device and strides are the launcher's own
guards; here is what a launcher cannot see: somebody watches the operators, or needs their gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def make_fits() -> Callable[[Iterable[Any]], bool]:
    """A predicate on the arguments of a call. Made once torch is there, so that a call pays for no import."""
    import torch
    from torch.autograd import forward_ad
    from torch.utils import _python_dispatch

    plain = (torch.Tensor, torch.nn.Parameter)
    functorch = getattr(torch._C, "_functorch", None)
    is_wrapped = getattr(functorch, "is_functorch_wrapped_tensor", lambda tensor: False)
    mode = getattr(_python_dispatch, "_get_current_dispatch_mode", lambda: None)

    def fits(values: Iterable[Any]) -> bool:
        if mode() is not None or getattr(forward_ad, "_current_level", -1) >= 0:
            return False
        grad = torch.is_grad_enabled()
        for value in values:
            if not isinstance(value, torch.Tensor):
                continue
            if type(value) not in plain or is_wrapped(value) or value.is_neg():
                return False
            if (grad and value.requires_grad) or torch.is_autocast_enabled(value.device.type):
                return False
        return True

    return fits
