"""The certificate of what `mirage verify` proved, written and replayed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirage.certificates import lean
from mirage.certificates.certificate import (
    NoCertificate,
    Side,
    Statement,
    certificate,
    of_case,
    of_functions,
    resealed,
)
from mirage.cli.named_text import write_text
from mirage.cli.verify import structure_of
from mirage.results.certificate import CertificateState
from mirage.verify import cases
from mirage_certificate.certificate import check
from mirage_certificate.polynomials import Refused

if TYPE_CHECKING:
    from mirage.cli.judged_row import JudgedRow
    from mirage.cli.verify_subjects import Subject
LEAN_PROJECT = "MIRAGE_LEAN_PROJECT"  # a folder with a Lake project that has Mathlib


def written(verdicts: JudgedRow, path: str, lean_path: str | None) -> CertificateState:
    """Writes the certificate of every row that was judged, and its Lean text where that is asked for, and says where they are;
    or why there is none."""
    try:
        first, second = (_side(s) for s in verdicts.subjects[0])
        statements = [
            _statement(*s, v.word_of("algebra")) for s, (_, v) in zip(verdicts.subjects, verdicts.rows, strict=True)
        ]
        data = certificate(first, second, statements)
        lean_file, said = ("", "") if lean_path is None else _lean(data, lean_path)
        if said:
            data = resealed({**data, "lean": said})
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
        found = check(text.encode(), first.file, second.file)
    except (NoCertificate, Refused) as e:
        return CertificateState(why=str(e))
    write_text(Path(path), text)
    return CertificateState(
        path, equations=len(found), steps=sum(e.steps for e in found), conditions=sum(e.conditions for e in found),
        lean=lean_file, lean_checked=said,
    )  # fmt: skip


def _lean(data: dict[str, Any], path: str) -> tuple[str, str]:
    """Writes the Lean text of a certificate: (the file, "" if none was written; what Lean says of it, or why nothing)."""
    try:
        write_text(Path(path), lean.text(data))
    except lean.NoLean as e:
        return "", f"not written: {e}"
    return path, lean.checked(Path(path), os.environ.get(LEAN_PROJECT, ""))


def _side(s: Subject) -> Side:
    if s.kind == "kernels":
        raise NoCertificate("Triton text without a µGraph is tested, not proved")
    return Side(s.kind, s.label, Path(s.label.partition("::")[0]).read_bytes())


def _statement(left: Subject, right: Subject, word: str | None) -> Statement:
    if word != "PROVED":
        raise NoCertificate("the algebra was not proved")
    if left.program is not None and right.kind == "function":
        assert right.program is not None
        return of_functions(left.program, right.program)
    graph = structure_of(left, right) if right.kind == "module" else right.mugraph
    assert graph is not None
    if left.program is not None:
        return of_case(cases.of_program(left.program, graph, right.module, left.text, left.function), graph)
    assert left.mugraph is not None
    return of_case(cases.of_mugraph(left.mugraph, graph, right.module), graph)
