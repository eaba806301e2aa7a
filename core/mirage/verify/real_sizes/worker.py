"""The worker's half of the opinion on a module's text at its real sizes."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from mirage.ir.dtypes import DTYPES
from mirage.ir.program import Program
from mirage.program.load_function import load
from mirage.verify.floats.directed_inputs import DRAWS, Draw, constants, draw
from mirage.verify.floats.regimes import REGIMES, Regime, round_to
from mirage.verify.real_sizes import module_text
from mirage.verify.real_sizes.comparison import (
    ComparedFunction,
    Differs,
    compare_exactly,
    compare_rounded,
    regime_inputs,
    regimes_of,
    tensors,
)
from mirage.verify.real_sizes.host_run import Host, HostCall
from mirage.verify.real_sizes.host_tensors import WideTensor
from mirage.verify.real_sizes.tile_values import Array, Precision, Unknown, Wrong
from mirage.verify.worker_tasks import RealAnswer, RealPayload

SECONDS = 1.5  # after which the runs that are not needed are left out
LIMIT = 60.0  # for each call
LEAST = 4  # runs in which an output has numbers, where others are left out
NEEDED = 2  # runs of each kind, whatever they take
MOST = 1 << 26  # elements of a tensor
MOST_CONFIGURATIONS = 64
LARGE = 1e9  # a number of the text from here on stands for infinity
INFINITE = Draw(
    "infinite numbers", lambda r, s, p: np.where(r.random(s) < 0.02, np.inf * r.choice((-1.0, 1.0), s), r.standard_normal(s)),
    others=lambda r, s, p: r.standard_normal(s), reach=None,
)  # fmt: skip
SCALE, MOST_SCALED = 300, 4
SMALL = Draw("small numbers", lambda r, s, p: 2.0**-8 * r.standard_normal(s))
FIRST = ("normal", "scores of 60000", "mean 1000 x deviation")  # regimes that are always run


@dataclass
class Judging:
    """A module under judgement."""

    subject: ComparedFunction
    host: Host
    began: float = field(default_factory=time.process_time)
    runs: int = 0
    narrow: dict[int, str] = field(default_factory=dict)
    tf32: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    configurations: int = 1
    asked_device: bool = False
    programs: int = 0
    gives: type = torch.Tensor  # of the last call: a tuple or a list, or one tensor
    outcomes: dict[int, set[bool]] = field(default_factory=dict)

    @property
    def late(self) -> bool:
        return time.process_time() - self.began > SECONDS

    def call(
        self, given: Sequence[torch.Tensor], how: Precision, choice: int = 0, device: int = 0, elsewhere: bool = False
    ) -> list[torch.Tensor]:
        session = HostCall(how, self.host.text, time.process_time() + LIMIT, choice, device, elsewhere)
        names = [i.name for i in self.subject.program.inputs]
        out = self.host.call(session, dict(zip(names, given, strict=True)))
        self.gives = session.gives
        if not session.launches and not elsewhere:
            raise Unknown("no kernel is launched")
        self.runs += 1
        self.programs = max(self.programs, session.programs)
        self.narrow |= how.narrow
        self.tf32 |= how.read_as_tf32
        for line, seen in how.outcomes.items():
            self.outcomes.setdefault(line, set()).update(seen)
        self.configurations = max(self.configurations, session.configurations)
        self.asked_device |= session.asked_device
        return out

    def container(self) -> None:
        """Do results come as the function's do? Of a function that gives a list an emitted module makes a tuple. Raises Wrong."""
        gives, wanted = self.gives, self.subject.gives
        fits = (
            gives in (tuple, list)
            if wanted is list
            else gives is tuple
            if wanted is tuple
            else gives not in (tuple, list)
        )
        if not fits:
            raise Wrong(f"it gives a {gives.__name__}, and the function a {wanted.__name__}")

    # ---- the runs
    def drawn(self, kind: Draw, numbers: Sequence[float], seed: int) -> list[Array]:
        inputs = self.subject.program.inputs
        return self.subject.fitted(draw(kind, inputs, sorted(numbers), seed), seed)

    def exact(self, kind: str, values: Sequence[Array], garbage: float, choice: int = 0, device: int = 0) -> None:
        how = Precision(wide=True, garbage=garbage)
        results = self.call(tensors(self.subject.program, values, True), how, choice, device)
        compare_exactly(self.subject, kind, values, results)
        self.container()

    def rounded(self, name: str, choice: int = 0) -> None:
        regime = next(r for r in regimes_of(self.subject.program) if r.name == name)
        values = self.subject.fitted(regime_inputs(self.subject.program, regime, self.subject.longest_sum, 0), 0)
        self.beside(regime, values, choice)

    def beside(self, regime: Regime, values: Sequence[Array], choice: int = 0) -> None:
        """One run with the roundings of the dtypes."""
        given = tensors(self.subject.program, values, False)
        how = Precision(wide=False)
        results = self.call(given, how, choice)
        compare_rounded(self.subject, regime, given, results)

    def scaled(self) -> None:
        """Each input in turn of a size whose squares float16 does not hold."""
        program, k = self.subject.program, self.subject.longest_sum
        for n, i in enumerate(program.inputs):
            if n < MOST_SCALED and DTYPES[i.type.dtype].floating:
                regime = Regime(f"{i.name} times {SCALE}", REGIMES[0].draw, wild=True)
                values = self.subject.fitted(regime_inputs(program, regime, k, n), n)
                values[n] = round_to(SCALE * values[n], i.type.dtype)
                self.beside(regime, values)

    def all(self) -> None:
        numbers = sorted({*constants([self.subject.program]), *_literals(self.host.text.tree)}, key=abs)[:24]
        kinds = [d for d in (DRAWS[0], SMALL, *DRAWS[1:]) if not d.beyond and d.reach is not None]
        for n, kind in enumerate(kinds):
            if n >= NEEDED and self.late:
                break
            values = self.drawn(kind, numbers, n)
            self.exact(kind.name, values, (float("nan"), -1.2345e4)[n % 2])
        self.exact(INFINITE.name, self.drawn(INFINITE, [0.0, 1.0], 0), float("nan"))
        self.variants()
        names = [r.name for r in regimes_of(self.subject.program)]
        for n, name in enumerate(sorted(names, key=lambda x: FIRST.index(x) if x in FIRST else len(FIRST))):
            if n >= NEEDED and time.process_time() - self.began > 2 * SECONDS:
                break
            self.rounded(name)
        self.scaled()
        self.notes += self.subject.assumed
        if self.subject.left_out:
            least = min(self.subject.compared[i] for i in range(len(self.subject.program.outputs)))
            if least < LEAST:
                raise Unknown(
                    "the function gives NaN on nearly all inputs that are tried, and little is left to compare"
                )
            self.notes.append("where the function gives NaN nothing is said (--nan-may-differ)")
        if self.host.text.guarded:
            self.notes.append(
                "no autocast, and no input with a tangent or a sign still to be applied (the module asks)"
            )
        self.contiguity()
        if self.host.text.asks_gradient:
            self.gradients()
        elif any(DTYPES[i.type.dtype].floating for i in self.subject.program.inputs):
            self.notes.append("no input needs a gradient (what the kernels write carries none)")

    def variants(self) -> None:
        """Every configuration of an autotuner, and another number of multiprocessors."""
        if self.configurations > MOST_CONFIGURATIONS:
            raise Unknown(f"an autotuner with {self.configurations} configurations")
        values = self.drawn(DRAWS[0], [0.0, 1.0], 1)
        for choice in range(1, self.configurations):
            self.exact(f"configuration {choice}", values, float("nan"), choice)
            self.rounded("normal", choice)
        if self.asked_device:
            self.exact("another number of multiprocessors", values, float("nan"), device=1)

    def contiguity(self) -> None:
        """Whether inputs with other strides are read as they are; else the verdict says what is assumed."""
        program = self.subject.program
        values = self.drawn(DRAWS[0], [0.0, 1.0], 2)
        given = [_strided(t) for t in tensors(program, values, True)]
        if all(a is None for a in given):
            return
        made = [b if a is None else a for a, b in zip(given, tensors(program, values, True), strict=True)]
        try:
            compare_exactly(self.subject, "strided", values, self.call(made, Precision(wide=True), elsewhere=True))
        except (Wrong, Unknown, Differs):
            self.notes.append(
                "the inputs are contiguous (with other strides its kernels read other elements, or it refuses)"
            )

    def gradients(self) -> None:
        """A module that asks whether gradients are wanted: it gives the same without them, and for inputs that want some, or else
        the verdict says what is assumed."""
        program = self.subject.program
        values = self.drawn(DRAWS[0], [0.0, 1.0], 3)
        with torch.no_grad():
            self.exact("without gradients", values, float("nan"))
        given = [t.requires_grad_(t.is_floating_point()) for t in tensors(program, values, True)]
        try:
            found = self.call(given, Precision(wide=True), elsewhere=True)
            compare_exactly(self.subject, "with gradients", values, found)
        except (Wrong, Unknown, Differs):
            self.notes.append("no input needs a gradient (the module does something else then, or refuses)")


def _strided(t: torch.Tensor) -> torch.Tensor | None:
    """The same tensor with gaps between its rows, in another order of its first two dims; None where it has but one."""
    if t.ndim < 2:
        return None
    inner = t.inner if isinstance(t, WideTensor) else t
    order = [1, 0, *range(2, t.ndim)]
    wide = torch.zeros([*(inner.shape[d] for d in order[:-1]), inner.shape[order[-1]] + 3], dtype=inner.dtype)
    view = wide[..., : inner.shape[order[-1]]].permute(order)
    view.copy_(inner)
    return WideTensor(view, t.dtype) if isinstance(t, WideTensor) else view


def _literals(tree: ast.Module) -> Iterator[float]:
    for n in ast.walk(tree):
        if isinstance(n, ast.Constant) and isinstance(n.value, float) and abs(n.value) < LARGE:
            yield n.value
        elif isinstance(n, ast.Compare):
            yield from (float(x.value) for x in n.comparators if isinstance(x, ast.Constant) and type(x.value) is int)


def judge_at_real_sizes(payload: RealPayload) -> RealAnswer:
    """In the worker: the word, and why."""
    program = Program.from_dict(payload["program"])
    answer: RealAnswer = {
        "word": "TESTED",
        "summary": "",
        "line": 0,
        "shown": None,
        "notes": [],
        "runs": 0,
        "largest": 0.0,
    }
    judging: Judging | None = None
    try:
        if max(program.type_of(i).numel for i in range(len(program.inputs) + len(program.nodes))) > MOST:
            raise Unknown(
                f"the tensors have more than {MOST} elements, too many for a run at their sizes; name a row of smaller ones in the "
                "function's decorator, for which the module is then judged"
            )
        subject = ComparedFunction(load(payload["text"], payload["function"]), program, undefined=payload["undefined"])
        judging = Judging(subject, Host(module_text.read(payload["module"], payload["public"])))
        judging.all()
        for line, seen in sorted(judging.outcomes.items()):
            if len(seen) < 2:
                raise Unknown("a branch depends on what is in memory, and no run took it both ways", line)
        if judging.narrow:
            line, what = min(judging.narrow.items())
            raise Unknown(f"{what}, where PyTorch sums in float32", line)
    except Wrong as e:
        answer["word"], answer["summary"], answer["line"] = "REJECTED", e.what, e.line
    except Unknown as e:
        answer["word"], answer["summary"], answer["line"] = "UNDECIDED", e.what, e.line
    except Differs as e:
        line = min(judging.narrow, default=0) if judging is not None else 0
        said = e.what
        if judging is not None and judging.tf32:
            line = line or min(judging.tf32)
            said += "; tl.dot reads float32 as TF32 there unless input_precision is 'ieee'"
        answer["word"], answer["summary"], answer["line"], answer["shown"] = e.word, said, line, e.shown
    if judging is not None:
        answer["notes"], answer["runs"], answer["largest"] = judging.notes, judging.runs, judging.subject.largest
        answer["summary"] = answer["summary"] or _said(judging)
    return answer


def _said(j: Judging) -> str:
    configurations = f", {j.configurations} configurations" if j.configurations > 1 else ""
    return (
        f"{j.runs} runs at the real sizes, each of all {j.programs} programs{configurations}; in {len(j.subject.regimes)} regimes "
        f"the largest error is {j.subject.largest:.2g} of what is allowed, and on average {j.subject.average:.2f} times the function's"
    )
