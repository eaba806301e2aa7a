"""Library kernels: the PyTorch call of an operator of the operator table.

Nothing of a µGraph becomes text as it is: attributes are written as literals, tensors by the launcher's own names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from string import Formatter

from mirage.errors import EmissionRefused
from mirage.ir.opaque_calls import call_text, fault, is_call, plain_literal
from mirage.ir.program import Attr
from mirage.mugraph.grammar import LibraryKernel
from mirage.operators.attribute_faults import attribute_fault
from mirage.operators.table import OPERATORS


def library_call(kernel: LibraryKernel, names: dict[str, str]) -> str:
    """The call's text; `names` gives each device tensor its variable in the launcher."""
    arguments = [names[a] for a in kernel.args]
    if is_call(kernel.op):
        wrong = fault(kernel.op, kernel.attrs, len(kernel.args))
        if wrong:
            raise EmissionRefused(f"library kernel {kernel.name!r}: {wrong}")
        return call_text(kernel.op, kernel.attrs, arguments)
    entry = OPERATORS.get(kernel.op)
    if entry is None or not entry.call:
        raise EmissionRefused(f"{kernel.op!r} is no operator that PyTorch has a call for")
    wrong = attribute_fault(kernel.op, kernel.attrs)
    if wrong:
        raise EmissionRefused(f"library kernel {kernel.name!r}: {wrong}")
    try:
        text = "".join(filled(entry.call, arguments, dict(kernel.attrs)))
    except (IndexError, KeyError, TypeError) as e:
        raise EmissionRefused(f"library kernel {kernel.name!r} lacks {e} of {kernel.op!r}") from e
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return re.sub(r"\bF\.", "torch.nn.functional.", text)


def filled(call: str, arguments: Sequence[str], attrs: dict[str, Attr]) -> Iterator[str]:
    """The pieces of a call as the operator table has it: places by number, `all` of them, the `rest` after the first, and
    attributes by name, of which `dim[0]` is the first."""
    for text, place, _, _ in Formatter().parse(call):
        yield text
        if place is None:
            continue
        if place.isdigit():
            yield arguments[int(place)]
        elif place in ("all", "rest"):
            yield ", ".join(arguments[place == "rest" :])
        else:
            name, _, index = place.partition("[")
            value = attrs[name]
            if index:
                if not isinstance(value, tuple):
                    raise TypeError(f"a list in {name}")
                value = value[int(index[:-1])]
            yield plain_literal(value)
