"""Pure: fields of an untrusted JSON object, each with its type and a bound."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

import msgspec

from sliphook.errors import SliphookError
from sliphook_sdk.protocol.weight import weigh

MAX_NAME_CHARS: Final = 512
"""Of an id, a name, a mode."""
MAX_PATH_CHARS: Final = 4096


def loads_finite(
    text: str | bytes, object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """What `json.loads` gives, without numbers that could not be written as JSON again.

    Raises:
        ValueError: it is no JSON, or has NaN or an infinite number.
        RecursionError: it is nested too deep.
    """
    return json.loads(
        text,
        object_pairs_hook=object_pairs_hook,
        parse_float=_finite,
        parse_constant=_refuse,
    )


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


class WrongField(SliphookError):
    """A field is missing or of a wrong type; str() is a sentence without its end."""


class Fields:
    """One JSON object. A field may have two spellings; the first that is there and not null counts.

    Everything raises `WrongField`, with the name of the field.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def _find(self, names: tuple[str, ...]) -> tuple[str, Any]:
        for name in names:
            value = self._values.get(name)
            if value is not None:
                return name, value
        return names[0], None

    def text(self, *names: str) -> str | None:
        """A text of any length."""
        name, value = self._find(names)
        if value is not None and not isinstance(value, str):
            raise WrongField(f"{name} is no text")
        return value

    def needed_text(self, *names: str) -> str:
        """A text that has to be there; it may be empty."""
        value = self.text(*names)
        if value is None:
            raise WrongField(f"{names[0]} is missing")
        return value

    def name(self, *names: str) -> str | None:
        """A short text."""
        return self._short(names, MAX_NAME_CHARS)

    def needed_name(self, *names: str) -> str:
        """A short text that has to be there and is not empty."""
        value = self.name(*names)
        if not value:
            raise WrongField(f"{names[0]} is missing")
        return value

    def path(self, *names: str) -> str | None:
        """A path."""
        return self._short(names, MAX_PATH_CHARS)

    def _short(self, names: tuple[str, ...], limit: int) -> str | None:
        # a dozen in each hook, so not by way of `text`
        for name in names:
            value = self._values.get(name)
            if value is None:
                continue
            if not isinstance(value, str):
                raise WrongField(f"{name} is no text")
            if len(value) > limit:
                raise WrongField(f"{names[0]} has more than {limit} characters")
            return value
        return None

    def flag(self, *names: str) -> bool:
        """True or false; false if it is not there."""
        name, value = self._find(names)
        if value is not None and not isinstance(value, bool):
            raise WrongField(f"{name} is neither true nor false")
        return bool(value)

    def number(self, *names: str) -> float | None:
        """A number that is not negative and that a double can hold."""
        name, value = self._find(names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e18:
            raise WrongField(f"{name} is no number, or none that can be")
        return float(value)

    def object(self, *names: str) -> dict[str, Any]:
        """An object; an empty one if it is not there."""
        name, value = self._find(names)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise WrongField(f"{name} is no object")
        return cast(dict[str, Any], value)

    def object_or_json(self, *names: str) -> dict[str, Any]:
        """An object, or the text of one in JSON."""
        name, value = self._find(names)
        if not isinstance(value, str):
            return self.object(*names)
        try:
            inside = value.encode()
            decoded = None if weigh(inside).excess is not None else msgspec.json.decode(inside)
        except (UnicodeError, msgspec.DecodeError, RecursionError):
            decoded = None
        if not isinstance(decoded, dict):
            raise WrongField(f"{name} is no object, and no JSON of one that plugins can be told")
        return cast(dict[str, Any], decoded)

    def objects(self, name: str, at_most: int) -> list[Fields]:
        """The first `at_most` objects of a list; an empty list if it is not there."""
        value = self._values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise WrongField(f"{name} is no list")
        some: list[Any] = cast(Any, value)[:at_most]
        if not all(isinstance(item, dict) for item in some):
            raise WrongField(f"{name} has something else than objects in it")
        return [Fields(cast(dict[str, Any], item)) for item in some]

    def all_objects(self, name: str, at_most: int) -> list[Fields]:
        """Every object of a list, which may have so many."""
        value = self._values.get(name)
        if isinstance(value, list) and len(cast(Any, value)) > at_most:
            raise WrongField(f"{name} has more than {at_most} entries")
        return self.objects(name, at_most)

    def fields(self, *names: str) -> Fields:
        """The fields of an object; of an empty one if it is not there."""
        return Fields(self.object(*names))

    def raw(self, *names: str) -> Any:
        """Whatever it is; None if it is not there."""
        return self._find(names)[1]


def text_of(value: Any) -> str:
    """A tool's result as the text that a model reads: its text parts, or its JSON.

    Raises:
        WrongField: It is nested too deeply.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        known = cast(dict[str, Any], value)
        out, err = known.get("stdout"), known.get("stderr")
        if isinstance(out, str):
            return "\n".join(part for part in (out, err) if isinstance(part, str) and part)
        if isinstance(known.get("content"), list):
            return text_of(known["content"])
    if isinstance(value, list):
        parts = [_part(item) for item in cast(Sequence[Any], value)]
        if parts and all(part is not None for part in parts):
            return "\n".join(part for part in parts if part)
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        raise WrongField("the tool's result is no JSON, or nested too deeply") from None


def _part(item: Any) -> str | None:
    if not isinstance(item, dict):
        return None
    part = cast(dict[str, Any], item)
    text = part.get("text")
    return text if part.get("type") == "text" and isinstance(text, str) else None
