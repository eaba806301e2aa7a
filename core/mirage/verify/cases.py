"""Cases for the judge, from two sides of unlike kinds: the left one states the meaning, the right one is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mirage.errors import SignatureMismatch
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec, TensorType
from mirage.meaning.axis_split import in_pairs, split_axis
from mirage.meaning.nodes import Index, Reduce, Size
from mirage.meaning.row_axis import along, with_item
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DTensor, MuGraph
from mirage.mugraph.rename import Renaming, rename
from mirage.mugraph.without_calls import calls_of
from mirage.program.axis_names import output_names
from mirage.program.library_variants import ways
from mirage.program.lower import Lowered, lower
from mirage.verify.field.text_opinion import launch_tiles
from mirage.verify.judge import Case
from mirage.verify.output_terms import Output
from mirage.verify.semantics.denote import NotDenoted, denote

Dims = tuple[tuple[str, ...], ...]
Wanted = tuple[int, Dims]  # an output's term and the axes of its dims


def of_program(program: Program, graph: MuGraph, module: str, text: str, function: str) -> Case:
    """Judges whether the µGraph (and the `module`, if any) computes the program."""
    own = [[n.op for n in p.nodes if is_call(n.op)] for p in ways(program)]
    theirs = [k.op for k in calls_of(graph)]
    lowered = in_blocks(lower(ways(program)[own.index(theirs) if theirs in own else 0]), graph)
    wanted = [program.type_of(o) for o in program.outputs]
    graph, axes = alike(program.name, [i.type for i in program.inputs], lowered.tensors, wanted, graph)
    if not lowered.calls and not calls_of(graph):
        outputs, row = along_row(lowered, graph)
        targets = under(lowered.terms, axes | row, graph, outputs)
        return Case(lowered.terms, targets, graph, module, program, text, function)
    names, graph = with_calls(program, lowered, graph)
    axes |= given_axes(lowered, graph, axes)
    free = {x.name for x in lowered.given}
    pairs = [(n, o) for n, o in zip(names, lowered.outputs, strict=True) if n not in free]
    pairs += [(m.name, (m.term, m.dims)) for m in lowered.made]
    made = under(lowered.terms, axes, graph, [o for _, o in pairs], [n for n, _ in pairs])
    return Case(lowered.terms, made, graph, module, program, text, function, None, lowered.calls, names)


def given_axes(lowered: Lowered, graph: MuGraph, axes: Mapping[str, str]) -> dict[str, str]:
    """The µGraph's names of the axes that only what calls give has."""
    pairs = [
        (a, b)
        for x in lowered.given for have, mine in zip(graph.tensor(x.name).dims, x.dims, strict=False)
        for a, b in zip(have, mine, strict=False)
    ]  # fmt: skip
    return {b: a for a, b in pairs if b not in axes and a not in axes.values()}


def in_blocks(lowered: Lowered, graph: MuGraph) -> Lowered:
    """The program's meaning with every axis as a pair that the µGraph's inputs have as two where the program has one
    (`search/tiled_sums.py`)."""
    own = {x.name: x.dims for x in lowered.tensors}
    pairs = [(mine[0], theirs) for x in graph.inputs for theirs, mine in zip(x.dims, own.get(x.name, ()), strict=False)
             if len(theirs) == 2 and len(mine) == 1]  # fmt: skip
    t, found = lowered.terms, dict(pairs)
    if any(found[axis] != pair for axis, pair in pairs):
        raise SignatureMismatch(f"{graph.name} has one axis of {lowered.tensors[0].name} in two ways")
    for axis, (part, rest) in found.items():
        names = f"{axis}.block", f"{axis}.in"
        t.sizes |= {names[0]: graph.size(part), names[1]: graph.size(rest)}

        def dims(old: Sequence[tuple[str, ...]], axis: str = axis, names: tuple[str, str] = names) -> Dims:
            return tuple(in_pairs(d, axis, *names) for d in old)

        outputs = [(split_axis(t, x, axis, *names), dims(d)) for x, d in lowered.outputs]
        lowered = replace(lowered, outputs=outputs, tensors=[replace(x, dims=dims(x.dims)) for x in lowered.tensors])
    return lowered


def along_row(lowered: Lowered, graph: MuGraph) -> tuple[list[Wanted], dict[str, str]]:
    """The outputs, with the axis that the µGraph gives to dimensions of size one of its inputs, if it does (`search/one_row.py`);
    and its name there."""
    t, given = lowered.terms, single_rows(lowered, graph)
    rows = {a for _, _, a in given}
    if not rows:
        return list(lowered.outputs), {}
    if len(rows) > 1 or len({name for name, _, _ in given}) < len(given):
        raise SignatureMismatch(f"{graph.name} has more than one axis of size one: {', '.join(sorted(rows))}")
    (row,) = rows
    place = {name: i for name, i, _ in given}
    mine = row if row not in t.sizes else f"{row}_of_{graph.name}"
    t.sizes[mine] = 1
    out: list[Wanted] = []
    for (x, dims), o in zip(lowered.outputs, graph.outputs, strict=True):
        at = next((i for i, axes in enumerate(o.dims) if axes == (row,)), None)
        term = along(t, x, place, mine)
        if at is None and mine in t.dims(term):
            raise SignatureMismatch(f"{graph.name} has an axis {row} of size one in its inputs and not in {o.name}")
        out.append((term, dims if at is None else with_item(dims, at, (mine,))))
    return out, {mine: row}


def single_rows(lowered: Lowered, graph: MuGraph) -> list[tuple[str, int, str]]:
    """(input, dimension, axis) of each dimension of size one that has an axis in the µGraph and none in the program."""
    own = {x.name: x.dims for x in lowered.tensors}
    return [
        (x.name, i, a)
        for x in graph.inputs for i, axes in enumerate(x.dims) for a in axes
        if len(axes) == 1 and graph.size(a) == 1 and own[x.name][i] == ()
    ]  # fmt: skip


def with_calls(program: Program, lowered: Lowered, graph: MuGraph) -> tuple[list[str], MuGraph]:
    """(the names of the program's outputs, the µGraph with the program's names of them and of what its calls take and give,
    call by call). SignatureMismatch where it makes other calls."""
    names = output_names(program)
    pairs = list(zip([x.name for x in graph.outputs], names, strict=True))
    have = calls_of(graph)
    if [k.op for k in have] != [k.op for k in lowered.calls]:
        said = [", ".join(k.op for k in ks) or "nothing" for ks in (lowered.calls, have)]
        raise SignatureMismatch(f"{program.name} calls {said[0]}, and {graph.name} {said[1]}")
    for mine, theirs in zip(lowered.calls, have, strict=True):
        pairs += zip((*theirs.args, theirs.out), (*mine.args, mine.out), strict=False)
    renamed: dict[str, str] = {x.name: x.name for x in graph.inputs}
    for old, new in pairs:
        if renamed.setdefault(old, new) != new:
            raise SignatureMismatch(f"{graph.name} calls PyTorch's operators with other tensors than {program.name}")
    taken = set(renamed.values())
    for x in graph.tensors:
        fresh = x.name
        while x.name not in renamed and fresh in taken:
            fresh += "_"
        taken.add(renamed.setdefault(x.name, fresh))

    def same(x: str) -> str:
        return x

    return names, rename(graph, Renaming(same, lambda x: renamed[x], same, same, same))


def of_mugraph(left: MuGraph, graph: MuGraph, module: str) -> Case:
    """Judges whether the µGraph (and the `module`, if any) computes what another one means with its sizes erased."""
    t = Terms(dict(left.axes))
    if calls_of(left) or calls_of(graph):
        raise SignatureMismatch(
            f"{left.name} or {graph.name} calls PyTorch's own operators", next_step="compare with the function instead"
        )
    try:
        meaning = denote(t, left)
    except NotDenoted as e:
        raise SignatureMismatch(
            f"{left.name} has no meaning that can be compared: {e}", next_step="compare with the function instead"
        ) from None
    if meaning.splits:
        parts = ", ".join(sorted(meaning.splits))
        raise SignatureMismatch(
            f"{left.name} splits {parts} in its meaning", next_step="compare with the function instead"
        )
    inputs = tuple(TensorSpec(x.name, left.shape(x), x.dtype) for x in left.inputs)
    wanted = [TensorType(left.shape(x), x.dtype) for x in left.outputs]
    graph, axes = alike(left.name, [i.type for i in inputs], left.inputs, wanted, graph)
    targets = under(t, axes, graph, [meaning.outputs[mine.name] for mine in left.outputs])
    program = Program(left.name, inputs, (), tuple(range(len(wanted))))
    return Case(t, targets, graph, module, program, "", "")


def under(
    t: Terms, axes: Mapping[str, str], graph: MuGraph, wanted: Sequence[Wanted], called: Sequence[str] | None = None
) -> list[Output]:
    """The wanted terms, of the µGraph's outputs or of the tensors `called` so, with the left side's axes under the µGraph's
    names."""
    called = [o.name for o in graph.outputs] if called is None else called
    every = {a for x, _ in wanted for y in t.walk(x) for a in names_of(t, y)} | set(t.sizes)
    taken = {a for a, _ in graph.axes} | set(axes.values())
    names = dict(axes)
    for a in sorted(every - set(names)):  # axes that the µGraph does not have
        fresh = a
        while fresh in taken:
            fresh += "_"
        taken.add(fresh)
        names[a] = fresh
    t.sizes.update({names[a]: n for a, n in list(t.sizes.items())})
    memo: dict[int, int] = {}
    return [
        Output(name, t.rename(x, names, memo), tuple(tuple(names.get(a, a) for a in d) for d in dims))
        for name, (x, dims) in zip(called, wanted, strict=True)
    ]


def names_of(t: Terms, x: int) -> set[str]:
    """The axes that a term names."""
    match t.node(x):
        case Size(axis) | Reduce(axis=axis):
            return {*t.dims(x), axis}
        case Index(axes):
            return {*t.dims(x), *axes}
    return set(t.dims(x))


def alike(
    name: str, types: Sequence[TensorType], tensors: Sequence[DTensor], outputs: Sequence[TensorType], graph: MuGraph
) -> tuple[MuGraph, dict[str, str]]:
    """(the µGraph with the left side's names of inputs (by name, else by place), the left side's axes -> the µGraph's).
    SignatureMismatch where shapes or dtypes differ."""
    known = {x.name: (x, y) for x, y in zip(tensors, types, strict=True)}
    have = graph.inputs
    if not all(x.name in known for x in have):
        if len(have) != len(tensors):
            raise SignatureMismatch(f"{name} takes {len(tensors)} inputs, {graph.name} {len(have)}")
        renamed = {mine.name: own.name for mine, own in zip(have, tensors, strict=True)}
    else:
        renamed = {x.name: x.name for x in have}
    taken = set(renamed.values())
    for x in graph.tensors:
        if x.kind != "input":
            fresh = x.name
            while fresh in taken | set(known):
                fresh += "_"
            taken.add(fresh)
            renamed[x.name] = fresh
    axes: dict[str, str] = {}
    for x in have:
        own, kind = known[renamed[x.name]]
        if (graph.shape(x), x.dtype) != (kind.shape, kind.dtype):
            raise SignatureMismatch(
                f"input {x.name} of {graph.name} is {x.dtype}{list(graph.shape(x))}, "
                f"and {own.name} of {name} is {kind.dtype}{list(kind.shape)}"
            )
        for theirs, mine in zip(x.dims, own.dims, strict=True):
            if len(theirs) == len(mine):
                axes |= {b: a for a, b in zip(theirs, mine, strict=True) if b not in axes and a not in axes.values()}
    given = [(graph.shape(x), x.dtype) for x in graph.outputs]
    want = [(x.shape, x.dtype) for x in outputs]
    if given != want:
        raise SignatureMismatch(f"{name} and {graph.name} have different outputs: {want} and {given}")

    def same(x: str) -> str:
        return x

    return rename(graph, Renaming(same, lambda x: renamed[x], same, same, same)), axes


def matches(graph: MuGraph, sizes: Mapping[str, int], tiles: Mapping[str, Mapping[str, int]]) -> bool:
    """True if a module with these tables launches this µGraph."""
    own = launch_tiles(graph)
    if dict(graph.axes) != dict(sizes) or set(tiles) - set(own):
        return False
    for key, row in own.items():
        have = {**tiles.get(key.removesuffix(".tail"), {}), **tiles.get(key, {})}
        if {d: have.get(d) for d in row} != row:
            return False
    return True
