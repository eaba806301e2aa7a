"""Mistakes as a SARIF 2.1.0 log, which code hosts show beside the lines that it names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

from mirage.errors import MirageError
from mirage.results.versions import package_versions

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def log(problems: Sequence[MirageError]) -> str:
    """The log of one run; every code that occurs is a rule of it."""
    codes = sorted({p.code for p in problems})
    driver = {
        "name": "mirage",
        "version": package_versions()["mirage-superoptimizer"],
        "rules": [_rule(MirageError.registry[c]) for c in codes],
    }
    results = [_result(p, codes.index(p.code)) for p in problems]
    data = {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(data, indent=1) + "\n"


def _rule(error: type[MirageError]) -> dict[str, object]:
    return {
        "id": error.code,
        "name": error.__name__,
        "shortDescription": {"text": error.title},
        "help": {"text": error.default_next_step},
    }


def _result(problem: MirageError, rule: int) -> dict[str, object]:
    text = f"{problem.message} -> {problem.next_step}"
    found: dict[str, object] = {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": text},
    }
    if problem.path:
        where: dict[str, object] = {"artifactLocation": {"uri": quote(PurePath(problem.path).as_posix())}}
        if problem.line:
            where["region"] = {"startLine": problem.line}
        found["locations"] = [{"physicalLocation": where}]
    return found
