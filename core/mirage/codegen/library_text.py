"""Library kernels: the PyTorch call of an operator of the operator table."""

from __future__ import annotations

import re

from mirage.errors import EmissionRefused
from mirage.ir.torch_calls import call_text, fault, is_call
from mirage.mugraph.grammar import LibraryKernel
from mirage.operators.table import OPERATORS


def library_call(kernel: LibraryKernel, names: dict[str, str]) -> str:
    """The call's text; `names` gives each device tensor its variable in the launcher."""
    if is_call(kernel.op):
        wrong = fault(kernel.op, kernel.attrs, len(kernel.args))
        if wrong:
            raise EmissionRefused(f"library kernel {kernel.name!r}: {wrong}")
        return call_text(kernel.op, kernel.attrs, [names[a] for a in kernel.args])
    entry = OPERATORS.get(kernel.op)
    if entry is None or not entry.call:
        raise EmissionRefused(f"{kernel.op!r} is no operator that PyTorch has a call for")
    arguments = [names[a] for a in kernel.args]
    try:
        text = entry.call.format(
            *arguments, all=", ".join(arguments), rest=", ".join(arguments[1:]), **dict(kernel.attrs)
        )
    except (IndexError, KeyError) as e:
        raise EmissionRefused(f"library kernel {kernel.name!r} lacks {e} of {kernel.op!r}") from e
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return re.sub(r"\bF\.", "torch.nn.functional.", text)
