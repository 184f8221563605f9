"""Pure: what of a plugin's environment and settings is secret. protocol.md says the same to authors, under Secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from sliphook_sdk.protocol import Manifest

from .spec import PluginSpec

_DEEPEST: Final = 32
"""A schema may refer to itself, so somewhere the search ends."""


def is_secret(schema: Mapping[str, Any]) -> bool:
    """True where a schema says that its value is a secret: `"secret": true`, `"writeOnly": true` or `"format": "password"`."""
    return schema.get("secret") is True or schema.get("writeOnly") is True or schema.get("format") == "password"


def secret_values(spec: PluginSpec, manifest: Manifest | None) -> list[str]:
    """The texts that traces and logs may not show.

    Args:
        spec: the plugin, with the environment that was granted and its settings.
        manifest: what it declares, or None where that is not known yet: then all of the environment is secret.
    """
    wants = (manifest.env or []) if manifest is not None else []
    open_ones = {want.name for want in wants if want.secret is False}
    found = [value for name, value in spec.env.items() if name not in open_ones]
    schema = manifest.config_schema if manifest is not None else None
    if schema:
        found += _secrets_in(dict(spec.config), schema, schema, 0)
    return found


def _secrets_in(value: Any, schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    schema = cast("dict[str, Any]", schema)
    if is_secret(schema):
        yield from _texts(value)
        return
    for other in _others(schema, root):
        yield from _secrets_in(value, other, root, depth + 1)
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            for part in _of_property(schema, name):
                yield from _secrets_in(inner, part, root, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[Any]", value):
            yield from _secrets_in(inner, schema.get("items"), root, depth + 1)


def _others(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that hold for the same value."""
    for word in ("allOf", "anyOf", "oneOf"):
        several = schema.get(word)
        if isinstance(several, list):
            yield from several
    for word in ("then", "else"):
        yield schema.get(word)
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = root
        for step in reference[2:].split("/"):
            target = cast("dict[str, Any]", target).get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        yield target


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


def _found(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True  # better one too many


def _texts(value: Any) -> Iterator[str]:
    """All texts and numbers in a value that is secret as a whole."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[Any]", value):
            yield from _texts(inner)
