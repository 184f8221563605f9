"""What a plugin has nearly said: fields that are ignored, and what they were probably meant for.

Pure. Unknown fields are allowed (protocol.md, Envelope), as either side may gain new ones, so the
author is told of them and nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast, get_args

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import (
    METHOD_BY_NAME,
    CommandSpec,
    EnvWant,
    Level,
    Manifest,
    ToolSpec,
    nearest,
)

from .decoding import DECODE_ERRORS

MAX_NEAR_MISSES: Final = 32
"""Said of one plugin; what comes after that is not even looked for."""
_KIND_CHARS: Final = 300
"""Kept of each: a field's name may be a megabyte."""

_WHAT: Final = {
    "initialize": "the manifest",
    "tool/call": "the result of a tool",
    "command/run": "the result of a command",
}
_PARTS: Final[dict[str, tuple[str, type[msgspec.Struct]]]] = {
    "tools": ("the tool", ToolSpec),
    "commands": ("the command", CommandSpec),
    "env": ("the entry of env for", EnvWant),
}
_KNOWN: Final = {part: frozenset(part.__struct_encode_fields__) for _, part in _PARTS.values()}
_ELSEWHERE: Final = {
    "structuredContent": "data",
    "parameters": "input_schema",
    "msg": "message",
    "output": "content",
}
"""Names of MCP, of model APIs and of loggers that no likeness leads from to ours."""
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
_LEVELS_ELSEWHERE: Final[dict[str, Level]] = {
    **dict.fromkeys(("critical", "fatal", "alert", "emergency", "panic"), "error"),
    "notice": "info",
    **dict.fromkeys(("trace", "verbose"), "debug"),
}
"""Levels of other loggers that no likeness leads from to ours."""
_METHODS: Final = tuple(name for name, method in METHOD_BY_NAME.items() if method.by == "plugin")
_METHOD_CHARS: Final = 60
# made once, at import: msgspec reads a type at its first use, and not safely in two threads
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRIES: Final = msgspec.json.Decoder(list[dict[str, msgspec.Raw]] | None)


class NearMisses:
    """Finds the near misses of one plugin, each kind once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def is_new(self, kind: str) -> bool:
        """Whether a near miss of this kind is to be said; True once, and never if too many were."""
        kind = kind[:_KIND_CHARS]
        if kind in self._said or len(self._said) >= MAX_NEAR_MISSES:
            return False
        self._said.add(kind)
        return True

    def unknown(self, method: str) -> str | None:
        """What is said of a notification that is unknown, and ignored; None if it was said."""
        shown = quote(method, _METHOD_CHARS)
        if not self.is_new(f"notification {shown}"):
            return None
        return f"the notification '{shown}' is unknown, and ignored{meant_method(shown)}"

    def found_in(self, method: str, raw: bytes | msgspec.Raw) -> Iterator[str]:
        """What a message has that is ignored, a sentence for each.

        Args:
            method: of a plugin's request or notification, or of the host's request for a result.
            raw: the params, or the result. What does not fit at all is refused elsewhere.
        """
        known = METHOD_BY_NAME.get(method)
        shape = None if known is None else known.params if known.by == "plugin" else known.result
        if shape is None or len(self._said) >= MAX_NEAR_MISSES:
            return
        try:
            fields = _FIELDS.decode(raw)
            yield from self._ignored(_WHAT.get(method, method), "", shape, fields)
            for name, (what, part) in _PARTS.items():
                if name in fields and (shape is Manifest or method == "host/tools"):
                    for entry in _ENTRIES.decode(fields[name]) or ():
                        if entry.keys() <= _KNOWN[part]:
                            continue  # as most of them, of which there may be thousands
                        shown = quote(bytes(entry.get("name", b"null")), 80).strip('"')
                        yield from self._ignored(what, f" {shown}", part, entry)
        except DECODE_ERRORS:
            return

    def _ignored(
        self, what: str, which: str, struct: type[msgspec.Struct], fields: Mapping[str, Any]
    ) -> Iterator[str]:
        known = known_fields(struct)
        for name in fields:
            if name not in known and not name.startswith("_") and self.is_new(f"{what}: {name}"):
                hint = meant(name, [one for one in known if one not in fields])
                unknown = f"the unknown field '{quote(name, 40)}', which is ignored"
                yield f"{what}{which} has {unknown}{hint}"


def known_fields(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """The names of its fields on the wire."""
    # not `structs.fields`, which evaluates the types of all fields anew
    return struct.__struct_encode_fields__


def meant(name: str, known: Iterable[str]) -> str:
    """`; did you mean NAME?`, or nothing."""
    names = list(known)
    other = _ELSEWHERE.get(name)
    close = other if other in names else nearest(name, names)
    return f"; did you mean {close}?" if close is not None else ""


def meant_level(name: str) -> Level:
    """The level that is nearest to an unknown one; `info` if none is."""
    close = nearest(name, LEVELS)
    elsewhere = _LEVELS_ELSEWHERE.get(name.lower(), "info")
    return elsewhere if close is None else cast(Level, close)


def meant_method(name: str) -> str:
    """The same for a method of plugins."""
    return meant(name[:_METHOD_CHARS], _METHODS)


def claims_error(result: msgspec.Raw) -> bool:
    """Whether a tool's result says by MCP's name, `isError`, that the call has failed."""
    try:
        fields = _FIELDS.decode(result)
    except DECODE_ERRORS:
        return False
    return "is_error" not in fields and bytes(fields.get("isError", b"")) == b"true"


def is_list_of_blocks(result: msgspec.Raw) -> bool:
    """Whether the `content` of a tool's result is a list, as in MCP, or the result itself is."""
    try:
        content = _FIELDS.decode(result).get("content", b"")
    except DECODE_ERRORS:
        content = result
    return bytes(memoryview(content)[:64]).lstrip().startswith(b"[")
