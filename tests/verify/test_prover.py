"""What the prover proves and what it must not: laws with their side conditions, division by zero, roots of negatives."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import count

import pytest
from mutants.equal_pairs import read

from mirage.ir.index import DimIndex
from mirage.meaning.laws import SOLVER
from mirage.meaning.normal_form import Normalizer
from mirage.meaning.terms import Terms
from mirage.operators.signs import NONNEGATIVE, POSITIVE
from mirage.verify.proof.prover import Proof, Prover
from mirage.verify.proof.signs import SignAnalysis
from mirage.verify.proof.smt import Query
from mirage.verify.proof.work_budget import STEP, WORK, WorkBudget

pytestmark = pytest.mark.usefixtures("well_formed")


def proof(text: str, *, both: bool = False, **options: object) -> Proof | None:
    t = Terms()
    left, right = text.split(" = ")
    return Prover(t, **options).equal(read(t, left), read(t, right), both=both)  # type: ignore[arg-type]


EQUAL = {
    "a * sigmoid(a) = a / (1 + exp(-a))": "axioms",
    "sqrt(abs(a)) * sqrt(abs(b)) = sqrt(abs(a * b))": "axioms",
    "sqrt(exp(a)) = exp(a / 2)": "axioms",
    "sqrt(a * a * b * b) = abs(a) * abs(b)": "axioms",
    "log(exp(a) * exp(b)) = a + b": "axioms",
    "log(S(k, exp(x))) = r + log(S(k, exp(x - r)))": "axioms",
    "log(S(k, exp(x))) = M(k, x) + log(S(k, exp(x - M(k, x))))": "axioms",
    "exp(x - log(S(k, exp(x)))) = exp(x) / S(k, exp(x))": "axioms",
    "S(k, max(x, 0)) = S(k, (x + abs(x)) / 2)": "axioms",
    "M(k, x + r) = M(k, x) + r": "axioms",
    "M(k, exp(x)) = exp(M(k, x))": "axioms",
    "max(exp(a), exp(b)) = exp(max(a, b))": "axioms",
    "max(tanh(a), tanh(b)) = tanh(max(a, b))": "axioms",
    "M(k, sigmoid(x)) = sigmoid(M(k, x))": "axioms",
    "M(k, sqrt(x * x + 1)) = sqrt(M(k, x * x + 1))": "axioms",
    "sin(2 * a) = 2 * sin(a) * cos(a)": "axioms",
    "cos(2 * a) = 1 - 2 * sin(a) * sin(a)": "axioms",
    "max(cos(a), -2) = cos(a)": "z3",
    "log((abs(a) + 1) * (abs(b) + 1)) = log(abs(a) + 1) + log(abs(b) + 1)": "axioms",
    "exp(-log(exp(a) + 1)) = 1 / (exp(a) + 1)": "axioms",
    "exp(a) * lit(0.1353352832366127) = exp(a - 2)": "axioms",
    "log(3 * exp(a)) = a + lit(1.0986122886681098)": "axioms",
    "log(1 + exp(-abs(a))) + max(a, 0) = log(1 + exp(a))": "axioms",
    "log(a * a + 1) / log(2) * lit(0.6931471805599453) = log(a * a + 1)": "axioms",
    "M(k, M(m, x)) = M(m, M(k, x))": "normal form",
    "1 / (a * a + 1) + 1 / (b * b + 1) = (a * a + b * b + 2) / ((a * a + 1) * (b * b + 1))": "fractions",
    "exp(a) / (1 + exp(a)) = 1 / (1 + exp(-a))": "fractions",
    "S(k, exp(x) / (1 + exp(x)) * w) = S(k, w / (1 + exp(-x)))": "fractions",
    "max(a + c, b + c) = max(a, b) + c": "z3",
    "max(a, b) = (a + b + abs(a - b)) / 2": "z3",
    "max(a, max(b, c)) = max(max(a, b), c)": "z3",
    "where(lt(a, b), c, d) = where(le(b, a), d, c)": "z3",
    "sqrt(4 * a * a + 4) = 2 * sqrt(a * a + 1)": "z3",
    "S(k, max(a * a, 0) * x) = a * a * S(k, x)": "axioms",
    "where(eq(S(k, exp(x)), 0), a, b) = b": "axioms",
    "exp(a / sqrt(32)) = exp(a * lit(0.17677669529663687))": "axioms",
    "exp(a * sqrt(2500 / 49)) = exp(50 * a / 7)": "axioms",
    "exp(a / lit(20.223748416156685)) = exp(a / sqrt(409))": "axioms",
}
NOT = [
    "a * sigmoid(a) * exp(a) = 0.5 * a * (1 + erf(a * lit(0.7071067811865476)))", "max(a, 0) = a", "sqrt(a * a) = a",
    "log(a * b) = log(a) + log(b)", "log(a * a) = 2 * log(a)", "sqrt(a * a * b) = a * sqrt(b)", "x / u = x * u",
    "S(k, x) * S(k, y) = S(k, x * y)", "S(k, exp(x)) = exp(S(k, x))", "M(k, x * r) = r * M(k, x)",
    "M(k, -x) = -M(k, x)", "M(k, x + y) = M(k, x) + M(k, y)", "where(lt(a, b), c, d) = where(le(a, b), c, d)",
    "abs(a + b) = abs(a) + abs(b)", "S(k, abs(x)) = abs(S(k, x))", "sqrt(a + b) = sqrt(a) + sqrt(b)",
    "S(k, x) / N(k) = S(k, x) / 4", "S(k, x / u) = S(k, x) / S(k, u)", "tanh(a) = 2 * sigmoid(a) - 1",
    "max(a * c, b * c) = c * max(a, b)", "M(k, exp(x)) = M(k, exp(-x))", "x * w = w * x * 1.0000001",
    "a * lit(1.4142135) = a * sqrt(2)", "S(k, S(m, x)) = S(m, x)",
    "max(cos(a), cos(b)) = cos(max(a, b))", "max(exp(-a), exp(-b)) = exp(-max(a, b))", "M(k, cos(x)) = cos(M(k, x))",
    "sin(2 * a) = 2 * sin(a)", "cos(2 * a) = 1 - sin(a) * sin(a)", "max(cos(a), -0.999) = cos(a)", "max(sin(a), 0.5) = sin(a)",
    "exp(a) * lit(0.1353352832) = exp(a - 2)", "log(3 * exp(a)) = a + lit(1.09861)",
    "log(a * a + 1) / log(2) * lit(0.6931) = log(a * a + 1)", "log(1 + exp(-abs(a))) = log(1 + exp(a))",
    "max(erf(a), 0.9) = erf(a)", "where(eq(S(k, abs(x)), 0), a, b) = b", "exp(a / sqrt(32)) = exp(a * lit(0.176776695))",
    "exp(a * lit(20.223748416156685)) = exp(a * 1500319 / 74186)", "r * S(k, x * w) = u * S(k, x * w)",
]  # fmt: skip
# one side has no value where the other one has: a proof would be one of a falsehood
UNDEFINED = [
    "sqrt(a * b) = sqrt(a) * sqrt(b)", "a = sqrt(a) * sqrt(a)", "a = a * b / b", "1 + 0 * a = a / a", "a = exp(log(a))",
    "where(lt(0, a), sqrt(a), 0) = sqrt(a)", "where(lt(0, a), a / a, 1) = a / a", "(a + b) / (a * b) = 1 / (1 / a + 1 / b)",
    "1 / (sqrt(a) + sqrt(b)) = (sqrt(a) - sqrt(b)) / (a - b)", "log(a * b) = log(a) + log(b)",
    "sqrt(a / b) = sqrt(a) / sqrt(b)", "a = S(k, a * x) / S(k, x)", "(a - a) / (a - a) = 0 * a", "a = a + 0 * b / (b - b)",
    "sqrt(max(a, b)) = max(sqrt(a), sqrt(b))", "log(max(a, b)) = max(log(a), log(b))", "1 / a = exp(-log(a))",
    "1 / (a - a) = 2 / (a - a)", "1 / (a - a) = 1 / (b - b)", "sqrt(-a * a - 1) = a", "log(-exp(a)) = b",
    "((a + b) * (a - b) - a * a + b * b) / ((a + b) * (a - b) - a * a + b * b) = 1 + 0 * a",
]  # fmt: skip


@pytest.mark.parametrize("text", EQUAL)
def test_equal_terms_are_proved(text: str) -> None:
    found = proof(text, both=True)
    assert found is not None and found.route == EQUAL[text]


@pytest.mark.parametrize("text", NOT)
def test_other_terms_are_not_proved(text: str) -> None:
    left, right = text.split(" = ")
    assert proof(text) is None
    assert proof(f"{right} = {left}") is None


@pytest.mark.parametrize("text", UNDEFINED)
def test_what_is_not_defined_at_the_same_points_is_not_proved(text: str) -> None:
    assert proof(text) is None
    assert proof(text, both=True) is None


def test_roots_multiply_where_nothing_is_negative() -> None:
    """Defined at more points is fine for a kernel in place of a function, and not for "the same"."""
    text = "sqrt(a) * sqrt(b) = sqrt(a * b)"
    found = proof(text)
    assert found is not None and found.where == ("a[] >= 0", "b[] >= 0")
    assert proof(text, both=True) is None
    assert proof(text, both=True, given={"a": NONNEGATIVE, "b": NONNEGATIVE}) is not None
    assert proof("sqrt(a * b) = sqrt(a) * sqrt(b)", given={"a": NONNEGATIVE}) is None
    assert proof("log(a * b) = log(a) + log(b)", both=True, given={"a": POSITIVE, "b": POSITIVE}) is not None


def test_axes_of_equal_size_are_not_mixed_up() -> None:
    t = Terms({"i": 4, "j": 4})
    x, y = (t.input("x", (DimIndex((a,)), DimIndex((b,)))) for a, b in (("i", "j"), ("j", "i")))
    prover = Prover(t)
    assert prover.equal(x, y) is None
    assert prover.equal(t.sum("i", x), t.sum("j", x)) is None
    assert prover.equal(t.sum("i", x), t.sum("i", y)) is None
    assert prover.equal(t.sum("i", t.sum("j", x)), t.sum("j", t.sum("i", x))) is not None
    r, s = (t.input("r", (DimIndex((a,)),)) for a in "ij")
    assert prover.equal(t.add(x, r), t.add(x, s)) is None  # a broadcast along the other axis


def test_infinities_are_no_numbers() -> None:
    t = Terms()
    a = read(t, "a")
    normal = Normalizer(t)
    for x in (t.neg_inf(), t.opaque("inf"), t.opaque("nan"), t.inv(t.const(0))):
        assert normal.equal(t.add(a, t.sub(x, x)), a) is None
        assert normal.equal(t.mul(t.const(0), x), t.const(0)) is None
        assert Prover(t).equal(t.add(a, t.sub(x, x)), a) is None


def test_signs_know_what_cannot_be_negative() -> None:
    t = Terms()
    signs = SignAnalysis(t)
    assert signs.of(read(t, "S(k, x * x) / N(k) + 1")) == POSITIVE
    assert signs.of(read(t, "a * a * b * b")) == NONNEGATIVE
    assert -1 in signs.of(read(t, "a * a * b")) and -1 in signs.of(read(t, "a * a - 1"))


def test_without_work_nothing_is_proved() -> None:
    assert proof("max(a + c, b + c) = max(a, b) + c", work=0) is None
    assert proof("a + b = b + a", work=0) is not None  # the normal form asks nobody


def test_a_hard_question_ends_after_the_work_allowed() -> None:
    hard = " + ".join(f"max({x} * {y}, {y} * {z})" for x, y, z in ("abc", "bcd", "cde", "dea", "eab"))
    assert proof(f"{hard} = {hard} + max(a * b * c, 0) - max(a * c * b, 0) * exp(a - a * b / b)") is None
    # the inequality of arithmetic and geometric means: true, and more work than is allowed
    means = "max(a * a * a * a + b * b * b * b + c * c * c * c + d * d * d * d - 4 * a * b * c * d, 0)"
    start = time.process_time()
    assert proof(f"{means} = {means[4:-4]}", work=20_000) is None
    assert time.process_time() - start < 10


def test_a_proof_does_not_depend_on_how_fast_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock by which every step takes an hour the same terms are proved; with less work allowed than a proof takes they are not."""
    hours = count(0, 3600)
    for clock in ("monotonic", "perf_counter", "process_time", "thread_time", "time"):
        monkeypatch.setattr(time, clock, lambda: float(next(hours)))
    for text in ("max(a, b) = (a + b + abs(a - b)) / 2", "S(k, max(x, 0)) = S(k, (x + abs(x)) / 2)"):
        assert proof(text) is not None
        assert proof(text, work=STEP) is None


def test_work_that_is_taken_is_gone() -> None:
    t = Terms()
    budget = WorkBudget()
    query = Query(t, Normalizer(t), SignAnalysis(t), Prover(t).laws(SOLVER), (), budget)
    assert query.holds(read(t, "max(a + c, b + c)"), "==", read(t, "max(a, b) + c"))
    assert 0 < budget.left < WORK
    budget.take(10 * WORK)
    assert budget.spent and budget.left == 0


def test_z3_is_loaded_only_when_it_is_asked() -> None:
    code = (
        "import sys; sys.path[:0] = ['tests']\n"
        "from mutants.equal_pairs import read\nfrom mirage.meaning.terms import Terms\n"
        "from mirage.verify.proof.prover import Prover\nt = Terms()\n"
        "assert Prover(t).equal(read(t, '(a + b) * c'), read(t, 'a * c + b * c'))\nassert 'z3' not in sys.modules\n"
        "assert Prover(t).equal(read(t, 'max(a + c, b + c)'), read(t, 'max(a, b) + c'))\nassert 'z3' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_is_rounded_already_is_not_rounded_again_to_the_same_dtype() -> None:
    t = Terms()
    a = read(t, "a")
    half, bfloat = (t.fn(f"round_{d}", a) for d in ("fp16", "bf16"))
    assert t.fn("round_fp16", half) == half
    assert t.fn("round_bf16", half) not in (half, bfloat) and Prover(t).equal(t.fn("round_bf16", half), bfloat) is None


def test_signs_of_functions_of_numbers() -> None:
    """Those that a float's rounding leaves no doubt of."""
    t = Terms()
    signs = SignAnalysis(t)
    assert signs.of(t.fn("log", t.const(2))) == POSITIVE and signs.of(t.fn("sin", t.const(4))) == frozenset((-1,))
    assert len(signs.of(t.fn("log", t.const(1)))) == len(signs.of(t.fn("log", t.const(-1)))) == 3
