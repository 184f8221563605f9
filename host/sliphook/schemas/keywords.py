"""Pure: the keywords of JSON Schema that are checked, and what each of them must hold.

Keywords that are not in these tables say nothing about a value, or are not checked: `format` and
`content…` are remarks (protocol.md, ToolSpec).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeGuard

DRAFTS: Final = {
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "http://json-schema.org/draft-07/schema": "draft-07",
    "http://json-schema.org/draft-06/schema": "draft-06",
    "http://json-schema.org/draft-04/schema": "draft-04",
}
"""The values of `$schema`, without a `#` at the end. The first is taken where none is named."""

REF_ALONE: Final = ("draft-07", "draft-06", "draft-04")
"""Drafts in which a schema with `$ref` has no other keyword."""
LISTED_ITEMS: Final = ("2019-09", *REF_ALONE)
"""Drafts in which `items` may be a list."""

IN_PLACE: Final = frozenset({"not", "if", "then", "else"})
"""Hold a schema for the same value."""
IN_PLACE_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf"})
"""Hold a list of schemas for the same value."""
EVERY: Final = frozenset(
    {
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
    }
)
"""Hold a schema for every item, or for every property."""
LAZY: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
"""Those of `EVERY` for which the library finds out what other schemas have evaluated."""
MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Hold an object of schemas."""
STORES: Final = frozenset({"$defs", "definitions"})
"""Hold schemas that apply only where they are referred to."""
NOT_FOLLOWED: Final = frozenset({"$dynamicRef", "$recursiveRef"})
"""References whose target depends on the way to them: their work cannot be bounded."""

TYPES: Final = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """True for an object of JSON."""
    return type(value) is dict


def is_list(value: object) -> TypeGuard[list[Any]]:
    """True for a list of JSON."""
    return type(value) is list


def kind_of(value: object) -> str:
    """The kind of a JSON value, in words for people."""
    for kind, words in ((dict, "an object"), (list, "a list"), (str, "text"), (bool, "a boolean")):
        if isinstance(value, kind):
            return words
    return "null" if value is None else "a number"


def _type(value: Any) -> bool:
    names: list[Any] = value if is_list(value) else [value]
    return bool(names) and all(type(name) is str and name in TYPES for name in names)


def _texts(value: Any) -> bool:
    return is_list(value) and all(type(text) is str for text in value)


def _count(value: Any) -> bool:
    if type(value) is float and value.is_integer():
        value = int(value)
    return type(value) is int and 0 <= value < 2**53


def _number(value: Any) -> bool:
    # a longer integer is no number for most readers of JSON, and takes long to calculate with
    return type(value) is float or (type(value) is int and abs(value) < 2**1024)


def _edge(value: Any) -> bool:
    return type(value) is bool or _number(value)  # true and false in draft-04


def _step(value: Any) -> bool:
    return _number(value) and value > 0


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


VALUES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "type": (_type, f"one of {', '.join(sorted(TYPES))}, or a list of them"),
    "enum": (_is(list), "a list"),
    "const": (lambda _: True, "any value"),
    "required": (_texts, "a list of names"),
    "dependentRequired": (
        lambda value: is_object(value) and all(map(_texts, value.values())),
        "an object of lists of names",
    ),
    "multipleOf": (_step, "a number above 0"),
    "maximum": (_number, "a number"),
    "minimum": (_number, "a number"),
    "exclusiveMaximum": (_edge, "a number"),
    "exclusiveMinimum": (_edge, "a number"),
    "maxLength": (_count, "a whole number from 0"),
    "minLength": (_count, "a whole number from 0"),
    "maxItems": (_count, "a whole number from 0"),
    "minItems": (_count, "a whole number from 0"),
    "maxContains": (_count, "a whole number from 0"),
    "minContains": (_count, "a whole number from 0"),
    "maxProperties": (_count, "a whole number from 0"),
    "minProperties": (_count, "a whole number from 0"),
    "uniqueItems": (_is(bool), "true or false"),
    "pattern": (_is(str), "a regular expression as text"),
}
"""Keywords without a schema in them: the check of what they hold, and its words."""
