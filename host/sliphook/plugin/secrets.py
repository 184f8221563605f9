"""Pure: which values of a plugin's environment and settings are secret.

docs/processes.md tells the same to users, protocol.md the short of it to authors of plugins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from sliphook.process.environment import copied
from sliphook.quoting import quote
from sliphook.trace.redact import texts_in
from sliphook_sdk.protocol import Manifest

from .checks import ManifestError
from .spec import PluginSpec

_KEY_NAME: Final = re.compile(
    r"(?:(?P<api>API_?KEY)|_(?:KEY|PASS|PWD|PAT|AUTH)|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE"
    r"|CREDENTIALS?)$",
    re.IGNORECASE,
)
_KEY_CHARS: Final = 8
URL_PASSWORD: Final = re.compile(
    r"[a-z][a-z0-9+.-]{0,30}://(?P<user>[^/?#@:]*):(?P<password>[^/?#@]+)@", re.IGNORECASE
)

_MAX_STEPS: Final = 20_000
"""Parts of a schema that are looked at. The schema is the plugin's and may be of any size."""

MAX_TEXTS: Final = 512
"""What the secret settings of one plugin may count together (see `texts_in`).

The host's loop enters all of them in one step: so many take about 5 ms, in scripts other than Latin
up to four times that.
"""

_DEFINITIONS: Final = ("$defs", "definitions")
"""Parts of a schema that hold for a value only if a reference leads there."""

_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


def _is_marked(schema: Mapping[str, Any]) -> bool:
    """Whether a schema itself marks its value: `secret`, `writeOnly`, or the format `password`."""
    return (
        schema.get("secret") is True
        or schema.get("writeOnly") is True
        or schema.get("format") == "password"
    )


def own_keys(environ: Mapping[str, str]) -> list[str]:
    """What is secret in the agent's own environment: values, by their names, and passwords in URLs.

    No plugin is given them, but one may read them from `/proc` and repeat them. A short value of
    another variable than an `API_KEY` may be any word, as may a short password or one that is the
    user's name, and is left.
    """
    environ = copied(environ)
    named = [
        value
        for name, value in environ.items()
        if (found := _KEY_NAME.search(name)) and (found["api"] or len(value) >= _KEY_CHARS)
    ]
    return named + [
        found["password"]
        for found in map(URL_PASSWORD.match, environ.values())
        if found and len(found["password"]) >= _KEY_CHARS and found["password"] != found["user"]
    ]


def secret_values(spec: PluginSpec, manifest: Manifest | None) -> list[str]:
    """The texts that traces and logs may not show.

    Args:
        spec: the plugin, with the granted environment and the settings.
        manifest: what it declares; None if that is not known yet: then all of the environment is
            secret.

    Raises:
        ManifestError: the secret settings are too many. The user is at fault.
    """
    wants = (manifest.env or []) if manifest is not None else []
    # `is False`: a variable is secret unless the manifest says that it is not
    open_ones = {want.name for want in wants if want.secret is False}
    found = [value for name, value in spec.env.items() if name not in open_ones]
    schema = manifest.config_schema if manifest is not None else None
    if schema:
        found += _secrets_in(spec.config, schema)
    return found


def _secrets_in(config: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    """The texts of every setting whose schema holds a mark, however deep, up to `MAX_TEXTS`.

    Which part of a setting a deeper mark means is not worked out: the whole setting is hidden. A
    mark outside of `properties`, such as in `allOf` or `patternProperties`, hides all settings.
    """
    steps = iter(range(_MAX_STEPS))
    properties: Any = root.get("properties")
    by_name = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
    outside = {
        word: part for word, part in root.items() if word not in ("properties", *_DEFINITIONS)
    }
    left = MAX_TEXTS
    all_hidden = _may_hold_mark(outside, root, steps)
    for name, value in config.items():
        if all_hidden or _may_hold_mark(by_name.get(name), root, steps):
            for text in _texts(value):
                left -= texts_in(text)
                if left < 0:
                    raise ManifestError(
                        f"the user's settings: {quote(name, 80)}: the secret settings have over"
                        f" {MAX_TEXTS} values and lines, too many to keep out of traces and logs"
                    )
                yield text


def _may_hold_mark(schema: Any, root: Mapping[str, Any], steps: Iterator[int]) -> bool:
    """Whether a mark is in the schema, in what it may refer to, or beyond the last of `steps`."""
    waiting, added = [schema], set[str]()
    while waiting:
        part = waiting.pop()
        # too large to search: hide too much rather than too little
        if next(steps, None) is None:
            return True
        if isinstance(part, list):
            waiting += cast("Sequence[Any]", part)
        elif isinstance(part, dict):
            part = cast("dict[str, Any]", part)
            if _is_marked(part):
                return True
            waiting += part.values()
            for word in _REFERENCES & part.keys():
                target = _area_of(part[word])
                if target not in added:
                    added.add(target)
                    waiting.append(root.get(target) if target else root)
    return False


def _area_of(reference: object) -> str:
    """The part of the root schema that a reference leads into; empty for the root itself.

    Nothing finer: a pointer has escapes and may lead to another pointer.
    """
    for word in _DEFINITIONS:
        if isinstance(reference, str) and reference.startswith(f"#/{word}/"):
            return word
    return ""


def _texts(value: Any) -> Iterator[str]:
    """All texts and numbers in a value that is secret as a whole."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        # 1e+20 and 1e20 are one number
        yield from {str(value), msgspec.json.encode(value).decode()}
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[Any]", value):
            yield from _texts(inner)
