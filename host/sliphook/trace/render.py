"""A record as text for people: one line, and its body below.

Shared by the live view and the commands that show a file. It reads the time zone, nothing else.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol.parts import size_of

from .bodies import HEADER, LOST, OUTCOME_BODY, PartBody
from .exchanges import confirms_cancel, facts_of
from .record import TraceRecord

__all__ = ["Style", "count", "duration", "render_body", "render_line", "size"]

_NAME_CHARS: Final = 64
_METHOD_CHARS: Final = 48
_VERDICT_CHARS: Final = 40
_TEXT_CHARS: Final = 160

_NO_PLUGIN: Final = {"outcome": "(all)", "unheard": "(nobody)"}
_NAME_COLUMN: Final = 12
_METHOD_COLUMN: Final = 26
_ROOMY: Final = 100
"""On a terminal with fewer columns, id and size are left out."""

_INDENT: Final = " " * 15
_BODY_LINES: Final = 40
_BODY_CHARS: Final = 200
_LEAST_CHARS: Final = 20

_DIM: Final = "2"
_RED: Final = "31"
_GREEN: Final = "32"
_YELLOW: Final = "33"
_BLUE: Final = "34"
_CYAN: Final = "36"

_OVER: Final = frozenset({"event/post_llm_call", "hook/post_tool_call", "event/post_tool_call"})
"""The ends of calls, which say what plugins have changed."""

_GOOD: Final = frozenset({"ok", "allow", "answered", "ready", "told", "none"})
_DOUBTFUL: Final = frozenset(
    {"deny", "ask", "cancelled", "late", "stopping", "stopped", "starting"}
)
_BASE64: Final = re.compile(r'^( *"(?:data|blob)": )"([A-Za-z0-9+/]{64,}={0,2})"', re.MULTILINE)
"""The bytes of an image or the like in a body: too much for a screen."""

_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_TOKEN: Final = re.compile(_STRING.pattern + rb"|[\[\]{},]", re.DOTALL)
"""What decides where a line ends, and the strings, in which the same characters mean nothing."""


class Style(NamedTuple):
    """What the terminal can show.

    `width` is how many characters fit on a line; None for what is no terminal.
    """

    colour: bool = False
    unicode: bool = True
    width: int | None = None


def render_line(record: TraceRecord, style: Style, subject: str | None = None) -> str:
    """One line without its line break.

    It has the clock, an arrow, the plugin, the method, the id, the size, on answers the duration,
    the verdict and the note; last comes `subject`, see `Subjects`. Everything that a plugin can
    choose is quoted, so that no text can break the line or move the cursor. On a terminal the line
    is cut to its width; on a narrow one id and size are left out, so that the verdict has room.
    """
    what = quote(record.method, _METHOD_CHARS) if record.method is not None else record.kind
    line = _Line(style)
    line.add(_clock(record.wall_s), _DIM)
    line.add(*_arrow(record, style))
    line.add(
        quote(record.plugin or _NO_PLUGIN.get(record.kind, ""), _NAME_CHARS).ljust(_NAME_COLUMN),
        _CYAN,
    )
    line.add(what.ljust(_METHOD_COLUMN))
    if style.width is None or style.width >= _ROOMY:
        line.add(_id(record.id).rjust(5))
        line.add(size(record.size).rjust(8))
    line.add(("" if record.elapsed_ms is None else duration(record.elapsed_ms)).rjust(8))
    for word, colour in _words(record):
        line.add(word, colour)
    if subject is not None:
        line.add(quote(subject, _TEXT_CHARS), _DIM)
    return line.text()


def render_body(record: TraceRecord, style: Style) -> list[str]:
    """The lines of the body, indented; JSON is pretty-printed, and a long body is cut."""
    if record.body is None or record.kind in ("stderr", "stray"):  # shown in the line itself
        return []
    lines, there = _pretty(record.body)
    shown = lines if there <= _BODY_LINES else lines[: _BODY_LINES - 1]
    width = max(_LEAST_CHARS, (style.width or _BODY_CHARS) - len(_INDENT))
    rendered = [f"{_INDENT}{_paint(quote(line, width), _DIM, style)}" for line in shown]
    if len(shown) < there:
        more = f"… and {there - len(shown)} more lines"
        rendered.append(f"{_INDENT}{_paint(more[:width], _DIM, style)}")
    return rendered


def duration(elapsed_ms: float) -> str:
    """A duration with three significant digits: `0.42 ms`, `12.5 ms`, `1.20 s`."""
    # The bounds are where rounding would add a digit: 9.995 would be shown as 10.00.
    if elapsed_ms < 9.995:
        return f"{elapsed_ms:.2f} ms"
    if elapsed_ms < 99.95:
        return f"{elapsed_ms:.1f} ms"
    return f"{elapsed_ms:.0f} ms" if elapsed_ms < 999.5 else f"{elapsed_ms / 1000:.2f} s"


def size(length: int | None) -> str:
    """A number of bytes: `412 B`, `1.5 KiB`, `2.0 MiB`; empty for None."""
    if length is None:
        return ""
    if length < 1024:
        return f"{length} B"
    return (
        f"{length / 1024:.1f} KiB" if length < 1024 * 1024 else f"{length / (1024 * 1024):.1f} MiB"
    )


def count(number: int, one: str, many: str | None = None) -> str:
    """How many there are: `1 turn`, `1,200 turns`.

    `many` is the plural, if it is not `one` with an s.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _clock(wall_s: float) -> str:
    # Milliseconds are cut off, not rounded: rounding could give 1000 of them.
    return f"{time.strftime('%H:%M:%S', time.localtime(wall_s))}.{int(wall_s % 1 * 1000):03d}"


class _Line:
    """Words with their colours; what comes after the line is full is ignored."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._left = sys.maxsize if style.width is None else max(_LEAST_CHARS, style.width - 1)
        self._words: list[str] = []

    def add(self, word: str, colour: str | None = None) -> None:
        if self._left <= 0:
            return
        cut = (
            word
            if len(word) <= self._left
            else f"{word[: self._left - 1]}…"
            if self._style.unicode
            else word[: self._left]
        )
        # Counted before the word is painted, since codes for colour take no room on the screen.
        self._left -= len(cut) + 1
        self._words.append(cut if colour is None else _paint(cut, colour, self._style))

    def text(self) -> str:
        return " ".join(self._words).rstrip()


def _arrow(record: TraceRecord, style: Style) -> tuple[str, str]:
    if record.direction == "to_plugin":
        return "→" if style.unicode else ">", _BLUE
    if record.kind == "outcome":
        return "=", _BLUE
    if record.direction == "from_plugin":
        return "←" if style.unicode else "<", _GREEN
    return "·" if style.unicode else "-", _DIM


def _id(request_id: int | str | None) -> str:
    if request_id is None:
        return ""
    return f"#{request_id}" if isinstance(request_id, int) else f"#{quote(request_id, 24)}"


def _words(record: TraceRecord) -> Iterator[tuple[str, str | None]]:
    by_verdict = record.kind in ("message", "outcome", "settled") or confirms_cancel(record)
    if not by_verdict and record.method is not None:  # the verdict of those says as much
        yield record.kind, _YELLOW
    if record.kind == "outcome":
        parts = _parts(record.body)
        words = [record.verdict] if record.verdict is not None else []
        if record.verdict not in ("deny", "cancelled"):  # then nothing else counts
            words += dict.fromkeys(word for part in parts for word in part.gives)
        yield (
            quote(", ".join(words) or "none", _VERDICT_CHARS),
            _verdict_colour(record.verdict or "none"),
        )
        yield from map(_part_words, parts)
    elif record.verdict is not None:
        yield quote(record.verdict, _VERDICT_CHARS), _verdict_colour(record.verdict)
    if record.method in _OVER and record.direction != "from_plugin":
        for by in facts_of(record).params.by:
            yield quote(by, _TEXT_CHARS), _CYAN
    if record.note is not None:
        yield quote(record.note, _TEXT_CHARS), None
    if record.kind in ("header", "lost"):
        yield from _own_words(record)
    if record.kind in ("stderr", "stray", "refused") and record.body is not None:
        yield quote(record.body, _TEXT_CHARS), _DIM


def _own_words(record: TraceRecord) -> Iterator[tuple[str, str | None]]:
    """What a `header` or a `lost` record says."""
    try:
        if record.kind == "header":
            header = HEADER.decode(record.body or b"")
            part = f", part {header.part}" if header.part > 1 else ""
            yield (
                f"sliphook {quote(header.sliphook, _NAME_CHARS)}, format {header.format}{part}",
                _DIM,
            )
        else:
            lost = LOST.decode(record.body or b"")
            yield f"{count(lost.count, 'record')} lost: {quote(lost.why, _TEXT_CHARS)}", _RED
    except DECODE_ERRORS:
        return


def _parts(body: bytes | None) -> list[PartBody]:
    """Each plugin's part in an outcome."""
    try:
        return OUTCOME_BODY.decode(body or b"").parts
    except DECODE_ERRORS:
        return []


def _part_words(part: PartBody) -> tuple[str, str]:
    words = [part.decision] if part.decision is not None else []
    words += part.gives
    word = ", ".join(words) or ("none" if part.status == "answered" else part.status)
    failed = "" if part.error is None or part.decision is None else f" ({part.status})"
    return (
        f"{quote(part.plugin, _NAME_CHARS)}: {quote(word, _VERDICT_CHARS)}{failed}",
        _DIM if not part.error else _RED,
    )


def _pretty(body: bytes) -> tuple[list[str], int]:
    """The first lines, at least `_BODY_LINES` if there are so many; and how many there are."""
    try:
        compact = msgspec.json.format(body, indent=-1)
        # cut before: what is nested deep would become a thousand times as long
        first = _beginning(compact)
        text = msgspec.json.format(first, indent=2).decode("utf-8", "surrogateescape")
    except DECODE_ERRORS:
        return [body[: _BODY_LINES * _BODY_CHARS].decode("utf-8", "surrogateescape")], 1
    lines = _BASE64.sub(_size_alone, text).split("\n")
    return lines, len(lines) if first is compact else _count_lines(compact)


def _beginning(compact: bytes) -> bytes:
    """JSON without spaces, cut behind its first lines, with its brackets closed."""
    closing = bytearray()
    tokens = 0
    for found in _TOKEN.finditer(compact):
        at = found.start()
        token = compact[at : at + 1]
        match token:
            case b'"':
                continue
            case b"[":
                closing += b"]"
            case b"{":
                closing += b"}"
            case b"]" | b"}":
                del closing[-1]
            case _:
                pass
        tokens += 1
        # `[],` has three on a line
        if tokens == 3 * _BODY_LINES:
            return compact[: at if token == b"," else at + 1] + closing[::-1]
    return compact


def _count_lines(compact: bytes) -> int:
    """How many lines JSON without spaces has when it is laid out."""
    bare = _STRING.sub(b"0", compact)
    empty = bare.count(b"[]") + bare.count(b"{}")
    return 1 + bare.count(b",") + 2 * (bare.count(b"[") + bare.count(b"{") - empty)


def _size_alone(found: re.Match[str]) -> str:
    return f'{found[1]}"… {size(size_of(found[2]))} in base64"'


def _verdict_colour(verdict: str) -> str:
    if verdict in _GOOD:
        return _GREEN
    return _YELLOW if verdict in _DOUBTFUL else _RED


def _paint(text: str, code: str, style: Style) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if style.colour and text else text
