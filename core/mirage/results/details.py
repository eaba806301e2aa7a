"""Details of evidence: the figures that each opinion gives beside its word, one frozen type for each opinion."""

from __future__ import annotations

from dataclasses import dataclass, field

Sizes = dict[str, int]  # of axes
Tiles = dict[str, dict[str, int]]  # of each kernel's dims


@dataclass(frozen=True)
class FieldDetails:
    """Random points in a finite field: how many, at which sizes, and the theorem whose bound holds."""

    draws: int = 0
    discarded: int = 0
    p: int = 0
    q: int = 0
    sizes: Sizes = field(default_factory=dict)
    degree: float = 0.0
    exponential_terms: float = 0.0
    roots: int = 0
    signs: float = 0.0
    bound_a_draw: float | None = None
    bound_a_draw_any_exponents: float | None = None
    theorem: str = ""
    given: tuple[str, ...] = ()  # "flags", "integers": inputs for whose drawn values alone the bound holds
    opaque: tuple[str, ...] = ()
    tiles: Tiles = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    independent_of_shift: bool | None = None  # None: no running maximum shifts the result
    whole_tiles: Sizes | None = None  # of a launch at which tiles divide their dims
    other_order: Sizes | None = None  # of a launch at which other axes are the longer ones
    same_launch: bool = False  # the answer of an earlier run of the same computation


@dataclass(frozen=True)
class ProofStep:
    """How one pair of terms was proved equal: the route, the laws applied, the conditions under which both are defined."""

    route: str
    laws: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class ProofDetails:
    """The proofs of all pairs; the axioms they use, and the user's rules among these (name: text)."""

    proofs: tuple[ProofStep, ...] = ()
    axioms: tuple[str, ...] = ()
    trusted_by_user: dict[str, str] = field(default_factory=dict)
    outputs: int = 0
    update_laws: int = 0
    splits: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class RegimeError:
    """One output's error on one regime of inputs. `eager`: the function's own error; `far`: the error alone refuses it."""

    regime: str
    output: int
    dtype: str
    reference: str
    error: float
    eager: float
    budget: float
    allowed: float
    far: bool = False
    why: str = ""
    roundings: int = 0  # runs of the function with its results rounded otherwise


@dataclass(frozen=True)
class FloatDetails:
    """Runs in floats. `unlike`: the function could not be run on these inputs, and nothing else says what its calls give; or it
    gives other shapes there."""

    sizes: Sizes = field(default_factory=dict)
    tiles: Tiles = field(default_factory=dict)
    regimes: tuple[RegimeError, ...] = ()
    unlike: bool = False
    draw: int | None = None


@dataclass(frozen=True)
class MemoryDetails:
    """What z3 proved of the accesses, for which sizes, and what it left to a run."""

    proved: bool = False
    scope: str | None = None
    beyond: str = ""  # why it is not proved for all sizes
    sizes: Sizes = field(default_factory=dict)
    launches: tuple[Sizes, ...] = ()
    accesses: int = 0
    questions: int = 0
    unproved: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    at: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Cast:
    """A narrowing cast, and the bound on the inputs under which it does not overflow."""

    where: str
    dtype: str
    bound: float | None
    output: bool


@dataclass(frozen=True)
class RangeDetails:
    """The bounds on the inputs under which nothing overflows: in the kernels with their outputs, within the `kernel` alone,
    in the `function` in float32; `narrower`: the kernel's is the smaller one."""

    bound: float | None = None
    beyond: str = ""
    function: float | None = None
    kernel: float | None = None
    narrower: bool = False
    casts: tuple[Cast, ...] = ()


@dataclass(frozen=True)
class RegimeBound:
    """One output's rounding on one regime of inputs, none larger than `inputs`. All errors are parts of the output's `largest`
    value: the bound on the kernels' error, that of the function as written, the largest error that was measured, and how near one
    element came to its own bound (1: it met it). None: no bound is known."""

    regime: str
    output: int
    inputs: float
    largest: float
    bound: float | None = None
    written: float | None = None
    measured: float = 0.0
    reached: float = 0.0


@dataclass(frozen=True)
class RoundingDetails:
    """Bounds on rounding errors, each for the very inputs of a regime; `times_written`: how many times the function's own bound the
    kernels' may be. `unbounded` says why there is none, `unwritten` why there is none of the function."""

    sizes: Sizes = field(default_factory=dict)
    regimes: tuple[RegimeBound, ...] = ()
    times_written: float = 0.0
    unbounded: str = ""
    unwritten: str = ""


Details = FieldDetails | ProofDetails | FloatDetails | MemoryDetails | RangeDetails | RoundingDetails
