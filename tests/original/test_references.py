"""The original's reference µGraphs, written by hand: valid, proved or tested against their programs, and run."""

from __future__ import annotations

import pytest
import references
import torch
from references import REFERENCES

from mirage.errors import MirageError
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.judge import algebra
from mirage_original.hand_written import written


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_is_valid_and_right_and_a_wrong_one_is_not(name, tools):
    r = REFERENCES[name]
    program = r.wanted(r.small)
    verdict = written(r.build(**r.small), program, tools).verify(text=False)
    assert verdict["word"] in ("PROVED", "TESTED"), verdict
    memory = next(e for e in verdict["evidence"] if (e["opinion"], e["link"]) == ("memory", "schedule"))
    assert memory["word"] == "PROVED" and verdict["range"]
    wrong = written(r.build(**r.small, **r.wrong), program, tools)
    if all(e.word != "REJECTED" for e in algebra(wrong.searched.case(wrong.mugraph, ""))):  # the first link is enough
        assert wrong.verify(text=False)["word"] == "REJECTED"


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_of_the_original_sizes_is_valid(name):
    r = REFERENCES[name]
    for sizes in r.sizes:
        graph = r.build(**sizes)
        assert graph.check().outputs[0].dtype == "fp16"
        assert graph.outputs[0].shape == r.wanted(sizes).outputs[0].shape


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_as_pytorch_is_its_program(name):
    r = REFERENCES[name]
    torch.manual_seed(0)
    graph, program = r.build(**r.small), r.wanted(r.small)
    given = [torch.randn(*t.shape).half() * 0.3 for t in graph.inputs]
    names = {}
    exec(graph.plain(), names)
    exec(program.plain().replace("def program", "def wanted"), names)
    want = names["wanted"](*(x.double() for x in given))
    assert torch.allclose(names["program"](*(x.double() for x in given)), want, atol=1e-9)


def test_what_is_compared_takes_the_same_tensors(tools):
    r, other = REFERENCES["rmsnorm"], REFERENCES["lora"]
    with pytest.raises(MirageError) as caught:
        written(r.build(**r.small), other.wanted(other.small), tools)
    assert caught.value.code == "MIR303"


def test_a_rescale_is_judged_against_its_own_meaning_too(tools):
    r = REFERENCES["attention, rescaled"]
    words = {}
    for name, how in {"right": {}, "no exponential": r.wrong}.items():
        found = written(r.build(**r.small, **how), None, tools)
        p = found.searched.problem
        words[name] = schedule_opinion(p.t, p.outputs, found.mugraph, 2).word
    assert words == {"right": "TESTED", "no exponential": "REJECTED"}
    with pytest.raises(MirageError, match="not carried") as caught:
        r.build(**r.small, scale="none").check()
    assert caught.value.code == "MIR300" and caught.value.path == references.__file__
