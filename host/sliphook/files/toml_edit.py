"""Changes of TOML files by a program, which keep comments and layout."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sliphook.quoting import quote

from .atomic import write_atomically
from .toml import TomlError


def change_toml(
    path: Path, old: str | None, wanted: Mapping[str, Any], *, heading: str = ""
) -> None:
    """Make `wanted` the content of the file.

    A key whose value stays keeps its place, its layout and its comments.

    Args:
        path: the file.
        old: the file's text before; None for a new file.
        wanted: all keys of the file, with their values.
        heading: comment lines at the top of a new file.

    Raises:
        OSError: the file cannot be written; the old one is as it was.
        TomlError: the old text is no TOML, or has a layout that tomlkit cannot change.
    """
    import tomlkit
    import tomlkit.exceptions

    try:
        document = tomlkit.parse(heading if old is None else old)
        _merge(document, wanted)
        text = document.as_string()
        # tomlkit gets some layouts wrong: another parser reads the text before it is written
        same = tomllib.loads(text) == wanted
    except (tomlkit.exceptions.TOMLKitError, tomllib.TOMLDecodeError):
        same, text = False, ""
    if not same:
        raise TomlError(
            f"{quote(str(path), 200)} is laid out so that a program cannot change it;"
            " change it by hand"
        )
    write_atomically(path, text)


def _merge(table: Any, wanted: Mapping[str, Any]) -> None:
    for key in [key for key in table if key not in wanted]:
        del table[key]
    for key, value in wanted.items():
        old: Any = table.get(key)
        if _is_table(value) and _is_table(old):
            _merge(old, value)
        # a value that stays is not set again: that would lose its layout and its comment
        elif not same_json(_bare(old), value):
            table[key] = _item(value)


def _item(value: Any) -> Any:
    """The value for tomlkit; text with double quotes, such as JSON, is written without escapes."""
    import tomlkit

    if _is_table(value):
        return {key: _item(inner) for key, inner in value.items()}
    if (
        # a literal string has no escapes: nothing in it may need one, or end it
        isinstance(value, str)
        and '"' in value
        and value.isprintable()
        and "'''" not in value
        and not value.endswith("'")
    ):
        return tomlkit.string(value, literal=True, multiline="'" in value)
    return value


def same_json(one: object, other: object) -> bool:
    """Whether two values are equal in JSON too, where 1, 1.0 and true differ."""
    return one == other and msgspec.json.encode(one) == msgspec.json.encode(other)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _bare(item: Any) -> Any:
    return item.unwrap() if hasattr(item, "unwrap") else item
