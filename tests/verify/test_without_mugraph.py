"""Emitted modules whose µGraph was taken out are judged by what their text does; what may not stand in a module never runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hostile_modules.mutant import section
from workloads.hand import small

from mirage.cli import verify_by_size, verify_subjects
from mirage.cli.verify import WORKER, judged
from mirage.codegen.emit import emit_module
from mirage.errors import MirageError, ModuleUnreadable
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.isolate.runner import Worker
from mirage.results.verdict import Verdict


@dataclass(frozen=True)
class Emitted:
    """A function's file, and the module that is emitted for it."""

    folder: Path
    module: str
    worker: Worker

    @property
    def bare(self) -> str:
        """The module without the lines of its µGraph."""
        begin, end = section(self.module, "mugraph")
        return self.module[:begin] + self.module[end:]

    def verdict(self, module: str) -> Verdict:
        """Of `mirage verify FUNCTION MODULE`."""
        path = self.folder / "module.py"
        path.write_text(module, "utf-8")
        lefts = verify_subjects.rows(str(self.folder / "function.py"), self.worker)
        both, _ = verify_by_size.pairs(lefts, verify_subjects.rows(str(path), self.worker))
        ((left, right),) = both
        return judged(left, right, self.worker)


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emitted]:
    case = small()["rmsnorm_linear"]
    graph = case.mugraph
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    source = "\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")
    program = Program(graph.name, inputs, (), tuple(range(len(graph.outputs))))
    folder = tmp_path_factory.mktemp("emitted")
    (folder / "function.py").write_text(case.source, "utf-8")
    with Worker(env=WORKER) as worker:
        yield Emitted(folder, emit_module(program, graph, source, function=case.name, header={}), worker)


def edited(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def test_with_its_mugraph_it_is_judged_by_it(emitted: Emitted) -> None:
    found = emitted.verdict(emitted.module)
    assert found.accepted and {x.name for x in found.links} == {"algebra", "schedule", "text"}


def test_without_it_the_text_is_judged_at_its_real_sizes(emitted: Emitted) -> None:
    found = emitted.verdict(emitted.bare)
    assert found.word == "TESTED" and found.bound is None
    assert [x.name for x in found.links] == ["text"] and "at the real sizes" in found.evidence[0].summary
    assert not any("contiguous" in x or "gradient" in x for x in found.notes), found.notes  # the original takes those


def test_without_the_marks_too(emitted: Emitted) -> None:
    marked = emitted.bare.replace("# mirage:begin mugraph\n", "").replace("# mirage:end mugraph\n", "")
    assert "mugraph" not in marked and emitted.verdict(marked).word == "TESTED"


# (what stands there, what stands there instead, the verdict, what it says)
EDITS = [
    ("tl.rsqrt(", "1 / tl.sqrt(", "TESTED", ""),
    ("    O = torch.empty(", "    spare = 0\n    O = torch.zeros(", "TESTED", ""),
    ("tl.rsqrt(", "tl.sqrt(", "REJECTED", "values differ"),
    ("other=0.0", "other=1.0", "REJECTED", "values differ"),
    ("    return O\n", "    return O * 1.01\n", "REJECTED", "values differ"),
    ("    return O\n", "    return O.zero_()\n", "REJECTED", "values differ"),
    ("    grid = (", "    grid = (-1 + ", "REJECTED", ""),
    (
        "tiles=TILES, *, fits=False):\n",
        "tiles=TILES, *, fits=False):\n    sizes['m'] = 6\n",
        "UNDECIDED",
        "changes `SIZES`",
    ),
    ("    return O\n", "    return _original_rmsnorm_linear(X, G, W)\n", "UNDECIDED", "not what a kernel wrote"),
    ("    return here and", "    return torch.rand(()) < 2 and here and", "UNDECIDED", "torch.rand"),
    (
        "    return here and",
        "    if torch.is_autocast_enabled():\n        return here\n    return here and",
        "UNDECIDED",
        "is_autocast_enabled",
    ),
]


@pytest.mark.parametrize(("old", "new", "word", "says"), EDITS)
def test_an_edit_is_judged_by_what_it_does(emitted: Emitted, old: str, new: str, word: str, says: str) -> None:
    found = emitted.verdict(edited(emitted.bare, old, new))
    assert found.word == word, found.evidence
    assert says in found.evidence[0].summary


def test_an_edit_beside_its_mugraph_is_refused_whatever_it_does(emitted: Emitted) -> None:
    found = emitted.verdict(edited(emitted.module, "tl.rsqrt(", "1 / tl.sqrt("))
    assert found.word == "REJECTED" and found.rejections[0].opinion == "structure"


def test_another_original_is_said_where_it_would_run(emitted: Emitted) -> None:
    """For inputs of other strides the module asks its original: the verdict leaves them out where that is another function."""
    head, name, body = emitted.bare.partition("def _original_")
    other = head + name + body.replace("return ", "return 2 * ", 1)
    found = emitted.verdict(other)
    assert found.word == "TESTED" and any("contiguous" in x for x in found.notes)


EFFECTS = ("open({path!r}, 'w').close()", "torch.empty = open({path!r}, 'w')", "raise SystemExit(open({path!r}, 'w'))")


@pytest.mark.parametrize("carried", (True, False))
@pytest.mark.parametrize("effect", EFFECTS)
def test_what_may_not_stand_in_a_module_does_not_run(
    emitted: Emitted, effect: str, carried: bool, tmp_path: Path
) -> None:
    line = effect.format(path=str(tmp_path / "ran"))
    text = emitted.module if carried else emitted.bare
    found = emitted.verdict(edited(text, "import torch\n", f"import torch\n{line}\n"))
    assert found.word == ("REJECTED" if carried else "UNDECIDED")
    assert found.evidence[0].counterexample is None
    assert not list(tmp_path.iterdir())


def test_such_a_module_judges_nothing(emitted: Emitted, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(edited(emitted.module, "import torch\n", "import torch\nprint(1)\n"), "utf-8")
    lefts = verify_subjects.rows(str(path), emitted.worker)
    with pytest.raises(ModuleUnreadable, match="statements"):
        verify_by_size.pairs(lefts, lefts)


def test_a_module_without_one_is_no_measure_of_a_text_without_one(emitted: Emitted, tmp_path: Path) -> None:
    """Of two texts that break a rule and carry nothing, none says what is wanted."""
    path = tmp_path / "module.py"
    path.write_text(edited(emitted.bare, "import torch\n", "import torch\nprint(1)\n"), "utf-8")
    left = verify_subjects.load(str(path), emitted.worker)
    assert left.kind == "kernels"
    with pytest.raises(MirageError, match="no function"):
        judged(left, left, emitted.worker)
