"""What is asked of a module before PyTorch is there are the judge's own questions; of a text that is refused, none are asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from workloads.hand import small
from workloads.hand_modules import program_of

from mirage.cli import before_trace
from mirage.codegen.emit import emit_module
from mirage.mugraph.check import SM_90
from mirage.verify import judge

NORM = small()["rmsnorm_linear"]
ASKED = (judge.memory_of_graph, judge.memory_of_text)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    for opinion in (*ASKED, judge.read_syntax):
        opinion.cache_clear()
    yield


def module() -> str:
    source = "\n".join(x for x in NORM.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")
    return emit_module(program_of(NORM.mugraph), NORM.mugraph, source, function=NORM.name, header={})


def test_the_judge_s_questions_are_answered() -> None:
    text, begun = module(), []
    before_trace.read(text, SM_90, begun.append)
    assert [x.public for x in begun] == [NORM.name] and f"def {begun[0].function}(" in begun[0].text
    assert judge.read_syntax(text).word == "TESTED"
    assert judge.memory_of_graph(NORM.mugraph).word == "PROVED"
    names = before_trace.parameters(text, len(NORM.mugraph.inputs))
    assert names == tuple(x.name for x in NORM.mugraph.inputs)
    assert judge.memory_of_text(NORM.mugraph, text, names).word == "PROVED"
    assert [opinion.cache_info().hits for opinion in ASKED] == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def f(x):\n    return x\n",
        "not python (",
        module().replace("import torch\n", "import torch\nimport socket\n", 1),
        module().replace("mugraph", "other"),
    ],
)
def test_what_is_no_module_or_is_refused_is_left(text: str) -> None:
    begun: list[object] = []
    before_trace.read(text, SM_90, begun.append)
    assert not begun  # nothing of such a text is run
    assert [opinion.cache_info().misses for opinion in ASKED] == [0, 0]
