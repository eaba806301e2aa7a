"""Which answers decide what a traced text computes: it runs again with other answers, and its programs are compared.

A yes-or-no question is answered the other way too; a text that gives the same program whatever the answers assumes
nothing. Any other question (strides, an address, a dtype of the settings) has too many answers to try, and decides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import combinations

from mirage.errors import UnfixedAnswer
from mirage.ir.program import Assumption, Program
from mirage.program.questions import Question, Questions, SizeRead
from mirage.program.trace_errors import explain

Run = Callable[[Questions], Program]
Same = Callable[[Program], bool]
MOST = 3  # questions whose answers are all tried together: 2 ** 3 runs
GUARDED = ("contiguity",)  # what a kernel's public function and the decorator ask of each call, with these answers


def deciding(first: Questions, run: Run, same: Same) -> list[Question]:
    """The questions of the first run whose answers decide what is computed. `run` gives the program under other answers, `same`
    whether it computes what the first one does. What only other answers lead to is no matter where these decide."""
    found = _open(first)
    known = [q for q in first.answers if q not in found]
    tried: set[frozenset[Question]] = {frozenset()}
    while len(known) <= MOST:
        world = next((w for w in _worlds(known) if w not in tried), None)
        if world is None:
            return [q for q in found if q in first.answers]
        tried.add(world)
        questions = Questions(world)
        alike = _runs_alike(questions, run, same)
        opened = _open(questions)
        if not alike or not first.answers.keys() >= set(opened):
            found += [q for q in known if q in world and q not in found]
        known += [q for q in questions.answers if q not in known and q not in opened]
    return list(first.answers)


def _open(questions: Questions) -> list[Question]:
    """The questions with more answers than yes and no."""
    return [q for q, answer in questions.answers.items() if not isinstance(answer, bool)]


def _worlds(known: Collection[Question]) -> Iterable[frozenset[Question]]:
    return (frozenset(w) for n in range(1, len(known) + 1) for w in combinations(known, n))


def _runs_alike(questions: Questions, run: Run, same: Same) -> bool:
    """What the text raises under another answer is a difference."""
    try:
        return same(run(questions))
    except Exception as error:
        if explain(error) is None:
            raise
        return False


def assumptions(
    questions: Iterable[Question], first: Questions, line_of: Callable[[int | None], int | None]
) -> tuple[Assumption, ...]:
    """The answers that decide, as what was assumed. Raises UnfixedAnswer for one that no guard of a call asks for."""
    made = []
    for q in questions:
        if q.kind not in GUARDED:
            raise UnfixedAnswer(f"{_asks(q)}, which shapes and dtypes do not fix", line=line_of(q.line))
        made.append(Assumption(q.kind, q.subject, str(first.answers[q]), line_of(q.line)))
    dtypes = [Assumption("dtype", "a computed tensor", "as computed", line_of(line)) for line in first.dtypes]
    return (*made, *_sizes(first.sizes, line_of), *dtypes)


def _asks(q: Question) -> str:
    of = f"`{q.subject}`" if q.subject.isidentifier() and q.subject != "PyTorch" else q.subject
    return f"what is computed depends on the {q.kind} of {of} (`{q.what}`)"


def _sizes(reads: Iterable[SizeRead], line_of: Callable[[int | None], int | None]) -> list[Assumption]:
    return [Assumption("size", r.name, r.what, line_of(r.line)) for r in dict.fromkeys(reads)]
