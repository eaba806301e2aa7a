"""What a graph without writes reads of memory that it overwrites: nothing. Recorded, a write to a part first shows the part as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_SCATTERS = ("aten.slice_scatter.default", "aten.select_scatter.default")
# Operators that PyTorch composes of others and whose results are memory of their own, though nothing in their schema says so. Of
# such an operator that is not named here (`dropout` of an evaluated model, `broadcast_tensors`, `einsum` of one tensor) the result may
# be an argument.
_OWN = frozenset((
    "linear", "matmul", "softmax", "log_softmax", "layer_norm", "rms_norm", "group_norm", "batch_norm", "scaled_dot_product_attention",
    "cross_entropy_loss", "nll_loss", "conv1d", "conv2d", "conv3d", "max_pool1d", "max_pool2d", "avg_pool1d", "adaptive_avg_pool1d",
    "cosine_similarity", "pairwise_distance", "embedding_bag", "bilinear", "var", "std", "var_mean", "std_mean", "mean", "sum", "prod",
    "norm", "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm", "logsumexp", "cumulative_trapezoid", "trapezoid", "where",
    "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "one_hot", "argsort", "sort", "diff", "square",
    "multiply", "divide", "true_divide", "subtract", "negative", "absolute", "arccos", "arcsin", "arctan", "greater", "greater_equal",
    "less", "less_equal", "not_equal", "outer", "inner", "kron", "cross", "triu_indices", "isfinite", "isclose", "__and__", "__or__",
    "__xor__", "bitwise_and", "bitwise_or", "logical_and", "logical_or", "clip", "hinge_embedding_loss", "huber_loss", "smooth_l1_loss",
    "l1_loss", "mse_loss", "binary_cross_entropy_with_logits", "kl_div", "margin_ranking_loss", "triplet_margin_loss",
    "poisson_nll_loss", "gather", "take_along_dim", "index_select_backward", "selu", "celu", "relu6", "silu", "mish", "hardshrink",
    "softplus",
))  # fmt: skip
_FILLS = ("aten.fill.Scalar", "aten.zero.default")
_FRESH = ("aten.empty.memory_format", "aten.empty_like.default", "aten.new_empty.default")


def forget_overwritten(module: torch.fx.GraphModule) -> None:
    """Takes out what is read of a tensor for its shape alone, and lets memory that is given out as it is begin with zeros where each of its
    elements is written before one is read. Memory of which an element is left as it was keeps its call, whose value nothing knows."""
    import torch

    graph = module.graph
    for node in graph.nodes:
        if str(node.target) == "aten.copy.default" and isinstance(node.args[1], torch.fx.Node):
            # of the tensor that is written to counts the shape; its dtype stands at the node
            node.target, node.args, node.kwargs = torch.ops.aten.expand.default, (node.args[1], _shape(node)), {}
        elif str(node.target) in _FILLS:
            _fill(node, *node.args[1:])
    graph.eliminate_dead_code()
    for node in graph.nodes:
        if str(node.target) in _FRESH and _is_overwritten(node):
            _fill(node)
    graph.eliminate_dead_code()


def may_share_memory(module: torch.fx.GraphModule) -> str:
    """The operator, if there is one, whose result may be memory of an argument without its schema saying so; else "". What is written to
    one of the two, the graph without writes does not show in the other."""
    import torch

    for node in module.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None or any(a.alias_info is not None for a in schema.arguments):
            continue
        name: str = schema.name.partition("::")[2]
        composed = torch._C._dispatch_has_kernel_for_dispatch_key(str(node.target.name()), "CompositeImplicitAutograd")
        if composed and name not in _OWN and not _is_product(name, node):
            return name
    return ""


def _is_product(name: str, node: torch.fx.Node) -> bool:
    """Is it an `einsum` of several tensors? Their product is a new one; of a single tensor it may be a view."""
    operands = node.args[1] if name == "einsum" and len(node.args) > 1 else ()
    return isinstance(operands, (list, tuple)) and len(operands) > 1


def _fill(node: torch.fx.Node, value: object = 0) -> None:
    """Let the node be a tensor of one number, of the shape and dtype that it has."""
    import torch

    dtype = node.meta["val"].dtype
    node.target, node.args, node.kwargs = torch.ops.aten.full.default, (_shape(node), value), {"dtype": dtype}


def _shape(node: torch.fx.Node) -> list[int]:
    return [int(n) for n in node.meta["val"].shape]


def _is_overwritten(fresh: torch.fx.Node) -> bool:
    """Is the memory's only use to be written to, until all places of one of its dims are?"""
    at: int | None = None
    missing: set[int] = set()
    node = fresh
    while True:
        users = list(node.users)
        if (
            len(users) != 1
            or str(users[0].target) not in _SCATTERS
            or users[0].args[0] is not node
            or node in users[0].args[1:]
        ):
            return False
        place, written = _written(users[0])
        if at is None:
            at, missing = place, set(range(_shape(fresh)[place]))
        elif at != place:
            return False
        missing -= written
        if not missing:
            return True
        node = users[0]


def _written(node: torch.fx.Node) -> tuple[int, set[int]]:
    """The dim of a scatter, and the places of it that are written."""
    given = dict(zip(("self", "src", "dim", "start", "end", "step"), node.args, strict=False)) | dict(node.kwargs)
    shape = _shape(node)
    at = int(given.get("dim", 0)) % len(shape)
    places = range(shape[at])
    if str(node.target) == _SCATTERS[1]:
        given = dict(zip(("self", "src", "dim", "index"), node.args, strict=False)) | dict(node.kwargs)
        return at, {places[int(given["index"])]}
    start, end, step = given.get("start"), given.get("end"), given.get("step", 1)
    return at, set(places[slice(start, end, step)])
