"""What secrets look like: the kinds that are built in, and those of the user's settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

# A pattern begins with its letters, for which Python searches fast, and looks behind at what stands
# in front of them. Each is bounded or ends what it has begun: a text takes linear time, whoever
# wrote it. If a pattern has a group, the group is the secret.
BUILT_IN = {
    "PRIVATE_KEY": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"
    r"[\w+/=\\,:.\s]*(?:-(?!----)[\w+/=\\,:.\s]*)*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
    "AWS_KEY": r"A[KS]IA(?<![A-Za-z0-9]....)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "GITHUB_TOKEN": r"gh[pousr]_(?<![A-Za-z0-9]....)[A-Za-z0-9]{36,255}",
    "GITHUB_PAT": r"github_pat_[A-Za-z0-9_]{22,255}",
    "GITLAB_TOKEN": r"glpat-[A-Za-z0-9_-]{20,255}",
    "SLACK_TOKEN": r"xox[abeprs]-[A-Za-z0-9-]{10,255}",
    "API_KEY": r"sk-(?<![A-Za-z0-9]...)[A-Za-z0-9_-]{20,255}",
    "STRIPE_KEY": r"[rs]k_live_[A-Za-z0-9]{20,255}",
    "GOOGLE_KEY": r"AIza[A-Za-z0-9_-]{35}",
    "JWT": r"eyJ(?<![\w-]...)[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
    "URL_PASSWORD": r"://[^\s/:@'\"]{0,64}:([^\s/@'\"]{3,128})@",
    "BEARER": r"(?i:bearer)[ \t]{1,4}([\w.~+/-]{16,4096}=*)",
    # a value with a digit: most code that only names a password has none
    "PASSWORD": r"(?i:password|passwd|secret|token|api_?key|access_?key)"
    r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?=[^\s\"'\d]{0,64}\d)"
    r"((?<=[\"'])[^\"'\n]{6,256}(?=[\"'])|[^\s\"'`,;<>(){}\[\]]{6,256})",
}
FOUND_BY_CONTEXT = frozenset({"URL_PASSWORD", "BEARER", "PASSWORD"})
"""Kinds that are found by what stands beside them: the same secret may stand elsewhere alone."""

KIND = re.compile(r"[A-Z][A-Z0-9_]{0,31}")
SHORTEST = 4
"""Characters of the shortest secret: a shorter one stands in many words."""


class Found(NamedTuple):
    """A secret in a text, from `start` up to `end`."""

    start: int
    end: int
    kind: str


class SettingsError(ValueError):
    """A setting is wrong; str() says which, and shows no secret."""


class Kinds:
    """All patterns: the built-in ones, but for those left out, and the user's own.

    Raises:
        SettingsError: a pattern is none, or its name is no name.
    """

    def __init__(self, own: Mapping[str, str], left_out: Iterable[str] = ()) -> None:
        unknown = sorted(set(left_out) - set(BUILT_IN))
        if unknown:
            raise SettingsError(f"left_out: there is no {unknown[0]}, but {', '.join(BUILT_IN)}")
        known = {kind: text for kind, text in BUILT_IN.items() if kind not in left_out}
        self._patterns = {kind: re.compile(text, re.ASCII) for kind, text in known.items()}
        for kind, text in own.items():
            check_kind("patterns", kind)
            try:
                pattern = re.compile(text)
            except (re.error, OverflowError, RecursionError) as error:
                raise SettingsError(f"patterns.{kind} is no pattern of Python: {error}") from None
            if pattern.match("") is not None:
                raise SettingsError(f"patterns.{kind} fits an empty text, and so every text")
            self._patterns[kind] = pattern

    def found_in(self, text: str) -> Iterator[Found]:
        """Every place where a pattern fits; they may overlap."""
        for kind, pattern in self._patterns.items():
            group = 1 if pattern.groups else 0
            for match in pattern.finditer(text):
                start, end = match.span(group)
                if end - start >= SHORTEST:
                    yield Found(start, end, kind)


def check_kind(setting: str, kind: str) -> None:
    """Raise SettingsError if a name cannot stand in a placeholder."""
    if KIND.fullmatch(kind) is None:
        raise SettingsError(f"{setting}: the name {kind!r} is not like DB_PASSWORD")
