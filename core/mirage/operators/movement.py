"""Shape operators: they move elements and compute nothing. Primitives first, then what expands into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mirage.ir.dtypes import FLOATING
from mirage.ir.tensor_spec import TensorType
from mirage.operators import axis_rules
from mirage.operators.entry import Attrs, AxesRule, Expand, Form, Infer, OperandsError, Operator, ShapeError, TermRule
from mirage.operators.protocols import Arguments, Maker
from mirage.operators.type_rules import broadcast, dim, is_float, numel

Types = Sequence[TensorType]
INT_MAX = 1 << 31


# ---- shape rules
def view_type(types: Types, a: Attrs) -> TensorType:
    shape, have = list(a["shape"]), numel(types[0].shape)
    if -1 in shape:
        rest = numel([n for n in shape if n != -1])
        shape[shape.index(-1)] = have // rest if rest else 0
    if numel(shape) != have:
        raise ShapeError(f"{list(types[0].shape)} has {have} elements and cannot be viewed as {list(a['shape'])}")
    return TensorType(tuple(shape), types[0].dtype)


def expand_type(types: Types, a: Attrs) -> TensorType:
    have, want = types[0].shape, tuple(a["shape"])
    lead = len(want) - len(have)
    if lead < 0:
        raise ShapeError(f"{list(have)} cannot be expanded to fewer dims {list(want)}")
    shape = tuple(have[i - lead] if n == -1 else n for i, n in enumerate(want))
    if broadcast([have, shape]) != shape:
        raise ShapeError(f"{list(have)} cannot be expanded to {list(want)}")
    return TensorType(shape, types[0].dtype)


def permute_type(types: Types, a: Attrs) -> TensorType:
    shape = types[0].shape
    if sorted(a["dims"]) != list(range(len(shape))):
        raise ShapeError(f"dims {list(a['dims'])} are not a permutation of {len(shape)} dims")
    return TensorType(tuple(shape[i] for i in a["dims"]), types[0].dtype)


def slice_type(types: Types, a: Attrs) -> TensorType:
    shape = list(types[0].shape)
    if not 0 <= a["start"] < a["start"] + a["length"] <= shape[a["dim"]]:
        raise ShapeError(f"{a['start']}..{a['start'] + a['length']} is outside a dim of {shape[a['dim']]}")
    shape[a["dim"]] = a["length"]
    return TensorType(tuple(shape), types[0].dtype)


def cat_type(types: Types, a: Attrs) -> TensorType:
    first, at = types[0].shape, a["dim"]
    for t in types[1:]:
        if len(t.shape) != len(first) or any(m != n for i, (m, n) in enumerate(zip(t.shape, first)) if i != at):
            raise ShapeError(f"{list(first)} and {list(t.shape)} differ beside dim {at}")
    if len({t.dtype for t in types}) > 1:
        raise OperandsError("concatenation is covered for one dtype")
    return TensorType((*first[:at], sum(t.shape[at] for t in types), *first[at + 1 :]), types[0].dtype)


# ---- from PyTorch
def _rank(m: Maker, a: Arguments) -> int:
    return len(m.type(a["self"]).shape)


def _view(m: Maker, a: Arguments, shape: Sequence[int]) -> int:
    return m.op("reshape", a["self"], shape=tuple(int(n) for n in shape))


def _permute(m: Maker, a: Arguments, dims: Sequence[int]) -> int:
    rank = _rank(m, a)
    return m.op("permute", a["self"], dims=tuple(dim(i, rank) for i in dims))


def _swap(m: Maker, a: Arguments, i: int, j: int) -> int:
    rank = _rank(m, a)
    order = list(range(rank))
    if rank:
        i, j = dim(i, rank), dim(j, rank)
        order[i], order[j] = order[j], order[i]
    return _permute(m, a, order)


def _movedim(m: Maker, a: Arguments) -> int:
    rank = _rank(m, a)
    given = [a["source"], a["destination"]]
    source, target = ([dim(i, rank) for i in ([g] if isinstance(g, int) else g)] for g in given)
    order = [i for i in range(rank) if i not in source]
    for to, frm in sorted(zip(target, source)):
        order.insert(to, frm)
    return _permute(m, a, order)


def _flatten(m: Maker, a: Arguments) -> int:
    shape = m.type(a["self"]).shape
    i, j = dim(a["start_dim"], len(shape)), dim(a["end_dim"], len(shape))
    return _view(m, a, (*shape[:i], numel(shape[i : j + 1]), *shape[j + 1 :]))


def _unflatten(m: Maker, a: Arguments) -> int:
    shape = m.type(a["self"]).shape
    i = dim(a["dim"], len(shape))
    sizes = list(a["sizes"])
    if -1 in sizes:
        sizes[sizes.index(-1)] = shape[i] // -numel(sizes)
    return _view(m, a, (*shape[:i], *sizes, *shape[i + 1 :]))


def _unsqueeze(m: Maker, a: Arguments) -> int:
    shape = list(m.type(a["self"]).shape)
    shape.insert(dim(a["dim"], len(shape) + 1), 1)
    return _view(m, a, shape)


def _squeeze(m: Maker, a: Arguments) -> int:
    shape = m.type(a["self"]).shape
    given = a.get("dim")
    listed = range(len(shape)) if given is None else (given,) if isinstance(given, int) else given
    gone = {dim(i, len(shape)) for i in listed}
    return _view(m, a, [n for i, n in enumerate(shape) if n != 1 or i not in gone])


def _narrow(m: Maker, x: int, i: int, start: int, length: int) -> int:
    if length < 1:
        raise OperandsError("a slice is empty")
    return x if m.type(x).shape[i] == length else m.op("slice", x, dim=i, start=start, length=length)


def _slice(m: Maker, a: Arguments) -> int:
    shape = m.type(a["self"]).shape
    i = dim(a["dim"], len(shape))
    n = shape[i]
    start = 0 if a["start"] is None else max(0, a["start"] + n if a["start"] < 0 else min(a["start"], n))
    end = n if a["end"] is None or a["end"] >= INT_MAX else max(0, a["end"] + n if a["end"] < 0 else min(a["end"], n))
    step = a.get("step", 1)
    if step == 1:
        return _narrow(m, a["self"], i, start, end - start)
    if n % step or end != n or start >= step:
        raise OperandsError("a slice with a step is covered where the step divides the dimension")
    # No index of a tensor strides: the step is a dim of its own, and a sum picks one of its elements.
    parts = m.op("reshape", a["self"], shape=(*shape[:i], n // step, step, *shape[i + 1 :]))
    at = m.op("reshape", m.op("iota", size=step), shape=(step,) + (1,) * (len(shape) - i - 1))
    picked = m.op("where", m.op("eq", at, m.const(start)), parts, m.op("cast", m.const(0.0), dtype=m.type(parts).dtype))
    return m.op("sum", picked, dim=(i + 1,), keepdim=False)


def _select(m: Maker, a: Arguments) -> int:
    shape = m.type(a["self"]).shape
    i = dim(a["dim"], len(shape))
    at = a["index"] + shape[i] if a["index"] < 0 else a["index"]
    return _view(m, {"self": _narrow(m, a["self"], i, at, 1)}, shape[:i] + shape[i + 1 :])


def _ends(a: Arguments, n: int) -> tuple[int, int]:
    """Where a slice of a dim of n begins and ends."""

    def place(given: int | None, otherwise: int) -> int:
        return otherwise if given is None else max(0, given + n) if given < 0 else min(given, n)

    start = place(a.get("start"), 0)
    return start, max(start, place(a.get("end"), n))


def _slice_scatter(m: Maker, a: Arguments) -> int:
    """The tensor with `src` in the place of a slice."""
    x, src = a["self"], a["src"]
    shape = m.type(x).shape
    i = dim(a.get("dim", 0), len(shape))
    n, step = shape[i], a.get("step", 1)
    start, end = _ends(a, n)
    if step == 1:
        return _between(m, x, i, start, src, end)
    # The step is a dim of its own, at one of whose places the new elements stand.
    parts = m.op("reshape", x, shape=(*shape[:i], n // step, step, *shape[i + 1 :]))
    new = m.op("reshape", src, shape=(*shape[:i], n // step, 1, *shape[i + 1 :]))
    new = m.op("expand", new, shape=m.type(parts).shape)
    at = m.op("reshape", m.op("iota", size=step), shape=(step,) + (1,) * (len(shape) - i - 1))
    return m.op("reshape", m.op("where", m.op("eq", at, m.const(start)), new, parts), shape=shape)


def _scatters(m: Maker, a: Arguments) -> bool:
    """Is what a slice stands for a run, or every so-manieth element of the whole dim?"""
    shape, step = m.type(a["self"]).shape, a.get("step", 1)
    n = shape[dim(a.get("dim", 0), len(shape))]
    start, end = _ends(a, n)
    return step == 1 or (not n % step and start < step and end > n - step + start)


def _select_scatter(m: Maker, a: Arguments) -> int:
    """The tensor with `src` in the place of what an index of a dim selects."""
    shape = m.type(a["self"]).shape
    i = dim(a["dim"], len(shape))
    at = a["index"] + shape[i] if a["index"] < 0 else a["index"]
    new = _view(m, {"self": a["src"]}, (*shape[:i], 1, *shape[i + 1 :]))
    return _between(m, a["self"], i, at, new, at + 1)


def _between(m: Maker, x: int, i: int, start: int, new: int, end: int) -> int:
    """`new` in the place of the elements from `start` to `end` of a dim."""
    n = m.type(x).shape[i]
    parts = [_narrow(m, x, i, 0, start)] if start else []
    parts += [new] if end > start else []
    parts += [_narrow(m, x, i, end, n - end)] if end < n else []
    return _cat(m, {"tensors": parts, "dim": i})


def _like(source: str) -> Form:
    """Another tensor, or a number, spread to the shape of the first."""
    return _form(lambda m, a: m.op("expand", a[source], shape=m.type(a["self"]).shape))


def _pieces(m: Maker, a: Arguments, lengths: Sequence[int]) -> list[int]:
    i = dim(a["dim"], _rank(m, a))
    return [_narrow(m, a["self"], i, sum(lengths[:k]), n) for k, n in enumerate(lengths)]


def _split(m: Maker, a: Arguments) -> list[int]:
    n, size = m.type(a["self"]).shape[a["dim"]], a["split_size"]
    if not isinstance(size, int):
        return _pieces(m, a, size)
    return _pieces(m, a, [min(size, n - k) for k in range(0, n, size)])


def _chunk(m: Maker, a: Arguments) -> list[int]:
    n = m.type(a["self"]).shape[a["dim"]]
    return _split(m, {**a, "split_size": -(-n // a["chunks"])})


def _tensor_split(m: Maker, a: Arguments) -> list[int]:
    """In so many sections, of which the first are one longer, or at these indices."""
    n = m.type(a["self"]).shape[dim(a["dim"], _rank(m, a))]
    if "sections" in a:
        k = a["sections"]
        return _pieces(m, a, [n // k + (i < n % k) for i in range(k)])
    ends = [max(0, i + n) if i < 0 else min(i, n) for i in a["indices"]]
    return _pieces(m, a, [max(0, end - start) for start, end in zip([0, *ends], [*ends, n], strict=True)])


def _unbind(m: Maker, a: Arguments) -> list[int]:
    n = m.type(a["self"]).shape[a["dim"]]
    return [_select(m, {**a, "index": k}) for k in range(n)]


def _cat(m: Maker, a: Arguments) -> int:
    parts = list(a["tensors"])
    return m.op("concat", *parts, dim=dim(a["dim"], len(m.type(parts[0]).shape))) if len(parts) > 1 else int(parts[0])


def _stack(m: Maker, a: Arguments) -> int:
    i = dim(a["dim"], len(m.type(a["tensors"][0]).shape) + 1)
    return _cat(m, {"tensors": [_unsqueeze(m, {"self": x, "dim": i}) for x in a["tensors"]], "dim": i})


def _filled(m: Maker, shape: Sequence[int], value: float, dtype: str) -> int:
    if isinstance(value, float) and not is_float(dtype) and dtype != "bool":
        value = int(value)  # as PyTorch does, towards zero
    scalar = m.op("cast", m.const(value), dtype=dtype) if dtype != m.type(m.const(value)).dtype else m.const(value)
    return m.op("expand", scalar, shape=tuple(shape)) if tuple(shape) else scalar


def _broadcast_tensors(m: Maker, a: Arguments) -> list[int]:
    shape = broadcast([m.type(x).shape for x in a["tensors"]])
    return [x if m.type(x).shape == shape else m.op("expand", x, shape=shape) for x in a["tensors"]]


def _full(value: float | None, *, like: bool) -> Form:
    def build(m: Maker, a: Arguments) -> int:
        given = value if value is not None else a["fill_value"]
        dtype = a.get("dtype") or (m.type(a["self"]).dtype if "self" in a else m.type(m.const(given)).dtype)
        return _filled(m, m.type(a["self"]).shape if like else a["size"], given, dtype)

    return Form(build=build)


def _arange(m: Maker, a: Arguments) -> int:
    start, end, step = a.get("start", 0), a["end"], a.get("step", 1)
    if not all(isinstance(v, int) for v in (start, end, step)) or not step or (end - start) * step <= 0:
        raise OperandsError("arange is covered for integers, one of them at least")
    x = m.op("iota", size=-(-(end - start) // step))
    x = m.op("mul", x, m.const(step)) if step != 1 else x
    x = m.op("add", x, m.const(start)) if start else x
    dtype = a.get("dtype") or "int64"
    return m.op("cast", x, dtype=dtype) if dtype != "int64" else x


def _linspace(m: Maker, a: Arguments) -> int:
    """As PyTorch computes it: the first half counted from the start, the second from the end."""
    start, end, n = a["start"], a["end"], a["steps"]
    dtype = a.get("dtype") or "fp32"
    if not all(isinstance(v, int | float) for v in (start, end, n)) or n < 1 or dtype not in FLOATING:
        raise OperandsError("linspace is covered for numbers, one of them at least, in floats")
    if n == 1:
        return _filled(m, (1,), start, dtype)
    at, step = m.op("iota", size=n), (end - start) / (n - 1)
    up = m.op("add", m.op("mul", at, m.const(step)), m.const(float(start)))
    down = m.op("sub", m.const(float(end)), m.op("mul", m.op("sub", m.const(n - 1), at), m.const(step)))
    x = m.op("where", m.op("lt", at, m.const(n // 2)), up, down)
    return m.op("cast", x, dtype=dtype) if m.type(x).dtype != dtype else x


# ---- expansions
def repeat_interleave(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """Each element `repeats` times in a row: a new dim after it, spread, joined."""
    shape, i, k = m.type(xs[0]).shape, a["dim"], a["repeats"]
    wide = m.op("reshape", xs[0], shape=(*shape[: i + 1], 1, *shape[i + 1 :]))
    spread = m.op("expand", wide, shape=(*shape[: i + 1], k, *shape[i + 1 :]))
    return m.op("reshape", spread, shape=(*shape[:i], shape[i] * k, *shape[i + 1 :]))


def repeat(m: Maker, xs: Sequence[int], a: Attrs) -> int:
    """The tensor again and again along its dims: a new dim before each, spread, joined."""
    times = tuple(a["repeats"])
    shape = (1,) * (len(times) - len(m.type(xs[0]).shape)) + m.type(xs[0]).shape
    wide = m.op("reshape", xs[0], shape=tuple(n for s in shape for n in (1, s)))
    spread = m.op("expand", wide, shape=tuple(n for k, s in zip(times, shape, strict=True) for n in (k, s)))
    return m.op("reshape", spread, shape=tuple(k * s for k, s in zip(times, shape, strict=True)))


def _repeated(types: Types, a: Attrs) -> TensorType:
    times, shape = tuple(a["repeats"]), types[0].shape
    if len(times) < len(shape):
        raise ShapeError(f"{len(times)} repeats for a tensor of {len(shape)} dims")
    shape = (1,) * (len(times) - len(shape)) + shape
    return TensorType(tuple(k * s for k, s in zip(times, shape)), types[0].dtype)


def _interleaved(types: Types, a: Attrs) -> TensorType:
    shape = types[0].shape
    return TensorType(tuple(n * a["repeats"] if i == a["dim"] else n for i, n in enumerate(shape)), types[0].dtype)


def _triangle(keep_lower: bool) -> Expand:
    """Elements on one side of a diagonal, zero elsewhere."""

    def expand(m: Maker, xs: Sequence[int], a: Attrs) -> int:
        rows, cols = m.type(xs[0]).shape[-2:]
        i = m.op("reshape", m.op("iota", size=rows), shape=(rows, 1))
        j = m.op("iota", size=cols)
        edge = m.op("add", i, m.const(a["diagonal"]))
        inside = m.op("le", j, edge) if keep_lower else m.op("le", edge, j)
        return (
            m.op("where", inside, xs[0], m.const(0.0))
            if m.type(xs[0]).dtype != "bool"
            else m.op("logical_and", inside, xs[0])
        )

    return expand


def _same(types: Types, a: Attrs) -> TensorType:
    return TensorType(types[0].shape, types[0].dtype)


def primitive(name: str, summary: str, arity: tuple[int, int], infer: Infer, axes: AxesRule, term: TermRule,
              torch: Mapping[str, Form], call: str = "") -> Operator:  # fmt: skip
    return Operator(name, "shape", summary, *arity, infer, axes=axes, term=term, torch=torch, call=call)


def _form(build: Callable[[Maker, Arguments], int | list[int]]) -> Form:
    return Form(build=build)


_RESHAPES: dict[str, Form] = {
    "aten.view.default": _form(lambda m, a: _view(m, a, a["size"])),
    "aten._unsafe_view.default": _form(lambda m, a: _view(m, a, a["size"])),
    "aten.reshape.default": _form(lambda m, a: _view(m, a, a["shape"])),
    "aten.view_as.default": _form(lambda m, a: _view(m, a, m.type(a["other"]).shape)),
    "aten.reshape_as.default": _form(lambda m, a: _view(m, a, m.type(a["other"]).shape)),
    "aten.flatten.using_ints": _form(_flatten),
    "aten.unflatten.int": _form(_unflatten),
    "aten.unsqueeze.default": _form(_unsqueeze),
    "aten.squeeze.default": _form(_squeeze),
    "aten.squeeze.dim": _form(_squeeze),
    "aten.squeeze.dims": _form(_squeeze),
}
_PERMUTES: dict[str, Form] = {
    "aten.permute.default": _form(lambda m, a: _permute(m, a, a["dims"])),
    "aten.transpose.int": _form(lambda m, a: _swap(m, a, a["dim0"], a["dim1"])),
    "aten.swapaxes.default": _form(lambda m, a: _swap(m, a, a["axis0"], a["axis1"])),
    "aten.swapdims.default": _form(lambda m, a: _swap(m, a, a["dim0"], a["dim1"])),
    "aten.t.default": _form(lambda m, a: _permute(m, a, range(_rank(m, a))[::-1])),
    "aten.numpy_T.default": _form(lambda m, a: _permute(m, a, range(_rank(m, a))[::-1])),
    "aten.mT.default": _form(lambda m, a: _swap(m, a, -1, -2)),
    "aten.movedim.int": _form(_movedim),
    "aten.movedim.intlist": _form(_movedim),
}
_SLICES: dict[str, Form] = {
    "aten.slice.Tensor": _form(_slice),
    "aten.select.int": _form(_select),
    "aten.narrow.default": _form(
        lambda m, a: _narrow(m, a["self"], dim(a["dim"], _rank(m, a)), a["start"], a["length"])
    ),
    "aten.chunk.default": _form(_chunk),
    "aten.tensor_split.sections": _form(_tensor_split),
    "aten.tensor_split.indices": _form(_tensor_split),
    "aten.split.Tensor": _form(_split),
    "aten.split.sizes": _form(_split),
    "aten.split_with_sizes.default": _form(lambda m, a: _pieces(m, a, a["split_sizes"])),
    "aten.unbind.int": _form(_unbind),
}
_EXPANDS: dict[str, Form] = {
    "aten.expand.default": _form(lambda m, a: m.op("expand", a["self"], shape=tuple(a["size"]))),
    "aten.broadcast_to.default": _form(lambda m, a: m.op("expand", a["self"], shape=tuple(a["size"]))),
    "aten.broadcast_tensors.default": _form(_broadcast_tensors),
    "aten.copy.default": _like("src"), "aten.fill.Scalar": _like("value"), "aten.fill.Tensor": _like("value"),
    "aten.expand_as.default": _form(lambda m, a: m.op("expand", a["self"], shape=m.type(a["other"]).shape)),
    "aten.zeros.default": _full(0.0, like=False), "aten.ones.default": _full(1.0, like=False),
    "aten.full.default": _full(None, like=False), "aten.zeros_like.default": _full(0.0, like=True),
    "aten.ones_like.default": _full(1.0, like=True), "aten.full_like.default": _full(None, like=True),
    "aten.new_zeros.default": _full(0.0, like=False), "aten.new_ones.default": _full(1.0, like=False),
    "aten.new_full.default": _full(None, like=False),
}  # fmt: skip
_COPIES = "clone contiguous alias detach detach_ lift_fresh_copy lift_fresh lift"

SHAPE: tuple[Operator, ...] = (
    primitive("const", "a number", (0, 0),
              lambda types, a: TensorType((), "bool" if isinstance(a["value"], bool) else "int64"
                                          if isinstance(a["value"], int) else "fp32"),
              axis_rules.no_axes, axis_rules.const_term,
              {"aten.scalar_tensor.default": _form(lambda m, a: _filled(m, (), a["s"], a.get("dtype") or "fp32"))},
              "{value}"),
    primitive("iota", "0, 1, 2, ...", (0, 0), lambda types, a: TensorType((a["size"],), "int64"),
              axis_rules.no_axes, axis_rules.iota_term,
              {"aten.linspace.default": _form(_linspace)}
              | {f"aten.arange.{k}": _form(_arange) for k in ("default", "start", "start_step")},
              "torch.arange({size})"),
    primitive("size", "how many elements the dims of a tensor have", (1, 1), lambda types, a: TensorType((), "fp32"),
              axis_rules.no_axes, axis_rules.size_term, {}),
    primitive("reshape", "the same elements in row-major order with other dims", (1, 1), view_type,
              axis_rules.view_axes, axis_rules.view_term, _RESHAPES, "{0}.reshape({shape})"),
    primitive("permute", "dims in another order", (1, 1), permute_type, axis_rules.permute_axes, axis_rules.permute_term,
              _PERMUTES, "{0}.permute({dims})"),
    primitive("expand", "dims of size one spread, dims added in front", (1, 1), expand_type,
              axis_rules.broadcast_axes, axis_rules.expand_term, _EXPANDS, "{0}.expand({shape})"),
    primitive("slice", "a run of indices of one dim", (1, 1), slice_type, axis_rules.slice_axes, axis_rules.slice_term, _SLICES,
              "{0}.narrow({dim}, {start}, {length})"),
    primitive("concat", "tensors one after the other along a dim", (1, 64), cat_type, axis_rules.cat_axes, axis_rules.cat_term,
              {"aten.cat.default": _form(_cat), "aten.concat.default": _form(_cat), "aten.stack.default": _form(_stack),
               "aten.slice_scatter.default": Form(build=_slice_scatter, when=_scatters),
               "aten.select_scatter.default": _form(_select_scatter)},
              "torch.cat([{all}], dim={dim})"),
    Operator("repeat_interleave", "shape", "each element several times in a row", 1, 1, _interleaved,
             expand=repeat_interleave, call="{0}.repeat_interleave({repeats}, dim={dim})",
             torch={"aten.repeat_interleave.self_int": _form(
                 lambda m, a: m.op("repeat_interleave", a["self"], repeats=a["repeats"], dim=dim(a["dim"], _rank(m, a)))
                 if a["dim"] is not None else m.op("repeat_interleave", _view(m, a, (-1,)), repeats=a["repeats"], dim=0))}),
    Operator("repeat", "shape", "the tensor several times along its dims", 1, 1, _repeated, expand=repeat,
             call="{0}.repeat({repeats})",
             torch={"aten.repeat.default": _form(lambda m, a: m.op("repeat", a["self"], repeats=tuple(a["repeats"]))),
                    "aten.tile.default": _form(lambda m, a: m.op("repeat", a["self"], repeats=(
                        (1,) * (_rank(m, a) - len(a["dims"])) + tuple(a["dims"]))))}),
    Operator("tril", "shape", "the part below a diagonal, zero above it", 1, 1, _same, expand=_triangle(True),
             torch={"aten.tril.default": Form(("self",), {"diagonal": "diagonal"})}, call="{0}.tril({diagonal})"),
    Operator("triu", "shape", "the part above a diagonal, zero below it", 1, 1, _same, expand=_triangle(False),
             torch={"aten.triu.default": Form(("self",), {"diagonal": "diagonal"})}, call="{0}.triu({diagonal})"),
    Operator("identity", "shape", "the tensor itself: copies and memory formats", 1, 1, _same,
             value=lambda t, xs, a: xs[0], call="{0}.contiguous()",
             torch={**{f"aten.{k}.default": _form(lambda m, a: a["self"]) for k in _COPIES.split()},
                    "aten.dropout.default": _form(lambda m, a: _without_dropout(a))}),
)  # fmt: skip


def _without_dropout(a: Arguments) -> int:
    if a["train"] and a["p"]:
        raise OperandsError("dropout draws random numbers while training; pass training=False")
    return int(a["input"])
