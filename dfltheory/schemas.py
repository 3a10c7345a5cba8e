"""Validation of user-written files by pydantic models, with short error messages.

:func:`read_model` validates plain data and reports each problem as "place: reason",
where the place is dotted, for example ``run.rounds`` or ``sweep.values[2]``.
:func:`field_problems` returns the problems with their keys, for readers that report
lines and columns.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from dfltheory.documents import short_text
from dfltheory.errors import DFLTheoryError, InputError, UnknownNameError
from dfltheory.problems import Problems, located


class Schema(BaseModel):
    """Base class of the models.

    Unknown fields, wrong types and infinite numbers are rejected.
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        frozen=True,
        protected_namespaces=(),
        use_attribute_docstrings=True,
    )


Model = TypeVar("Model", bound=Schema)
ValuePath = tuple[str | int, ...]
"""The keys and indices of a value."""

MAX_DETAILS = 200
"""Largest number of pydantic errors that are processed."""

_REASONS = {
    "int_type": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
}
"""Maps pydantic's error types to reasons; other types have pydantic's own message."""


@dataclass(frozen=True)
class FieldProblem:
    """A problem of a field.

    Attributes
    ----------
    path : tuple
        The keys and indices of the field.
    reason : DFLTheoryError
        What is wrong and what is allowed.
    is_unknown : bool
        Whether the model has no such field.
    """

    path: ValuePath
    reason: DFLTheoryError
    is_unknown: bool = False

    def at(self, place: str) -> DFLTheoryError:
        """Return the reason with its dotted place, that of the table if unknown."""
        path = self.path[:-1] if self.is_unknown else self.path
        with contextlib.suppress(DFLTheoryError), located(dotted(path, place)):
            raise self.reason
        return self.reason


def read_model(model: type[Model], data: object, place: str = "") -> Model:
    """Validate plain data, and return it as an instance of a model.

    Parameters
    ----------
    model : type
        The model.
    data : object
        Content of a TOML or JSON file.
    place : str
        Place of the data in its file.

    Raises
    ------
    UnknownNameError
        If the only problem is an unknown field.
    InputError
        If there are other problems, one message "place: reason" for each.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = Problems()
        for problem in field_problems(error, model, data):
            problems.add(problem.at(place))
        problems.raise_any()
        raise  # pydantic reports at least one problem


def field_problems(
    error: ValidationError, model: type[Schema], data: object
) -> Iterator[FieldProblem]:
    """Yield one problem for each field; alternatives of a union are combined."""
    by_path: dict[ValuePath, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False)[:MAX_DETAILS]:
        by_path.setdefault(_path(detail, data), []).append(detail)
    enclosing = {path[:length] for path in by_path for length in range(len(path))}
    for path, details in by_path.items():
        if path in enclosing:  # another alternative of the union fits better
            continue
        detail = details[0]
        own_error = detail.get("ctx", {}).get("error")
        if detail["type"] == "extra_forbidden":
            known = set(_fields_at(model, path[:-1]))
            unknown = UnknownNameError("field", path[-1], known)
            yield FieldProblem(path, unknown, is_unknown=True)
        elif detail["type"] == "missing":
            meaning = _fields_at(model, path[:-1])[str(path[-1])].description
            words = f"is missing: {meaning}" if meaning else "is missing"
            yield FieldProblem(path, InputError(words))
        elif isinstance(own_error, DFLTheoryError):
            yield FieldProblem(path, own_error)
        else:
            reasons = " or ".join(dict.fromkeys(_reason(one) for one in details))
            reasons = reasons.replace(" or must be ", " or ")
            reason = InputError(f"{reasons}, not {short_text(detail['input'])}")
            yield FieldProblem(path, reason)


def _path(detail: ErrorDetails, data: object) -> ValuePath:
    """Return an error's path in the data, without pydantic's names of alternatives."""
    path: list[str | int] = []
    node: Any = data  # the value at the path so far
    for step in detail["loc"]:
        if _holds(node, step):
            path.append(step)
            node = node[step]
        elif detail["type"] == "missing" and step == detail["loc"][-1]:
            path.append(step)
    return tuple(path)


def _holds(node: object, step: str | int) -> bool:
    """Return whether a table has the key, or a list the index."""
    if isinstance(node, list):
        return isinstance(step, int) and step < len(node)
    return isinstance(node, Mapping) and step in node


def dotted(path: ValuePath, above: str = "") -> str:
    """Return a path as text: ("sweep", "values", 2) -> "sweep.values[2]"."""
    text = above
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{shown_key(step)}" if text else shown_key(step)
    return text


def shown_key(key: str) -> str:
    """Return a key unchanged if it is a name, else quoted and shortened."""
    return key if re.fullmatch(r"\w{1,60}", key) else short_text(key)


def _reason(detail: ErrorDetails) -> str:
    """Return what a value must be, in the words of this package."""
    if detail["type"] in _REASONS:
        return _REASONS[detail["type"]]
    message = detail["msg"].removeprefix("Value error, ")
    message = re.sub(r" after validation, not \d+$", "", message)
    return re.sub(
        r"^(Input|String|List|Dictionary|Value|Tuple) should ", "must ", message
    )


def fields_by_name(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by their names in files."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _fields_at(model: type[BaseModel], path: ValuePath) -> dict[str, FieldInfo]:
    """Return the fields of the submodel at a path."""
    for step in path:
        field = fields_by_name(model).get(str(step))
        inner = None if field is None else _model_in(field.annotation)
        if inner is None:
            continue  # an index of a list
        model = inner
    return fields_by_name(model)


def _model_in(annotation: object) -> type[BaseModel] | None:
    """Return the first model in an annotation such as ``list[Model]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        inner = _model_in(argument)
        if inner is not None:
            return inner
    return None


__all__ = [
    "FieldProblem",
    "Schema",
    "dotted",
    "field_problems",
    "fields_by_name",
    "read_model",
]
