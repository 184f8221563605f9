"""The JSON Schema of the protocol, made from the definition in `sliphook_sdk.protocol`."""

from __future__ import annotations

import inspect
import json
from typing import Any, Final

import msgspec

from sliphook_sdk import protocol
from sliphook_sdk.protocol import limits

_REF: Final = "#/$defs/{name}"

_ID: Final = {"oneOf": [{"type": "integer"}, {"type": "string"}]}

_TRACEPARENT: Final = {
    "description": "The agent's span that this is part of, as W3C Trace Context writes it;"
    " absent if the agent makes none.",
    "type": "string",
}

_ENVELOPE: Final[dict[str, Any]] = {
    "EnvelopeRequest": {
        "description": "Asks for one reply. The host's ids are integers from 1, never reused.",
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": _ID,
            "method": {"type": "string"},
            "traceparent": _TRACEPARENT,
            "params": {"type": "object"},
        },
        "required": ["jsonrpc", "id", "method"],
    },
    "EnvelopeNotification": {
        "description": "Asks for no reply.",
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "method": {"type": "string"},
            "traceparent": _TRACEPARENT,
            "params": {"type": "object"},
        },
        "required": ["jsonrpc", "method"],
        "not": {"required": ["id"]},
    },
    "EnvelopeResult": {
        "description": "The reply to a request that succeeded.",
        "type": "object",
        "properties": {"jsonrpc": {"const": "2.0"}, "id": _ID, "result": {}},
        "required": ["jsonrpc", "id", "result"],
        "not": {"anyOf": [{"required": ["error"]}, {"required": ["method"]}]},
    },
    "EnvelopeError": {
        "description": "The reply to a request that failed; `id` is null if the id of the request"
        " could not be read.",
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"oneOf": [*_ID["oneOf"], {"type": "null"}]},
            "error": {
                "type": "object",
                "properties": {
                    "code": {"type": "integer"},
                    "message": {"type": "string"},
                    "data": {},
                },
                "required": ["code", "message"],
            },
        },
        "required": ["jsonrpc", "id", "error"],
        "not": {"anyOf": [{"required": ["result"]}, {"required": ["method"]}]},
    },
}


def _structs() -> list[type[msgspec.Struct]]:
    """Every struct that is the params, the payload or the result of a message, once."""
    found: dict[type[msgspec.Struct], None] = {protocol.Answer: None, protocol.Payload: None}
    for entry in protocol.CATALOGUE.values():
        found[entry.payload] = None
    for method in protocol.METHODS:
        found[method.params] = None
        if method.result is not None:
            found[method.result] = None
    return list(found)


def _without_null_examples(definitions: dict[str, Any]) -> dict[str, Any]:
    """The same definitions without `"examples": [null]`, which tells a reader nothing."""
    text = json.dumps(definitions)
    cleaned: dict[str, Any] = json.loads(
        text,
        object_pairs_hook=lambda pairs: {k: v for k, v in pairs if (k, v) != ("examples", [None])},
    )
    return cleaned


def _ref(struct: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REF.format(name=struct.__name__)}


def _methods() -> dict[str, Any]:
    """Each method: its sender, its params, its result."""
    table: dict[str, Any] = {}
    for method in protocol.METHODS:
        row: dict[str, Any] = {
            "by": method.by,
            "kind": method.kind,
            "description": method.says,
            "params": _ref(method.params),
        }
        if method.kind == "request":
            row["result"] = _ref(method.result) if method.result else {}
        if method.name == "tool/call":
            row["result"] = {"anyOf": [row["result"], {"type": "string"}]}
        if method.grant:
            row["grant"] = method.grant
        table[method.name] = row
    for entry in protocol.CATALOGUE.values():
        told = {
            "by": "host",
            "kind": "notification",
            "description": entry.fires,
            "params": _ref(entry.payload),
        }
        table[f"event/{entry.name}"] = told
        if entry.kind == "hook":
            answer = {"anyOf": [_ref(protocol.Answer), {"type": "null"}]}
            table[f"hook/{entry.name}"] = {
                **told,
                "kind": "request",
                "result": answer,
                "answer_fields": list(entry.answer_fields),
                "on_failure": entry.on_failure,
            }
    return dict(sorted(table.items()))


def build() -> dict[str, Any]:
    """The schema as dicts, lists and scalars.

    Definitions and methods are sorted by name; the properties of each keep the order of the wire.
    """
    _, components = msgspec.json.schema_components(_structs(), ref_template=_REF)
    for component in components.values():
        if "description" in component:
            # Python 3.13 takes the indentation out of docstrings, older ones keep it
            component["description"] = inspect.cleandoc(component["description"])
    definitions = {**components, **_ENVELOPE}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The Sliphook protocol, version {limits.PROTOCOL_VERSIONS[-1]}",
        "description": (
            "Generated from sliphook_sdk.protocol. `methods` says what each method carries,"
            " `errors` which codes there are, `$defs` what everything looks like; properties are in"
            " the order of the wire. protocol.md explains it."
        ),
        "oneOf": [{"$ref": _REF.format(name=name)} for name in _ENVELOPE],
        "methods": _methods(),
        "errors": {
            str(code.value): {"message": code.text, "meaning": code.meaning}
            for code in protocol.ErrorCode
        },
        "$defs": _without_null_examples(dict(sorted(definitions.items()))),
    }
