"""One class per mistake, each with a stable code, the place, and the next step. `docs/errors.md` lists them all."""

from __future__ import annotations

from typing import Any, ClassVar


class MirageError(Exception):
    """A mistake that a user can mend.

    `message` says what is wrong, `next_step` what to do; `path`, `line` (1-based) and `column` (0-based) say where.
    """

    code: ClassVar[str] = "MIR000"
    title: ClassVar[str] = "Something went wrong"
    default_next_step: ClassVar[str] = "run `mirage doctor` and report what it prints"
    registry: ClassVar[dict[str, type[MirageError]]] = {}

    def __init_subclass__(cls) -> None:
        taken = MirageError.registry.get(cls.code)
        if taken is not None and taken.__qualname__ != cls.__qualname__:
            raise TypeError(f"{cls.code} is taken by {taken.__qualname__}")
        MirageError.registry[cls.code] = cls

    def __init__(
        self,
        message: str,
        *,
        next_step: str | None = None,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.path, self.line, self.column = message, path, line, column
        self.next_step = next_step or self.default_next_step

    @property
    def place(self) -> str:
        """`path:line`, as far as known."""
        parts = [self.path or "", str(self.line) if self.line is not None else ""]
        return ":".join(p for p in parts if p)

    def __str__(self) -> str:
        where = f" {self.place}:" if self.place else ""
        return f"{self.code}{where} {self.message} -> {self.next_step}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "next_step": self.next_step,
            "path": self.path,
            "line": self.line,
            "column": self.column,
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> MirageError:
        cls = MirageError.registry.get(str(data.get("code")), MirageError)
        return cls(
            str(data.get("message", "")),
            next_step=data.get("next_step"),
            path=data.get("path"),
            line=data.get("line"),
            column=data.get("column"),
        )


# ---- reading the file (1xx)
class FileUnreadable(MirageError):
    code, title = "MIR100", "The file cannot be read"
    default_next_step = "check the path and its permissions"


class SourceSyntaxError(MirageError):
    code, title = "MIR101", "The file does not parse"
    default_next_step = "mend the syntax error first"


class NoDecoratedFunction(MirageError):
    code, title = "MIR102", "No decorated function in the file"
    default_next_step = "write `@mirage.optimize` above the function"


class UnsupportedFunctionKind(MirageError):
    code, title = "MIR103", "This kind of function cannot be optimized"
    default_next_step = "move the computation into a plain function at the top level of the module"


class BadAnnotation(MirageError):
    code, title = "MIR104", "An annotation cannot be read as a shape"
    default_next_step = 'write it like Float16[Tensor, "16 4096"], or pass inputs=[((16, 4096), "fp16"), ...]'


class MissingShape(MirageError):
    code, title = "MIR105", "A parameter has no shape"
    default_next_step = 'annotate it like Float16[Tensor, "16 4096"], or pass inputs=[...]'


class SymbolWithoutSize(MirageError):
    code, title = "MIR106", "A named dimension has no size"
    default_next_step = 'give it one: @mirage.optimize(dims={"b": 8})'


class ZeroSizeAxis(MirageError):
    code, title = "MIR107", "A dimension has size zero"
    default_next_step = "give every dimension a size of one or more"


class FunctionNotFound(MirageError):
    code, title = "MIR108", "The file has no decorated function of that name"
    default_next_step = "name one of the functions that the message lists"


class UnsafeReference(MirageError):
    code, title = "MIR109", "The function refers to something that may not be loaded"
    default_next_step = "use only torch, math, constants and helper functions of the same file"


class BadSearchParameter(MirageError):
    code, title = "MIR110", "A parameter that narrows the search asks for what no kernel can have"
    default_next_step = "write it like griddims=[(2, 16, 1)], imaps=[(0, 1, -1)], fmaps=[-1, 1], franges=[4, 8]"


class BadProjectSettings(MirageError):
    code, title = "MIR111", "The settings of a project cannot be used"
    default_next_step = 'write them like [tool.mirage] with target = "sm_90"; `mirage init` does'


# ---- tracing (2xx)
class RankMismatch(MirageError):
    code, title = "MIR200", "The shapes do not fit together"
    default_next_step = "correct the annotation or the operator at that line"


class UnknownOperator(MirageError):
    code, title = "MIR201", "An operator is not in the operator table and cannot stay PyTorch's own call"
    default_next_step = "see `mirage docs operators` for what is supported; `mirage docs adding-an-operator` adds one"


class DataDependentBranch(MirageError):
    code, title = "MIR202", "A branch depends on the values of a tensor"
    default_next_step = "write it with torch.where, or move the branch out of the function"


class DtypeMix(MirageError):
    code, title = "MIR203", "The operands have different dtypes where PyTorch wants one"
    default_next_step = "cast one of them with .to(...)"


class InPlaceEdit(MirageError):
    code, title = "MIR204", "The function changes one of its inputs"
    default_next_step = "return a new tensor instead"


class TraceFailed(MirageError):
    code, title = "MIR205", "The function raised while it was traced"
    default_next_step = "run the function on tensors of these shapes and mend what it raises"


class SideEffect(MirageError):
    code, title = "MIR206", "The function prints, opens files or reaches outside itself"
    default_next_step = "keep only the tensor computation in the function"


class UnsupportedOutput(MirageError):
    code, title = "MIR207", "The function returns something that is not a tensor"
    default_next_step = "return a tensor, or a tuple of tensors"


class UnsupportedReshape(MirageError):
    code, title = "MIR208", "A reshape cuts across dimensions in a way that has no named axes"
    default_next_step = "split the function at the reshape"


class UnsupportedOperands(MirageError):
    code, title = "MIR209", "An operator is used in a form that the operator table does not cover"
    default_next_step = "see `mirage docs operators` for the forms that are covered"


class UnfixedAnswer(MirageError):
    code, title = "MIR210", "What is computed depends on something that shapes and dtypes do not fix"
    default_next_step = "write the case that you mean without asking, or ask outside of the function"


# ---- search, verification, code (3xx)
class InvalidMugraph(MirageError):
    code, title = "MIR300", "A µGraph breaks a validity rule"
    default_next_step = "see `mirage docs mugraph` for the rules"


class MugraphSyntax(MirageError):
    code, title = "MIR301", "A µGraph file does not parse"
    default_next_step = "write it with `mirage show --format json` or see `mirage docs mugraph`"


class EmissionRefused(MirageError):
    code, title = "MIR302", "No kernel can be emitted for this µGraph"
    default_next_step = "choose other tile sizes"


class SignatureMismatch(MirageError):
    code, title = "MIR303", "The two programs do not take and give the same tensors"
    default_next_step = "give both the same inputs and outputs"


class UnknownTarget(MirageError):
    code, title = "MIR304", "The target is not a known device"
    default_next_step = "name one that the message lists, such as --target sm_90"


class DerivationBroken(MirageError):
    code, title = "MIR305", "A derivation does not lead from the program to the µGraph"
    default_next_step = "derive it again with `mirage optimize --json`"


class ModuleUnreadable(MirageError):
    code, title = "MIR306", "An emitted module has been changed beyond recognition"
    default_next_step = "emit it again with `mirage optimize`"


class MugraphUnknown(MirageError):
    code, title = "MIR307", "No µGraph is known for a module"
    default_next_step = (
        "emit the module again with `mirage optimize`, or pass the output of `mirage optimize --json` in its place"
    )


class NotVerified(MirageError):
    code, title = "MIR308", "A µGraph that was given is not shown to compute the function"
    default_next_step = "nothing of it was kept; `mirage optimize` searches for one that is right"


class GraphMistake(MirageError):
    code, title = "MIR309", "A kernel graph is not built as it must be"
    default_next_step = "see `mirage docs from-mirage` for the operators and their shapes"


class RuleUnreadable(MirageError):
    code, title = "MIR310", "A rule of a rules file cannot be read"
    default_next_step = "write `name: left == right if condition`; `mirage docs verification` has the language"


class RuleFalse(MirageError):
    code, title = "MIR311", "A rule of a rules file is not true"
    default_next_step = "mend the rule, or say in a condition when it holds"


class SavedFileUnreadable(MirageError):
    code, title = "MIR312", "A file of saved graphs cannot be read"
    default_next_step = "`mirage docs from-mirage` says which files are read"


class SavedGraphInvalid(MirageError):
    code, title = "MIR313", "A graph of such a file is none that can be run"
    default_next_step = "the other graphs of the file are read; `mirage import` lists them"


class DtypeOfDevice(MirageError):
    code, title = "MIR314", "The target has not a dtype of the function"
    default_next_step = "name a newer one, such as --target sm_89, or store in torch.float8_e5m2 or torch.float16"


class KernelOfAnotherText(MirageError):
    code, title = "MIR315", "A written kernel was made for another text of its function"
    default_next_step = "run `mirage optimize` again"


class KernelEdited(MirageError):
    code, title = "MIR316", "A written kernel is not the text that was verified"
    default_next_step = "run `mirage verify` on the function and the module, or `mirage optimize` again"


class KernelOfNoFunction(MirageError):
    code, title = "MIR317", "A written kernel belongs to no function that is known"
    default_next_step = "name the folder of its function too, or remove the file"


# ---- running (4xx)
class WorkerDied(MirageError):
    code, title = "MIR400", "The worker process ended without an answer"
    default_next_step = "run again; if it stays, run `mirage doctor`"


class WorkerTimeout(MirageError):
    code, title = "MIR401", "The worker took longer than it may"
    default_next_step = "raise --timeout, or make the function smaller"


class Cancelled(MirageError):
    code, title = "MIR402", "The work was cancelled"
    default_next_step = "start it again when you want it"


class MissingPackage(MirageError):
    code, title = "MIR403", "A package is missing"
    default_next_step = "install it: pip install 'mirage-superoptimizer[gpu]'"


class CannotWrite(MirageError):
    code, title = "MIR404", "A file cannot be written"
    default_next_step = "name a place that you can write to, or change the folder's permissions"


class WorkerRaised(MirageError):
    """`traceback` is the worker's, its end at most."""

    code, title = "MIR405", "The work in the worker raised"
    default_next_step = "run `mirage doctor` and report what it prints"
    traceback: str = ""


class NotConfined(MirageError):
    code, title = "MIR406", "Code cannot be confined on this machine, so none runs"
    default_next_step = (
        "run `mirage doctor`; to run it all the same, with all that you may do, set "
        '"run_code_even_where_it_cannot_be_confined": true in your own settings.json'
    )


class UntrustedFolder(MirageError):
    code, title = "MIR408", "A folder that Mirage loads code from is open to others"
    default_next_step = "make it yours alone: chown it to you and chmod 700 it, or set MIRAGE_HOME to another folder"


class ModuleRefused(MirageError):
    code, title = "MIR409", "A module holds what no module of this version does, and is not loaded"
    default_next_step = "make it again with `mirage optimize`"


class KernelUnsigned(MirageError):
    code, title = "MIR410", "An installed kernel was not written by this user's Mirage, or was changed"
    default_next_step = "install it again with `mirage optimize --install`"


# ---- daemon (5xx)
class DaemonUnavailable(MirageError):
    code, title = "MIR500", "The daemon cannot be reached"
    default_next_step = "run `mirage daemon start`"


class ProtocolError(MirageError):
    code, title = "MIR501", "A message breaks the wire protocol"
    default_next_step = "update the older of client and daemon"


class UntrustedSocket(MirageError):
    code, title = "MIR502", "The socket's folder is not private to you"
    default_next_step = "remove the folder that the message names, or mend its owner and mode (0700)"


class UntrustedWorkspace(MirageError):
    code, title = "MIR503", "The workspace is not trusted, so nothing of it runs"
    default_next_step = "trust the workspace in your editor"


class UnknownJob(MirageError):
    code, title = "MIR504", "The daemon knows no such job"
    default_next_step = "submit the function again"


class DaemonBusy(MirageError):
    code, title = "MIR505", "The daemon has more to do than it takes on"
    default_next_step = "try again when some of the running jobs are done"


class DeadlinePassed(MirageError):
    code, title = "MIR506", "The daemon did not answer in time"
    default_next_step = "try again with a longer deadline, or look at `mirage daemon logs`"


class DaemonReplaced(DaemonUnavailable):
    code, title = "MIR507", "The daemon gives way to a newer one"
    default_next_step = "ask again: the next client starts the newer one"


class ResultsUnreadable(MirageError):
    code, title = "MIR508", "A file of results cannot be read"
    default_next_step = "write it again with `mirage cache export`"


class UnknownEntry(MirageError):
    code, title = "MIR509", "The cache has no such entry"
    default_next_step = "take the first characters of a key that `mirage cache list` prints"


class RemoteCacheFault(MirageError):
    code, title = "MIR510", "The shared cache cannot be used"
    default_next_step = "nothing has to be done: what it does not give is searched for here"


class ClusterFault(MirageError):
    code, title = "MIR511", "The cluster cannot be used"
    default_next_step = "look at `ray status`; until the cluster can be reached, everything is searched for here"
