"""Wrong programs planted in the cache and in a colleague's file: never served."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
from mutants import map_ops
from mutants.bases import Base
from mutants.certify import wrong_mugraph

from daemonbench.process import TEXT, Row, row
from mirage.errors import MirageError
from mirage.mugraph import json_form
from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import Tools
from mirage.pipeline.recheck_task import recheck
from mirage.pipeline.request import Request, read, trace
from mirage.pipeline.search_problems import problem
from mirage.program.lower import lower
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken
from mirage.results.result import Result
from mirage_daemon import question_key
from mirage_daemon.cache_store import SqliteStore, load_secret

TRIES = 200
FUNCTIONS = {  # what the file says that the µGraph computes
    "softmax(x, dim=-1)": (
        "softmax(x * 2, dim=-1)",
        "log_softmax(x, dim=-1)",
        "softmax(x, dim=0)",
        "relu(x)",
        "exp(x)",
    ),
}


def in_the_cache(tries: int) -> Iterator[Row]:
    """Rows that are right in all but the MAC: written by somebody who knows the schema, the key and SHA-256."""
    chance, served = random.Random(1), 0
    question = question_key.key(question_key.ask(TEXT, "a.py", "f", "sm_90", ""))
    place = question_key.result_key(question, "p")
    wrong = msgpack.packb(["done", unstructure(Result("f", "kernel", "", (), "p", source="wrong")), {}])
    with tempfile.TemporaryDirectory(prefix="mirage-bench-") as name:
        folder = Path(name)
        SqliteStore(folder).close()
        secret = load_secret(folder / "cache.key")
        for i in range(tries):
            forged = {
                0: b"", 1: bytes(32), 2: chance.randbytes(32), 3: hashlib.sha256(wrong).digest(),
                4: hashlib.sha256(secret[:31] + wrong).digest(), 5: chance.randbytes(chance.randrange(64)),
            }[i % 6]  # fmt: skip
            db = sqlite3.connect(folder / "cache-v1.sqlite", isolation_level=None)
            for kind, key, value in (("alias", question, place), ("result", place, wrong)):
                values = (kind, key, hashlib.sha256(value).digest(), forged, 1.0, 1.0, len(value), value)
                db.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            db.close()
            store = SqliteStore(folder)
            served += store.get("alias", question) is not None or store.get("result", place) is not None
            store.close()
        store = SqliteStore(folder)
        store.put("result", place, wrong)  # the twin: what this daemon wrote is served
        twin = store.get("result", place) == wrong
        store.close()
    yield row("planted in the cache: tries", tries, "")
    yield row("planted in the cache: served", served, "", "== 0")
    yield row("written by the daemon: served", float(twin), "", "== 1")


def wrongs(good: Any, text: str) -> Iterator[tuple[str, str, Any]]:
    """(what is wrong, the text, the µGraph's JSON): another function, or a mutated µGraph."""
    data = json_form.to_json(good)
    for old, others in FUNCTIONS.items():
        for new in others:
            yield f"{old} -> {new}", text.replace(old, new), data
    for old, new in (("16, 64", "16, 65"), ("16, 64", "32, 64"), ("fp16", "bf16"), ("fp16", "fp32")):
        yield f"{old} -> {new}", text.replace(old, new), data
    mutants = [(n, m) for n, m in map_ops.mutants(good)]
    random.Random(3).shuffle(mutants)
    for name, mutant in mutants:
        yield name, text, json_form.to_json(mutant)
    for i, (name, mutant) in enumerate(mutants * 2):  # and wrong twice over
        (old, others), *_ = FUNCTIONS.items()
        new = others[i % len(others)]
        yield f"{name}, {new}", text.replace(old, new), json_form.to_json(mutant)


def in_a_file(tries: int) -> Iterator[Row]:
    """What an import does with each: `recheck`, and an entry only if that gives a kernel. A changed µGraph that is taken
    over may be right all the same: then float64 says so, by code that is not the verifier's, and it is set aside."""
    refused = equal = wrong = 0
    with Tools() as tools:
        request = Request(TEXT, "a.py", "f")
        found = optimize(request, lambda p: None, CancelToken(), tools)
        good = json_form.from_json(json.loads(json.dumps(found.mugraphs[0])))
        program = trace(read(request), "a.py", tools.runner, CancelToken())
        meant = problem(program, lower(program))
        base = Base("f", meant.t, meant.outputs, good, found.source)  # type: ignore[arg-type]
        for name, text, data in wrongs(good, TEXT):
            if refused + wrong == tries:
                break
            given = json.loads(json.dumps(data))
            try:
                recheck(Request(text, "a.py", "f"), given, lambda p: None, CancelToken(), tools)
            except MirageError:
                refused += 1
                continue
            if text == TEXT and wrong_mugraph(base, json_form.from_json(given)) == "equivalent":
                equal += 1
                continue
            print(f"taken over: {name}")
            wrong += 1
    yield row("in an imported file: tries", refused + wrong, "", f">= {tries}")
    yield row("in an imported file: served", wrong, "", "== 0")
    yield row("in an imported file: changed but right, set aside", equal, "")


def rows(tries: int = TRIES) -> Iterator[Row]:
    yield from in_the_cache(tries)
    yield from in_a_file(tries)
