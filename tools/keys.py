"""The tables of keys of the files that users edit, made from the Structs of these files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from sliphook.registry.keys import PluginKeys
from sliphook.settings import Settings
from sliphook_sdk.protocol.describe import field_docs

from .tables import plain_type, table

_NAMES: Final = {"plugins": "NAME", "hooks": "EVENT", "providers": "NAME", "agents": "AGENT"}
"""The placeholder for the names in a table, by its key."""


def key_table(struct: type[msgspec.Struct]) -> str:
    """Every key of the file, in order, with an example in TOML."""
    return table(("key", "what it takes", "what it does", "for example"), _rows(struct, ""))


def _rows(struct: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, ...]]:
    hints, docs = get_type_hints(struct), field_docs(struct)
    for field in msgspec.structs.fields(struct):
        key, hint = field.encode_name, _without_none(hints[field.name])
        inner = get_args(hint)[1] if get_origin(hint) is dict else hint
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            yield from _rows(
                inner, f"{prefix}{key}.{_NAMES[key]}." if inner is not hint else f"{prefix}{key}."
            )
        else:
            meta = docs[key]
            yield f"`{prefix}{key}`", plain_type(hint), meta.description or "", _example(meta)


def _without_none(hint: Any) -> Any:
    """The type without None: TOML has no null, so such a key may be left out."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if type(None) in get_args(hint) else hint


def _example(meta: msgspec.Meta) -> str:
    """A value in TOML, which is the same in JSON. A table has none: its inner keys have rows."""
    (example,) = meta.examples or [None]
    return (
        ""
        if example is None or isinstance(example, dict)
        else f"`{json.dumps(example, ensure_ascii=False)}`"
    )


def installing_tables() -> dict[str, Callable[[], str]]:
    """The tables of docs/installing.md by the names of their markers."""
    return {"keys plugin": partial(key_table, PluginKeys)}


def settings_tables() -> dict[str, Callable[[], str]]:
    """The tables of docs/settings.md by the names of their markers."""
    return {"keys settings": partial(key_table, Settings)}
