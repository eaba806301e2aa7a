"""The pages make a site: every link and anchor leads somewhere, every page is in its menu, and its search knows the questions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = (
    "My function is a method",
    "Which kernel runs",
    "How do I check it again",
    "Why is it not faster",
    "Is my code sent anywhere",
)


def build(config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(config), "--site-dir", str(out)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)


def test_the_site_builds_and_is_searchable(tmp_path: Path) -> None:
    done = build(ROOT / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text("utf-8"))
    where = {entry["title"]: entry["location"] for entry in index["docs"]}
    for question in QUESTIONS:
        assert where[question].startswith("questions/#"), question


def test_each_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "vscode-extension" / "media", tmp_path / "vscode-extension" / "media")
    shutil.copy(ROOT / "vscode-extension" / "README.md", tmp_path / "vscode-extension")
    page, nowhere = (
        tmp_path / "docs" / "questions.md",
        ("nowhere.md", "search.md#no-such-heading", "../core/mirage/errors.py"),
    )
    page.write_text("\n".join([page.read_text("utf-8"), *(f"[gone]({link})\n" for link in nowhere)]), "utf-8")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    said = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    assert done.returncode == 1 and len(said) == len(nowhere), done.stderr
    assert all(any(link in line and "questions.md" in line for line in said) for link in nowhere), said
