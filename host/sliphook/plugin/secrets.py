"""Pure: what of a plugin's environment and settings is secret. protocol.md says the same to authors, under Secrets."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import unquote

import msgspec

from sliphook_sdk.protocol import Manifest

from .spec import PluginSpec

_MAX_STEPS: Final = 20_000
"""A schema of a few lines can ask for billions of steps, and it is the plugin's: after so many all settings are secret."""

_REPEATS: Final = re.compile(r"[*+?{]")
_MAX_REPEATS: Final = 2
"""A pattern with more repetitions is not tried."""

_INDEX_DIGITS: Final = 6
"""No list of a schema is so long that its indexes have so many; the interpreter refuses to read numbers of thousands of digits."""


def is_secret(schema: Mapping[str, Any]) -> bool:
    """True where a schema says that its value is a secret: `"secret": true`, `"writeOnly": true` or `"format": "password"`."""
    return (
        schema.get("secret") is True
        or schema.get("writeOnly") is True
        or schema.get("format") == "password"
    )


def secret_values(spec: PluginSpec, manifest: Manifest | None) -> list[str]:
    """The texts that traces and logs may not show.

    Args:
        spec: the plugin, with the environment that was granted and its settings.
        manifest: what it declares, or None where that is not known yet: then all of the environment
            is secret.
    """
    wants = (manifest.env or []) if manifest is not None else []
    open_ones = {want.name for want in wants if want.secret is False}
    found = [value for name, value in spec.env.items() if name not in open_ones]
    schema = manifest.config_schema if manifest is not None else None
    if schema:
        found += _secrets_in(dict(spec.config), schema)
    return found


def _secrets_in(config: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    waiting: deque[tuple[Any, Any]] = deque([(config, root)])
    seen: set[tuple[int, int]] = set()  # a schema may refer to itself, and to another many times
    while waiting:
        value, schema = waiting.popleft()
        if not isinstance(schema, dict) or (id(value), id(cast("Any", schema))) in seen:
            continue
        schema = cast("dict[str, Any]", schema)
        seen.add((id(value), id(schema)))
        if is_secret(schema):
            yield from _texts(value)
            continue
        waiting.extend((value, other) for other in _others(schema, root))
        if isinstance(value, dict):
            for name, inner in cast("dict[str, Any]", value).items():
                waiting.extend((inner, part) for part in _of_property(schema, name))
        elif isinstance(value, list | tuple):
            for index, inner in enumerate(cast("Sequence[Any]", value)):
                waiting.extend((inner, part) for part in _of_item(schema, index))
        if len(seen) + len(waiting) > _MAX_STEPS:
            yield from _texts(config)
            return


def _others(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that hold for the same value."""
    for word in ("allOf", "anyOf", "oneOf"):
        several = schema.get(word)
        if isinstance(several, list):
            yield from several
    for word in ("then", "else"):
        yield schema.get(word)
    dependent = schema.get("dependentSchemas")
    if isinstance(dependent, dict):
        yield from cast("dict[str, Any]", dependent).values()
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield _target(reference, root)


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    """What a reference within the schema leads to; None where it leads elsewhere."""
    first, *steps = unquote(reference).split("/")
    if first != "#":
        return None
    target: Any = root
    for step in steps:
        if isinstance(target, dict):
            target = cast("dict[str, Any]", target).get(step.replace("~1", "/").replace("~0", "~"))
        elif (
            isinstance(target, list)
            and step.isascii()
            and step.isdigit()
            and len(step) < _INDEX_DIGITS
        ):
            several = cast("Sequence[Any]", target)
            target = several[int(step)] if int(step) < len(several) else None
        else:
            return None
    return target


def _of_property(schema: Mapping[str, Any], name: str) -> Iterator[Any]:
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        yield properties[name]
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict):
        for pattern, part in cast("dict[str, Any]", patterns).items():
            if _found(pattern, name):
                yield part
    yield schema.get("additionalProperties")
    yield schema.get("unevaluatedProperties")


def _of_item(schema: Mapping[str, Any], index: int) -> Iterator[Any]:
    for word in ("prefixItems", "items"):
        by_place = schema.get(word)
        if isinstance(by_place, list):
            yield from cast("Sequence[Any]", by_place)[index : index + 1]
    for word in ("items", "additionalItems", "unevaluatedItems", "contains"):
        yield schema.get(word)


def _found(pattern: str, name: str) -> bool:
    """Whether the pattern fits.

    One that could take for ever, as groups and many repetitions can, and one that is none, fits
    all.
    """
    if "(" in pattern or len(_REPEATS.findall(pattern)) > _MAX_REPEATS:
        return True
    try:
        return re.search(pattern, name) is not None
    except (re.error, OverflowError):
        return True  # better one too many


def _texts(value: Any) -> Iterator[str]:
    """All texts and numbers in a value that is secret as a whole."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from {
            str(value),
            msgspec.json.encode(value).decode(),
        }  # 1e+20 and 1e20 are one number
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[Any]", value):
            yield from _texts(inner)
