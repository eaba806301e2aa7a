"""The subject of the opinions on a text: an emitted module beside the program that it must compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import MuGraph
from mirage.verify.output_terms import OutputTerm


@dataclass(frozen=True)
class EmittedModule:
    """The text of a `module` that was emitted for `mugraph`, and the `targets` that it must give. `parameters`: the
    function's tensor parameters in order. `function` is the user's own, in the slice `text` (without its decorator); where
    both are empty, the terms alone say what is wanted."""

    t: Terms
    targets: Sequence[OutputTerm]
    mugraph: MuGraph
    module: str
    parameters: Sequence[str]
    text: str = ""
    function: str = ""
