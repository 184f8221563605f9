"""Pure: what every part of a manifest is held to: names, timeouts, nothing declared twice."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook_sdk.protocol import NAME_PATTERNS
from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S, MIN_TIMEOUT_S


class ManifestError(SliphookError):
    """The manifest is not acceptable.

    The plugin's author is at fault; str() is one line that says what and where.
    """


def check_name(what: Literal["plugin", "tool", "command"], name: str) -> None:
    """Refuse a name that does not fit the protocol's pattern.

    Raises:
        ManifestError: it does not.
    """
    if re.fullmatch(NAME_PATTERNS[what], name) is None:
        raise ManifestError(
            f"the {what}'s name '{quote(name, 40)}' does not fit {NAME_PATTERNS[what]}"
        )


def check_timeout(timeout_s: float, where: str, *, field: str = "timeout_s") -> float:
    """Refuse a timeout that is out of range; nothing is clamped silently.

    Raises:
        ManifestError: zero, negative, no number, too short or too long.
    """
    if math.isnan(timeout_s) or not MIN_TIMEOUT_S <= timeout_s <= MAX_TIMEOUT_S:
        raise ManifestError(
            f"{field} of {where} is {timeout_s}; it must be {MIN_TIMEOUT_S:g} to {MAX_TIMEOUT_S:g}"
        )
    return timeout_s


def refuse_doubles(what: str, names: Iterable[str]) -> None:
    """Refuse a name that stands twice.

    Raises:
        ManifestError: it does.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ManifestError(f"the {what} {name} is declared twice")
        seen.add(name)
