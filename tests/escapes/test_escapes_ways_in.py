"""Each way in runs what it plants in an interpreter that is started without a sandbox, and an environment without one runs nothing."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

import pytest

from escapes.ways_in import GROUPS, WAYS

# What a job does with an environment: start its interpreter, import torch, load what extends it.
JOB = f"""
import importlib.metadata as m
try:
    import torch
except ImportError:
    pass
for group in {GROUPS!r}:
    for point in m.entry_points(group=group):
        point.load()
"""


def job(environment: Path) -> None:
    subprocess.run([environment / "bin" / "python", "-c", JOB], check=True)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    venv.create(tmp_path / "environment", symlinks=True, with_pip=False)
    return tmp_path / "environment"


@pytest.mark.parametrize("way", WAYS)
def test_a_way_in_runs_what_it_plants(way: str, environment: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    WAYS[way](environment, f"open({str(mark)!r}, 'a').close()\n")
    assert not mark.exists()
    job(environment)
    assert mark.exists()


def test_an_environment_without_one_runs_nothing(environment: Path, tmp_path: Path) -> None:
    job(environment)
    assert [p.name for p in tmp_path.iterdir()] == ["environment"]
