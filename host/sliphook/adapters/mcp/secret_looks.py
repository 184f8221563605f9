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
_ASKS: Final = re.compile(
    r"(?:(?P<password>passw\w*(?<!file)(?<!path)|passphrase|(?<![a-z])(?:pass|pwd|pin))"
    r"|(?P<token>token|credentials?|(?:api|access|secret)[_-]?key)"
    r"|(?P<secret>secret|authorization|bearer|(?<![a-z])pat)"
    r"|(?P<key>key)"
    r"|(?P<auth>(?<!no-)(?<!disable-)(?<!skip-)auth))$",
    re.IGNORECASE,
)
"""An option, a field or a word that a secret may follow. The group says what is one there."""
_ASKING_CHARS: Final = 64

_CHAR: Final = r"[^\s&\"']"
_FIRST: Final = r"[^\s&\"'/.~$-]"
"""A secret's first character: that of no path, no variable, no other option."""
_NO_SWITCH: Final = rf"(?!(?:true|false|none)(?!{_CHAR}))"
_NO_SCHEME: Final = rf"(?!(?:bearer|basic|oauth2?|latest)(?!{_CHAR}))"
_NO_FILE: Final = rf"(?!{_CHAR}{{0,200}}\.(?:pem|key|crt|p12|json|ya?ml|txt|env)(?!{_CHAR}))"
_NO_NAME: Final = (
    r"(?!(?-i:(?:[a-z]{1,20}\d{0,8}[_.,/-]){1,9}[a-z]{1,20}\d{0,8})" + rf"(?!{_CHAR}))"
)
"""Small letters, joined: customer_id, id_ed25519."""
_NO_WORD: Final = rf"(?={_CHAR}{{0,10}}\d|{_CHAR}{{12}})"
_NO_MODE: Final = rf"(?={_CHAR}{{0,10}}[\d:]|{_CHAR}{{12}})"
"""Of a way to log in, such as github, but user:password."""
_GIVEN: Final = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in {
        "password": rf"{_NO_SWITCH}{_FIRST}{_CHAR}{{3}}",
        "token": rf"{_NO_SCHEME}{_NO_FILE}{_FIRST}{_CHAR}{{5}}",
        "secret": rf"{_NO_SCHEME}{_FIRST}{_CHAR}{{5}}",
        "key": rf"{_NO_SCHEME}{_NO_FILE}{_NO_NAME}{_NO_WORD}{_FIRST}{_CHAR}{{5}}",
        "auth": rf"{_NO_SCHEME}{_NO_NAME}{_NO_MODE}{_FIRST}{_CHAR}{{5}}",
    }.items()
}
_SCHEMES: Final = {"bearer": "secret", "basic": "auth"}
_AUTHORIZATION: Final = re.compile(
    r"(?:-authorization\s|authorization[\s\"']{0,4}[:=])[\s\"']{0,4}"
    rf"(?P<scheme>bearer|basic|token)\s[\s\"']{{0,4}}{_FIRST}{_CHAR}{{5}}",
    re.IGNORECASE,
)
_BEHIND_WORD: Final = re.compile(r"(?=\D*\d)[^/]{12,}")
"""What may be a secret behind a word that is neither an option nor a field."""

_VALUE: Final = re.compile(
    r"(?:gh[oprsu]_|github_pat_|xox[a-z][.-]|glpat-|AKIA|ya29\.|sbp_|tvly-|nvapi-|eyJ).+"
    r"|(?:sk-|hf_)(?=\D*\d|.*[A-Za-z0-9]{30}).+"  # names of packages begin so, too
    r"|(?=\D*\d)(?=.*[A-Za-z0-9+=]{20})[A-Za-z0-9_+=-]{32,}"
)
_MIXED: Final = re.compile(
    r"(?=.{32})(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_+-][A-Za-z0-9_+/-]{29,}={0,2}"
)
_PADDING: Final = re.compile(r"={1,2}(?!\w)")
"""The end of a text in base64, which _PIECE leaves to stand before a value."""
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
    field = _AUTHORIZATION.search(text)
    if field is not None:
        return field["scheme"]
    earlier, before, end = "", "the beginning", 0
    for one in _PIECE.finditer(text):
        padding = _PADDING.match(text, one.end())
        if (
            _is_given(one, earlier, before, text[end : one.start()])
            or _looks_random(one[0])
            or (padding is not None and _looks_random(one[0] + padding[0]))
        ):
            return before
        earlier, before, end = before, one[0], one.end()
    return None


def _is_given(one: re.Match[str], earlier: str, before: str, between: str) -> bool:
    """Whether it is what `before` asks for: an option, a field, a scheme of HTTP or a word."""
    scheme = _SCHEMES.get(before.lower())
    if scheme is not None:
        return bool(_GIVEN[scheme].match(one.string, one.start()))
    asks = _ASKS.search(before[-_ASKING_CHARS:])
    kind = asks.lastgroup if asks is not None else None
    if kind is None or not _GIVEN[kind].match(one.string, one.start()):
        return False
    if before.startswith("-") or "=" in between:
        return True
    if ":" in between:
        if "/" not in before:
            return True
        may_be = before.startswith("//")  # no tag of an image
    else:  # a variable that is passed on has no value; a server's name may end with auth
        may_be = earlier not in ("-e", "--env") and kind != "auth"
    return may_be and _BEHIND_WORD.fullmatch(one[0]) is not None


def _looks_random(piece: str) -> bool:
    if piece.startswith("//"):  # an address: its user, its path without what is pinned behind @
        return any(_looks_random(part.partition("@")[0]) for part in piece.split("/") if part)
    if _VALUE.fullmatch(piece):
        return True
    return bool(_MIXED.fullmatch(piece)) and len(_TURN.findall(piece)) > _MOST_TURNS
