"""Pure: values for an encoder to UTF-8, which has no lone surrogates.

What has none is found by the encoder, in C; only what has some is looked into from Python. So one
bad text among 50,000 messages costs a few times what it takes to encode them, and of bad ones there
is a limit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, cast

import msgspec

from sliphook.errors import SliphookError


def plain_form(value: object) -> Any:
    """For encoders, which ask it about types that they do not know: subclasses of plain ones.

    Raises:
        TypeError: it has no form in JSON.
    """
    # encoders know these, but not as keys
    if isinstance(value, (bool, tuple, frozenset, type(None))):
        raise TypeError("Only dicts with str-like or number-like keys are supported")
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


MAX_STEPS: Final = 17_000
"""Of half a microsecond each: to look into a value is one, and to try to encode it in vain
three. That is enough for 5,000 messages of which each has some."""
_VAIN: Final = 3
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"
_STAND_IN: Final = "\ufdd0"
"""No character, so hardly any text has it."""
_PROBE: Final = msgspec.msgpack.Encoder(enc_hook=plain_form)
"""It copies texts and escapes nothing: JSON of many line breaks takes 30 times as long."""
_SLICE: Final = 64
"""Items of a list that are tried at once."""
_LEVELS: Final = 8
"""How deep the encoder is asked again: each level costs another pass through what is below."""


class TooManySurrogates(SliphookError, TypeError):
    """It would take more than `MAX_STEPS`."""

    def __init__(self) -> None:
        super().__init__("too many of its texts have halves of characters")


def without_surrogates(value: Any, encoder: msgspec.json.Encoder) -> Any:
    """What encodes as `value` does, each lone surrogate replaced by U+FFFD.

    Args:
        value: anything that `encoder` refuses for a lone surrogate.
        encoder: has no hook but `plain_form`.

    Raises:
        TypeError: Something in it has no form in JSON, or there are `TooManySurrogates`.
        RecursionError: It is nested too deep, or contains itself.
    """
    return _Mending(encoder).mended(value, _LEVELS)


def whole_text(text: str) -> str:
    """The text, each lone surrogate replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _text(text)
    return text


def escaping_json(value: Any) -> bytes:
    r"""The value as JSON, each lone surrogate as its escape: the text `\udc80`, as the SDKs do.

    For values of our own: it looks into all of one that has some.

    Raises:
        TypeError: Something in it has no form in JSON.
        RecursionError: It is nested too deep, or contains itself.
    """
    try:
        return msgspec.json.encode(value, enc_hook=plain_form)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=plain_form)
        return msgspec.json.encode(_escaped(plain))


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        return {_escaped(key): _escaped(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_escaped(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


class _Mending:
    def __init__(self, encoder: msgspec.json.Encoder) -> None:
        self._encoder = encoder
        self._left = MAX_STEPS

    def mended(self, value: Any, levels: int) -> Any:
        """The same for a part; below so many levels, all is looked into."""
        if isinstance(value, str):
            return _text(value)
        if levels == 0:
            return self._walked(value)
        if isinstance(value, dict):
            table = cast("Mapping[Any, Any]", value)
            keys = map(self._clean, table)
            return dict(zip(keys, self._items(table.values(), levels), strict=True))
        if isinstance(value, list | tuple | set | frozenset):
            if len(cast("Collection[Any]", value)) > _SLICE:
                return self._written(list(cast("Collection[Any]", value)), levels)
            return self._items(cast("Collection[Any]", value), levels)
        if isinstance(value, msgspec.Struct):
            # a field that is left out has no form by itself
            fields = {
                name: field
                for name in value.__struct_fields__
                if (field := getattr(value, name)) is not msgspec.UNSET
            }
            mended = self._items(fields.values(), levels)
            return msgspec.structs.replace(value, **dict(zip(fields, mended, strict=True)))
        return self._walked(value)

    def _written(self, items: list[Any], levels: int) -> msgspec.Raw:
        """A long list as JSON, so that its items are not encoded once more."""
        parts: list[bytes] = []
        for start in range(0, len(items), _SLICE):
            part = items[start : start + _SLICE]
            if self._is_refused(part):
                # then probably most of them are
                has_many = len(part) > 2 and all(self._is_refused(part[at]) for at in (0, 1, -1))
                part = self._walked(part) if has_many else self._items(part, levels)
            parts.append(self._encoder.encode(part)[1:-1])
        return msgspec.Raw(b"[%b]" % b",".join(parts))

    def _items(self, values: Collection[Any], levels: int) -> list[Any]:
        self._take(len(values))
        # a long list is tried in its slices
        return [
            self.mended(value, levels - 1) if _is_long(value) or self._is_refused(value) else value
            for value in values
        ]

    def _is_refused(self, value: Any) -> bool:
        # it may have more than 64 bits, which the probe does not take
        if isinstance(value, int):
            return False
        try:
            _PROBE.encode(value)
        # what has such a number in it is looked into
        except (UnicodeEncodeError, OverflowError):
            self._take(_VAIN)
            return True
        return False

    def _walked(self, value: Any) -> Any:
        """All of it looked into."""
        return self._clean(
            msgspec.to_builtins(value, enc_hook=plain_form, builtin_types=(msgspec.Raw,))
        )

    def _clean(self, value: Any) -> Any:
        """Copy what `to_builtins` gave."""
        if isinstance(value, str):
            return value if value.isascii() else _text(value)
        if isinstance(value, dict):
            self._take(len(cast("Mapping[Any, Any]", value)))
            return {self._clean(key): self._clean(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, list | tuple):
            self._take(len(cast("Collection[Any]", value)))
            return [self._clean(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return value

    def _take(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooManySurrogates


def _is_long(value: object) -> bool:
    return isinstance(value, list) and len(cast("Collection[Any]", value)) > _SLICE


def _text(text: str) -> str:
    if _STAND_IN in text:
        return _SURROGATES.sub(_REPLACEMENT, text)
    # in C, and quicker where there are many: the encoder writes `?` for each
    read = text.replace("?", _STAND_IN).encode("utf-8", "replace").decode()
    return read.replace("?", _REPLACEMENT).replace(_STAND_IN, "?")
