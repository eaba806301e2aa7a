"""A short run of `./dev bench trust`, and faulty writers and readers that it has to notice."""

import json
from dataclasses import replace

import pytest
from daemonbench import forged

from mirage.codegen import library_text
from mirage.errors import EmissionRefused, MugraphSyntax
from mirage.mugraph import json_form
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.operators import attribute_faults


def by_name(rows):
    return {r["name"]: r for r in rows}


def test_no_code_gets_from_a_mugraph_into_a_module():
    rows = by_name(forged.of_mugraphs(400, seed=3))
    assert all(r["ok"] for r in rows.values()), rows


@pytest.mark.parametrize("code", ["False), exec('1'), (1", "exec('1')", "__import__('os').system('true')", "False"])
def test_the_attribute_that_once_became_code_is_refused_where_it_is_read_and_where_it_is_written(code):
    case = forged.library(
        "attention", "scaled_dot_product_attention", 3, ("causal", False), ("gqa", False), ("scale", None)
    )
    data = json_form.to_json(case.mugraph)
    assert json_form.from_json(data) == case.mugraph and "is_causal=False" in forged.emitted(case, case.mugraph)
    data["mugraph"]["kernels"][0]["attrs"][0][1] = code
    with pytest.raises(MugraphSyntax, match="causal"):
        json_form.from_json(data)
    with pytest.raises(MugraphSyntax, match="causal"):
        parse(to_text(case.mugraph).replace('["causal", false]', json.dumps(["causal", code])))
    kernel = replace(case.mugraph.kernels[0], attrs=(("causal", code), ("gqa", False), ("scale", None)))
    with pytest.raises(EmissionRefused, match="causal"):
        forged.emitted(case, replace(case.mugraph, kernels=(kernel,)))


@pytest.mark.parametrize("name", ["None", "from", "lambda", "dtype"])
def test_an_attribute_has_a_name_that_a_call_can_write(name):
    case = forged.library("cumsum", "aten.cumsum.default", 1, ("dim", 1), ("self", "%0"))
    data = json_form.to_json(case.mugraph)
    data["mugraph"]["kernels"][0]["attrs"].append([name, None])
    if name == "dtype":
        assert "dtype=None" in forged.emitted(case, json_form.from_json(data))
        return
    with pytest.raises(MugraphSyntax, match=name):
        json_form.from_json(data)
    kernel = replace(case.mugraph.kernels[0], attrs=(("dim", 1), ("self", "%0"), (name, None)))
    with pytest.raises(EmissionRefused, match=name):
        forged.emitted(case, replace(case.mugraph, kernels=(kernel,)))


def test_a_writer_that_writes_what_it_is_given_is_noticed(monkeypatch, capsys):
    """As attributes were written once: whatever they were, as they were."""
    monkeypatch.setattr(library_text, "plain_literal", str)
    for module in (library_text, json_form):
        monkeypatch.setattr(module, "attribute_fault", lambda op, attrs: "")
    monkeypatch.setattr(forged, "bases", lambda: (forged.library("attention", "scaled_dot_product_attention", 3, ("causal", "False"),
                                                                 ("gqa", False), ("scale", None)),))  # fmt: skip
    rows = by_name(forged.of_mugraphs(600, seed=3))
    assert rows["forged µGraphs: with an unknown syntax node"]["value"] > 0
    assert "emitted: " in capsys.readouterr().out
    assert attribute_faults.attribute_fault("scaled_dot_product_attention", (("causal", "False"),))


def test_no_changed_kernel_file_is_loaded():
    rows = by_name(forged.of_files(300, seed=3))
    assert all(r["ok"] for r in rows.values()), rows


def test_a_reader_that_believes_is_noticed(monkeypatch):
    def believing(digest):
        path = forged.installed_kernels.lookup(digest)
        return None if path is None else path.read_text()

    monkeypatch.setattr(forged.installed_kernels, "read", believing)
    rows = by_name(forged.of_files(60, seed=3))
    assert rows["forged kernel files: loads"]["value"] > 0  # those with only a comment or a number changed
