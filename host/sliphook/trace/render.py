"""What a person sees of a record: one line. Pure; shared by the live view and whatever shows a file."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from sliphook.quoting import quote

from .record import TraceRecord

__all__ = ["Style", "duration", "render_line", "size"]

_NAME_CHARS: Final = 64
_METHOD_CHARS: Final = 48
_VERDICT_CHARS: Final = 40
_TEXT_CHARS: Final = 160

_DIM: Final = "2"
_RED: Final = "31"
_GREEN: Final = "32"
_YELLOW: Final = "33"
_BLUE: Final = "34"
_CYAN: Final = "36"

_GOOD: Final = frozenset({"ok", "allow", "answered", "ready", "told", "abstain"})
_DOUBTFUL: Final = frozenset({"deny", "ask", "cancelled", "late", "stopping", "stopped", "starting"})


class Style(NamedTuple):
    """What the terminal can show."""

    colour: bool = False
    unicode: bool = True


def render_line(record: TraceRecord, style: Style) -> str:
    """One line without its line break: clock, arrow, plugin, method, id, size, duration on answers, verdict, and what there is to say.

    Everything that a plugin can choose is quoted: no text of its own can break the line or move the cursor.
    """
    what = quote(record.method, _METHOD_CHARS) if record.method is not None else record.kind
    cells = [
        _paint(_clock(record.wall_s), _DIM, style),
        _arrow(record, style),
        _paint(quote(record.plugin, _NAME_CHARS).ljust(12), _CYAN, style),
        what.ljust(26),
        _id(record.id).rjust(5),
        size(record.size).rjust(8),
        ("" if record.elapsed_ms is None else duration(record.elapsed_ms)).rjust(8),
        *_words(record, style),
    ]
    return " ".join(cells).rstrip()


def duration(elapsed_ms: float) -> str:
    """A duration with three digits that matter: `0.42 ms`, `12.5 ms`, `1.20 s`."""
    if elapsed_ms < 9.995:
        return f"{elapsed_ms:.2f} ms"
    if elapsed_ms < 99.95:
        return f"{elapsed_ms:.1f} ms"
    return f"{elapsed_ms:.0f} ms" if elapsed_ms < 999.5 else f"{elapsed_ms / 1000:.2f} s"


def size(count: int | None) -> str:
    """A number of bytes: `412 B`, `1.5 KiB`, `2.0 MiB`; empty where it is not known."""
    if count is None:
        return ""
    if count < 1024:
        return f"{count} B"
    return f"{count / 1024:.1f} KiB" if count < 1024 * 1024 else f"{count / (1024 * 1024):.1f} MiB"


def _clock(wall_s: float) -> str:
    return f"{time.strftime('%H:%M:%S', time.localtime(wall_s))}.{int(wall_s % 1 * 1000):03d}"


def _arrow(record: TraceRecord, style: Style) -> str:
    if record.direction == "to_plugin":
        return _paint("→" if style.unicode else ">", _BLUE, style)
    if record.direction == "from_plugin":
        return _paint("←" if style.unicode else "<", _GREEN, style)
    return _paint("·" if style.unicode else "-", _DIM, style)


def _id(request_id: int | str | None) -> str:
    if request_id is None:
        return ""
    return f"#{request_id}" if isinstance(request_id, int) else f"#{quote(request_id, 24)}"


def _words(record: TraceRecord, style: Style) -> list[str]:
    words: list[str] = []
    if record.kind not in ("message", "outcome") and record.method is not None:
        words.append(_paint(record.kind, _YELLOW, style))
    if record.verdict is not None:
        words.append(_paint(quote(record.verdict, _VERDICT_CHARS), _verdict_colour(record.verdict), style))
    if record.note is not None:
        words.append(quote(record.note, _TEXT_CHARS))
    if record.kind in ("stderr", "stray", "refused") and record.body is not None:
        words.append(_paint(quote(record.body, _TEXT_CHARS), _DIM, style))
    return words


def _verdict_colour(verdict: str) -> str:
    if verdict in _GOOD:
        return _GREEN
    return _YELLOW if verdict in _DOUBTFUL else _RED


def _paint(text: str, code: str, style: Style) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if style.colour and text else text
