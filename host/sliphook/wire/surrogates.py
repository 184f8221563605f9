"""Pure: values for an encoder to UTF-8, which has no lone surrogates.

What has none is found by the encoder, in C; only what has some is looked into from Python. So one
bad text among 50,000 messages costs a few times what it takes to encode them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, cast

import msgspec

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"
_SLICE: Final = 64
"""Items of a list that are tried at once."""
_LEVELS: Final = 8
"""How deep the encoder is asked again: each level costs another pass through what is below."""


def without_surrogates(value: Any, encoder: msgspec.json.Encoder, levels: int = _LEVELS) -> Any:
    """What encodes as `value` does, each lone surrogate replaced by U+FFFD.

    Args:
        value: anything that `encoder` refuses for a lone surrogate, or a long list.
        encoder: has no hooks.
        levels: below so many, all is looked into.

    Raises:
        TypeError: Something in it has no form in JSON.
        RecursionError: It is nested too deep, or contains itself.
    """
    if isinstance(value, str):
        return _text(value)
    if levels == 0:
        return _walked(value)
    if isinstance(value, dict):
        table = cast("Mapping[Any, Any]", value)
        keys = map(_clean, table)
        return dict(zip(keys, _items(table.values(), encoder, levels), strict=True))
    if isinstance(value, list | tuple | set | frozenset):
        if len(cast("Collection[Any]", value)) > _SLICE:
            return _written(list(cast("Collection[Any]", value)), encoder, levels)
        return _items(cast("Collection[Any]", value), encoder, levels)
    if isinstance(value, msgspec.Struct):
        # a field that is left out has no form by itself
        fields = {
            name: field
            for name in value.__struct_fields__
            if (field := getattr(value, name)) is not msgspec.UNSET
        }
        mended = _items(fields.values(), encoder, levels)
        return msgspec.structs.replace(value, **dict(zip(fields, mended, strict=True)))
    return _walked(value)


def _written(items: list[Any], encoder: msgspec.json.Encoder, levels: int) -> msgspec.Raw:
    """A long list as JSON, so that its items are not encoded once more."""
    parts: list[bytes] = []
    for start in range(0, len(items), _SLICE):
        part = items[start : start + _SLICE]
        try:
            body = encoder.encode(part)
        except UnicodeEncodeError:
            # then probably most of them are
            has_many = len(part) > 2 and all(_is_refused(part[at], encoder) for at in (0, 1, -1))
            body = encoder.encode(_walked(part) if has_many else _items(part, encoder, levels))
        parts.append(body[1:-1])
    return msgspec.Raw(b"[%b]" % b",".join(parts))


def _items(values: Collection[Any], encoder: msgspec.json.Encoder, levels: int) -> list[Any]:
    return [_item(value, encoder, levels) for value in values]


def _item(value: Any, encoder: msgspec.json.Encoder, levels: int) -> Any:
    # a long list is tried in its slices
    refused = _is_long(value) or _is_refused(value, encoder)
    return without_surrogates(value, encoder, levels - 1) if refused else value


def _is_long(value: object) -> bool:
    return isinstance(value, list) and len(cast("Collection[Any]", value)) > _SLICE


def _is_refused(value: Any, encoder: msgspec.json.Encoder) -> bool:
    try:
        encoder.encode(value)
    except UnicodeEncodeError:
        return True
    return False


def _walked(value: Any) -> Any:
    """All of it looked into."""
    return _clean(msgspec.to_builtins(value, enc_hook=_refuse, builtin_types=(msgspec.Raw,)))


def _clean(value: Any) -> Any:
    """Copy what `to_builtins` gave."""
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _text(text: str) -> str:
    if _REPLACEMENT in text:
        return _SURROGATES.sub(_REPLACEMENT, text)
    # in C, and quicker where there are many; each is three bytes that are no UTF-8
    read = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return read.replace(3 * _REPLACEMENT, _REPLACEMENT)


def _refuse(value: object) -> Any:
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
