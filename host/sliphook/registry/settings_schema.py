"""Pure: what a plugin's `config_schema` says of its settings, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import msgspec

from sliphook_sdk.protocol import nearest

_MAX_REFERENCES: Final = 20
"""References that are followed for one setting: a plugin's schema may go in circles."""

_OPEN: Final = frozenset(
    {"patternProperties", "allOf", "anyOf", "oneOf", "if", "not", "dependentSchemas", "$dynamicRef"}
)
"""Keywords beside `properties` that may allow further settings."""


class Setting(NamedTuple):
    """One setting that a plugin has.

    Attributes:
        kind: the type, as the schema has it: `integer`, `string or null`; "any" if it has none.
        default: the default as JSON, or None.
        required: the plugin does not work without it.
        description: one line, or None.
    """

    kind: str
    default: str | None
    required: bool
    description: str | None


def settings_of(schema: Mapping[str, Any] | None) -> dict[str, Setting]:
    """The settings that a schema names, in its order."""
    root = schema or {}
    whole = _followed(root, root)
    properties = _object(whole.get("properties"))
    required = whole.get("required")
    named = cast("list[object]", required) if isinstance(required, list) else []
    return {
        name: _setting(_object(part), root, required=name in named)
        for name, part in properties.items()
    }


def line_of(name: str, setting: Setting) -> str:
    """A setting in one line, with what the schema says of it; not yet safe to print."""
    must = "required" if setting.required else f"default {setting.default or 'none'}"
    about = f": {setting.description}" if setting.description else ""
    return f"{name}, {setting.kind}, {must}{about}"


def unknown_setting(name: str, schema: Mapping[str, Any] | None) -> str | None:
    """Why a plugin has no setting of this name, in one line; None if it has, or if it may have.

    A schema names all settings if it has `properties` and nothing that may allow others, even
    where it does not forbid them: a plugin does not read what it has not declared.
    """
    root = schema or {}
    whole = _followed(root, root)
    known = settings_of(schema)
    others_are_meant = bool(whole.get("additionalProperties", False))
    if not known or name in known or others_are_meant or _OPEN & whole.keys():
        return None
    close = nearest(name, list(known))
    hint = f"did you mean {close}?" if close else f"it has {', '.join(known)}"
    return f"there is no setting {name}; {hint}"


def _setting(part: Mapping[str, Any], root: Mapping[str, Any], *, required: bool) -> Setting:
    whole = {**_followed(part, root), **part}
    default = msgspec.json.encode(whole["default"]).decode() if "default" in whole else None
    description = whole.get("description")
    return Setting(
        kind=_kind(whole, root),
        default=default,
        required=required,
        description=description if isinstance(description, str) else None,
    )


def _kind(part: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    kind: object = part.get("type")
    if isinstance(kind, str):
        return kind
    if isinstance(kind, list):
        return " or ".join(map(str, cast("list[object]", kind)))
    for several in ("anyOf", "oneOf"):
        if isinstance(part.get(several), list):
            kinds = [_followed(_object(one), root).get("type") for one in part[several]]
            return " or ".join(kind for kind in kinds if isinstance(kind, str)) or "any"
    if isinstance(part.get("enum"), list):
        return "one of " + ", ".join(msgspec.json.encode(one).decode() for one in part["enum"])
    return "any"


def _followed(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a local reference leads to, as `msgspec` writes them: `#/$defs/NAME`."""
    for _ in range(_MAX_REFERENCES):
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found: object = root
        for step in reference[2:].split("/"):
            found = _object(found).get(step.replace("~1", "/").replace("~0", "~"))
        part = _object(found)
    return part


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
