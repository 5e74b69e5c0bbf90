"""What every settings section is made of: its checks, and keys that never show."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

LONGEST_WAIT = 1_000_000
"""The longest wait that systems take, in seconds: twelve days."""


class FromVariable(str):
    """A value read from the environment; ``variable`` is the name it has there."""

    variable: str

    def __new__(cls, value: str, variable: str) -> FromVariable:
        made = super().__new__(cls, value)
        made.variable = variable
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return FromVariable, (str(self), self.variable)


class MissingKey(str):
    """The empty key of a variable that is not set; ``problem`` says which one and what to do.

    Most commands need no key, so this is an error only where the key is used.
    """

    problem: str

    def __new__(cls, problem: str) -> MissingKey:
        made = super().__new__(cls, "")
        made.problem = problem
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return MissingKey, (self.problem,)


def key_problem(key: str) -> str:
    """Why a key cannot be used: its variable is not set; empty when nothing is wrong."""
    return key.problem if isinstance(key, MissingKey) else ""


def _checked_key(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    if type(value) in (FromVariable, MissingKey):
        return value
    if isinstance(value, str) and re.fullmatch(r"\$[A-Za-z_][A-Za-z0-9_]*", value.strip()):
        raise ValueError(f"write ${{{value.strip()[1:]}}} to read an environment variable")
    return check(value)


Key = Annotated[str, WrapValidator(_checked_key), PlainSerializer(str)]
"""A secret. It remembers the variable it was read from, so that messages can name that."""


class Section(BaseModel):
    """A settings section: unknown keys are errors, values do not change after loading.

    ``limits`` are the keys that only say how much time and memory may be used for a result.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False
    )

    limits: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, data: Any) -> Any:
        """YAML reads a bare ``off`` as false; where off is a choice, that is what was meant. A
        text or a section without a value is at its default."""
        if not isinstance(data, dict):
            return data
        kinds = {key: field.annotation for key, field in cls.model_fields.items()}
        off = {key for key, kind in kinds.items() if "off" in get_args(kind)}
        empty = {key for key, kind in kinds.items() if kind is str or section_of(kind)}
        return {
            key: "off" if key in off and value is False else value
            for key, value in data.items()
            if value is not None or key not in empty
        }


def section_of(kind: Any) -> type[Section] | None:
    """The section that a field holds, if it holds one."""
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None
