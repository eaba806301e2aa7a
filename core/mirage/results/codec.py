"""The one codec between typed values and plain data, for the wire, the cache and JSON. Strict: nothing is converted.

Unknown keys and values of another type are mistakes. What a type derives from its fields (a verdict's word and bound) is
written out for readers in other languages, and must be the same when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.strategies import configure_union_passthrough

from mirage.errors import ProtocolError
from mirage.results.details import (
    Details,
    FieldDetails,
    FloatDetails,
    MemoryDetails,
    ProofDetails,
    RangeDetails,
    RoundingDetails,
)
from mirage.results.result import SCHEMA, Result
from mirage.results.verdict import TRUSTED, Evidence, Opinion, Verdict, Word

T = TypeVar("T")
DETAILS: dict[Opinion, type[Details]] = {
    "field": FieldDetails,
    "proof": ProofDetails,
    "float": FloatDetails,
    "memory": MemoryDetails,
    "range": RangeDetails,
    "rounding": RoundingDetails,
}


@dataclass(frozen=True)
class LinkState:
    """A link's word and bound, as they are written out."""

    word: Word
    bound: float | None


@dataclass(frozen=True)
class DerivedField:
    """What is written out beside the fields: its type, and how it follows from them."""

    kind: object
    of: Callable[[Verdict], object]


Derived = dict[str, DerivedField]
DERIVED: dict[type[Verdict], Derived] = {
    Verdict: {
        "word": DerivedField(Word, lambda v: v.word),
        "headline": DerivedField(str, lambda v: v.headline),
        "bound": DerivedField(float | None, lambda v: v.bound),
        "links": DerivedField(
            dict[str, LinkState], lambda v: {x.name: asdict(LinkState(x.word, x.bound)) for x in v.links}
        ),
        "trusted": DerivedField(tuple[str, ...], lambda v: list(TRUSTED)),
    },
}

_converter = cattrs.Converter(
    forbid_extra_keys=True, prefer_attrib_converters=True, unstruct_collection_overrides={tuple: list}
)


def _exactly(value: object, cls: type[T]) -> T:
    """cattrs would turn 5 into "5" and "no" into True; here that is a mistake."""
    if type(value) is cls:
        return value
    raise ValueError(f"{type(value).__name__} where {cls.__name__} belongs")


def _number(value: object, cls: type[float]) -> float:
    return float(value) if type(value) is int else _exactly(value, cls)


for _primitive in (str, int, bool):
    _converter.register_structure_hook(_primitive, _exactly)
_converter.register_structure_hook(float, _number)
configure_union_passthrough(str | int | float | bool | None, _converter)
_converter.register_structure_hook_func(lambda cls: cls is object, lambda value, _: value)


# The functions below are made when a value of their class is first read or written: making them costs more than importing this.
def _reads_evidence(cls: type[Evidence]) -> Callable[[object, type[Evidence]], Evidence]:
    plain = make_dict_structure_fn(cls, _converter, _cattrs_forbid_extra_keys=True, details=override(omit=True))

    def read(data: object, _: type[Evidence]) -> Evidence:
        """The opinion says of which type its details are."""
        if not isinstance(data, dict):
            raise ValueError(f"{type(data).__name__} where Evidence belongs")
        found = plain({name: value for name, value in data.items() if name != "details"}, Evidence)
        told = data.get("details")
        return found if told is None else replace(found, details=_converter.structure(told, DETAILS[found.opinion]))

    return read


def _writes_derived(cls: type[Verdict]) -> Callable[[Verdict], dict[str, object]]:
    """Writes what `cls` derives beside its fields."""
    write = make_dict_unstructure_fn(cls, _converter)
    return lambda value: write(value) | {name: d.of(value) for name, d in DERIVED[cls].items()}


def _reads_derived(cls: type[Verdict]) -> Callable[[object, type[Verdict]], Verdict]:
    """Refuses data in which what `cls` derives is not what the fields say."""
    read, derived = make_dict_structure_fn(cls, _converter, _cattrs_forbid_extra_keys=True), DERIVED[cls]

    def taken(data: object, _: type[Verdict]) -> Verdict:
        if not isinstance(data, dict):
            raise ValueError(f"{type(data).__name__} where {cls.__name__} belongs")
        value = read({name: x for name, x in data.items() if name not in derived}, cls)
        wrong = [name for name, d in derived.items() if name not in data or data[name] != d.of(value)]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} of {cls.__name__} is not what its fields say")
        return value

    return taken


_converter.register_structure_hook_factory(lambda cls: cls is Evidence, _reads_evidence)
_converter.register_structure_hook_factory(DERIVED.__contains__, _reads_derived)
_converter.register_unstructure_hook_factory(DERIVED.__contains__, _writes_derived)


def structure(data: object, cls: type[T]) -> T:
    """`data` as an instance of `cls`, or ProtocolError with what does not fit."""
    try:
        return _converter.structure(data, cls)
    except Exception as e:
        raise ProtocolError(f"{cls.__name__}: {'; '.join(cattrs.transform_error(e))}") from None


def read_result(data: object) -> Result | None:
    """The result that plain data is; None for what is none, or one of another schema."""
    try:
        found = structure(data, Result)
    except ProtocolError:
        return None
    return found if found.schema == SCHEMA else None


def unstructure(value: object) -> dict[str, Any]:
    """Plain data: dicts, lists, strings, numbers."""
    return dict(_converter.unstructure(value))
