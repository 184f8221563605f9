"""Pure: what providers of models refuse in a tool, what is changed for them, and whom they blame.

A provider refuses the whole request for one tool that it does not take. So such a tool is changed
where that takes nothing away, as the host checks the arguments by the whole schema all the same, or
it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sliphook.quoting import quote

from .keywords import is_object

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""OpenAI's and Anthropic's documentation of `tools`: the name of a function."""
_NOT_AT_THE_TOP: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "enum", "const"})
"""Both refuse these beside `type: object`: "does not support oneOf, allOf, or anyOf at the top"."""


class Rules(NamedTuple):
    """What one provider takes.

    Attributes:
        property_name: the names of properties, or None for any.
        description_chars: the longest description, or None for any.
    """

    property_name: re.Pattern[str] | None
    description_chars: int | None


PROVIDERS: Final = {
    "anthropic": Rules(re.compile(r"[A-Za-z0-9_.-]{1,64}"), None),
    "openai": Rules(None, 1024),
}
"""By `Model.provider`; other providers take everything."""


def why_tool_is_refused(provider: str, name: str, schema: dict[str, Any]) -> str | None:
    """Why this provider refuses a request with this tool, and what its author can do; or None."""
    rules = PROVIDERS.get(provider)
    if rules is None:
        return None
    if not _NAME.fullmatch(name):
        return "its name must be 1 to 64 letters of A to Z, digits, _ and -"
    if not is_object(schema.get("properties", {})):
        return "properties of its input_schema must be an object"
    if schema.get("type", "object") != "object":
        return 'its input_schema must have "type": "object"'
    barred = sorted(schema.keys() & _NOT_AT_THE_TOP)
    if barred and not schema.get("properties"):
        return (
            f"its input_schema has {barred[0]} at the top and no properties; give it an object with"
            " properties"
        )
    for key in schema.get("properties", {}):
        if rules.property_name is not None and not rules.property_name.fullmatch(key):
            return (
                f"its parameter {quote(key, 80)} must be named with 1 to 64 letters of A to Z,"
                " digits, _, . and -"
            )
    return None


def tool_for(provider: str, description: str, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The description and the schema of a tool as this provider takes them."""
    rules = PROVIDERS.get(provider)
    if rules is None:
        return description, schema
    most = rules.description_chars
    if most is not None and len(description) > most:
        description = f"{description[: most - 1]}…"
    if schema.get("type") != "object" or schema.keys() & _NOT_AT_THE_TOP:
        schema = {
            "type": "object",
            **{key: value for key, value in schema.items() if key not in _NOT_AT_THE_TOP},
        }
    return description, schema


_PLACE: Final = re.compile(r"\btools(?:\.|\[)(\d{1,4})\b")


def blamed_tool(refusal: str, names: Sequence[str]) -> str | None:
    """The tool that a provider's error names, by its place or its name; None if it names none.

    Args:
        refusal: the error, as in `tools.3.custom.input_schema: …` or `function 'deploy': …`.
        names: the tools in the order of the request.
    """
    place = _PLACE.search(refusal)
    if place is not None and int(place[1]) < len(names):
        return names[int(place[1])]
    if "tool" not in refusal and "function" not in refusal and "schema" not in refusal:
        return None
    # a name that is a word of every error, such as `tools`, would be found by chance
    quoted = re.findall(r"[`'\"“]([A-Za-z0-9_-]{1,64})[`'\"”]", refusal)
    return next((name for name in quoted if name in names), None)
