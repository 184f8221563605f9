"""A trace as a picture: `picture` says what is shown, on the axis of `scale`.

`svg` and `page` draw it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sliphook.trace.record import TraceRecord
from sliphook.trace.views.span_builder import spans_of

from .page import page_of
from .picture import picture_of
from .svg import svg_of

__all__ = ["draw_page", "draw_svg"]


def draw_svg(records: Iterable[TraceRecord], title: str) -> str:
    """One SVG file of a trace, of a fixed width; bars too close to each other are drawn as one."""
    return svg_of(picture_of(spans_of(records), title))


def draw_page(records: Iterable[TraceRecord], title: str) -> str:
    """One HTML file of a trace, to zoom into; it needs no network and runs only its own script."""
    return page_of(picture_of(spans_of(records), title))
