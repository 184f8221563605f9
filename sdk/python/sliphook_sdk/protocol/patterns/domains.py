"""The values that the string fields of payloads can have, and what patterns fit none of them."""

from __future__ import annotations

import string
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Optional, get_args, get_origin

import msgspec

from sliphook_sdk.protocol.limits import MAX_MATCHED_CHARS
from sliphook_sdk.protocol.manifest import NAME_PATTERNS, RESERVED_PLUGINS

from .globs import NULL_FITS, Globs, words_of

if TYPE_CHECKING:
    from sliphook_sdk.protocol.catalogue import Entry
    from sliphook_sdk.protocol.shapes import Payload

MAX_NAME_CHARS: Final = 64

_DIGITS_AND_SMALL: Final = string.ascii_lowercase + string.digits


class Domain(NamedTuple):
    """A set of values of a string field of a payload.

    Attributes:
        words: all of them, or None if there are too many to list.
        chars: the characters that they consist of; None is any character.
        first: those that the first one is of; None is any of `chars`.
        least: the least number of characters.
        most: the largest number of characters; what is longer fits every pattern.
        holds: a character that each of them has, or "".
        never: what would be among them but for its meaning.
    """

    words: Optional[tuple[str, ...]] = None
    chars: Optional[str] = None
    first: Optional[str] = None
    least: int = 0
    most: int = MAX_MATCHED_CHARS
    holds: str = ""
    never: tuple[str, ...] = ()

    def has(self, value: str) -> bool:
        """True if the value is one of them."""
        if self.words is not None:
            return value in self.words
        return (
            self.least <= len(value) <= self.most
            and (self.chars is None or not set(value).difference(self.chars))
            and (self.first is None or value[:1] in self.first)
            and self.holds in value
            and value not in self.never
        )

    def fits(self, pattern: str) -> bool:
        """True if the pattern fits one of them."""
        if self.words is not None:
            return any(map(Globs([pattern]).fits, self.words))
        if "*" not in pattern and "?" not in pattern:
            return self.has(pattern)
        given = pattern.replace("*", "")
        has_room = "*" in pattern and len(given) < self.most
        begin = pattern.lstrip("*")[:1]
        return (
            len(given) <= self.most
            and (self.chars is None or not set(given).difference(self.chars, "?"))
            and (
                self.first is None
                or begin in ("", "?")
                or begin in self.first
                or (has_room and pattern[0] == "*")
            )
            and (self.holds in pattern or has_room or "?" in given)
        )


class Values(NamedTuple):
    """All values of a field: those of each domain, and null.

    Attributes:
        domains: those that are texts.
        are: what they are, in words after the field's name; None for free text and names of tools.
        nullable: null is a value too, and no pattern fits it.
        foreign: what no pattern may have, as its author means another language of patterns: a guard
            that matches `shell|rm` would never be asked. `?` fits a value that has it.
    """

    domains: tuple[Domain, ...]
    are: Optional[str] = None
    nullable: bool = False
    foreign: tuple[str, ...] = ()


# an agent may call its own tools anything: `fs.read`, `MCP:search`
_TOOL: Final = Domain(least=1)
FOREIGN_IN_TOOLS: Final = (*"|^$()[]{},+\\ ", ".*")
"""What no pattern of `tool_name` may have; see `Values`."""
_PLUGIN: Final = Domain(
    chars=f"{_DIGITS_AND_SMALL}_-",
    first=_DIGITS_AND_SMALL,
    least=1,
    most=MAX_NAME_CHARS,
    never=RESERVED_PLUGINS,
)
_ONE_PLUGIN: Final = Values((_PLUGIN,), f"the name of a plugin, {NAME_PATTERNS['plugin']}")
_KNOWN: Final = {
    "tool_name": Values((_TOOL,), foreign=FOREIGN_IN_TOOLS),
    "origin": Values(
        (Domain(words=("agent",)), _PLUGIN, Domain(least=1, holds=":")),
        "agent, the name of a plugin, or a text with a colon, such as mcp:github; mcp:* fits all"
        " that are of MCP servers",
    ),
    **dict.fromkeys(("submitted_by", "substituted_by", "routed_by", "asked_by"), _ONE_PLUGIN),
    "by": Values((Domain(words=("user", "none")), _PLUGIN), "user, none, or the name of a plugin"),
}
"""By the field's name, which means the same in every payload."""


@cache
def values_of(payload: type[Payload], field: str) -> Values:
    """The values of a string field."""
    infos = {info.encode_name: info for info in msgspec.structs.fields(payload)}
    words = words_of(payload, field)
    known = (
        Values((Domain(words),), f"one of {', '.join(words)}")
        if words
        else _KNOWN.get(field, Values((Domain(),)))
    )
    # where null fits every pattern, every word is harder to fit than null
    nullable = field not in NULL_FITS and _may_be_null(infos[field].type)
    return known._replace(nullable=nullable)


def why_never(entry: Entry, field: str, pattern: str) -> Optional[str]:
    """Why no value of `field` can fit `pattern`, as words after "which"; None if one can.

    Args:
        entry: the hook or event.
        field: one of its `match_fields`.
        pattern: one pattern.
    """
    values = values_of(entry.payload, field)
    foreign = [one for one in values.foreign if one in pattern]
    if foreign:
        return (
            f"has {min(foreign, key=pattern.index)!r}, but patterns know `*` and `?` alone; "
            "several of them are a list, and `?` fits any one character"
        )
    if any(domain.fits(pattern) for domain in values.domains):
        return None
    if values.are is not None:
        return f"can fit nothing: {field} is {values.are}"
    if not pattern:
        return "is empty, and no name is"
    most = values.domains[0].most
    return f"has more than {most:,} characters; a value that is longer fits every pattern"


def _may_be_null(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _may_be_null(get_args(annotation)[0])
    return type(None) in get_args(annotation)
