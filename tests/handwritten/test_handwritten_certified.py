"""Triton's interpreter confirms handwritten kernels: right ones agree with their functions, and the faults show.

A sample; `python -m handwritten.certify` and `python -m handwritten.compiles`, in the folder tests/, take all.
"""

from __future__ import annotations

from pathlib import Path

from forked_python import ForkedPython

TESTS = Path(__file__).resolve().parents[1]
SAMPLE = ("vector_add", "softmax_rows", "matmul_block_ptr", "matmul_descriptor", "matmul_atomic", "rms_norm_residual")


def test_a_sample_is_certified(forked_python: ForkedPython) -> None:
    """In a process of its own: triton must be imported for the interpreter."""
    done = forked_python.run("-m", "handwritten.certify", *SAMPLE, cwd=TESTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(SAMPLE)} cases, not certified: none" in done.stdout


def test_a_sample_compiles(forked_python: ForkedPython) -> None:
    done = forked_python.run("-m", "handwritten.compiles", *SAMPLE, "elementwise_chain", cwd=TESTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(SAMPLE) + 1} cases, not compiled: none" in done.stdout


def test_what_does_not_compile_is_named(forked_python: ForkedPython) -> None:
    code = (
        "from dataclasses import replace\n"
        "from handwritten.compiles import uncompiled\n"
        "from handwritten.case import case\n"
        "row = replace(case('softmax_rows'), faults=())\n"
        "print(uncompiled(row), uncompiled(replace(row, module=row.module.replace('tl.max(row, axis=0)', 'tl.max(row, axis=1)'))))\n"
    )
    done = forked_python.run("-c", code, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[] ['softmax_rows']"


def test_neither_label_is_given_to_whatever_runs(forked_python: ForkedPython) -> None:
    """With a fault's module in the right one's place, and the right one in the fault's, neither is certified."""
    code = (
        "from dataclasses import replace\n"
        "from handwritten.certify import uncertified\n"
        "from handwritten.case import Fault, case\n"
        "row = case('softmax_rows')\n"
        "fault = row.faults[0]\n"
        "same = Fault('same', 'nothing is wrong', ())\n"
        "print(uncertified(replace(row, module=row.wrong(fault), faults=())), uncertified(replace(row, faults=(same,))))\n"
    )
    done = forked_python.run("-c", code, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['softmax_rows'] ['softmax_rows/same']"
