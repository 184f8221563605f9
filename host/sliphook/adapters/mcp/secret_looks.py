"""Pure: what looks like a secret in a command, an address or a variable that would be recorded.

It stands behind a name, begins like a known token, or looks random. More cannot be seen.
"""

from __future__ import annotations

import re
from typing import Final

from sliphook.plugin.secrets import URL_PASSWORD

_NAME: Final = re.compile(
    r"key|token|secret|passw|passphrase|credential|auth|_(?:pass|pwd|pat)$|(?:^|_)pin$",
    re.IGNORECASE,
)
_SWITCH: Final = re.compile(r"true|false|yes|no|on|off|none|", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d{1,6}")
"""Both stand behind such a name, too, and are no secrets: ENABLE_AUTH, MAX_TOKENS."""
_NAME_OF_NUMBERS: Final = re.compile(r"passw|(?:pass|pwd|pin)$", re.IGNORECASE)
"""Of a secret that may be a number."""

_PIECE: Final = re.compile(r"[^\s=&?:;,\"']+(?:(?<=@sha256):[0-9a-f]{64})?")
"""What a command is cut into: options, their values, the parts of an address."""
_OPTION: Final = re.compile(
    r"(?:key|token|secret|passw\w*|passphrase|credentials?|authorization|bearer|basic"
    r"|(?<!no-)(?<!disable-)(?<!skip-)auth|(?<![a-z])(?:pass|pwd|pat|pin))$",
    re.IGNORECASE,
)
_OPTION_CHARS: Final = 64
_SCHEMES: Final = ("bearer", "basic")
_GIVEN: Final = re.compile(
    r"(?!(?:bearer|basic|oauth2?|latest)(?![^\s&\"']))"
    r"(?![^\s&\"']{0,200}\.(?:pem|key|crt|p12|json|ya?ml|txt|env)(?![^\s&\"']))"
    r"[^\s&\"'/.~$-][^\s&\"']{5,}",
    re.IGNORECASE,
)
"""What may be a secret behind such an option: no path, no variable, no other option."""

_VALUE: Final = re.compile(
    r"(?:gh[oprsu]_|github_pat_|xox[a-z]-|glpat-|AKIA|ya29\.|sbp_|tvly-|nvapi-|eyJ).+"
    r"|(?:sk-|hf_)(?=\D*\d|.*[A-Za-z0-9]{30}).+"  # names of packages begin so, too
    r"|(?=\D*\d)(?=.*[A-Za-z0-9+=]{20})[A-Za-z0-9_+=-]{32,}"
)
_MIXED: Final = re.compile(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_+-][A-Za-z0-9_+/-]{31,}")
_TURN: Final = re.compile(r"[a-z](?=[A-Z\d])|[A-Z](?=\d)|\d(?=[A-Za-z])")
_MOST_TURNS: Final = 8
"""So often at most a name changes between capitals, small letters and digits."""


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable's value should not be recorded."""
    is_plain = _SWITCH.fullmatch(value) or (
        _NUMBER.fullmatch(value) and not _NAME_OF_NUMBERS.search(name)
    )
    return bool(_NAME.search(name) and not is_plain) or behind_what(value) is not None


def behind_what(text: str) -> str | None:
    """What stands before the first secret of a text; None if there is none to be seen."""
    address = URL_PASSWORD.search(text)
    if address is not None:
        return text[address.start() : address.start("password") - 1]
    before, end = "the beginning", 0
    for one in _PIECE.finditer(text):
        is_given = _is_asked_for(before, text[end : one.start()]) and _GIVEN.match(
            text, one.start()
        )
        if is_given or _looks_random(one[0]):
            return before
        before, end = one[0], one.end()
    return None


def _is_asked_for(before: str, between: str) -> bool:
    """Whether a secret should follow: behind an option, in a field, behind a scheme of HTTP."""
    if not _OPTION.search(before[-_OPTION_CHARS:]):
        return False
    is_field = "=" in between or (":" in between and "/" not in before)
    return is_field or before.startswith("-") or before.lower() in _SCHEMES


def _looks_random(piece: str) -> bool:
    if piece.startswith("//"):  # an address: its user, its path without what is pinned behind @
        return any(_looks_random(part.partition("@")[0]) for part in piece.split("/") if part)
    if _VALUE.fullmatch(piece):
        return True
    return bool(_MIXED.fullmatch(piece)) and len(_TURN.findall(piece)) > _MOST_TURNS
