"""The benchmark of the quickstart's files, on small ones: a right file passes, and one with any fault does not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from forked_python import ForkedPython

import mirage as mi

ROOT = Path(__file__).resolve().parents[2]
SHAPES = ((2, 32, 16), (2, 16, 128), (2, 128, 16))
RUN = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import original
print(json.dumps([original.run(Path(p), tuple(map(tuple, json.loads(sys.argv[2])))) for p in sys.argv[3:]]))
"""
# Name: (what of the text, its replacement, what the benchmark says).
FAULTS = {
    "another exponential": (r"tl\.exp\(", "tl.exp2(", "normal: error"),
    "scores in float16": (r"(\w+ = tl\.dot\(.*\))", r"\1.to(tl.float16).to(tl.float32)", ": error"),
    "no shift": (r"tl\.maximum\((\w+), \w+\)", r"tl.minimum(\1, 0.0)", ": not finite"),
    "past the end": (r"pid_m \* \(N \* K\)", "(pid_m + 1) * (N * K)", "OutOfBounds"),
    "another name": (r"def program\(", "def other(", "AttributeError"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    g = mi.new_graph()
    Q, K, V = (g.new_input(dims=s, dtype=mi.float16) for s in SHAPES)
    E = g.exp(g.matmul(Q, K))
    g.matmul(g.div(E, g.reduction(E, 2)), V)
    (found,) = mi.superoptimize(g, griddims=[(2, 2, 2)], max_num_new_graphs=1)
    path = tmp_path_factory.mktemp("files") / "right.py"
    found.generate_triton_program(str(path))
    return path


def test_a_right_file_passes_and_a_wrong_one_does_not(written: Path, forked_python: ForkedPython) -> None:
    text, paths = written.read_text(), [written]
    for name, (what, instead, _) in FAULTS.items():
        wrong = re.sub(what, instead, text)
        assert wrong != text, name
        paths.append(written.with_name(f"{name}.py"))
        paths[-1].write_text(wrong)
    done = forked_python.run("-c", RUN, ROOT / "benchmarks", json.dumps(SHAPES), *paths)
    assert done.returncode == 0, done.stderr
    (worst, why), *wrong_ones = json.loads(done.stdout)
    assert why == "" and 0 < worst < 1
    for (_, why), (name, (_, _, said)) in zip(wrong_ones, FAULTS.items(), strict=True):
        assert said in why, (name, why)
