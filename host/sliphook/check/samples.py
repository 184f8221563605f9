"""Pure: sample messages for a plugin.

Payloads come from the protocol's examples, arguments from a tool's schema.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from sliphook.plugin.route import Route
from sliphook.wire import envelope
from sliphook_sdk.framing import frame
from sliphook_sdk.protocol import CATALOGUE, InitializeParams, Payload
from sliphook_sdk.protocol.describe import example_of, example_to_send
from sliphook_sdk.protocol.reach import domain

MISLEADING = (
    'a "quoted" line,\n"method":"exit" \\ 100 %s \u2028 \u0085 \x00 é \U0001f600'
    ' Content-Length: 3 {"jsonrpc":"2.0"}'
)
"""Text that simple readers get wrong: escapes, line separators, long characters, a message."""

_P = TypeVar("_P", bound=Payload)
_WRONG: dict[str, Any] = {
    "string": 42,
    "integer": "many",
    "number": "many",
    "boolean": "perhaps",
    "array": 42,
    "object": 42,
}
_RIGHT: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}
# A schema may refer to itself; this ends the descent.
_DEEPEST = 8


def message(method: str, params: Any, id: int | None = None) -> bytes:
    """One framed message of the host; a notification if there is no id."""
    request = {
        "jsonrpc": "2.0",
        **({} if id is None else {"id": id}),
        "method": method,
        "params": params,
    }
    return frame(envelope.encode(request))


def initialize_params(name: str | None, data_dir: str, **more: Any) -> dict[str, Any]:
    """The params of `initialize`. `more` replaces fields or adds unknown ones."""
    params = example_of(InitializeParams)
    return {
        **params,
        "plugin": {"name": name, "data_dir": data_dir, "config": {}},
        "events": list(CATALOGUE),
        **more,
    }


def sample(struct: type[_P], **fields: Any) -> _P:
    """A payload of example values with these fields; what is absent by default stays absent."""
    return msgspec.convert({**example_to_send(struct), **fields}, struct)


def sample_for(route: Route) -> Payload:
    """A payload that fits a subscription and its `include`."""
    # The host sets heavy fields to null, too, unless the subscription includes them.
    fields: dict[str, Any] = dict.fromkeys(set(route.entry.heavy) - route.include)
    for pattern in route.patterns:
        words = domain(route.entry.payload, pattern.field).words
        # the shortest text that fits, but none is no name of a tool
        texts = (
            glob.replace("*", "").replace("?", "x") or "x" * ("*" in glob)
            for glob in sorted(pattern.texts)
        )
        fields[pattern.field] = next(filter(pattern.globs.fits, words or texts))
    return sample(route.entry.payload, **fields)


def arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments that fit usual schemas: each required property, by its example, default or type."""
    value = _value(schema, schema, _DEEPEST)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def wrong_arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments that all have a wrong type, and an unknown one."""
    properties: dict[str, Any] = schema.get("properties", {})
    wrong = {name: _WRONG.get(_kind(part)) for name, part in properties.items()}
    return {**wrong, "of_no_meaning": [None]}


def _kind(schema: Any) -> str:
    """The JSON type of a schema; the first of several."""
    part = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    kind: str | list[str] = part.get("type", "object" if "properties" in part else "string")
    return str(kind[0] if isinstance(kind, list) else kind)


def _value(schema: Any, root: dict[str, Any], depth: int) -> Any:
    if not isinstance(schema, dict) or depth == 0:
        return None
    part = cast("dict[str, Any]", schema)
    for known in ("const", "default"):
        if known in part:
            return part[known]
    for several in ("examples", "enum"):
        if part.get(several):
            return part[several][0]
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        return _value(
            root.get("$defs", {}).get(reference.removeprefix("#/$defs/")), root, depth - 1
        )
    for either in ("anyOf", "oneOf", "allOf"):
        if part.get(either):
            return _value(part[either][0], root, depth - 1)
    kind = _kind(part)
    if kind == "object":
        properties: dict[str, Any] = part.get("properties", {})
        return {
            name: _value(properties.get(name, {}), root, depth - 1)
            for name in part.get("required", [])
        }
    if kind in ("integer", "number"):
        return part.get("minimum", _RIGHT[kind])
    if kind == "array" and part.get("minItems"):
        return [_value(part.get("items", {}), root, depth - 1)] * part["minItems"]
    if kind == "string" and part.get("minLength", 0) > len(_RIGHT["string"]):
        return "x" * part["minLength"]
    return _RIGHT.get(kind)
