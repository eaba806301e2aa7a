"""docs/mugraph.md is true: its example parses, its tables are the tables of the code."""

from __future__ import annotations

import re
from pathlib import Path

from workloads.hand import real

from mirage.mugraph.check import RULES, check
from mirage.mugraph.parse import parse
from mirage.plan import PASSES, plan

DOC = (Path(__file__).parents[2] / "docs" / "mugraph.md").read_text(encoding="utf-8")


def test_the_example_is_the_planned_hand_written_one() -> None:
    block = DOC.split("```")[1]
    text = "\n".join(re.sub(r"\s+# .*", "", line) for line in block.strip("\n").split("\n"))
    m = parse(text)
    check(m)
    assert m == plan(real("rmsnorm_linear").mugraph)


def test_every_rule_and_pass_is_documented_in_order() -> None:
    rows = re.findall(r"^\| (\w+) \|", DOC, re.MULTILINE)
    assert [r for r in rows if r in RULES] == list(RULES)
    assert [r for r in rows if r in PASSES] == list(PASSES)
