"""Which of a plugin's handlers a message is for, by the rules that the host has chosen the plugin by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sliphook_sdk.protocol import Globs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sliphook_sdk.protocol import Payload


class Matcher:
    """The `match` of a subscription: string fields of the payload, each with patterns of which any must fit; all fields must."""

    __slots__ = ("_fields",)

    def __init__(self, match: Mapping[str, str | list[str] | None] | None) -> None:
        given = (
            (field, [globs] if isinstance(globs, str) else globs)
            for field, globs in (match or {}).items()
        )
        self._fields = tuple((field, Globs(globs)) for field, globs in given if globs is not None)

    def fits(self, payload: Payload) -> bool:
        """True where the payload is one for this subscription. null never is."""
        for field, globs in self._fields:
            value = getattr(payload, field)
            if not isinstance(value, str) or not globs.fits(value):
                return False
        return True

    @property
    def takes_all(self) -> bool:
        """There is nothing to match."""
        return not self._fields
