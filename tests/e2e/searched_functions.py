"""Functions that are searched once for all tests of a file, and the verdict on their modules with one thing changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mirage.mugraph import json_form
from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request, read, trace
from mirage.pipeline.search_problems import problems
from mirage.results.progress import CancelToken
from mirage.results.result import Result
from mirage.verify.judge import Case, judge


def run(text: str, tools: Tools, **more: Any) -> Result:
    return optimize(Request(text, "a.py", "f", anyway=True, **more), lambda _: None, CancelToken(), tools)


@dataclass
class SearchedFunctions:
    """Texts of files with one function `f`, by name; each is searched when it is first asked for."""

    texts: Mapping[str, str]
    tools: Tools
    results: dict[str, Result] = field(default_factory=dict)

    def of(self, name: str) -> Result:
        if name not in self.results:
            self.results[name] = run(self.texts[name], self.tools)
        return self.results[name]

    def judged(self, name: str, old: str, new: str) -> Any:
        """The verdict on a function's module with `old` replaced once, without a search."""
        result = self.of(name)
        head, begin, rest = result.source.partition("# mirage:begin kernels")
        assert old in rest, rest
        function = read(Request(self.texts[name], "a.py", "f"))
        program = trace(function, "a.py", self.tools.runner, CancelToken())
        posed, graph = problems(program)[0], json_form.from_json(result.mugraphs[0])
        case = Case(
            posed.t, posed.outputs, graph, head + begin + rest.replace(old, new, 1), program, function.slice.text, "f",
            None, posed.calls, posed.returns,
        )  # fmt: skip
        return judge(
            case, lambda task, payload: self.tools.runner.call(task, payload, timeout_s=120), floats_first=True
        )
