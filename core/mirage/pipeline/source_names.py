"""Tiles under the names of the user's own source: a tile that means what a variable of the function means gets its name."""

from __future__ import annotations

from collections.abc import Iterable

from mirage.ir.program import Program
from mirage.meaning.axis_split import split_axis
from mirage.meaning.normal_form import Normalizer, TooLarge
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import Accumulate, BlockGraph, Loop, MuGraph
from mirage.mugraph.readable_names import readable
from mirage.mugraph.without_calls import opened
from mirage.program.lower import Lowering
from mirage.search.problem import fork
from mirage.verify.semantics.denote import Denoter, NotDenoted, Run


def named_by_source(mugraph: MuGraph, program: Program, t: Terms) -> MuGraph:
    """The µGraph with its tiles named by the variables of the program's source where they mean the same (sizes erased), by what
    computes them elsewhere. `t`: the arena of the search's problem; nothing is added to it. A µGraph of which no term is known keeps
    its names."""
    if not any(n.name for n in program.nodes):
        return mugraph
    arena = fork(t)
    denoter = Denoter(arena, opened(mugraph))
    try:
        terms = _terms(program, arena)
        denoter.run()
    except (NotDenoted, KeyError, IndexError, StopIteration, TypeError, ValueError):
        if not denoter.runs:
            return mugraph
    variables = Variables(arena, terms, denoter.out.splits)
    given = {x.name.lower() for x in mugraph.inputs}
    return readable(mugraph, [variables.of(run, given) for run in denoter.runs])


def _terms(program: Program, t: Terms) -> dict[int, str]:
    """The terms of the named values; the name that comes first for a term."""
    lowering = Lowering(program, t)
    found: dict[int, str] = {}
    for x, node in enumerate(lowering.program.nodes, len(program.inputs)):
        if node.name:
            found.setdefault(lowering.whole(x)[0], node.name)
    return found


class Variables:
    """The names of terms, also of those that are equal to them in normal form."""

    def __init__(self, t: Terms, names: dict[int, str], splits: dict[str, tuple[str, str]]) -> None:
        self.t, self.normal = t, Normalizer(t)
        self.names: dict[int, str] = dict(names)
        for term, name in names.items():
            for axis, (part, rest) in splits.items():
                term = split_axis(t, term, axis, part, rest)
            self.names.setdefault(term, name)
        self.forms = {form: name for term, name in reversed(self.names.items()) if (form := self._form(term))}

    def of(self, run: Run, inputs: set[str]) -> dict[str, str]:
        """Names for tiles of a block that was denoted. A sum that is not complete gets none: its accumulator has it."""
        whole = {s.out for s in _statements(run.b) if isinstance(s, Accumulate)}
        found = {x: self._name(term) for x, term in run.env.items() if x in whole or x not in run.linear}
        return {x: name for x, name in found.items() if name and name.lower() not in inputs}

    def _name(self, term: int) -> str:
        if term not in self.names:
            self.names[term] = self.forms.get(self._form(term), "")
        return self.names[term]

    def _form(self, term: int) -> object:
        """The normal form; None of a term for which there is none, or that is a number or an input."""
        try:
            return self.normal.of(term) if self.t.dims(term) and self.t.kids(term) else None
        except TooLarge:
            return None


def _statements(block: BlockGraph) -> Iterable[object]:
    for item in block.body:
        yield from item.body if isinstance(item, Loop) else (item,)
