"""Errors that only an editor can meet. The codes are documented with the others in `docs/errors.md`."""

from __future__ import annotations

from mirage.errors import MirageError


class StaleEdit(MirageError):
    code, title = "MIR600", "The text has changed since the edit was asked for"
    default_next_step = "ask for the action again"


class OriginalDamaged(MirageError):
    code, title = "MIR601", "The original that a block keeps was changed"
    default_next_step = "undo the change to the `# mirage:original` lines, or take the function from version control"


class CannotMerge(MirageError):
    code, title = "MIR602", "The kernel does not fit into this file"
    default_next_step = "write it to a module of its own: `mirage optimize FILE::FUNCTION --out kernel.py`"


class NoKernel(MirageError):
    code, title = "MIR603", "There is no verified kernel for this function as it is written now"
    default_next_step = "run the command `mirage.optimize` and wait for its result"


class EditedByHand(MirageError):
    code, title = "MIR605", "The code of a replaced function was edited by hand: its verdict is void"
    default_next_step = "verify it again (`mirage.verifyAgain`), or restore the function or the kernel"


class EditNotVerified(MirageError):
    code, title = "MIR606", "The edited code of a replaced function was not shown to be right"
    default_next_step = "mend the edit, or restore the function or the kernel"


class TextTooCostly(MirageError):
    code, title = "MIR604", "Reading the text takes longer than an editor can wait"
    default_next_step = "take the generated or very long parts into a file of their own"
