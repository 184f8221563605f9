"""Pure: the form of a server's question, as this protocol has it."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

_FIELDS: Final = {
    "string": ("enum", "enumNames", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
}
_REMARKS: Final = ("type", "title", "description", "default")
_YES_OR_NO: Final[dict[str, Any]] = {"type": "boolean"}


class TitledChoice(msgspec.Struct, frozen=True):
    """One of several, with its title."""

    const: str
    title: str | None = None


_CHOICES: Final = msgspec.json.Decoder(list[TitledChoice])


def form_of(requested: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of an answer that fits what a server asks for; None if there is none.

    A field that cannot be asked for, such as a choice of several, is left out if it may be. A
    question without fields is answered by yes or no.
    """
    given = requested.get("properties")
    properties = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    if not properties:
        return dict(_YES_OR_NO)
    fields = {name: field for name, one in properties.items() if (field := _field(one)) is not None}
    required = [str(name) for name in cast("list[object]", requested.get("required") or [])]
    if not fields or not set(required) <= set(fields):
        return None
    return {"type": "object", "properties": fields, "required": required}


def _field(given: Any) -> dict[str, Any] | None:
    if not isinstance(given, dict):
        return None
    field = cast("dict[str, Any]", given)
    kind = field.get("type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        return None
    fitted = {key: field[key] for key in (*_REMARKS, *_FIELDS[kind]) if key in field}
    if kind == "string" and "oneOf" in field:
        try:
            choices = _CHOICES.decode(msgspec.json.encode(field["oneOf"]))
        except msgspec.ValidationError:
            return None
        fitted["enum"] = [one.const for one in choices]
        fitted["enumNames"] = [one.title or one.const for one in choices]
    return fitted
