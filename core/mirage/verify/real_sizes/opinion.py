"""The opinion on a Triton module that carries no µGraph: its text at its real sizes beside the function."""

from __future__ import annotations

import time
from typing import Any, cast

from mirage.ir.program import ASSUMED, Program
from mirage.results.verdict import Counterexample, Evidence, Verdict, Word
from mirage.verify.worker_tasks import RealPayload, RunTask, run_at_real_sizes


def judge_written(
    program: Program, text: str, function: str, module: str, public: str, run_task: RunTask, undefined: bool = False
) -> Verdict:
    """The verdict on `module`, whose function `public` is to compute `program`, the trace of `function` in `text`. `undefined`: where
    the function gives NaN of finite inputs it may give a number."""
    start = time.perf_counter()
    payload: RealPayload = {
        "module": module,
        "public": public,
        "program": cast(dict[str, Any], program.to_dict()),
        "text": text,
        "function": function,
        "undefined": undefined,
    }
    answer = run_at_real_sizes(run_task, payload)
    shown, line = answer["shown"], answer["line"]
    counterexample = (
        Counterexample("float", shown["output"], tuple(shown["index"]), shown["want"], shown["got"])
        if shown is not None
        else None
    )
    evidence = Evidence(
        link="text", opinion="float", word=cast(Word, answer["word"]),
        summary=(f"line {line}: " if line else "") + answer["summary"],
        seconds=time.perf_counter() - start, counterexample=counterexample,
    )  # fmt: skip
    assumed = [f"{ASSUMED}{x}" for x in answer["notes"]]
    questions = [a.words for a in program.assumptions if a.kind != "size"]
    return Verdict((evidence,), len(program.outputs), "these sizes", (*questions, *assumed))
