"""Pure: what the answer to a question has to be: a text, a number, a choice, or a few of them.

It is the flat part of JSON Schema that MCP's elicitation has too: one value, or an object of such
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

import msgspec

from sliphook.quoting import quote
from sliphook.schemas import SchemaError, check_schema, why_arguments_do_not_fit
from sliphook.schemas.keywords import is_list, is_object
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import nearest
from sliphook_sdk.protocol.limits import (
    MAX_ANSWER_CHARS,
    MAX_QUESTION_CHOICES,
    MAX_QUESTION_FIELDS,
)

FieldKind = Literal["string", "number", "integer", "boolean"]

_KINDS: Final = ("string", "number", "integer", "boolean", "object")
_REMARKS: Final = frozenset({"title", "description", "default"})
_SIZES: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "string": _REMARKS | {"enum", "enumNames", "minLength", "maxLength", "format"},
    "number": _REMARKS | _SIZES | {"multipleOf"},
    "integer": _REMARKS | _SIZES | {"multipleOf"},
    "boolean": _REMARKS,
    "object": frozenset({"properties", "required", "title", "description", "additionalProperties"}),
}
"""What may stand beside `type`; of other keywords no person can be asked."""
_WHAT: Final = "the question's schema"


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """One value that a person is asked for. Its texts are a plugin's.

    Attributes:
        name: the property; None if the answer is this one value.
        kind: its type.
        schema: its schema.
        required: the answer must have it.
    """

    name: str | None
    kind: FieldKind
    schema: dict[str, Any]
    required: bool = True

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have; empty if they are not listed."""
        return tuple(self.schema.get("enum", ()))

    @property
    def choice_names(self) -> tuple[str, ...]:
        """What people read for each of `choices`."""
        return tuple(self.schema.get("enumNames", ())) or self.choices

    def why_not(self, value: object) -> str | None:
        """Why the field cannot have this value, or None."""
        return why_arguments_do_not_fit(value, self.schema, _WHAT)


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer has to be.

    Attributes:
        schema: the whole, as plugins are told it.
        fields: the values that a person is asked for, in order.
        is_object: the answer is an object of them; else it is the only one.
    """

    schema: dict[str, Any]
    fields: tuple[FormField, ...]
    is_object: bool = False

    def why_not(self, value: object) -> str | None:
        """Why this is no answer, or None."""
        return why_arguments_do_not_fit(value, self.schema, _WHAT)

    def read(self, choice: str) -> Any:
        """The value of an answer as `host/answer` has it: a text as it is, any other as JSON.

        Raises:
            ValueError: it is no answer; str() says why.
        """
        if len(choice) > MAX_ANSWER_CHARS:
            raise ValueError(f"it has more than {MAX_ANSWER_CHARS:,} characters")
        value: Any = choice
        if self.is_object or self.fields[0].kind != "string":
            try:
                value = msgspec.json.decode(choice.encode())
            except DECODE_ERRORS as error:
                raise ValueError(f"it is no JSON: {quote(str(error), 200)}") from None
        why = self.why_not(value)
        if why is not None:
            raise ValueError(why)
        return value

    def written(self, value: Any) -> str:
        """An answer as `user_input_received` has it: what `read` reads."""
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def read_form(schema: dict[str, Any] | None) -> Form:
    """Read the schema of a question; None is a text.

    Raises:
        SchemaError: it cannot be used, or it is not flat; its author is at fault.
    """
    if schema is None:
        schema = {"type": "string"}
    # first: it bounds what is looked at below
    check_schema(schema, 1 + MAX_QUESTION_FIELDS * 4)
    kind = _kind(schema, "", _KINDS)
    if kind != "object":
        field = FormField(name=None, kind=cast("FieldKind", kind), schema=schema)
        return Form(schema=schema, fields=(field,))
    properties = schema.get("properties")
    if not properties:
        raise SchemaError("is empty; name what the answer has to have", "properties")
    if len(properties) > MAX_QUESTION_FIELDS:
        raise SchemaError(f"has more than {MAX_QUESTION_FIELDS} entries", "properties")
    required = schema.get("required", ())
    for name in required:
        if name not in properties:
            raise SchemaError(f"names {quote(name, 40)}, which is not in properties", "required")
    fields = tuple(
        FormField(
            name=name,
            kind=cast("FieldKind", _kind(part, f"properties.{name}.", _KINDS[:-1])),
            schema=part,
            required=name in required,
        )
        for name, part in properties.items()
    )
    # no one is asked for other values, so no answer has any
    return Form(schema={**schema, "additionalProperties": False}, fields=fields, is_object=True)


def _kind(schema: Any, path: str, kinds: tuple[str, ...]) -> str:
    """The type of one value, whose keywords are all known."""
    kind = schema.get("type") if is_object(schema) else None
    if not is_object(schema) or kind not in kinds:
        lacks = "is missing; it " if is_object(schema) and kind is None else ""
        raise SchemaError(f"{lacks}must be one of {', '.join(kinds)}", f"{path}type")
    known = _KEYWORDS[kind]
    for keyword in schema:
        if keyword not in known and keyword not in ("type", "$schema"):
            close = nearest(keyword, sorted(known))
            hint = (
                f"; did you mean {close}?" if close else f"; {kind} has {', '.join(sorted(known))}"
            )
            raise SchemaError(
                f"is not for questions to people{hint}", f"{path}{quote(keyword, 40)}"
            )
    _check_choices(schema, path)
    return cast("str", kind)


def _check_choices(schema: dict[str, Any], path: str) -> None:
    for keyword in ("enum", "enumNames"):
        values: Any = schema.get(keyword)
        if values is None and keyword not in schema:
            continue
        if not (is_list(values) and values and all(type(one) is str for one in values)):
            raise SchemaError("must be a list of texts", f"{path}{keyword}")
        if len(values) > MAX_QUESTION_CHOICES:
            raise SchemaError(f"has more than {MAX_QUESTION_CHOICES} entries", f"{path}{keyword}")
    if len(schema.get("enumNames", ())) not in (0, len(schema.get("enum", ()))):
        raise SchemaError("must have a name for each value of enum", f"{path}enumNames")


YES_OR_NO: Final = read_form({"type": "string", "enum": ["allow", "deny"]})
"""The answers to a question of the agent's own."""
