"""Cuts a functional graph of PyTorch's operators into regions: convex parts, by data flow, of operators that the table knows.

A node's depth is how many nodes that the table does not know lie one behind another on the way to it, counted where a known one
follows. Nodes of one depth are convex, and edges lead from no depth to a lower one: regions can be replaced by one call each, all of
them at once, without a cycle.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from mirage.dynamo.region_text import writable
from mirage.ir.dtypes import dtype_of
from mirage.operators.table import ATEN
from mirage.program.recorded_program import CASTS

if TYPE_CHECKING:
    import torch

LEAST = 2  # operators that compute, below which a kernel has nothing to fuse; attention is several
MOST = 48  # operators in a region, and products in it: the search cuts a program into kernels, and takes ever longer to
PRODUCTS = 3
_PRODUCTS = ("aten.mm.", "aten.bmm.", "aten.addmm.", "aten.baddbmm.", "aten.mv.", "aten.addmv.", "aten.matmul.")
_INPUTS = ("placeholder", "get_attr")


@dataclass(frozen=True)
class GraphRegion:
    """Nodes of a graph in its order, what they read of the rest (each once), and which of them the rest reads."""

    nodes: tuple[torch.fx.Node, ...]
    inputs: tuple[torch.fx.Node, ...]
    outputs: tuple[torch.fx.Node, ...]


def cut(graph: torch.fx.Graph) -> list[GraphRegion]:
    """The regions of a functional graph whose nodes have their values' types (`meta["val"]`). Changes the graph: a view with
    several readers becomes one for each, which computes nothing."""
    _one_reader_a_view(graph)
    depths: dict[torch.fx.Node, int] = {}
    known: dict[torch.fx.Node, bool] = {}
    for node in graph.nodes:
        known[node] = _is_known(node)
        depths[node] = max(
            (depths[x] + (known[node] and not known[x] and x.op not in _INPUTS) for x in node.all_input_nodes),
            default=0,
        )
    for node in reversed(
        graph.nodes
    ):  # a view belongs to what reads it: a parameter's is then taken with the parameter whole
        if known[node] and is_view(node) and node.target is not operator.getitem:
            depths[node] = max((depths[user] for user in node.users if known[user]), default=depths[node])
    ordered = sorted((n for n in graph.nodes if known[n]), key=lambda n: depths[n])
    found = []
    for _, same in groupby(ordered, key=lambda n: depths[n]):
        for part in _components(list(same)):
            for piece in _pieces(part):
                found += [r for nodes in _components(piece) if (r := _region(nodes)) is not None]
    return found


# What a graph without writes has in the place of a write to a part: the compiler of the rest writes in place, a kernel would copy it all
WRITES = frozenset({"aten.slice_scatter.default", "aten.select_scatter.default"})


def unknown(graph: torch.fx.Graph) -> dict[str, int]:
    """The operators of a graph that no region can hold, with how often they stand in it."""
    counts: dict[str, int] = {}
    for node in graph.nodes:
        if node.op == "call_function" and not _is_known(node) and node.target is not operator.getitem:
            counts[str(node.target)] = counts.get(str(node.target), 0) + 1
    return counts


def _is_known(node: torch.fx.Node) -> bool:
    if node.op != "call_function" or not all(_is_plain(x) for x in [node, *node.all_input_nodes]):
        return False
    if node.target is operator.getitem:
        source = node.args[0]
        return _is_known(source)
    listed = (str(node.target) in ATEN or str(node.target) in CASTS) and str(node.target) not in WRITES
    return listed and bool(node.all_input_nodes) and writable(node)


def _is_plain(node: torch.fx.Node) -> bool:
    """Whether a node's value is made of tensors of dtypes that we know, whose sizes are numbers."""
    import torch

    value = node.meta.get("val")
    parts = value if isinstance(value, tuple | list) else [value]
    return all(
        isinstance(x, torch.Tensor)
        and x.layout == torch.strided
        and dtype_of(str(x.dtype)) is not None
        and all(type(n) is int for n in (*x.shape, *x.stride()))
        for x in parts
    )


def is_view(node: torch.fx.Node) -> bool:
    """Whether a call gives a view of its operand, or a part of what it gave: it computes nothing."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return True
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(r.alias_info is not None for r in schema.returns)


def _one_reader_a_view(graph: torch.fx.Graph) -> None:
    for node in reversed(list(graph.nodes)):
        if not is_view(node) or not _is_known(node):
            continue
        for user in list(node.users)[1:]:
            with graph.inserting_before(node):
                copy = graph.node_copy(node)
            user.replace_input_with(node, copy)


def _components(nodes: Sequence[torch.fx.Node]) -> list[list[torch.fx.Node]]:
    """The nodes by what hangs together, each part in their order."""
    above: dict[torch.fx.Node, torch.fx.Node] = {n: n for n in nodes}

    def root(n: torch.fx.Node) -> torch.fx.Node:
        while above[n] is not n:
            above[n] = above[above[n]]
            n = above[n]
        return n

    for n in nodes:
        for x in n.all_input_nodes:
            if x in above:
                above[root(x)] = root(n)
    parts: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    for n in nodes:
        parts.setdefault(root(n), []).append(n)
    return list(parts.values())


def _pieces(nodes: Sequence[torch.fx.Node]) -> list[list[torch.fx.Node]]:
    """Pieces that follow each other, none with more than MOST operators or PRODUCTS products, unless by one step: the pieces
    between which the fewest bytes go. A layer's pieces then end at its residual sums, and no piece gets a view of a parameter in
    the parameter's place."""
    steps = _steps(nodes)
    crossing = _crossing_bytes(steps)
    best: list[tuple[int, int]] = [
        (0, 0)
    ]  # for each number of steps: the bytes between their pieces, where the last piece begins
    for end in range(1, len(steps) + 1):
        size = products = 0
        found: tuple[int, int] | None = None
        for begin in reversed(range(end)):
            size += sum(not is_view(n) for n in steps[begin])
            products += sum(map(_products, steps[begin]))
            if found is not None and (size > MOST or products > PRODUCTS):
                break
            cost = best[begin][0] + crossing[begin]
            if found is None or cost < found[0]:
                found = (cost, begin)
        assert found is not None
        best.append(found)
    pieces: list[list[torch.fx.Node]] = []
    end = len(steps)
    while end:
        begin = best[end][1]
        pieces.insert(0, [n for step in steps[begin:end] for n in step])
        end = begin
    return pieces


def _products(node: torch.fx.Node) -> int:
    """Products that a call is for the search; attention, whose search is as long, is a piece's all."""
    return PRODUCTS if _is_attention(node) else int(str(node.target).startswith(_PRODUCTS))


def _is_attention(node: torch.fx.Node) -> bool:
    return str(node.target) == "aten.scaled_dot_product_attention.default"


def _steps(nodes: Sequence[torch.fx.Node]) -> list[list[torch.fx.Node]]:
    """The nodes in an order of their graph's kind, those together between which no piece ends: a view stands before what reads it, a part
    of what a call gave behind the call."""
    inside = set(nodes)
    parts = {n for n in nodes if n.target is operator.getitem and n.args[0] in inside and not is_view(_argument(n))}
    late = {n for n in nodes if is_view(n) and n not in parts and any(user in inside for user in n.users)}

    def before(n: torch.fx.Node) -> list[torch.fx.Node]:
        found = [y for x in n.all_input_nodes if x in late for y in (*before(x), x)]
        return list(dict.fromkeys(found))

    def behind(n: torch.fx.Node) -> list[torch.fx.Node]:
        return [y for x in n.users if x in parts for y in (x, *behind(x))]

    return [[*before(n), n, *behind(n)] for n in nodes if n not in late and n not in parts]


def _argument(node: torch.fx.Node) -> torch.fx.Node:
    return node.all_input_nodes[0]


def _crossing_bytes(steps: Sequence[Sequence[torch.fx.Node]]) -> list[int]:
    """For each number of steps: the bytes that those after it read of what those before it make, and that are written for them alone."""
    place = {n: i for i, step in enumerate(steps) for n in step}
    change = [0] * (len(steps) + 1)
    for n, made in place.items():
        last = max((place[user] for user in n.users if user in place), default=made)
        if last > made:
            value = n.meta["val"]
            size = sum(x.numel() * x.element_size() for x in (value if isinstance(value, tuple | list) else [value]))
            if all(user in place for user in n.users):
                size *= 2
            change[made + 1] += size
            change[last + 1] -= size
    return list(accumulate(change))


def _region(nodes: Sequence[torch.fx.Node]) -> GraphRegion | None:
    """The region of some nodes, without the views that only the rest reads; None where too little is left."""
    kept = dict.fromkeys(nodes)
    for n in reversed(nodes):
        if is_view(n) and n.target is not operator.getitem and not any(user in kept for user in n.users):
            del kept[n]
    if sum(LEAST if _is_attention(n) else not is_view(n) for n in kept) < LEAST:
        return None
    inputs = dict.fromkeys(x for n in kept for x in n.all_input_nodes if x not in kept)
    outputs = [n for n in kept if any(user not in kept for user in n.users)]
    several = any(isinstance(n.meta["val"], tuple | list) for n in (*inputs, *outputs))
    return None if several or not outputs else GraphRegion(tuple(kept), tuple(inputs), tuple(outputs))
