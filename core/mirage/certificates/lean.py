"""The algebra of a certificate as Lean 4 text over Mathlib: the laws proved once over the reals, each step an application.

Functions are total in Lean as they are in the checker (1/0 is 0), so a step's only hypotheses are the denominators that it multiplies
out. Axes run over the integers from 0 to a length. Every step states the difference before and after it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from mirage_certificate.certificate import SCOPES
from mirage_certificate.laws import CLEARED
from mirage_certificate.polynomials import Book, Mono, Poly
from mirage_certificate.reading import Table
from mirage_certificate.replay import Step, applied, known

NOT_CHECKED, CHECKED = "not checked", "checked by Lean"
SECONDS = 600.0


class NoLean(Exception):
    """The certificate has no Lean text, and why."""


# Of each law: its statement and proof. Letters of axes are finite sets of index tuples, read one axis at a time.
LEMMAS: dict[str, str] = {
    "sum of a sum": "(s : Finset ℤ) (a b : ℤ → ℝ) : ∑ k ∈ s, (a k + b k) = ∑ k ∈ s, a k + ∑ k ∈ s, b k := Finset.sum_add_distrib",
    "factor of a sum": "(s : Finset ℤ) (c : ℝ) (a : ℤ → ℝ) : ∑ k ∈ s, c * a k = c * ∑ k ∈ s, a k := (Finset.mul_sum s a c).symm",
    "exponential of a sum": "(a b : ℝ) : Real.exp (a + b) = Real.exp a * Real.exp b := Real.exp_add a b",
    "exponential of a multiple": "(n : ℤ) (a : ℝ) : Real.exp (n * a) = Real.exp a ^ n := Real.exp_int_mul a n",
    "inverse of a product": "(a b : ℝ) : (a * b)⁻¹ = a⁻¹ * b⁻¹ := mul_inv a b",
    "square of a root": "(a : ℝ) (h : 0 ≤ a) : Real.sqrt a ^ 2 = a := Real.sq_sqrt h",
    "square of an absolute value": "(a : ℝ) : |a| ^ 2 = a * a := by rw [sq_abs, sq]",
    "sigmoid": "(a : ℝ) : sigmoid a = (1 + Real.exp (-a))⁻¹ := rfl",
    "logarithm of an exponential": "(a : ℝ) : Real.log (Real.exp a) = a := Real.log_exp a",
    "exponential of a logarithm": "(a : ℝ) (h : 0 < a) : Real.exp (Real.log a) = a := Real.exp_log h",
    "logarithm of a product": "(a b : ℝ) (h : 0 < a) (g : 0 < b) : Real.log (a * b) = Real.log a + Real.log b := "
    "Real.log_mul h.ne' g.ne'",
    "root of an exponential": "(a : ℝ) : Real.sqrt (Real.exp a) = Real.exp (a / 2) := by rw [Real.exp_half]",
    "root of a square": "(a : ℝ) : Real.sqrt (a * a) = |a| := Real.sqrt_mul_self_eq_abs a",
    "root of a product": "(a b : ℝ) (h : 0 ≤ a) : Real.sqrt (a * b) = Real.sqrt a * Real.sqrt b := Real.sqrt_mul h b",
    "root of an inverse": "(a : ℝ) : Real.sqrt a⁻¹ = (Real.sqrt a)⁻¹ := Real.sqrt_inv a",
    "what is not negative": "(a : ℝ) (h : 0 ≤ a) : |a| = a := abs_of_nonneg h",
    "what is not positive": "(a : ℝ) (h : 0 ≤ -a) : |a| = -a := abs_of_nonpos (by linarith)",
    "absolute value of a product": "(a b : ℝ) : |a * b| = |a| * |b| := abs_mul a b",
    "the greater of two": "(a b : ℝ) (h : 0 ≤ a - b) : max a b = a := max_eq_left (by linarith)",
    "odd sine": "(a : ℝ) : Real.sin (-a) = -Real.sin a := Real.sin_neg a",
    "even cosine": "(a : ℝ) : Real.cos (-a) = Real.cos a := Real.cos_neg a",
    "guard of a number": "(a : ℝ) : guard a = a := rfl",
    CLEARED: "(p d : ℝ) (h : p ≠ 0) (e : p * d = 0) : d = 0 := (mul_eq_zero.mp e).resolve_left h",
}
FUNCTIONS = {
    "log": "Real.log", "sin": "Real.sin", "cos": "Real.cos", "tanh": "Real.tanh", "maximum": "max", "minimum": "min",
    "sigmoid": "sigmoid", "abs": "abs", "finite": "guard", "lt": "less", "le": "atMost", "eq": "equal", "where": "choose",
    "and": "both", "or": "either", "not": "negation",
}  # fmt: skip
HEAD = """import Mathlib

open Finset BigOperators

noncomputable section
namespace Certificate

def sigmoid (a : ℝ) : ℝ := (1 + Real.exp (-a))⁻¹
def guard (a : ℝ) : ℝ := a
def less (a b : ℝ) : ℝ := if a < b then 1 else 0
def atMost (a b : ℝ) : ℝ := if a ≤ b then 1 else 0
def equal (a b : ℝ) : ℝ := if a = b then 1 else 0
def choose (c a b : ℝ) : ℝ := if c ≠ 0 then a else b
def both (a b : ℝ) : ℝ := if a ≠ 0 ∧ b ≠ 0 then 1 else 0
def either (a b : ℝ) : ℝ := if a ≠ 0 ∨ b ≠ 0 then 1 else 0
def negation (a : ℝ) : ℝ := if a = 0 then 1 else 0
/-- The largest value below a length. -/
def largest (n : ℤ) (f : ℤ → ℝ) : ℝ := sSup (f '' Set.Ico 0 n)
"""


def word(text: str) -> str:
    """A name as Lean takes it."""
    return "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" if c != "_" else "_" for c in text)


@dataclass
class Printer:
    """Polynomials of one book as Lean text; `tensors` collects what is read, with the number of its dimensions."""

    book: Book
    tensors: dict[str, int] = field(default_factory=dict)

    def polynomial(self, p: Poly) -> str:
        return " + ".join(self.monomial(m, c) for m, c in sorted(p)) or "(0 : ℝ)"

    def monomial(self, m: Mono, c: Fraction) -> str:
        number = f"({c.numerator} / {c.denominator} : ℝ)" if c.denominator != 1 else f"({c.numerator} : ℝ)"
        parts = [number] if c != 1 or not m else []
        return " * ".join([*parts, *(self.atom(a) + (f" ^ ({e} : ℤ)" if e != 1 else "") for a, e in m)])

    def index(self, axes: Sequence[str], offset: int = 0) -> str:
        """Several axes, row-major, as one integer."""
        out = ""
        for a in axes:
            out = f"({out} * n_{word(a)} + i_{word(a)})" if out else f"i_{word(a)}"
        return f"({out or '0'} + ({offset}))" if offset else out or "(0 : ℤ)"

    def atom(self, a: int) -> str:
        kind, *rest = self.book.atoms[a]
        match kind:
            case "in":
                name, *places = rest
                self.tensors[f"t_{word(name)}"] = len(places)
                return (
                    f"(t_{word(name)} {' '.join(self.index(axes, o) for axes, o in places)})"
                    if places
                    else f"t_{word(name)}"
                )
            case "lit":
                return f"({rest[0]} : ℝ)"
            case "size":
                return f"(n_{word(rest[0])} : ℝ)"
            case "index":
                return f"(({self.index(rest[0])} : ℤ) : ℝ)"
            case "inv":
                return f"({self.polynomial(rest[0])})⁻¹"
            case "exp" | "sqrt":
                return f"(Real.{kind} ({self.polynomial(rest[0])}))"
            case "sum" | "max":
                return self._bound(kind, *rest)
            case "fn":
                return f"({self._function(rest[0])} {' '.join(f'({self.polynomial(x)})' for x in rest[1:])})"
        raise NoLean("what may be -inf is no real number")

    def _function(self, name: str) -> str:
        if name not in FUNCTIONS:
            self.tensors[f"f_{word(name)}"] = -1
        return FUNCTIONS.get(name, f"f_{word(name)}")

    def _bound(self, kind: str, axes: frozenset[str], p: Poly) -> str:
        text = self.polynomial(p)
        for a in sorted(axes, reverse=True):
            w = word(a)
            over = f"∑ i_{w} ∈ Finset.Ico (0 : ℤ) n_{w}, ({text})"
            text = over if kind == "sum" else f"largest n_{w} (fun i_{w} => {text})"
        return f"({text})"


def text(data: dict[str, Any]) -> str:
    """The Lean text of a certificate that was replayed. Raises NoLean."""
    body: list[str] = []
    used: dict[str, None] = {}
    for i, row in enumerate(data["rows"]):
        if row["scope"] != SCOPES[0]:
            raise NoLean("it is for these sizes alone")
        book = Book(name for name, dtype, _ in row["inputs"] if dtype == "bool")
        table = Table(book, row["axes"], {name: rank for name, _, rank in row["inputs"]})
        for term in row["terms"]:
            table.add(term)
        for e in row["equations"]:
            steps = [table.step(s) for s in e["steps"]]
            used |= dict.fromkeys(s.law for s in steps)
            conditions = [*table.conditions(e["first"]), *table.conditions(e["second"])]
            name = f"row{i}_{word(e['shows'])}"
            difference = book.minus(table.terms[e["first"]], table.terms[e["second"]])
            body += theorem(Printer(book), name, difference, steps, known(conditions, frozenset(), book))
    missing = [law for law in used if law not in LEMMAS]
    if missing:
        raise NoLean(f"no proof over the reals is at hand of {', '.join(missing)}")
    laws = [f"theorem law_{word(law)} {LEMMAS[law]}" for law in used]
    return "\n".join([HEAD, *laws, "", *body, "end Certificate", ""])


def theorem(printer: Printer, name: str, difference: Poly, steps: Sequence[Step], facts: Any) -> list[str]:
    """The theorem that a difference is zero: a statement before and after each step, and how the step leads there."""
    book, here = printer.book, difference
    states = [difference]
    for s in steps:
        here = applied(book, here, s, facts)
        states.append(here)
    lines, given = ["  ring_nf"] if not steps else [], list[str]()
    for i, s in enumerate(steps):
        before, after, at = (printer.polynomial(p) for p in (states[i], states[i + 1], s.at))
        if s.law == CLEARED:
            (below,) = (kid for a in [book.only(s.at) or 0] for kid in book.atoms[a][1:])
            given.append(f"(h{i} : {printer.polynomial(below)} ≠ 0)")
            lines += [
                f"  have s{i} : {after} = 0 → {before} = 0 := by",
                "    intro e",
                f"    field_simp [h{i}] at e ⊢",
                "    linarith [e]",
            ]
        else:
            new = printer.polynomial(applied(book, s.at, s, facts))
            free = "".join(f" i_{word(a)}" for a in sorted(book.axes(s.at)))
            lines += [
                f"  have l{i} :{f' ∀{free} : ℤ,' if free else ''} {at} = {new} := by",
                f"    intros; simp only [law_{word(s.law)}, Finset.sum_add_distrib, Finset.mul_sum]; ring_nf",
                f"  have s{i} : {after} = 0 → {before} = 0 := by",
                f"    intro e; simp only [l{i}]; ring_nf at e ⊢; linarith [e]",
            ]
    claim = printer.polynomial(difference)
    end = " ".join(f"(s{i}" for i in range(len(steps))) + (" rfl" if steps else "") + ")" * len(steps)
    axes = sorted({a for x in range(len(book.atoms)) for a in book.free[x]})
    head = [f"(n_{word(a)} i_{word(a)} : ℤ)" for a in axes]
    head += [f"({t} : {'ℤ → ' * n}ℝ)" if n >= 0 else f"({t} : ℝ → ℝ)" for t, n in printer.tensors.items()]
    return [
        f"theorem {name} {' '.join([*head, *given])} :\n    {claim} = 0 := by",
        *lines,
        *([f"  exact {end}"] if steps else []),
        "",
    ]


def checked(path: Path, project: str) -> str:
    """What Lean says of a text: CHECKED, or why it was not checked. `project`: a folder whose Lake project has Mathlib."""
    lake = shutil.which("lake")
    if lake is None or not project:
        return f"{NOT_CHECKED}: no Lean toolchain with Mathlib is at hand"
    try:
        done = subprocess.run(
            [lake, "env", "lean", str(path.resolve())], cwd=project, capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"{NOT_CHECKED}: {type(e).__name__}"
    said = re.sub(r"\s+", " ", done.stdout + done.stderr).strip()
    return CHECKED if done.returncode == 0 and "sorry" not in said else f"{NOT_CHECKED}: Lean refuses it: {said[:200]}"
