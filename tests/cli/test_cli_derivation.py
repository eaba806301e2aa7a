"""`mirage show --derivation`, and what `mirage optimize` prints of the derivation and the remarks."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from workloads.terms import problem

from mirage.cli.optimize import table
from mirage.cli.show import show
from mirage.derivation.json_form import derived
from mirage.devices.table import DEVICES
from mirage.errors import DerivationBroken, MugraphSyntax
from mirage.profile.roofline import estimate
from mirage.results.result import Remark, Result, SearchStats
from mirage.search.engine import Bounds, Search


@pytest.fixture(scope="module")
def result():
    search = Search(problem("gated_mlp"), lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=4, tilings=2))
    list(search.run())
    p = search.problem
    return {"derivation": derived(p.t, {o.tensor: (o.term, o.dims) for o in p.outputs}, search.best[0].mugraph)}


def run(tmp_path, data, *options):
    path = tmp_path / "result.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return CliRunner().invoke(show, [str(path), "--derivation", *options])


def test_as_text(tmp_path, result):
    said = run(tmp_path, result)
    assert said.exit_code == 0 and "program O" in said.output and "tiles in a loop" in said.output
    assert run(tmp_path, [result, result]).output == 2 * said.output


def test_as_json(tmp_path, result):
    assert json.loads(run(tmp_path, result, "--format", "json").output) == result["derivation"]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({}, DerivationBroken), ([], DerivationBroken), ({"derivation": {}}, DerivationBroken),
        ({"derivation": {"version": 9}}, DerivationBroken), ({"derivation": []}, DerivationBroken), ("{", MugraphSyntax),
    ],
)  # fmt: skip
def test_what_is_none_is_said(tmp_path, data, error):
    assert isinstance(run(tmp_path, data).exception, error)


def test_the_table_says_why(result):
    plain = Result("f", "keep", "r", (), "p", search=SearchStats(values=1, mugraphs=1, seconds=0.1))
    assert "why" not in table(plain) and "derived" not in table(plain)
    said = table(replace(plain, derivation=result["derivation"], remarks=(Remark("c", "keeps two kernels: because"),)))
    assert "why      keeps two kernels: because" in said and "derived  " in said
