"""Pure: how each system reads a matcher.

An expression of a stranger is tried by the same engine as those of schemas: without look-around in
time that is linear in the text, with it at most so many steps.
What is too long to be tried, or needs more steps, fits: a guard is asked rather than passed by.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

import jsonschema_rs
import msgspec

from sliphook.errors import SliphookError

Rule = Literal["names or search", "anchored", "exact", "search"]
"""`names or search`: names separated by `|` or `,`, else an expression that is searched for;
`anchored`: an expression for the whole; `exact`: one name; `search`: an expression that is
searched for."""

MAX_MATCHER_CHARS: Final = 1_000
MAX_VALUE_CHARS: Final = 512
_STEPS: Final = 10_000
_NAMES: Final = re.compile(r"[A-Za-z0-9_\- ,|]+")
_ALTERNATIVES: Final = re.compile(r"[A-Za-z0-9_:-]+(\|[A-Za-z0-9_:-]+)*")
_BEGINNING: Final = re.compile(r"(\^?)([A-Za-z0-9_:-]+)\.\*(\$?)")

_WRITTEN: Final = re.compile(
    r"\^?(?:\((?:\?:)?)?([A-Za-z0-9_:-]+(?:\.\*)?(?:\|[A-Za-z0-9_:-]+(?:\.\*)?)*)\)?(\$?)"
)


class BadMatcher(SliphookError):
    """No value can be held against it; str() is a sentence without its end."""


class Matcher(msgspec.Struct, frozen=True, kw_only=True):
    """One matcher.

    Attributes:
        fits: whether it is for a value.
        names: the only values that it can be for; None if these cannot be told.
        globs: patterns of `match` that all of its values fit; None: any value may.
        written: the names that stand in it, with a star those that go on; none if it has more than
            names.
    """

    fits: Callable[[str], bool]
    names: tuple[str, ...] | None = None
    globs: tuple[str, ...] | None = None
    written: tuple[str, ...] = ()


def matcher(rule: Rule, text: str | None) -> Matcher:
    """The matcher of a configuration.

    Raises:
        BadMatcher: it is too long, or no regular expression.
    """
    if not text or (text == "*" and rule != "exact"):
        return Matcher(fits=lambda value: True)
    if len(text) > MAX_MATCHER_CHARS:
        raise BadMatcher(f"it has more than {MAX_MATCHER_CHARS:,} characters")
    names = _names(rule, text)
    if names is not None:
        kept = frozenset(names)
        globs = tuple(name.replace("*", "?") for name in names)
        return Matcher(fits=kept.__contains__, names=names, globs=globs, written=globs)
    whole = f"^(?:{text})$" if rule == "anchored" else text
    search = _searcher(whole)
    return Matcher(
        fits=lambda value: len(value) > MAX_VALUE_CHARS or search(value),
        globs=_globs(text, rule == "anchored"),
        written=_written(text, rule == "anchored"),
    )


def _names(rule: Rule, text: str) -> tuple[str, ...] | None:
    if rule == "exact":
        return (text,)
    if rule == "names or search" and _NAMES.fullmatch(text):
        return tuple(name.strip() for name in re.split(r"[|,]", text) if name.strip())
    if rule == "anchored" and _ALTERNATIVES.fullmatch(text):
        return tuple(text.split("|"))
    return None


def _globs(text: str, anchored: bool) -> tuple[str, ...] | None:
    """The patterns of `name.*`, the one expression that is often meant."""
    found = _BEGINNING.fullmatch(text)
    if found is None:
        return None
    return (f"{'' if anchored or found[1] else '*'}{found[2]}*",)


def _written(text: str, anchored: bool) -> tuple[str, ...]:
    """The names of an expression such as `^(one|two.*)$`."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return ()
    ends = anchored or found[2]
    names = found[1].split("|")
    return tuple(
        name if ends and not name.endswith(".*") else f"{name.removesuffix('.*')}*"
        for name in names
    )


def _searcher(text: str) -> Callable[[str], bool]:
    schema = {"type": "string", "pattern": text}
    for options in (
        jsonschema_rs.RegexOptions(),
        jsonschema_rs.FancyRegexOptions(backtrack_limit=_STEPS),
    ):
        try:
            tried = jsonschema_rs.Draft202012Validator(schema, pattern_options=options)
        except ValueError:
            continue
        return lambda value: tried.is_valid(value) or _gave_up(tried, value)
    raise BadMatcher("it is no regular expression that can be tried here")


def _gave_up(tried: jsonschema_rs.Draft202012Validator, value: str) -> bool:
    """True if the steps were too few to tell, and the value was not refused by the expression."""
    refused = jsonschema_rs.ValidationErrorKind.Pattern
    return not all(isinstance(error.kind, refused) for error in tried.iter_errors(value))
