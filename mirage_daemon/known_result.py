"""A result as the daemon holds it: read strictly once, and sent on as the very data that it was read from."""

from __future__ import annotations

from dataclasses import dataclass, field

from mirage.errors import ProtocolError
from mirage.ir.json_value import JsonObject, json_object
from mirage.results.baselines import BASELINES, TRUSTED
from mirage.results.codec import read_result
from mirage.results.result import Result


@dataclass(frozen=True)
class KnownResult:
    """`data` is the plain form of `result`: writing it anew for every client would cost more than reading it did."""

    result: Result
    data: JsonObject = field(repr=False)

    @staticmethod
    def of(data: object) -> KnownResult:
        """Raises ProtocolError for what is no result, or one of another schema."""
        found = read_result(data)
        if found is None:
            raise ProtocolError("it is not a result of this version")
        return KnownResult(found, json_object(data))

    @property
    def headline(self) -> str:
        """The verdict in a few words; what runs, where that is PyTorch's own; "" where there is neither."""
        if self.result.baseline:
            return f"{BASELINES[self.result.baseline].words}, {TRUSTED}"
        return "" if self.result.verdict is None else self.result.verdict.headline
