"""Pure: a picture as one SVG file that needs no other.

It follows the reader's light or dark theme, and shows the messages of what the pointer is on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources
from typing import Final, NamedTuple

from sliphook.trace.render import duration

from .picture import Band, Picture, Track, TrackItem, TrackRow
from .scale import ticks

__all__ = ["LOOK", "svg_of"]

LOOK: Final = (
    resources.files("sliphook.trace.views.timeline")
    .joinpath("look.css")
    .read_text(encoding="utf-8")
)

_WIDTH: Final = 1280
_LEFT: Final = 168
_RIGHT: Final = 28
_TOP: Final = 96
"""The top of the tracks; each row of interrupt labels after the first moves them down."""

_FLAGS_TOP: Final = 52
_FLAG_ROW: Final = 19
_FLAG_ROWS: Final = 3
_CHAR: Final = 6.0
"""About the width of a character, in pixels."""

_BOLD: Final = 6.7
"""The same for bold text."""

_LEAST: Final = 3.0
"""No bar is narrower; bars that would touch are drawn as one."""

_CROWD: Final = 12.0
"""The widest group of narrow bars drawn as one, so that a failure among thousands has its place."""

_TITLE_CHARS: Final = 700
_HEIGHTS: Final = {"bars": 20, "thin": 12, "marks": 14}
_PAD: Final = 9
_LEAST_TRACK: Final = 44
_KEYS: Final = (
    ("hook good", "hook"),
    ("tool good", "tool"),
    ("model good", "model call"),
    ("call good", "call of the plugin"),
    ("protocol good", "handshake, shutdown"),
    ("deny", "denied"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
    ("told", "told to stop, still running"),
)


class Drawn(NamedTuple):
    """One bar as it is drawn; it stands for several items if they are too close."""

    x: float
    width: float
    style: str
    label: str
    title: str


class _Flag(NamedTuple):
    """An interrupt as it is drawn.

    Its label is in the first row in which it meets no other. If there is none, `row` is None, and
    the label is shown while the pointer is on the line.
    """

    x: float
    label: str
    left: float
    width: float
    row: int | None


def svg_of(picture: Picture) -> str:
    """The file's text."""
    return "".join(_Drawing(picture).parts())


class _Drawing:
    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._per_ms = (_WIDTH - _LEFT - _RIGHT) / picture.scale.length_ms
        self._flag_places = list(self._place_flags())
        self._top = _TOP + _FLAG_ROW * max((flag.row or 0 for flag in self._flag_places), default=0)

    def parts(self) -> Iterator[str]:
        picture = self._picture
        heights = [_height(track) for track in picture.tracks]
        bottom = self._top + sum(heights)
        height = bottom + 46
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"'
            f' viewBox="0 0 {_WIDTH} {height}">\n'
        )
        yield f"<style>\n{LOOK}</style>\n"
        yield f'<rect class="page" width="{_WIDTH}" height="{height}"/>\n'
        yield _text(20, 30, "title", picture.title) + _text(20, 50, "subtitle", picture.subtitle)
        yield from self._axis(bottom)
        y = self._top
        for track, tall in zip(picture.tracks, heights, strict=True):
            yield f'<line class="line" x1="0" y1="{y}" x2="{_WIDTH}" y2="{y}"/>\n'
            yield from self._track(track, y, tall)
            y += tall
        yield f'<line class="line" x1="0" y1="{y}" x2="{_WIDTH}" y2="{y}"/>\n'
        yield from self._flags(bottom)
        yield from _legend(bottom + 27)
        yield "</svg>\n"

    def _x(self, shown_ms: float) -> float:
        return _LEFT + shown_ms * self._per_ms

    def _axis(self, bottom: int) -> Iterator[str]:
        for begin, end in self._picture.turns:
            yield _rect(
                self._x(begin),
                self._top,
                max(1.0, (end - begin) * self._per_ms),
                bottom - self._top,
                "shade",
            )
        for begin, end, lasted_ms in self._picture.scale.pauses:
            x, x2 = self._x(begin), self._x(end)
            yield f"<g>{_rect(x, self._top, x2 - x, bottom - self._top, 'pause')}"
            for edge in (x, x2):
                yield _upright("pause-edge", edge, self._top, bottom)
            yield f"<title>{escape(f'nothing happens for {duration(lasted_ms)}')}</title></g>\n"
        free_from = 0.0
        for tick in ticks(self._picture.scale, 12):
            x = self._x(tick.shown_ms)
            yield _upright("grid", x, self._top - 6, bottom)
            if x >= free_from:
                yield _text(x, self._top - 11, "tick", tick.label, anchor="middle")
                free_from = x + _CHAR * (len(tick.label) + 2)

    def _track(self, track: Track, y: float, tall: int) -> Iterator[str]:
        yield _text(20, y + 21, "name", _cut(track.name, _LEFT - 28, 7.4)) + _text(
            20, y + 36, "note", _cut(track.note, _LEFT - 24, 5.4)
        )
        for band in track.bands:
            yield from self._band(band, y, tall)
        at = y + _PAD
        for row in track.rows:
            yield from self._row(row, at)
            at += _HEIGHTS[row.shape]

    def _band(self, band: Band, y: float, tall: int) -> Iterator[str]:
        begin, ready, end = self._x(band.begin), self._x(band.ready), self._x(band.end)
        top, height = y + 3, tall - 6
        yield "<g>"
        yield _rect(begin, top, max(1.0, ready - begin), height, "band starting", 3) + _rect(
            ready, top, max(0.5, end - ready), height, "band", 3
        )
        yield f"<title>{escape(chr(10).join(band.lines))}</title></g>\n"

    def _row(self, row: TrackRow, y: float) -> Iterator[str]:
        drawn = list(self._merged(row.items))
        height = 6 if row.shape == "thin" else 15
        for index, one in enumerate(drawn):
            room = (drawn[index + 1].x if index + 1 < len(drawn) else _WIDTH) - one.x
            yield "<g>"
            if row.shape == "marks":
                yield _glyph(one.style, one.x, y + 5)
            else:
                yield _rect(one.x, y, one.width, height, one.style, min(3.0, one.width / 2))
            yield f"<title>{escape(one.title)}</title>"
            yield _label(one, y, room, inside=row.shape == "bars") + "</g>\n"

    def _merged(self, items: Sequence[TrackItem]) -> Iterator[Drawn]:
        """Merge items that overlap, and narrow ones that would touch."""
        near: list[TrackItem] = []
        drawn_to = ends = 0.0
        narrow = True
        for item in items:
            x, true_width = self._x(item.begin), (item.end - item.begin) * self._per_ms
            small = narrow and true_width <= 2 * _LEAST and x < drawn_to + 1
            joins = x < ends - 0.5 or (small and bool(near) and x < self._x(near[0].begin) + _CROWD)
            if near and not joins:
                yield self._one(near)
                near = []
            narrow = true_width <= 2 * _LEAST and (narrow or not near)
            ends = max(x + true_width, ends if near else 0.0)
            drawn_to = max(x + _LEAST, ends)
            near.append(item)
        if near:
            yield self._one(near)

    def _one(self, items: Sequence[TrackItem]) -> Drawn:
        first = items[0]
        x = self._x(first.begin)
        width = max(_LEAST, (max(item.end for item in items) - first.begin) * self._per_ms)
        if len(items) == 1:
            return Drawn(x, width, first.style, first.label, _cut_title(first.lines))
        worst = max(items, key=lambda item: _GRAVITY.get(item.style.rpartition(" ")[2], 0))
        return Drawn(x, width, worst.style, f"{len(items)} ×", "\n".join(_several(items)))

    def _flags(self, bottom: int) -> Iterator[str]:
        for flag in self._flag_places:
            top = _FLAGS_TOP + (flag.row or 0) * _FLAG_ROW
            yield "<g>" + _upright("flag", flag.x, top + 16, bottom)
            yield f"<title>{escape(flag.label)}</title></g>\n"
        for flag in self._flag_places:  # no line goes through a label
            if flag.row is not None:
                top = _FLAGS_TOP + flag.row * _FLAG_ROW
                yield _rect(flag.left, top, flag.width, 17, "flag-box", 3) + _text(
                    flag.left + 7, top + 12, "flag-text", flag.label
                )

    def _place_flags(self) -> Iterator[_Flag]:
        line_from = 0.0
        free_from = [0.0] * _FLAG_ROWS
        for flag in sorted(self._picture.flags, key=lambda flag: flag.at):
            x = self._x(flag.at)
            if x < line_from:
                continue
            line_from = x + _LEAST
            width = len(flag.label) * _BOLD + 14
            left = min(x, _WIDTH - width - 4)
            row = next((row for row, free in enumerate(free_from) if left >= free), None)
            if row is not None:
                free_from[row] = left + width + 4
            yield _Flag(x, flag.label, left, width, row)


_GRAVITY: Final = {
    "death": 6,
    "failed": 5,
    "wrong": 5,
    "lost": 5,
    "deny": 4,
    "ask": 3,
    "cancelled": 2,
    "told": 3,
}


def _several(items: Sequence[TrackItem]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for item in items:
        counts[item.lines[0]] = counts.get(item.lines[0], 0) + 1
    yield f"{len(items)} side by side"
    for what, count in sorted(counts.items(), key=lambda pair: -pair[1])[:12]:
        yield f"{count} × {what}"
    longest = max((item.took_ms for item in items if item.took_ms is not None), default=None)
    if longest is not None:
        yield f"the longest took {duration(longest)}"


def _cut_title(lines: Iterable[str]) -> str:
    return "\n".join(
        line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…" for line in lines
    )


def _height(track: Track) -> int:
    return max(_LEAST_TRACK, 2 * _PAD + sum(_HEIGHTS[row.shape] for row in track.rows))


def _label(one: Drawn, y: float, room: float, *, inside: bool) -> str:
    needed = len(one.label) * _CHAR
    written = "label" if one.style == "protocol good" else "label on"
    if inside and len(one.label) * _BOLD + 8 <= one.width:
        return _text(one.x + 5, y + 11.5, written, one.label)
    beside = room - one.width - 6
    if one.width < 60 and needed + 4 <= beside:
        return _text(
            one.x + max(one.width, 6) + 4,
            y + (11.5 if inside else 9),
            "why" if one.style == "death" else "label",
            one.label,
        )
    if one.style == "death":
        return _text(one.x - 8, y + 9, "why", one.label, anchor="end")
    if inside and one.width > 40:
        return _text(one.x + 5, y + 11.5, written, _cut(one.label, one.width - 8, _BOLD))
    return ""


def _glyph(style: str, x: float, y: float) -> str:
    match style:
        case "event":
            return f'<path class="event" d="M{x:.1f},{y - 4:.1f} l4,4 l-4,4 l-4,-4 z"/>'
        case "cancel":
            return f'<path class="cancel" d="M{x - 3.5:.1f},{y - 3.5:.1f} h7 v7 h-7 z"/>'
        case "death":
            return f'<path class="death" d="M{x - 4:.1f},{y - 4:.1f} l8,8 m0,-8 l-8,8"/>'
        case "wrong" | "lost":
            return f'<path class="{style}" d="M{x:.1f},{y - 5:.1f} l5,9 h-10 z"/>'
        case _:
            return f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def _legend(y: float) -> Iterator[str]:
    x = float(_LEFT)
    for style, words in _KEYS:
        yield _rect(x, y - 9, 16, 10, style, 2) + _text(x + 21, y, "key", words)
        x += 40 + len(words) * _CHAR


def _rect(x: float, y: float, width: float, height: float, style: str, radius: float = 0.0) -> str:
    rounded = f' rx="{radius:.1f}"' if radius else ""
    return (
        f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}"'
        f' height="{height:.1f}"{rounded}/>'
    )


def _upright(style: str, x: float, top: int, bottom: int) -> str:
    return f'<line class="{style}" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}"/>'


def _text(x: float, y: float, style: str, text: str, *, anchor: str | None = None) -> str:
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return (
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}"{anchored}>{escape(text)}</text>'
        if text
        else ""
    )


def _cut(text: str, width: float, char: float) -> str:
    fitting = int(width / char)
    return (
        text if len(text) <= fitting else text[: max(0, fitting - 1)] + "…" if fitting > 3 else ""
    )
