"""`superoptimize` with the original's parameters: a list of distinct µGraphs, each verified, best first.

Those that narrow the search narrow ours (griddims, blockdims, imaps, omaps, fmaps, franges). One that is left out has the
default that the original documents, which is for attention; None leaves it free. Those that steered the original's compiler,
profiler or caches mean nothing here, and say so once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mirage.errors import SavedFileUnreadable
from mirage.ir.narrowing import Narrowing
from mirage.mugraph.check import Limits
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.structure import structure_key
from mirage.pipeline.processes import Tools
from mirage.plan import plan
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Candidate, Search
from mirage_original.arguments import finite, path_of, shown
from mirage_original.found_mugraph import FoundMugraph
from mirage_original.graph_builder import KNGraph
from mirage_original.mistakes import mistake
from mirage_original.previous_checkpoint import Previous, checkpoint, found_in, opened
from mirage_original.searched_graph import Searched, without_launch

MOST, SECONDS = 1024, 300.0
# What the original's first version documents for a parameter that is left out: lists for attention with 16 heads.
GRIDDIMS = ((16, 1, 1), (16, 2, 1), (16, 4, 1))
BLOCKDIMS = ((128, 1, 1),)
IMAPS = ((0, -1, -1), (0, 1, -1), (0, 2, -1), (0, -1, 1))
OMAPS = ((0, -1, -1), (0, 1, -1), (0, 2, -1), (0, 2, 1))
FMAPS, FRANGES = (-1, 1, 2), (1, 4, 8, 16)
DEFAULTS: dict[str, tuple[object, ...]] = {
    "griddims": GRIDDIMS, "blockdims": BLOCKDIMS, "imaps": IMAPS, "omaps": OMAPS, "fmaps": FMAPS, "franges": FRANGES,
}  # fmt: skip
WITHOUT_MEANING = {
    "config": "there are no modes: attention, low-rank adapters and the rest go through one search",
    "backend": "kernels are Triton",
    "warmup_iters": "without a GPU nothing is timed, with one `mirage optimize` decides how often",
    "profile_iters": "without a GPU nothing is timed, with one `mirage optimize` decides how often",
    "use_graph_dataset": "the daemon's cache is used by `mirage optimize`",
    "use_cached_graphs": "the daemon's cache is used by `mirage optimize`",
    "save_codes": "generate_triton_program writes a graph's code",
    "is_formal_verified": "every graph is verified",
    "default_config": "there are no modes",
    "max_num_threadblock_graph_op": "the search is bounded by time",
    "max_num_kernel_graph_op": "the search is bounded by time",
    "num_search_thread": "one process is enough",
    "use_symbolic_search": "sizes are symbolic always",
    "symbolic_checkpoint": "sizes are symbolic always",
}
_said: set[str] = set()


@dataclass(frozen=True)
class Asked:
    """What of the parameters does not narrow the search."""

    most: int
    seconds: float
    previous: Previous | None
    verbose: bool

    @staticmethod
    def of(given: Mapping[str, object]) -> Asked:
        """Raises TypeError for a parameter that no version has, BadSearchParameter, SavedFileUnreadable."""
        left = dict(given)
        most = left.pop("max_num_new_graphs", None)
        limit = left.pop("search_time_limit_sec", None)
        file = left.pop("previous_checkpoint", None)
        verbose = bool(left.pop("verbose", False))
        for name, value in left.items():
            if name not in WITHOUT_MEANING:
                raise TypeError(f"superoptimize() got an unexpected keyword argument {name!r}")
            if value not in (None, False, -1) and name not in _said:
                _said.add(name)
                print(f"mirage: {name}= has no meaning here: {WITHOUT_MEANING[name]}", file=sys.stderr)
        most = MOST if most is None else most
        if not isinstance(most, int) or most < 1:
            raise mistake(f"max_num_new_graphs={shown(most)}", "give a number from 1")
        seconds = -1.0 if limit is None else finite("search_time_limit_sec", limit)
        previous = opened(path_of(file)) if file not in (None, "") else None
        return Asked(most, seconds if seconds > 0 else SECONDS, previous, verbose)


def superoptimize(
    graph: KNGraph,
    *,
    imaps: object = IMAPS,
    omaps: object = OMAPS,
    griddims: object = GRIDDIMS,
    blockdims: object = BLOCKDIMS,
    fmaps: object = FMAPS,
    franges: object = FRANGES,
    **others: object,
) -> list[KNGraph]:
    """Distinct µGraphs that compute what `graph` does, best first by the estimate: each valid, its algebra proved or tested,
    its schedule tested in the field, its memory accesses checked. Prints how many there are.

    Each of the six lists narrows every kernel, and None leaves it free. Where nothing is within the defaults of those that are
    left out, the search is done again without the one for griddims, which depends on the sizes, and then without any, and says so.

    The others: `max_num_new_graphs` (1024) bounds how many; `verbose` prints them; `search_time_limit_sec` bounds search and
    verification (negative: 300 s); `previous_checkpoint`: a file of graphs that the original saved, which are verified and
    join what is found, or a checkpoint of this project's search, which is begun where there is no file. Raises TypeError for
    a parameter that no version has, BadSearchParameter, GraphMistake, SavedFileUnreadable."""
    asked = Asked.of(others)
    if not isinstance(graph, KNGraph):
        raise mistake(f"superoptimize of {shown(graph)}", "give a kernel graph: mirage.new_kernel_graph()")
    if graph.found is not None:
        raise mistake("this graph was found by a search", "superoptimize the graph that it was found for")
    lists = {
        "imaps": imaps, "omaps": omaps, "griddims": griddims, "blockdims": blockdims, "fmaps": fmaps, "franges": franges
    }  # fmt: skip
    ways = [Narrowing.of(**way) for way in within(lists)]
    with Tools() as tools:
        new = _searched(graph, ways, asked, tools)
    structures = len({g.found.structure for g in new if g.found is not None})
    print(f"mirage: {len(new)} µGraphs found and verified, {structures} structures with sizes erased")
    if asked.verbose:
        for g in new:
            if g.found is not None:
                print(f"mirage: {g.found.us:.1f} µs estimated: {g.found.label}")
    for g in new:
        g.nodes, g.tensors, g.marked, g.layouts = graph.nodes, graph.tensors, graph.marked, graph.layouts
    return new


def within(lists: dict[str, object]) -> Iterator[dict[str, object]]:
    """The lists as given; then, as long as some are defaults, with that of griddims free, and with all of them free."""
    left_out = {name for name, value in lists.items() if value is DEFAULTS[name]}
    yield lists
    if "griddims" in left_out and len(left_out) > 1:
        yield {**lists, "griddims": None}
    if left_out:
        yield {name: None if name in left_out else value for name, value in lists.items()}


def _searched(graph: KNGraph, ways: list[Narrowing], asked: Asked, tools: Tools) -> list[KNGraph]:
    """What the first way gives by which anything is found. A checkpoint of this project's search is that of one of them."""
    given: list[FoundMugraph] = []
    previous = asked.previous
    first = Searched.of(graph, ways[0], tools)
    for i, way in enumerate(ways):
        searched, last = replace(first, given=way), way is ways[-1]
        if i:
            free = ", ".join(n for n in ways[0].names if n not in way.names)
            print(f"mirage: nothing is within the defaults: searched with {free} free", file=sys.stderr)
        elif previous is not None and previous.entries is not None:
            given = found_in(previous, searched)
        try:
            found = list(verified(searched, asked, given))
        except SavedFileUnreadable:
            if last:
                raise
            continue
        if last or any(all(f is not g for g in given) for f in found):
            return [KNGraph(f) for f in found]
        if previous is not None and previous.begun:
            Path(previous.path).unlink(missing_ok=True)  # it is of a search that found nothing
    return []


def verified(searched: Searched, asked: Asked, given: list[FoundMugraph]) -> Iterator[FoundMugraph]:
    """The distinct µGraphs (warps and stages left out) that are accepted, best first, until the time is over. `given` join
    what is found."""
    most, seconds, previous = asked.most, asked.seconds, asked.previous
    end = time.monotonic() + seconds
    bounds = Bounds(keep=max(2 * most, 8) if most < 128 else 256, given=searched.given, seconds=seconds / 2)
    if searched.given:
        bounds = replace(bounds, per_kernel=200, structures=64, tilings=64)
    limits = Limits.of(searched.device)
    search = Search(searched.problem, lambda g: estimate(g, searched.device), bounds=bounds, limits=limits)
    if previous is not None and previous.entries is None:
        search.checkpoint = checkpoint(previous.path, search)
    for _ in search.run():
        pass
    seen: set[MuGraph] = set()
    both: list[Candidate | FoundMugraph] = [*given, *search.best]  # of equal estimates the given ones first
    for c in sorted(both, key=lambda c: c.us):
        form = without_launch(c.mugraph)
        if form in seen:
            continue
        if len(seen) >= most or time.monotonic() > end:
            return
        if isinstance(c, FoundMugraph) or searched.sound(c.mugraph):
            seen.add(form)
            yield (
                c
                if isinstance(c, FoundMugraph)
                else FoundMugraph(plan(c.mugraph, searched.device), c.us, c.label, structure_key(c.mugraph), searched)
            )
