"""What a function does to its inputs: which it writes to, and which of what it returns is an input itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mirage.ir.json_value import JsonObject, json_int, json_ints

Form = Literal["nothing", "one", "tuple"]
FORMS: tuple[Form, ...] = ("nothing", "one", "tuple")


@dataclass(frozen=True)
class Writes:
    """`inputs`: the inputs that the function writes to, by number, ascending. `returned`: for each value that it returns the number of
    the input that this is, None for a tensor of its own. `form`: whether it returns nothing, one tensor, or a tuple."""

    inputs: tuple[int, ...]
    returned: tuple[int | None, ...]
    form: Form

    def to_dict(self) -> JsonObject:
        return {"inputs": list(self.inputs), "returned": list(self.returned), "form": self.form}

    @staticmethod
    def from_dict(data: Mapping[str, object]) -> Writes:
        """Of the data that `to_dict` gives. Raises KeyError, TypeError or ValueError for anything else."""
        returned = data["returned"]
        if not isinstance(returned, list):
            raise TypeError("what is returned is no list")
        form = FORMS[FORMS.index(data["form"])]
        return Writes(json_ints(data["inputs"]), tuple(None if i is None else json_int(i) for i in returned), form)

    def words(self, names: Sequence[str]) -> str:
        """In words, with these names of the inputs."""
        written = ", ".join(f"`{names[i]}`" for i in self.inputs) or "no input"
        given = ", ".join("a tensor of its own" if i is None else f"`{names[i]}` itself" for i in self.returned)
        return f"writes to {written} and returns {given or 'nothing'}"
