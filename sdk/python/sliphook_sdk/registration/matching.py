"""Which handlers a message is for, by the rules that the host uses to choose plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sliphook_sdk.protocol import NULL_FITS, Globs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sliphook_sdk.protocol import Payload


class Matcher:
    """The `match` of a subscription: each named field must fit one of its patterns."""

    __slots__ = ("_fields",)

    def __init__(self, match: Mapping[str, str | list[str] | None] | None) -> None:
        given = (
            (field, [globs] if isinstance(globs, str) else globs)
            for field, globs in (match or {}).items()
        )
        self._fields = tuple((field, Globs(globs)) for field, globs in given if globs is not None)

    def fits(self, payload: Payload) -> bool:
        """True if the payload fits. A field that is null does not, except those of NULL_FITS."""
        for field, globs in self._fields:
            value = getattr(payload, field)
            if not (globs.fits(value) if isinstance(value, str) else field in NULL_FITS):
                return False
        return True
