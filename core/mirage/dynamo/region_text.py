"""Writes a region of a graph as the text of one decorated function of PyTorch's operators: equal regions have equal texts."""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

Layout = tuple[tuple[int, ...], str, tuple[int, ...]]  # shape, dtype, strides


@dataclass(frozen=True)
class RegionText:
    """A region as the function `name` of the module `text`. `inputs` and `outputs` say how its tensors lie, `device` on what kind of
    device its inputs do ("" where they are not all on one device); `name` holds a digest of everything else here."""

    name: str
    text: str
    parameters: tuple[str, ...]
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]
    device: str


def writable(node: torch.fx.Node) -> bool:
    """Whether the call can be written: its constants are numbers, words, dtypes and formats."""
    try:
        _call(node, {x: "x" for x in node.all_input_nodes})
    except ValueError:
        return False
    return True


def write(
    nodes: Sequence[torch.fx.Node], inputs: Sequence[torch.fx.Node], outputs: Sequence[torch.fx.Node]
) -> RegionText:
    """The text of nodes that stand in the order of their graph. Raises ValueError where a constant cannot be written."""
    names = {x: f"x{i}" for i, x in enumerate(inputs)}
    lines = []
    for i, node in enumerate(nodes):
        lines.append(f"    v{i} = {_call(node, names)}")
        names[node] = f"v{i}"
    given = ", ".join(names[x] for x in outputs)
    lines.append(f"    return {given}")
    parameters = tuple(names[x] for x in inputs)
    read, made = (tuple(map(layout, nodes)) for nodes in (inputs, outputs))
    device = _device(inputs)
    body = "\n".join(lines)
    name = "region_" + hashlib.sha256(repr((parameters, body, read, made, device)).encode()).hexdigest()[:16]
    text = f"import mirage\nimport torch\n\n\n@mirage.optimize\ndef {name}({', '.join(parameters)}):\n{body}\n"
    return RegionText(name, text, parameters, read, made, device)


def layout(node: torch.fx.Node) -> Layout:
    value = node.meta["val"]
    return tuple(value.shape), str(value.dtype), tuple(value.stride())


def _device(inputs: Sequence[torch.fx.Node]) -> str:
    devices = {node.meta["val"].device for node in inputs}
    return str(devices.pop().type) if len(devices) == 1 else ""


def _call(node: torch.fx.Node, names: Mapping[torch.fx.Node, str]) -> str:
    if node.target is operator.getitem:
        source, index = node.args
        return f"{names[source]}[{int(index)}]"
    given = [_value(a, names) for a in node.args]
    given += [f"{k}={_value(v, names)}" for k, v in node.kwargs.items()]
    return f"torch.ops.{node.target}({', '.join(given)})"


def _value(value: object, names: Mapping[torch.fx.Node, str]) -> str:
    import torch

    if isinstance(value, torch.fx.Node):
        return names[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(v, names) for v in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return str(value)
    raise ValueError(f"{type(value).__name__} cannot be written in a region")
