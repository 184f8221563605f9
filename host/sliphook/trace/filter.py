"""Pure: which records a person wants to see, as `plugin=guard|weather,event=pre_*,slow=50ms` says it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from sliphook.errors import SliphookError
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import CATALOGUE, nearest
from sliphook_sdk.protocol.globs import Globs

from .bodies import OutcomeBody
from .record import TraceRecord

__all__ = ["FilterError", "Sieve", "TraceFilter", "parse_filter"]

_EXAMPLES: Final = {
    "plugin": "guard",
    "method": "tool/call",
    "event": "pre_tool_call",
    "slow": "50ms",
}
_KEYS: Final = tuple(_EXAMPLES)
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")

MAX_HELD: Final = 10_000
"""Requests that a sieve remembers at most until it is known whether they were slow; the oldest is forgotten first."""


class FilterError(SliphookError, ValueError):
    """The text is no filter; str() is one line for people that says what is wrong with it."""


class TraceFilter:
    """What a record must be to be shown; a condition that is None holds for all.

    Args:
        plugin: Patterns of the plugin's name.
        method: Patterns of the method; a reply has that of its request.
        event: Patterns of the name of a hook or event, whether it was asked or told.
        slow_ms: The least duration.
    """

    def __init__(
        self,
        *,
        plugin: Globs | None = None,
        method: Globs | None = None,
        event: Globs | None = None,
        slow_ms: float | None = None,
    ) -> None:
        self._plugin = plugin
        self._method = method
        self._event = event
        self.slow_ms = slow_ms

    def concerns(self, record: TraceRecord) -> bool:
        """True where everything but the duration fits.

        The file's own records, which are of no plugin, always do.
        """
        if record.kind in ("header", "lost"):
            return True
        if self._plugin is not None and not any(
            self._plugin.fits(plugin) for plugin in _plugins_of(record)
        ):
            return False
        if self._method is not None and not (
            record.method is not None and self._method.fits(record.method)
        ):
            return False
        event = _event_of(record)
        return self._event is None or (event is not None and self._event.fits(event))


class Sieve:
    """Lets the records through that a filter wants, in order.

    Where it asks for slow ones, a request is held back until its answer shows how long it took, and
    then comes right before it.
    """

    def __init__(self, wanted: TraceFilter) -> None:
        self._wanted = wanted
        self._held: dict[tuple[str, bool, int | str], TraceRecord] = {}

    def sift(self, record: TraceRecord) -> Sequence[TraceRecord]:
        """What is to be shown now that `record` has come."""
        if not self._wanted.concerns(record):
            return ()
        slow_ms = self._wanted.slow_ms
        if slow_ms is None or record.kind in ("header", "lost"):
            return (record,)
        request = self._request_of(record)
        if record.elapsed_ms is None or record.elapsed_ms < slow_ms:
            return ()
        return (record,) if request is None else (request, record)

    def _request_of(self, record: TraceRecord) -> TraceRecord | None:
        """The request that `record` ends, if it is held; where `record` is a request itself it is held from now on."""
        if record.id is None:
            return None
        to_plugin = record.direction == "to_plugin"
        if record.kind != "message" or record.elapsed_ms is not None:
            return self._held.pop((record.plugin, not to_plugin, record.id), None)
        if len(self._held) >= MAX_HELD:
            del self._held[next(iter(self._held))]
        self._held[record.plugin, to_plugin, record.id] = record
        return None


def parse_filter(text: str) -> TraceFilter:
    """The filter that `KEY=VALUE,…` means; all conditions must hold.

    `plugin`, `method` and `event` take patterns with `*` and `?`, several separated by `|`; `slow`
    takes a duration such as `50ms` or `1.5s`.

    Raises:
        FilterError: it means nothing; the message names the nearest right word.
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
            raise FilterError(f"{key} stands there twice; several values are separated by |")
        values[key] = value
    return TraceFilter(
        plugin=_globs(values.get("plugin")),
        method=_globs(values.get("method")),
        event=_events(values.get("event")),
        slow_ms=_milliseconds(values["slow"]) if "slow" in values else None,
    )


def _globs(value: str | None) -> Globs | None:
    return None if value is None else Globs([pattern.strip() for pattern in value.split("|")])


def _events(value: str | None) -> Globs | None:
    if value is None:
        return None
    names = [name.strip().lower().replace("-", "_") for name in value.split("|")]
    for name in names:
        if name not in CATALOGUE and not set(name) & set("*?"):
            near = nearest(name, list(CATALOGUE))
            hint = f"did you mean {near}?" if near else "`sliphook events` shows them all"
            raise FilterError(f"there is no hook or event {name!r}; {hint}")
    return Globs(names)


def _milliseconds(value: str) -> float:
    found = _DURATION.fullmatch(value)
    if found is None:
        raise FilterError(f"slow={value} is no duration; say it like slow=50ms or slow=1.5s")
    return float(found[1]) * (1000.0 if found[2] == "s" else 1.0)


def _plugins_of(record: TraceRecord) -> Sequence[str]:
    if record.kind != "outcome" or record.body is None:
        return (record.plugin,)
    try:
        return [part.plugin for part in msgspec.json.decode(record.body, type=OutcomeBody).parts]
    except DECODE_ERRORS:
        return ()


def _event_of(record: TraceRecord) -> str | None:
    """The hook or event that the record is about, or None."""
    family, _, name = (record.method or "").partition("/")
    return name if family in ("hook", "event") else None
