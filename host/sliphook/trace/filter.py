"""Pure: which records a person wants to see, as `plugin=guard|weather,event=pre_*` says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import CATALOGUE, nearest
from sliphook_sdk.protocol.patterns.globs import Globs

from .bodies import OUTCOME_BODY
from .record import TraceRecord

__all__ = ["FilterError", "Sifted", "TraceFilter", "parse_filter"]

_EXAMPLES: Final = {"plugin": "guard", "method": "tool/call", "event": "pre_tool_call"}
_KEYS: Final = tuple(_EXAMPLES)
_MAX_NAMES: Final = 500
"""Names of one kind that are remembered; a plugin may call methods of any name."""
_SHOWN_NAMES: Final = 12


class FilterError(SliphookError, ValueError):
    """The text is no filter; str() says in one line what is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class TraceFilter:
    """What a record must be to be shown; a condition that is None holds for all records.

    Attributes:
        plugin: patterns of the plugin's name; an outcome fits if one of its plugins does.
        method: patterns of the method; a reply has the method of its request.
        event: patterns of the name of a hook or event, asked or told.
        said: the conditions as they were written, by their keys.
    """

    plugin: Globs | None = None
    method: Globs | None = None
    event: Globs | None = None
    said: Mapping[str, str] = field(default_factory=dict[str, str])

    def fits(self, record: TraceRecord) -> bool:
        """True if every condition holds. A `header` and a `lost` record always fit."""
        # Without the `lost` records, a filtered view would look complete.
        return record.kind in ("header", "lost") or (
            (self.plugin is None or any(map(self.plugin.fits, _plugins_of(record))))
            and _fits(self.method, record.method)
            and _fits(self.event, _event_of(record))
        )


class Sifted:
    """A filter at work: it remembers what there was, so that one that fits nothing can be told."""

    def __init__(self, wanted: TraceFilter) -> None:
        self._wanted = wanted
        self._found = False
        self._there: dict[str, dict[str, None]] = {key: {} for key in _KEYS}

    def fits(self, record: TraceRecord) -> bool:
        """Whether the record is wanted."""
        if record.kind not in ("header", "lost") and not self._found:
            for name in _plugins_of(record):
                self._note("plugin", name)
            self._note("method", record.method)
            self._note("event", _event_of(record))
            self._found = self._wanted.fits(record)
        return self._wanted.fits(record)

    def _note(self, key: str, name: str | None) -> None:
        if name and len(self._there[key]) < _MAX_NAMES:
            self._there[key][name] = None

    def why_none(self) -> str | None:
        """Why no record was wanted, in a line for people; None if one was, or there was none."""
        if self._found or not any(self._there.values()):
            return None
        for key in _KEYS:
            patterns: Globs | None = getattr(self._wanted, key)
            there = list(self._there[key])
            if patterns is not None and not any(map(patterns.fits, there)):
                said = self._wanted.said.get(key, "")
                near = nearest(said, there)
                hint = f"did you mean {quote(near, 64)}?" if near else _list(there)
                return f"nothing fits the filter: no {key} is {quote(said, 80)}; {hint}"
        return "nothing fits the filter: no record fits all of its conditions"


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(quote(name, 64) for name in names[:_SHOWN_NAMES])
    more = len(names) - _SHOWN_NAMES
    return (
        f"there are: {shown}{f' and {more} more' if more > 0 else ''}" if names else "there is none"
    )


def parse_filter(text: str) -> TraceFilter:
    """The filter that `KEY=VALUE,…` means; all conditions must hold.

    `plugin`, `method` and `event` take patterns with `*` and `?`, several separated by `|`.

    Raises:
        FilterError: the text is no filter; the message names the nearest right word.
    """
    values: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(_KEYS)}"
            raise FilterError(f"{key!r} is nothing to filter by; {hint}")
        if not equals or not value:
            raise FilterError(f"{key} needs a value, like {key}={_EXAMPLES[key]}")
        if key in values:
            raise FilterError(f"{key} is given twice; several values are separated by |")
        values[key] = value
    return TraceFilter(
        plugin=_globs(values.get("plugin")),
        method=_globs(values.get("method")),
        event=_events(values.get("event")),
        said=values,
    )


def _fits(patterns: Globs | None, name: str | None) -> bool:
    return patterns is None or (name is not None and patterns.fits(name))


def _globs(value: str | None) -> Globs | None:
    return None if value is None else Globs([pattern.strip() for pattern in value.split("|")])


def _events(value: str | None) -> Globs | None:
    if value is None:
        return None
    names = [name.strip().lower().replace("-", "_") for name in value.split("|")]
    for name in names:
        # A name with a typo would fit no record, as if the hook had never been fired.
        if name not in CATALOGUE and not set(name) & set("*?"):
            near = nearest(name, list(CATALOGUE))
            hint = f"did you mean {near}?" if near else "`sliphook events` shows them all"
            raise FilterError(f"there is no hook or event {name!r}; {hint}")
    return Globs(names)


def _plugins_of(record: TraceRecord) -> Sequence[str]:
    # An outcome is about several plugins, so only its body names them.
    if record.kind != "outcome" or record.body is None:
        return (record.plugin,)
    try:
        return [part.plugin for part in OUTCOME_BODY.decode(record.body).parts]
    except DECODE_ERRORS:
        return ()


def _event_of(record: TraceRecord) -> str | None:
    """The name of the hook or event that the record is about, or None."""
    family, _, name = (record.method or "").partition("/")
    return name if family in ("hook", "event") else None
