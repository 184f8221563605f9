"""Words of a shell: as they are written, and as a command gets them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BARE = re.compile(r"\\(.)|([*?\[])|(\$)", re.DOTALL)
_QUOTED = re.compile(r"\\([$`\"\\\n])")


@dataclass(frozen=True)
class Word:
    """A word as the command gets it.

    Attributes:
        text: without quotes; "" if it is not known.
        known: it is known before the script runs.
        many: it may become several words, or none.
        glob: it has a pattern, which is still in the text.
    """

    text: str
    known: bool = True
    many: bool = False
    glob: bool = False


UNKNOWN_WORD = Word("", known=False)
UNKNOWN_WORDS = Word("", known=False, many=True)


def _unescaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def bare(text: str) -> Word:
    """A text without quotes: backslashes go, patterns stay."""
    if any(match[3] for match in _BARE.finditer(text)) or re.match(r"~[-+\d]", text):
        return UNKNOWN_WORDS  # `~-` is where it was before
    glob = any(match[2] for match in _BARE.finditer(text))
    return Word(
        _BARE.sub(lambda match: _unescaped(match) if match[1] else match[0], text), glob=glob
    )


def quoted(text: str) -> Word:
    """A text from between double quotes, if nothing in it is expanded."""
    return Word(_QUOTED.sub(_unescaped, text))
