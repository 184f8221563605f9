"""Values from JSON as the author's types: the arguments of a tool, and settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar, cast

import msgspec
import msgspec.inspect

T = TypeVar("T")

_AT: Final = re.compile(r"`(\$[^`]*)`$")
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
_SHOWN: Final = 80
"""Characters of a value in a message."""
_KEYS: Final = frozenset(
    (
        *("AnyType", "StrType", "IntType", "FloatType", "DecimalType", "EnumType", "LiteralType"),
        *("DateTimeType", "DateType", "TimeType", "TimeDeltaType", "UUIDType", "BytesType"),
    )
)
"""Types that the text of a JSON object's key can be read as."""


def fit(value: Any, kind: type[T]) -> T:
    """Convert a value.

    JSON does not tell integers from other numbers: 3.0 is an integer, and 3.5 is none. Keys of a
    `Dict[int, ...]` are read from their texts.

    Raises:
        msgspec.ValidationError: it does not fit; the message has the field and the type.
    """
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError:
        pass
    return msgspec.convert(_whole(value), kind, str_keys=True)


def unreadable_key(kind: Any) -> str | None:
    """The type of a dict's keys that no text can be read as, or None."""
    return _unreadable(msgspec.inspect.type_info(kind), set())


def _unreadable(node: Any, seen: set[int]) -> str | None:
    if id(node) in seen:  # a type that contains itself
        return None
    seen.add(id(node))
    if isinstance(node, msgspec.inspect.DictType):
        keys = node.key_type
        options = keys.types if isinstance(keys, msgspec.inspect.UnionType) else (keys,)
        for option in options:
            if type(option).__name__ not in _KEYS:
                return type(option).__name__.removesuffix("Type").lower()
    if isinstance(node, (msgspec.inspect.Type, msgspec.inspect.Field)):
        parts = [getattr(node, name) for name in node.__struct_fields__]
    elif isinstance(node, tuple):
        parts = list(cast("Iterable[object]", node))
    else:
        return None
    return next((found for part in parts if (found := _unreadable(part, seen))), None)


def _whole(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_whole(item) for item in cast("Iterable[object]", value)]
    return value


def with_value(why: str, value: Any) -> str:
    """The message of `fit`, and the part of the value that it is about: `..., which is 3.5`.

    Args:
        why: the message.
        value: what did not fit. It is shown, so it must not be secret.
    """
    at = _AT.search(why)
    # in a dict, or in a key: then msgspec does not say where
    if at is None or "[...]" in at[1] or "`key` in" in why:
        return why
    for name, index in _STEP.findall(at[1]):
        try:
            value = value[name] if name else value[int(index)]
        except (LookupError, TypeError):  # the field of a renamed or tagged type
            return why
    shown = msgspec.json.encode(value).decode()
    return f"{why}, which is {shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}…'}"
