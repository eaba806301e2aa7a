"""Cases for the judge from two things of unlike kinds: the left one says what is wanted, the right one is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mirage.errors import MirageError, SignatureMismatch
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DTensor, MuGraph
from mirage.mugraph.rename import Names, rename
from mirage.program.ir import Input, Program, TensorType
from mirage.program.lower import lower
from mirage.verify.denote import NotDenoted, denote
from mirage.verify.judge import Case
from mirage.verify.schedule import Output
from mirage.verify.text import launch_tiles

Wanted = tuple[int, tuple[tuple[str, ...], ...]]  # an output's term and the axes of its dims


def of_program(program: Program, graph: MuGraph, module: str, text: str, function: str) -> Case:
    """Does the µGraph (and the `module`, if any) compute the program?"""
    lowered = lower(program)
    wanted = [program.type_of(o) for o in program.outputs]
    graph, axes = alike(program.name, [i.type for i in program.inputs], lowered.tensors, wanted, graph)
    targets = under(lowered.terms, axes, graph, lowered.outputs)
    return Case(lowered.terms, targets, graph, module, program, text, function)


def of_mugraph(left: MuGraph, graph: MuGraph, module: str) -> Case:
    """Does the µGraph (and the `module`, if any) compute what another one means with its sizes erased?"""
    t = Terms(dict(left.axes))
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
    inputs = tuple(Input(x.name, TensorType(left.shape(x), x.dtype)) for x in left.inputs)
    wanted = [TensorType(left.shape(x), x.dtype) for x in left.outputs]
    graph, axes = alike(left.name, [i.type for i in inputs], left.inputs, wanted, graph)
    targets = under(t, axes, graph, [meaning.outputs[mine.name] for mine in left.outputs])
    program = Program(left.name, inputs, (), tuple(range(len(wanted))))
    return Case(t, targets, graph, module, program, "", "")


def under(t: Terms, axes: Mapping[str, str], graph: MuGraph, wanted: Sequence[Wanted]) -> list[Output]:
    """The outputs that are wanted, with the left side's axes under the µGraph's names."""
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
        Output(o.name, t.rename(x, names, memo), tuple(tuple(names.get(a, a) for a in d) for d in dims))
        for o, (x, dims) in zip(graph.outputs, wanted, strict=True)
    ]


def names_of(t: Terms, x: int) -> set[str]:
    """The axes that a term names."""
    n = t.node(x)
    own = {n[1]} if n[0] == "size" else set(n[1]) if n[0] == "index" else {n[2]} if n[0] == "red" else set()
    return set(t.dims(x)) | own


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

    return rename(graph, Names(same, lambda x: renamed[x], same, same, same)), axes


def matches(graph: MuGraph, sizes: Mapping[str, int], tiles: Mapping[str, Mapping[str, int]]) -> bool:
    """Does a module with these tables launch this µGraph?"""
    own = launch_tiles(graph)
    if dict(graph.axes) != dict(sizes) or set(tiles) - set(own):
        return False
    for key, row in own.items():
        have = {**tiles.get(key.removesuffix(".tail"), {}), **tiles.get(key, {})}
        if {d: have.get(d) for d in row} != row:
            return False
    return True


def found_again(
    program: Program, sizes: Mapping[str, int], tiles: Mapping[str, Mapping[str, int]], target: str
) -> MuGraph | None:
    """The µGraph that a module with these tables was emitted from: the program is searched again."""
    from mirage.pipeline import problem
    from mirage.plan import plan
    from mirage.profile.devices import device
    from mirage.profile.roofline import estimate
    from mirage.search.engine import Search

    found = problem(program, lower(program))
    search = Search(found, lambda g: estimate(g, device(target)))
    for _ in search.run():
        pass
    for candidate in search.best:
        try:
            graph = plan(candidate.mugraph)
        except MirageError:
            continue
        if matches(graph, sizes, tiles):
            return graph
    return None
