"""Each graph of a file against a program: right ones are accepted, wrong ones are not, hostile ones end in time; and what
the command line says of a file."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import space
from click.testing import CliRunner
from written import Block, Kernels, attention, checkpoint, lora, rms_linear, save, softmax_product

import mirage as mi
from mirage.cli import main
from mirage.devices.table import device
from mirage.ir.program import Program
from mirage.mugraph.check import Limits, broken_rule
from mirage_original import judge_saved, judge_task, list_saved, rebuild_saved, saved_files, two_links
from mirage_original.export_2025 import describe, form
from mirage_original.judge_saved import Wanted

RMS, MLP, ATTENTION = space.rms(4, 64, 64), space.mlp(4, 64, 64), space.attention(2, 32, 16, 128)
WORKLOADS = {"rms": RMS, "mlp": MLP, "attention": ATTENTION}


@pytest.fixture(scope="module")
def wanted(tmp_path_factory, worker):
    """A workload -> what its graphs are compared with, traced once."""
    from mirage.cli import verify_subjects

    kept = {}

    def of(w):
        if w.source not in kept:
            path = tmp_path_factory.mktemp("program") / "program.py"
            path.write_text(w.source)
            left = verify_subjects.load(str(path), worker)
            kept[w.source] = Wanted(left.program, left.text, left.function)
        return kept[w.source]

    return of


def here(graph, wanted):
    """A graph's verdict on two links, in this process."""
    (entry,) = saved_files.entries([json.loads(json.dumps(graph))], "g.json")
    program = Program.from_dict(json.loads(json.dumps(wanted.program.to_dict())))
    data = {"text": wanted.text, "function": wanted.function}
    return judge_task.judged(rebuild_saved.build(entry.graph), program, data, False)


@pytest.mark.parametrize("name", WORKLOADS)
def test_right_graphs_are_accepted_and_wrong_ones_are_not(name, wanted):
    w = WORKLOADS[name]
    right = list(w.graphs())
    for g in right[:: max(1, len(right) // 4)]:
        verdict = here(g, wanted(w))
        assert verdict.accepted and [x.name for x in verdict.links] == ["algebra", "schedule"], verdict
        assert verdict.links[0].word == "PROVED" and verdict.links[1].word == "TESTED" and verdict.bound < 1e-12
    for twist in w.twists:
        assert here(next(w.graphs(twist)), wanted(w)).word == "REJECTED", twist


def test_verdicts_of_random_changes_are_those_of_floats(wanted):
    """A graph with one thing changed is accepted if, and only if, PyTorch finds it equal in float64."""
    r, words = random.Random(3), []
    pools = {name: list(w.graphs()) for name, w in WORKLOADS.items()}
    for seed in range(16):
        name = r.choice(list(WORKLOADS))
        (entry,) = saved_files.entries([space.changed(r.choice(pools[name]), r)], "changed")
        _, graph, made = list_saved.row(entry, "changed")
        if graph is None or made is None:
            continue
        w = wanted(WORKLOADS[name])
        verdict = judge_task.judged(graph, w.program, {"text": w.text, "function": w.function}, False)
        assert verdict.accepted == space.computes(graph, WORKLOADS[name].source, seed), (name, seed, verdict)
        words.append(verdict.word)
    assert words.count("REJECTED") >= 2 and words.count("TESTED") >= 4


def test_a_launch_that_is_the_same_is_looked_at_once(wanted, monkeypatch):
    """And one that differs is not taken for it: the wrong graphs come after the right ones."""
    asked = []
    monkeypatch.setattr(two_links, "_launches", {})
    real = two_links.schedule_opinion
    monkeypatch.setattr(two_links, "schedule_opinion", lambda *a, **k: asked.append(1) or real(*a, **k))
    w = space.rms(4, 256, 256)
    right = [g for g in w.graphs()][:8:2]
    verdicts = [here(g, wanted(w)) for g in right]
    assert all(v.accepted for v in verdicts) and len(asked) < len(right)
    assert any(e.opinion == "field" and e.details.same_launch for v in verdicts for e in v.evidence)
    assert not any(here(next(w.graphs(t)), wanted(w)).accepted for t in w.twists)


def test_what_needs_too_much_is_shown_nothing_of(wanted):
    w = wanted(space.rms(4, 64, 64))

    def chain(most):
        g = mi.new_graph()
        x, m = g.new_input(dims=(4, 64)), g.new_input(dims=(64, 64))
        for _ in range(most):
            x = g.exp(x)
        g.matmul(x, m)
        return form([describe(g)])[0]

    payload = {"index": 7, "path": "f.json", "text": False, "target": "sm_90"}
    payload["wanted"] = {"program": w.program.to_dict(), "text": w.text, "function": w.function}
    made = judge_task.task(payload | {"graph": chain(240)})
    assert made["verdict"] is None and made["row"]["code"] == "MIR313" and not made["row"]["valid"]
    assert "graph 7" in made["row"]["why"] and "levels of operators" in made["row"]["why"]
    made = judge_task.task(payload | {"graph": chain(3)})
    assert made["verdict"]["word"] == "REJECTED" and made["row"]["valid"]


RMS_LARGE = space.rms(16, 2048, 128).source


LORA = """import torch

import mirage


@mirage.optimize(inputs=[((4, 64), "fp16"), ((64, 64), "fp16"), ((64, 16), "fp16"), ((16, 64), "fp16")])
def lora(x, w, a, b):
    return x @ w + (x @ a) @ b
"""


def test_concats_of_may_2024(wanted):
    w = wanted(space.Workload(LORA, None, {}, ()))
    assert here(lora(), w).accepted and here(lora(grid=4), w).accepted
    assert here(lora(loop=2), w).word == "REJECTED"  # its saver sums twice
    (entry,) = saved_files.entries([lora(swapped=True)], "g.json")
    row, graph, _ = list_saved.row(entry, "g.json")
    verdict = (
        judge_task.judged(graph, w.program, {"text": w.text, "function": w.function}, False) if row.valid else None
    )
    assert verdict is None or verdict.word == "REJECTED"


def test_the_text_is_judged_where_it_is_asked_for(wanted):
    """In workers, whatever this process has imported triton for."""
    graphs = [next(RMS.graphs()), next(RMS.graphs("no norm"))]
    entries = saved_files.entries(json.loads(json.dumps(graphs)), "g.json")
    right, wrong = judge_saved.judged(entries, "g.json", [wanted(RMS)], text=True, cores=1)
    assert [x.name for x in right.verdict.links] == ["algebra", "schedule", "text"] and right.accepted
    assert wrong.word == "REJECTED"


def test_a_graph_has_to_fit_the_device_that_is_asked_for():
    """160 KiB of tiles: an H100's block has room for them, an RTX 4090's has not."""
    entries = saved_files.entries([rms_linear(grid=1, loop=2, m=16, k=2048)], "g.json")
    small = saved_files.entries([rms_linear()], "g.json")
    for found, valid in ((entries, {"sm_90": True, "sm_89": False}), (small, {"sm_90": True, "sm_89": True})):
        rows = {t: list_saved.row(found[0], "g.json", Limits.of(device(t)))[0] for t in valid}
        assert {t: r.valid for t, r in rows.items()} == valid, rows
        listed = {t: [j.row.valid for j in judge_saved.judged(found, "g.json", (), target=t)] for t in valid}
        assert listed == {t: [v] for t, v in valid.items()}


def test_the_text_is_that_of_the_device(wanted):
    """Its module is planned for what the device has room for."""
    w = wanted(space.Workload(RMS_LARGE, None, {}, ()))
    (entry,) = saved_files.entries([rms_linear(grid=1, loop=8, m=16, k=2048, n=128)], "g.json")
    graph = rebuild_saved.build(entry.graph)
    case, _ = judge_task.case_of(graph, w.program, w.text, w.function, device("sm_90"))
    stages = {}
    for target in ("sm_90", "sm_89"):
        made = judge_task.with_module(case, device(target))
        assert made.module and broken_rule(made.mugraph, Limits.of(device(target))) is None
        stages[target] = made.mugraph.kernels[0].stages
    assert stages["sm_89"] < stages["sm_90"]


def test_other_tensors_are_no_match(wanted):
    verdict = here(next(ATTENTION.graphs()), wanted(RMS))
    assert verdict.word == "REJECTED" and "MIR303" in verdict.notes[0]


def doubling(n=60):
    """A product of a tile with itself, again and again: what it computes has 2^n parts."""
    g = Kernels()
    x = g.input(16, 16)
    b = Block(g, (1, 1, 1), 1)
    t = b.input(x, (16, 16), (-1,), -1)
    for _ in range(n):
        t = b.op("matmul", [t, t], (16, 16))
    b.output(b.accum(t), (16, 16), (-1,))
    return g.output(g.custom(b)[0]).rows


def test_a_hostile_graph_ends_in_time_and_the_others_are_judged(wanted, monkeypatch):
    monkeypatch.setattr(judge_saved, "GRAPH_S", 8.0)
    right = next(RMS.graphs())
    entries = saved_files.entries(json.loads(json.dumps([right, doubling(), "no graph", right])), "g.json")
    found = list(judge_saved.judged(entries, "g.json", [wanted(RMS)], cores=2))
    assert [j.word for j in found] == ["TESTED", "INVALID", "INVALID", "TESTED"]
    assert found[1].row.code in ("MIR400", "MIR401", "MIR405", "MIR309", "MIR313") and "graph 1" in found[1].row.why
    assert found[2].row.code == "MIR313" and found[3].same_as == 0


def test_a_file_has_an_end(wanted, monkeypatch):
    monkeypatch.setattr(judge_saved, "FILE_S", 0.0)
    entries = saved_files.entries(json.loads(json.dumps(list(RMS.graphs())[:2])), "g.json")
    found = list(judge_saved.judged(entries, "g.json", [wanted(RMS)]))
    assert [(j.word, j.row.code) for j in found] == [("INVALID", "MIR401")] * 2 and "not judged" in found[0].row.why


# ---- the command line
def mirage(*args):
    done = CliRunner().invoke(main, list(map(str, args)), prog_name="mirage")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    (folder / "rms.py").write_text(RMS.source)
    right, wrong = list(RMS.graphs()), next(RMS.graphs("no norm"))
    save(folder / "right.json", right[:2])
    save(folder / "mixed.json", [right[0], wrong, attention("2025"), [{"op_type": "kn_conv_op"}], right[0]])
    save(folder / "old.json", checkpoint(attention()))
    (folder / "broken.json").write_text(json.dumps(right)[:500])
    return folder


def test_import_lists_a_file(folder):
    done = mirage("import", folder / "old.json")
    assert done.exit_code == 0, done.stderr
    assert "blocks 2x2x1, loop 4: matmul exp reduction matmul accum accum" in done.stdout
    assert "float16[2, 32, 16], float16[2, 16, 64], float16[2, 64, 16] -> float16[2, 32, 16]" in done.stdout
    assert "1 graphs, 1 valid, 1 structures" in done.stdout
    done = mirage("import", folder / "mixed.json", "--json")
    data = json.loads(done.stdout)
    assert done.exit_code == 3 and [g["valid"] for g in data["graphs"]] == [True, True, True, False, True]
    assert data["graphs"][3]["code"] == "MIR313" and "kn_conv_op" in data["graphs"][3]["why"]
    assert data["graphs"][0]["structure"] == data["graphs"][4]["structure"] != data["graphs"][1]["structure"]


def test_verify_gives_each_graph_a_verdict(folder):
    done = mirage("verify", folder / "rms.py", "--mugraphs", folder / "mixed.json", "--json")
    data = json.loads(done.stdout)
    assert done.exit_code == 3 and data["links"] == ["algebra", "schedule"]
    assert [g["word"] for g in data["graphs"]] == ["TESTED", "REJECTED", "REJECTED", "INVALID", "TESTED"]
    assert data["graphs"][4]["same_as"] == 0 and data["counts"]["REJECTED"] == 2
    assert data["graphs"][0]["verdict"]["links"]["algebra"]["word"] == "PROVED"
    evidence = data["graphs"][1]["verdict"]["evidence"]
    shown = next(e["counterexample"] for e in evidence if (e["opinion"], e["link"]) == ("field", "algebra"))
    assert shown["expected"] != shown["actual"]


def test_a_checkpoint_has_its_program(folder):
    """As computation_graph; a graph that a script writes with to_json is a program too."""
    file = save(folder / "whole.json", checkpoint(attention(), program=softmax_product()))
    done = mirage("verify", file, "--mugraphs", file)
    assert done.exit_code == 0 and "1 graphs: 1 TESTED" in done.stdout, (done.stdout, done.stderr)
    program = save(folder / "program.json", softmax_product(t=32))
    done = mirage("verify", program, "--mugraphs", file)
    assert done.exit_code == 3 and "MIR303" in done.stdout
    done = mirage("verify", save(folder / "two.json", [rms_linear(), rms_linear()]), "--mugraphs", file)
    assert done.exit_code == 1 and done.stderr.startswith("MIR312 ")


def test_a_graph_is_judged_against_the_row_of_sizes_that_it_takes(folder):
    rows = ", ".join(f'[(({m}, 64), "fp16"), ((64, 64), "fp16")]' for m in (8, 4, 2))
    head, _, body = RMS.source.partition("@mirage")
    (folder / "rows.py").write_text(f"{head}@mirage.optimize(inputs=[{rows}])\n" + body[body.index("def ") :])
    done = mirage("verify", folder / "rows.py", "--mugraphs", folder / "right.json")
    assert done.exit_code == 0 and "2 TESTED" in done.stdout, (done.stdout, done.stderr)


def test_verify_says_what_it_judged(folder):
    done = mirage("verify", f"{folder / 'rms.py'}::rms_linear", "--mugraphs", folder / "right.json")
    assert done.exit_code == 0, (done.stdout, done.stderr)
    assert "graph 1: TESTED (bound" in done.stdout and "algebra PROVED, schedule TESTED" in done.stdout
    assert "2 graphs: 2 TESTED; links judged: algebra, schedule" in done.stdout


def test_mistakes(folder):
    for args in (
        ("import", folder / "broken.json"),
        ("verify", folder / "rms.py", "--mugraphs", folder / "broken.json"),
    ):
        done = mirage(*args)
        assert (done.exit_code, done.stdout) == (1, "") and done.stderr.startswith("MIR312 "), done.stderr
    assert mirage("verify", folder / "rms.py").exit_code == 2
    assert mirage("verify", folder / "rms.py", "x.py", "--mugraphs", folder / "right.json").exit_code == 2
    assert mirage("verify", folder / "rms.py", folder / "rms.py", "--text").exit_code == 2
    done = mirage("verify", folder / "rms.py", "--mugraphs", folder / "right.json", "--target", "sm_1")
    assert done.exit_code == 1 and done.stderr.startswith("MIR") and "sm_1" in done.stderr
