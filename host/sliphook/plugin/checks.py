"""Pure: the checks that all parts of a manifest share: names, timeouts, nothing declared twice."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook_sdk.protocol import NAME_PATTERNS, RESERVED_PLUGINS, why_no_plugin_name
from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S, MIN_TIMEOUT_S


class ManifestError(SliphookError):
    """The manifest cannot be accepted.

    The plugin's author is at fault. str() is one line that says what is wrong and in which place.
    """


def check_name(what: Literal["plugin", "tool", "command"], name: str) -> None:
    """Check a name against the protocol's pattern.

    Raises:
        ManifestError: the name does not fit, or a plugin's is reserved.
    """
    if what == "plugin" and name in RESERVED_PLUGINS:
        raise ManifestError(f"the name '{name}' {why_no_plugin_name(name)}")
    if re.fullmatch(NAME_PATTERNS[what], name) is None:
        raise ManifestError(
            f"the {what}'s name '{quote(name, 40)}' does not fit {NAME_PATTERNS[what]}"
        )


def check_timeout(timeout_s: float, where: str, *, field: str = "timeout_s") -> float:
    """Return the timeout if it is in the protocol's range; it is never clamped silently.

    Args:
        timeout_s: seconds.
        where: the place in the manifest or the settings, for the error.
        field: the field, for the error.

    Raises:
        ManifestError: the timeout is NaN, too short or too long.
    """
    if math.isnan(timeout_s) or not MIN_TIMEOUT_S <= timeout_s <= MAX_TIMEOUT_S:
        raise ManifestError(
            f"{field} of {where} is {timeout_s}; it must be {MIN_TIMEOUT_S:g} to {MAX_TIMEOUT_S:g}"
        )
    return timeout_s


def refuse_doubles(what: str, names: Iterable[str]) -> None:
    """Check that no name is declared twice.

    Raises:
        ManifestError: one is.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ManifestError(f"the {what} {name} is declared twice")
        seen.add(name)
