"""Pure: sample messages for a plugin.

Payloads come from the protocol's examples, arguments from a tool's schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import msgspec

from sliphook.plugin.route import Route
from sliphook.wire import envelope
from sliphook_sdk.framing import frame
from sliphook_sdk.protocol import CATALOGUE, InitializeParams, Payload
from sliphook_sdk.protocol.describe import example_of, example_to_send
from sliphook_sdk.protocol.patterns.domains import values_of

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
_LONGEST = 10_000
_MOST_VALUES = 20_000
MOST_EXAMPLES = 4
"""So many of the `examples` of a schema are tried."""


def message(
    method: str, params: Any, id: int | None = None, traceparent: str | None = None
) -> bytes:
    """One framed message of the host; a notification if there is no id."""
    request = {
        "jsonrpc": "2.0",
        **({} if id is None else {"id": id}),
        "method": method,
        **({} if traceparent is None else {"traceparent": traceparent}),
        "params": params,
    }
    return frame(envelope.encode(request))


def initialize_params(
    name: str | None, data_dir: str, config: dict[str, object], **more: Any
) -> dict[str, Any]:
    """The params of `initialize`. `more` replaces fields or adds unknown ones."""
    params = example_of(InitializeParams)
    return {
        **params,
        "plugin": {"name": name, "data_dir": data_dir, "config": config},
        "events": list(CATALOGUE),
        **more,
    }


def sample(struct: type[_P], **fields: Any) -> _P:
    """A payload of example values with these fields; what is absent by default stays absent.

    `cwd` is a folder that there is: a tool may run a command in it.
    """
    there = {"cwd": "/"} if "cwd" in struct.__struct_fields__ else {}
    return msgspec.convert({**example_to_send(struct), **there, **fields}, struct)


def sample_for(route: Route) -> Payload:
    """A payload that fits a subscription and its `include`."""
    # The host sets heavy fields to null, too, unless the subscription includes them.
    fields: dict[str, Any] = dict.fromkeys(set(route.entry.heavy) - route.include)
    for pattern in route.patterns:
        domains = values_of(route.entry.payload, pattern.field).domains
        words = (word for domain in domains for word in domain.words or ())
        # the shortest text that fits, but none is no name of a tool
        texts = (
            glob.replace("*", "").replace("?", "x") or "x" * ("*" in glob)
            for glob in sorted(pattern.texts)
        )
        fields[pattern.field] = next(filter(pattern.globs.fits, (*words, *texts)))
    return sample(route.entry.payload, **fields)


def arguments_for(schema: dict[str, Any], example: int = 0) -> dict[str, Any]:
    """Arguments that fit usual schemas: each property that is required or has `examples`.

    A value is its const, example, default, first of its enum, or a plain one of its type. So the
    author of a tool names its samples by `examples`, of the whole schema or of a property.

    Args:
        schema: the tool's `input_schema`.
        example: which one to take of `examples`; the last, if there are fewer.
    """
    value = _Sampler(schema, example).value(schema, _DEEPEST)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def all_arguments_for(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments of `arguments_for` for each example, without doubles."""
    samples: list[dict[str, Any]] = []
    for example in range(MOST_EXAMPLES):
        arguments = arguments_for(schema, example)
        if arguments not in samples:
            samples.append(arguments)
    return samples


def wrong_arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments that all have a wrong type, and an unknown one."""
    wrong = {name: _WRONG.get(_kind(part)) for name, part in _properties(schema).items()}
    return {**wrong, "of_no_meaning": [None]}


def with_text(value: Any, text: str) -> Any:
    """The same arguments, with this text in place of each plain one of `arguments_for`."""
    if value == _RIGHT["string"]:
        return text
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: with_text(part, text) for name, part in members.items()}
    if isinstance(value, list):
        return [with_text(part, text) for part in cast("Sequence[Any]", value)]
    return value


def _part(schema: Any) -> dict[str, Any]:
    """A schema that is an object, or an empty one: any JSON may stand in the place of one."""
    return cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    return _part(schema.get("properties"))


def _items(schema: dict[str, Any], key: str) -> Sequence[Any]:
    """The list under a key; empty for anything else."""
    found = schema.get(key)
    return cast("Sequence[Any]", found) if isinstance(found, list) else ()


def _kind(schema: Any) -> str:
    """The JSON type of a schema; the first of several."""
    part = _part(schema)
    kinds = _items(part, "type") or (part.get("type"),)
    return str(kinds[0] or ("object" if "properties" in part else "string"))


class _Sampler:
    """Sample values for the parts of one schema; arguments as for `arguments_for`."""

    def __init__(self, root: dict[str, Any], example: int) -> None:
        self._definitions = _part(root.get("$defs"))
        self._example = example
        self._left = _MOST_VALUES

    def value(self, schema: Any, depth: int) -> Any:
        """A value for a part of the schema."""
        self._left -= 1
        if not isinstance(schema, dict) or depth == 0 or self._left < 0:
            return None
        part = cast("dict[str, Any]", schema)
        if "const" in part:
            return part["const"]
        if examples := _items(part, "examples"):
            return examples[min(self._example, len(examples) - 1)]
        if "default" in part:
            return part["default"]
        if known := _items(part, "enum"):
            return known[0]
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            return self.value(self._definitions.get(reference.removeprefix("#/$defs/")), depth - 1)
        for either in ("anyOf", "oneOf", "allOf"):
            if several := _items(part, either):
                return self.value(several[0], depth - 1)
        kind = _kind(part)
        if kind == "object":
            return self._object(part, depth)
        if kind in ("integer", "number"):
            return part.get("minimum", _RIGHT[kind])
        if kind == "array":
            least = _number(part, "minItems")
            return [self.value(part.get("items", {}), depth - 1) for _ in range(least)]
        if kind == "string" and _number(part, "minLength") > len(_RIGHT["string"]):
            return "x" * _number(part, "minLength")
        return _RIGHT.get(kind)

    def _object(self, part: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = _properties(part)
        wanted = [name for name in _items(part, "required") if isinstance(name, str)]
        shown = [name for name in properties if _items(_part(properties[name]), "examples")]
        return {
            name: self.value(properties.get(name, {}), depth - 1)
            for name in dict.fromkeys((*wanted, *shown))
        }


def _number(part: dict[str, Any], key: str) -> int:
    """A least length, as far as a sample may be long."""
    found = part.get(key)
    return min(found, _LONGEST) if isinstance(found, int) else 0
