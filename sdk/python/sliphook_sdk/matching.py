"""Which of a plugin's handlers a message is for, by the rules that the host has chosen the plugin by."""

from __future__ import annotations

import re
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .protocol import Payload


class Matcher:
    """The `match` of a subscription: string fields of the payload, each with patterns of which any must fit; all fields must."""

    __slots__ = ("_patterns",)

    def __init__(self, match: Mapping[str, str | list[str]] | None) -> None:
        self._patterns = tuple((field, _pattern([globs] if isinstance(globs, str) else globs)) for field, globs in (match or {}).items())

    def fits(self, payload: Payload) -> bool:
        """True where the payload is one for this subscription. null never is."""
        for field, pattern in self._patterns:
            value = getattr(payload, field)
            if not isinstance(value, str) or pattern.fullmatch(value) is None:
                return False
        return True

    @property
    def takes_all(self) -> bool:
        """There is nothing to match."""
        return not self._patterns


def string_fields(payload: type[Payload]) -> tuple[str, ...]:
    """The fields that `match` may name."""
    return tuple(info.encode_name for info in msgspec.structs.fields(payload) if _is_string(info.type))


def _is_string(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_string(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return any(_is_string(arg) for arg in get_args(annotation))
    return annotation is str or (get_origin(annotation) is Literal and all(isinstance(arg, str) for arg in get_args(annotation)))


def _pattern(globs: list[str]) -> re.Pattern[str]:
    return re.compile("|".join("".join({"*": ".*", "?": "."}.get(char) or re.escape(char) for char in glob) for glob in globs), re.DOTALL)
